"""The events of a trace, and what a picture needs of the trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from pydoca._errors import Status


class TraceProcess(NamedTuple):
    """A process of a trace."""

    pid: int
    """The process's identifier, as the process itself sees it."""
    name: str
    """The name of its program."""
    lost: int
    """Events that were overwritten by later ones, or found no room."""


class TraceEvent(NamedTuple):
    """One event of a trace. Times are in nanoseconds, and begin with the trace."""

    kind: str
    """submit, complete: a task. state: a context. work: a piece of work of a simulated device. sent, received: a
    message of comch or RDMA. event_set, event_add, event_wait: a sync event, by the CPU. await: a coroutine that
    waited."""
    time: int
    """When it began."""
    duration: int
    """How long it took; 0 for an instant."""
    process: int
    """Its index in Trace.processes."""
    thread: str
    """The thread that recorded it: its name and its number."""
    name: str
    """The kind of the task, the coroutine with its line, or the state that the context is in now."""
    context: str
    """The context, such as dma or comch.server; empty for events without one."""
    device: str
    """The device, with its side; empty for an await."""
    lane: int
    """The same for the same context, device, sync event or coroutine of one process."""
    id: int
    """The same for the same task, connection or sync event."""
    value: int
    """The value of a sync event, or the number of a message on its connection; RDMA's counts what was recorded."""
    nbytes: int
    """The bytes that the task, the work or the message moves."""
    status: Status
    """How the task ended, or why the context failed."""


class Recorded(Protocol):
    """A trace that has ended."""

    @property
    def duration(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def processes(self) -> Sequence[TraceProcess]: ...
    @property
    def events(self) -> Sequence[TraceEvent]: ...
