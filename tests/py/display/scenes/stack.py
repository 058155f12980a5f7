"""Parts that several scenes make: a scene makes an object; the stack frees the parts after the display."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable
from typing import Any

import pydoca
from pydoca import comch

SCENES: dict[str, Callable[[Stack], object]] = {}


class Stack(contextlib.ExitStack):
    """Makes the parts that several scenes need."""

    def dpu(self) -> pydoca.Device:
        return self.enter_context(pydoca.open_device("p0", side="dpu"))

    def host(self) -> pydoca.Device:
        return self.enter_context(pydoca.open_device("pf0", side="host"))

    def representor(self) -> pydoca.Representor:
        return self.enter_context(self.dpu().open_representor("0b:00.0"))

    def mmap(self, size: int = 65536, device: pydoca.Device | None = None, **options: Any) -> pydoca.Mmap:
        return self.enter_context((device or self.dpu()).mmap(pydoca.alloc(size), **options))

    def inventory(self, count: int = 64) -> pydoca.BufInventory:
        return self.enter_context(pydoca.BufInventory(count))

    def engine(self) -> pydoca.ProgressEngine:
        return self.enter_context(pydoca.ProgressEngine())

    def dma(self, engine: pydoca.ProgressEngine | None = None, **options: Any) -> pydoca.Dma:
        return self.enter_context(pydoca.Dma(engine or self.engine(), self.dpu(), **options))

    def copy(self, dma: pydoca.Dma, size: int = 4096, room: int | None = None) -> pydoca.DmaMemcpyTask:
        mmap, inventory = self.mmap(), self.inventory(2)
        src = inventory.get_by_data(mmap, mmap.addr, size)
        dst = inventory.get_by_addr(mmap, mmap.addr + 32768, size if room is None else room)
        return dma.memcpy(src, dst, submit=False)

    def held(self, dma: pydoca.Dma, count: int = 1) -> list[pydoca.DmaMemcpyTask]:
        """Submits tasks that stay in flight until the stack's end."""
        tasks = [self.copy(dma) for _ in range(count)]
        for task in tasks:
            task.submit(pydoca.SubmitFlags.NONE)
        self.callback(self._end, dma, tasks)
        return tasks

    @staticmethod
    def _end(dma: pydoca.Dma, tasks: list[pydoca.DmaMemcpyTask]) -> None:
        dma.flush_tasks()
        for task in tasks:
            with contextlib.suppress(pydoca.ShutdownError):
                task.wait(10)

    def failed(self, dma: pydoca.Dma) -> pydoca.DmaMemcpyTask:
        task = self.copy(dma, room=100)
        task.submit()
        with contextlib.suppress(pydoca.DocaError):
            task.wait(10)
        return task

    def linked(self) -> tuple[comch.Server, comch.Connection, comch.Connection]:
        engine, name = self.engine(), f"scene-{secrets.token_hex(4)}"
        server = self.enter_context(comch.Server(engine, self.dpu(), self.representor(), name))
        link = self.enter_context(comch.Client(engine, self.host(), name))
        return server, server.accept().wait(10), link

    def rdma(self, **options: Any) -> pydoca.Rdma:
        return self.enter_context(pydoca.Rdma(self.engine(), self.dpu(), **options))

    def connected(self) -> tuple[pydoca.RdmaConnection, pydoca.RdmaConnection]:
        engine, device = self.engine(), self.dpu()
        sides = [self.enter_context(pydoca.Rdma(engine, device, permissions="rdma_read")) for _ in range(2)]
        here, there = sides[0].export(), sides[1].export()
        here.connect(there.details)
        there.connect(here.details)
        return here, there

    def event(self, **options: Any) -> pydoca.SyncEvent:
        return self.enter_context(pydoca.SyncEvent(self.host(), **options))


def scene(function: Callable[[Stack], object]) -> Callable[[Stack], object]:
    SCENES[function.__name__] = function
    return function
