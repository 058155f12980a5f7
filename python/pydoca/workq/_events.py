"""The events of jobs that have ended, and what a queue needs to know of a library's jobs."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from pydoca._core import Context
from pydoca._errors import IoFailedError, Status

Key: TypeAlias = "tuple[Context, JobType, Any]"  # what a task in flight keeps of its job, user data included


class JobType(Enum):
    """The work of a job; of an event: the kind of the job that has ended."""

    DMA_MEMCPY = "dma_memcpy"
    SHA1 = "sha1"
    SHA256 = "sha256"
    SHA512 = "sha512"
    SYNC_EVENT_GET = "sync_event_get"
    SYNC_EVENT_UPDATE_SET = "sync_event_update_set"
    SYNC_EVENT_UPDATE_ADD = "sync_event_update_add"
    SYNC_EVENT_WAIT = "sync_event_wait"
    GRAPH = "graph"


class Event(NamedTuple):
    """A job that has ended (struct doca_event)."""

    type: JobType
    user_data: Any
    """The job's type."""
    result: Status
    """SUCCESS, or why the job failed."""
    value: int | None = None
    """The value that a job of a sync event has read, before an addition; None for other jobs."""


class JobFailedError(IoFailedError):
    """A job has failed, and its event is valid: event.result says why."""

    def __init__(self, event: Event) -> None:
        super().__init__(f"the job {event.type.name} of user data {event.user_data!r} has failed: {event.result.name}")
        self.event = event


Ended: TypeAlias = "Callable[[Any, Key, object], None]"  # the callback of a task


class Callbacks(NamedTuple):
    """The callbacks of a queue for tasks that jobs become."""

    completed: Ended
    completed_with_value: Ended
    """The callback that also gives the event the value that the task has read."""
    failed: Ended


Configure: TypeAlias = "Callable[[Any, int, Callbacks], None]"


class Library(NamedTuple):
    """A library whose contexts may be added to a queue."""

    context: type[Context]
    configure: Configure
    """Gives a context so many tasks of each kind, as far as its device has them, and the callbacks."""
