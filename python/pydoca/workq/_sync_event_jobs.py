"""The jobs of sync events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydoca._core import Buf, SyncEventContext, Task
from pydoca.workq._events import Callbacks, JobType, Library

_OPERATIONS: tuple[Literal["get", "notify_set", "notify_add", "wait_gt"], ...] = (
    "get",
    "notify_set",
    "notify_add",
    "wait_gt",
)


@dataclass
class _SyncEventJob:
    ctx: SyncEventContext

    def _filled(self) -> Buf | None:
        return None


@dataclass
class SyncEventGetJob(_SyncEventJob):
    """Reads the sync event's value: Event.value (doca_sync_event_job_get). ctx: SyncEvent.as_context(None), which was
    added to the queue; user_data: any object, which the event will have."""

    user_data: Any = None

    def _make_task(self, submit: bool = True) -> Task:
        key = self.ctx, JobType.SYNC_EVENT_GET, self.user_data
        return self.ctx.get(user_data=key, submit=submit)


@dataclass
class SyncEventUpdateSetJob(_SyncEventJob):
    """Stores value, 0..2**64-1 (doca_sync_event_job_update_set). ctx, user_data: as SyncEventGetJob has them."""

    value: int
    user_data: Any = None

    def _make_task(self, submit: bool = True) -> Task:
        key = self.ctx, JobType.SYNC_EVENT_UPDATE_SET, self.user_data
        return self.ctx.notify_set(self.value, user_data=key, submit=submit)


@dataclass
class SyncEventUpdateAddJob(_SyncEventJob):
    """Adds value atomically; Event.value is the value before (doca_sync_event_job_update_add). ctx, user_data: as
    SyncEventGetJob has them."""

    value: int
    user_data: Any = None

    def _make_task(self, submit: bool = True) -> Task:
        key = self.ctx, JobType.SYNC_EVENT_UPDATE_ADD, self.user_data
        return self.ctx.notify_add(self.value, user_data=key, submit=submit)


@dataclass
class SyncEventWaitJob(_SyncEventJob):
    """Ends when the sync event's value, masked, is greater than value, which is 0..254 as the sync event's must be
    (doca_sync_event_job_wait). ctx, user_data: as SyncEventGetJob has them; a device without wait tasks refuses it."""

    value: int
    mask: int = 2**64 - 1
    user_data: Any = None

    def _make_task(self, submit: bool = True) -> Task:
        key = self.ctx, JobType.SYNC_EVENT_WAIT, self.user_data
        return self.ctx.wait_gt(self.value, self.mask, user_data=key, submit=submit)


def _configure(events: SyncEventContext, depth: int, callbacks: Callbacks) -> None:
    info = events.device.info
    count = min(depth, SyncEventContext.max_num_tasks(info))
    for operation in _OPERATIONS:
        if SyncEventContext.is_supported(info, operation):
            events.set_conf(operation, callbacks.completed_with_value, callbacks.failed, count)


SYNC_EVENTS = Library(SyncEventContext, _configure)
