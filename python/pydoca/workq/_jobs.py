"""Jobs, and the events of those that have ended: plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from pydoca._core import Buf, Context, Dma, Sha, ShaPartialHashTask, SyncEventContext, Task
from pydoca._errors import InvalidValueError, IoFailedError, Status

_Algorithm: TypeAlias = Literal["sha1", "sha256", "sha512"]
Key: TypeAlias = "tuple[Context, JobType, Any]"  # what a task in flight has of its job: also its user data


class JobType(Enum):
    """What a job does; of an event, which job has ended."""

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
    """The job's."""
    result: Status
    """SUCCESS, or why the job failed."""
    value: int | None = None
    """What a job of a sync event has read: the value, before an addition; None for other jobs."""


_SHA_TYPES = {"sha1": JobType.SHA1, "sha256": JobType.SHA256, "sha512": JobType.SHA512}


class JobFailedError(IoFailedError):
    """A job has failed, and its event is valid: event.result says why."""

    def __init__(self, event: Event) -> None:
        super().__init__(f"the job {event.type.name} of user data {event.user_data!r} has failed: {event.result.name}")
        self.event = event


@dataclass
class DmaMemcpyJob:
    """Copies src_buff's data to dst_buff (struct doca_dma_job_memcpy). ctx: a Dma that was added to the queue;
    user_data: any object, which the event will have."""

    ctx: Dma
    dst_buff: Buf
    src_buff: Buf
    user_data: Any = None

    def _filled(self) -> Buf | None:
        return self.dst_buff

    def _make_task(self, submit: bool = True) -> Task:
        key = self.ctx, JobType.DMA_MEMCPY, self.user_data
        return self.ctx.memcpy(self.src_buff, self.dst_buff, user_data=key, submit=submit)


@dataclass
class ShaJob:
    """Hashes req_buf's data by algorithm and appends the digest to resp_buf (struct doca_sha_job). ctx: a Sha that was
    added to the queue; user_data: any object, which the event will have."""

    ctx: Sha
    resp_buf: Buf
    req_buf: Buf
    algorithm: _Algorithm = "sha256"
    user_data: Any = None

    def _filled(self) -> Buf | None:
        return self.resp_buf

    def _make_task(self, submit: bool = True) -> Task:
        key = self.ctx, _SHA_TYPES.get(self.algorithm), self.user_data  # hash() refuses another one
        return self.ctx.hash(self.req_buf, self.resp_buf, self.algorithm, user_data=key, submit=submit)


@dataclass
class ShaPartialJob:
    """Hashes a piece of a message (struct doca_sha_partial_job). ctx: a Sha that was added to the queue; session: a
    task of ctx.partial_hash(None, None, submit=False), for one message at a time: reset() begins another, free() ends
    the session. resp_buf and algorithm stay the same for all pieces; the last one, which is_final marks and which is
    not the first, appends the digest. user_data: any object, which the event will have."""

    ctx: Sha
    resp_buf: Buf
    req_buf: Buf
    session: ShaPartialHashTask
    algorithm: _Algorithm = "sha256"
    is_final: bool = False
    user_data: Any = None

    def _filled(self) -> Buf | None:
        return self.resp_buf

    def _make_task(self, submit: bool = True) -> Task:
        session = self.session
        if session.context is not self.ctx:
            raise InvalidValueError(f"a piece of a message: its session is of {session.context!r}, not of {self.ctx!r}")
        session.src = self.req_buf
        if session.dst is not self.resp_buf:  # a message that has begun keeps it, and refuses its setter
            session.dst = self.resp_buf
        if session.algorithm != self.algorithm:
            session.algorithm = self.algorithm
        if self.is_final:
            session.set_is_final_buf()
        session.user_data = self.ctx, _SHA_TYPES[self.algorithm], self.user_data
        if submit:
            session.submit()
        return session


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


Job: TypeAlias = (
    DmaMemcpyJob
    | ShaJob
    | ShaPartialJob
    | SyncEventGetJob
    | SyncEventUpdateSetJob
    | SyncEventUpdateAddJob
    | SyncEventWaitJob
)
"""A job is a value: submit() reads it, and it can be changed and submitted again at once."""
JOBS: tuple[type, ...] = get_args(Job)
