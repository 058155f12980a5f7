"""The events of a trace as lanes: the rows of a picture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from pydoca._errors import Status
from pydoca._timeline.events import Recorded, TraceEvent


@dataclass(slots=True)
class Span:
    """Something that lasted: a task in flight, a piece of work, a wait."""

    begin: int
    end: int
    name: str
    nbytes: int = 0
    failed: bool = False
    is_open: bool = False  # it began before the trace, or ended after it

    @property
    def text(self) -> str:
        parts = [self.name, f"{(self.end - self.begin) / 1000:.2f} us at {self.begin / 1000:.2f} us"]
        if self.nbytes:
            parts.append(f"{self.nbytes} bytes")
        return ", ".join([*parts, *(["failed"] if self.failed else []), *(["not complete"] if self.is_open else [])])


@dataclass(slots=True)
class Lane:
    """One context, device, sync event or coroutine of a process."""

    process: int
    group: str  # contexts, devices, sync events or coroutines
    name: str
    spans: list[Span] = field(default_factory=list)
    marks: list[TraceEvent] = field(default_factory=list)


@dataclass(slots=True)
class Flow:
    """A message that was seen at both ends."""

    sent: TraceEvent
    received: TraceEvent


def lanes_of(trace: Recorded) -> list[Lane]:
    """The lanes, process by process: contexts, then devices, sync events and coroutines."""
    makers = _Lanes()
    flying: dict[tuple[int, int, int], tuple[TraceEvent, Lane]] = {}
    for event in trace.events:
        lane = makers.of(event)
        if event.kind == "submit" and event.status is Status.SUCCESS:
            flying[event.process, event.lane, event.id] = (event, lane)
        elif event.kind == "complete":
            submitted = flying.pop((event.process, event.lane, event.id), None)
            lane.spans.append(_task(submitted[0] if submitted else None, event))
        elif event.duration:
            lane.spans.append(Span(event.time, event.time + event.duration, _what(event), event.nbytes))
        else:
            lane.marks.append(event)
    for event, lane in flying.values():
        lane.spans.append(Span(event.time, trace.duration, event.name, event.nbytes, is_open=True))
    return makers.in_order()


def flows_of(events: Iterable[TraceEvent]) -> list[Flow]:
    """Messages whose two ends were recorded: the connection and the message's number are those of both.

    Both directions of a connection count from 1, so two messages may have one number.
    """
    ends: dict[tuple[int, int], list[TraceEvent]] = defaultdict(list)
    for event in events:
        if event.kind in ("sent", "received"):
            ends[event.id, event.value].append(event)
    return [
        Flow(sent, received)
        for both in ends.values()
        for sent in both
        for received in both
        if sent.kind == "sent" and received.kind == "received"
        if (sent.process, sent.lane) != (received.process, received.lane) and sent.time <= received.time
    ]


def _task(submitted: TraceEvent | None, completed: TraceEvent) -> Span:
    failed = completed.status is not Status.SUCCESS
    name = f"{completed.name}: {completed.status.name}" if failed else completed.name
    if submitted is None:
        return Span(0, completed.time, name, failed=failed, is_open=True)
    return Span(submitted.time, completed.time, name, submitted.nbytes, failed)


def _what(event: TraceEvent) -> str:
    return event.name or {"work": "work", "event_wait": "wait"}.get(event.kind, event.kind)


class _Lanes:
    def __init__(self) -> None:
        self._lanes: dict[tuple[int, str, int | str], Lane] = {}
        self._names: dict[tuple[int, str, str], int] = {}

    def of(self, event: TraceEvent) -> Lane:
        group, key, name = _place(event)
        lane = self._lanes.get((event.process, group, key))
        if lane is None:
            count = self._names[event.process, group, name] = self._names.get((event.process, group, name), 0) + 1
            numbered = name if count == 1 else f"{name} #{count}"
            lane = self._lanes[event.process, group, key] = Lane(event.process, group, numbered)
        return lane

    def in_order(self) -> list[Lane]:
        groups = ("contexts", "devices", "sync events", "coroutines")
        return sorted(self._lanes.values(), key=lambda lane: (lane.process, groups.index(lane.group), lane.name))


def _place(event: TraceEvent) -> tuple[str, int | str, str]:
    if event.kind == "await":
        return "coroutines", event.name, event.name
    if event.kind == "work":
        return "devices", f"{event.device} {event.thread}", f"{event.device}, {event.thread}"
    if event.kind.startswith("event_"):
        return "sync events", event.id, f"sync event on {event.device}"
    return "contexts", event.lane, f"{event.context} on {event.device}"
