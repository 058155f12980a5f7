"""Traces as JSON in Chrome's trace-event format, which Perfetto reads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from pydoca._timeline.events import Recorded, TraceEvent
from pydoca._timeline.lanes import Lane, flows_of, lanes_of

_Json = dict[str, Any]


def save(trace: Recorded, path: str | os.PathLike[str]) -> None:
    """Writes the file anew."""
    other = {"processes": len(trace.processes), "lost_events": trace.lost}
    document = {"displayTimeUnit": "ns", "otherData": other, "traceEvents": list(_trace_events(trace))}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, separators=(",", ":"))
        file.write("\n")


def _pids(trace: Recorded) -> list[int]:
    """The processes' identifiers; where PID namespaces make two equal, counted numbers."""
    pids = [process.pid for process in trace.processes]
    return pids if len(set(pids)) == len(pids) else list(range(1, len(pids) + 1))


def _trace_events(trace: Recorded) -> Iterator[_Json]:
    pids = _pids(trace)
    for index, process in enumerate(trace.processes):
        yield _metadata("process_name", pids[index], 0, name=f"{process.name} {process.pid}")
        yield _metadata("process_sort_index", pids[index], 0, sort_index=index)
    number = 0
    places: dict[tuple[int, int], int] = {}
    for tid, lane in enumerate(lanes_of(trace), start=1):
        pid = pids[lane.process]
        yield _metadata("thread_name", pid, tid, name=lane.name)
        yield _metadata("thread_sort_index", pid, tid, sort_index=tid)
        for event in _of_lane(lane, pid, tid, number):
            yield event
        number += len(lane.spans)
        for mark in lane.marks:
            places[mark.process, mark.lane] = tid
    for index, flow in enumerate(flows_of(trace.events), start=1):
        for phase, end in (("s", flow.sent), ("f", flow.received)):
            event = _event("message", "message", phase, pids[end.process], places[end.process, end.lane], end.time)
            yield event | {"id": index} | ({"bp": "e"} if phase == "f" else {})


def _of_lane(lane: Lane, pid: int, tid: int, number: int) -> Iterator[_Json]:
    """The events of a lane. Tasks and waits may overlap, so they are asynchronous events; work of one thread is not."""
    for index, span in enumerate(lane.spans, start=number + 1):
        details = {"bytes": span.nbytes, "failed": span.failed, "complete": not span.is_open}
        if lane.group == "devices":
            event = _event(span.name, "work", "X", pid, tid, span.begin)
            yield event | {"dur": (span.end - span.begin) / 1000, "args": details}
            continue
        begin = _event(span.name, lane.name, "b", pid, tid, span.begin)
        yield begin | {"id": index, "args": details}
        yield _event(span.name, lane.name, "e", pid, tid, span.end) | {"id": index}
    for place, mark in enumerate(lane.marks):
        yield _of_mark(mark, lane.marks[place + 1 : place + 2], pid, tid)


def _of_mark(mark: TraceEvent, following: list[TraceEvent], pid: int, tid: int) -> _Json:
    if mark.kind in ("sent", "received"):
        # An arrow begins and ends in a slice, which must not reach into the next one.
        room = following[0].time - mark.time if following else 1000
        event = _event(mark.kind, "message", "X", pid, tid, mark.time)
        return event | {"dur": min(1000, room) / 1000, "args": {"number": mark.value, "bytes": mark.nbytes}}
    name = mark.name or mark.kind
    event = _event(name, mark.kind, "i", pid, tid, mark.time)
    return event | {"s": "t", "args": {"value": mark.value, "status": mark.status.name}}


def _event(name: str, category: str, phase: str, pid: int, tid: int, time: int) -> _Json:
    return {"name": name, "cat": category, "ph": phase, "pid": pid, "tid": tid, "ts": time / 1000}


def _metadata(kind: str, pid: int, tid: int, **arguments: Any) -> _Json:
    return {"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": arguments}
