"""The libraries that have jobs, and all jobs: plain values."""

from __future__ import annotations

from typing import TypeAlias, get_args

from pydoca._core import Dma, Sha, SyncEventContext
from pydoca.workq._dma_jobs import DMA, DmaMemcpyJob
from pydoca.workq._events import Library
from pydoca.workq._sha_jobs import SHA, ShaJob, ShaPartialJob
from pydoca.workq._sync_event_jobs import (
    SYNC_EVENTS,
    SyncEventGetJob,
    SyncEventUpdateAddJob,
    SyncEventUpdateSetJob,
    SyncEventWaitJob,
)

JobContext: TypeAlias = Dma | Sha | SyncEventContext
LIBRARIES: tuple[Library, ...] = (DMA, SHA, SYNC_EVENTS)

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
