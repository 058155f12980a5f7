"""Traces: what tasks, contexts, messages, sync events and coroutines did, in every process of the fabric."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import SupportsIndex

from pydoca._core import ContextState, Recording
from pydoca._errors import BadStateError, InvalidValueError, Status
from pydoca._timeline.events import TraceEvent, TraceProcess

_KINDS = (
    "",
    "submit",
    "complete",
    "state",
    "work",
    "sent",
    "received",
    "event_set",
    "event_add",
    "event_wait",
    "await",
)
_DEVICE, _CONTEXT = 2, 3  # kinds of names


def _require_count(events_per_thread: object) -> int:
    most = 65536
    if not isinstance(events_per_thread, SupportsIndex):
        raise TypeError(f"trace: events_per_thread is an int, 1 to {most}, not {events_per_thread!r}")
    count = events_per_thread.__index__()
    if not 1 <= count <= most:
        raise InvalidValueError(f"trace: events_per_thread is {count}; choose 1 to {most}")
    return count


class Trace:
    """A recording of what the engine does, from the begin of a with block to its end.

    The processes of the fabric that use a simulated device take part by themselves, also those that come later; on
    rdma-core it is this process alone. Its picture is what a notebook shows; save() writes it for
    https://ui.perfetto.dev. Several may run at a time: they share the recording, and each has the events of its time.
    In virtual time (`pydoca.sim.virtual_time`) it has the times of that clock and this process alone, as number 1, so
    that equal runs save equal files. Start and stop it within; BadStateError otherwise.
    """

    def __init__(self, *, events_per_thread: int = 65536, fabric: bool = True) -> None:
        self._options = (_require_count(events_per_thread), bool(fabric))
        self._recording: Recording | None = None
        self._stopped = False

    def start(self) -> Trace:
        """Begins to record. Raises BadStateError when it was started before."""
        if self._recording is not None:
            raise BadStateError("start a trace: it was started before; make another")
        self._recording = Recording(*self._options)
        return self

    def stop(self) -> None:
        """Ends the recording, and collects the events of all processes. Does nothing the second time."""
        if self._recording is None:
            raise BadStateError("stop a trace: start it first")
        if not self._stopped:
            self._recording.stop()
            self._stopped = True

    def __enter__(self) -> Trace:
        """Starts it."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Stops it."""
        self.stop()

    async def __aenter__(self) -> Trace:
        """Starts it."""
        return self.start()

    async def __aexit__(self, *_: object) -> None:
        """Stops it."""
        self.stop()

    def _result(self, what: str) -> Recording:
        if self._recording is None or not self._stopped:
            raise BadStateError(f"{what} of a trace: it runs, or was never started; stop() it first")
        return self._recording

    @property
    def duration(self) -> int:
        """Nanoseconds from start() to stop()."""
        recording = self._result("duration")
        return recording.end - recording.begin

    @property
    def lost(self) -> int:
        """How many events are missing, of all processes: the oldest of threads that recorded too many."""
        return self._result("lost events").lost

    @cached_property
    def processes(self) -> Sequence[TraceProcess]:
        """The processes that took part, this one first."""
        raw = self._result("processes").processes()
        return tuple(TraceProcess(pid, name, lost) for pid, name, _, _, lost in raw)

    @cached_property
    def events(self) -> Sequence[TraceEvent]:
        """The events in the order of their begin, at most 4 million."""
        return tuple(_events(self._result("events")))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the events as a Chrome trace (JSON), which https://ui.perfetto.dev and chrome://tracing show."""
        from pydoca._timeline import chrome

        self._result("save")
        name = import_module("pydoca._display.file_name").to_path("save a trace", path, "trace.json")
        chrome.save(self, name)

    def _own_forms(self) -> dict[str, str]:
        """The picture by MIME type, and text, for `pydoca.display`. Raises InvalidValueError before there is one."""
        picture = self._picture()
        if picture is None:
            raise InvalidValueError(f"display: {self!r} has no picture yet; display it after the end of its with block")
        return {"text/plain": repr(self), "image/svg+xml": picture}

    def _repr_svg_(self) -> str | None:
        return self._picture()

    def _repr_html_(self) -> str | None:
        picture = self._picture()
        return None if picture is None else f'<div style="overflow-x:auto">{picture}</div>'

    def _picture(self) -> str | None:
        if not self._stopped:
            return None
        from pydoca._timeline import picture

        return picture.to_svg(self)

    def __repr__(self) -> str:
        if not self._stopped:
            return f"<pydoca.Trace {'running' if self._recording is not None else 'not started'}>"
        lost = f", {self.lost} lost" if self.lost else ""
        count, members = len(self.events), len(self.processes)
        return f"<pydoca.Trace {count} events of {members} process(es) in {self.duration / 1e6:.3f} ms{lost}>"


def trace(*, events_per_thread: int = 65536, fabric: bool = True) -> Trace:
    """A trace for a with block: with pydoca.trace() as t. Then t.events, t.save("trace.json"), or t in a notebook.

    events_per_thread: how many each thread keeps, 1 to 65536; more overwrite the oldest (t.lost).
    fabric: also the other processes of this one's simulated fabric (PYDOCA_FABRIC). Raises InvalidValueError,
    OperatingSystemError.
    """
    return Trace(events_per_thread=events_per_thread, fabric=fabric)


class _Names:
    """The names that the events of one process refer to."""

    def __init__(self, names: list[tuple[int, int, str]], threads: list[tuple[int, str]]) -> None:
        self._names = names
        self.threads = [f"{name} {number}" for number, name in threads]

    def text(self, index: int) -> str:
        return self._names[index][2]

    def context(self, index: int) -> str:
        return self.text(index) if self._names[index][0] == _CONTEXT else ""

    def device(self, index: int) -> str:
        kind, parent, text = self._names[index]
        return text if kind == _DEVICE else self._names[parent][2] if parent else ""


def _events(recording: Recording) -> list[TraceEvent]:
    begin = recording.begin
    names = [_Names(names, threads) for _, _, names, threads, _ in recording.processes()]
    numbers: dict[tuple[int, int], int] = {}
    statuses = {status.value: status for status in Status}
    found = []
    for (
        kind,
        time,
        duration,
        key,
        value,
        nbytes,
        process,
        thread,
        subject,
        task,
        _previous,
        status,
    ) in recording.events():
        known = names[process]
        text = _KINDS[kind]
        if text in ("sent", "received"):
            number = numbers.setdefault((-1, key), len(numbers))  # both ends have the connection's
        else:
            number = numbers.setdefault((process, key), len(numbers))
        found.append(
            TraceEvent(
                text,
                time - begin,
                duration,
                process,
                known.threads[thread],
                _name(text, known, subject, task, value),
                known.context(subject),
                known.device(subject),
                subject,
                number,
                value if text not in ("submit", "complete", "state") else 0,
                value if text == "submit" else nbytes,
                statuses[status],
            )
        )
    return found


def _name(kind: str, names: _Names, subject: int, task: int, value: int) -> str:
    if kind in ("submit", "complete"):
        return names.text(task)
    if kind == "state":
        return ContextState(value).name
    if kind == "await":
        return names.text(subject)
    return ""
