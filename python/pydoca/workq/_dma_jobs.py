"""The jobs of DMA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydoca._core import Buf, Dma, Task
from pydoca.workq._events import Callbacks, JobType, Library


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


def _configure(dma: Dma, depth: int, callbacks: Callbacks) -> None:
    count = min(depth, Dma.max_num_tasks(dma.device.info))
    dma.set_memcpy_conf(callbacks.completed, callbacks.failed, count)


DMA = Library(Dma, _configure)
