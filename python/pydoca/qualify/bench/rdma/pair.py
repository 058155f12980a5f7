"""Two RDMA contexts of this process that are connected, with memory of both."""

from __future__ import annotations

import contextlib
from typing import Any

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.waiting import Stand, duty, finish
from pydoca.qualify.bench.zones import Zoned

ACCESS = "local_read_write|rdma_read|rdma_write|rdma_atomic"


class Pair:
    """Two connected contexts of one engine; `there` is `theirs`, memory of the second one, as the first one sees it."""

    here: Zoned
    theirs: Zoned
    there: pydoca.Mmap
    inventory: pydoca.BufInventory
    bufs: Stand
    pe: pydoca.ProgressEngine
    a: pydoca.Rdma
    b: pydoca.Rdma
    ab: pydoca.RdmaConnection
    ba: pydoca.RdmaConnection

    def __init__(
        self,
        stand: Stand,
        a: pydoca.Device,
        b: pydoca.Device,
        capacity: int,
        *,
        access: str = ACCESS,
        origin: str = "pydoca.alloc",
        **options: Any,
    ) -> None:
        """Connects two contexts with these options. access applies to b's memory, origin to the memory of both."""
        self.here = Zoned(stand, a, capacity, ACCESS, origin)
        self.theirs = Zoned(stand, b, capacity, access, origin)
        self.inventory, self.pe = stand.bufs(64), stand.engine()
        self.bufs = stand.enter_context(Stand())
        settings: dict[str, Any] = {"permissions": "rdma_read|rdma_write|rdma_atomic", **options}
        with duty("connect two RDMA contexts"):
            self.a = stand.enter_context(pydoca.Rdma(self.pe, a, **settings))
            self.b = stand.enter_context(pydoca.Rdma(self.pe, b, **settings))
            self.ab, self.ba = self.a.export(), self.b.export()
            self.ab.connect(self.ba.details)
            self.ba.connect(self.ab.details)
            for end in (self.ab, self.ba):
                end.established().wait(timeout=waiting.PATIENCE)
            self.there = stand.enter_context(a.import_mmap(self.theirs.mmap.export_rdma()))

    def data(self, mmap: pydoca.Mmap, address: int, size: int) -> pydoca.Buf:
        """A buf of bytes to send; the pair releases it."""
        return self.bufs.keep(self.inventory.get_by_data(mmap, address, size))

    def room(self, mmap: pydoca.Mmap, address: int, size: int) -> pydoca.Buf:
        """A buf without data, to receive or read into; the pair releases it."""
        return self.bufs.keep(self.inventory.get_by_addr(mmap, address, size))


def done(task: pydoca.RdmaTask, what: str) -> Any:
    """Waits for the task, frees it, and gives its result."""
    result = finish(task, what)
    task.free()
    return result


def see(task: pydoca.Task) -> None:
    """Reads the outcome of a task that fails with another one: the log would report a failure that no code reads."""
    with contextlib.suppress(pydoca.DocaError):
        task.result()
