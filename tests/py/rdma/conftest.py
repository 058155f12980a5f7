"""Two contexts of RDMA on the devices under test, in one process."""

import contextlib
import gc
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import pydoca

ANY_ACCESS = "local_read_write|rdma_read|rdma_write|rdma_atomic"


def open_device(name: str, side: str) -> pydoca.Device:
    """The device of that name; "sim" is a function of that side."""
    if name == "sim":
        return pydoca.open_device({"host": "pf0", "dpu": "p1"}[side], side=side)
    return pydoca.open_device(name)


class End:
    """A device with an inventory, and contexts and memory to make on it."""

    def __init__(self, device: pydoca.Device) -> None:
        self.device = device
        self.address = device.info.ipv4_addr
        self.inventory = pydoca.BufInventory(256)

    def rdma(self, pe: pydoca.ProgressEngine, **options: Any) -> pydoca.Rdma:
        options = {"permissions": "rdma_read|rdma_write|rdma_atomic", "max_num_connections": 4, **options}
        return pydoca.Rdma(pe, self.device, **options)

    def mmap(self, memory: Any, access: str = ANY_ACCESS) -> pydoca.Mmap:
        return self.device.mmap(memory, access=access)

    def data(self, memory: Any) -> pydoca.Buf:
        """All of memory, as data; of memory that was mapped, and of bytes."""
        if not isinstance(memory, pydoca.Mmap):
            memory = self.mmap(bytearray(memory))
        return self.inventory.get_by_data(memory)

    def room(self, memory: Any) -> pydoca.Buf:
        """All of memory, or of so many bytes, to be filled."""
        if not isinstance(memory, pydoca.Mmap):
            memory = self.mmap(bytearray(memory))
        return self.inventory.get_by_addr(memory)

    def close(self) -> None:
        with contextlib.suppress(pydoca.DocaError):
            self.device.close()


class Pair:
    def __init__(self, names: tuple[str, str]) -> None:
        self.a = End(open_device(names[0], "host"))
        self.b = End(open_device(names[1], "dpu"))
        self._lent: list[pydoca.Mmap] = []

    def close(self) -> None:
        self._lent.clear()
        self.a.close()
        self.b.close()

    @contextlib.asynccontextmanager
    async def linked(self, **options: Any) -> AsyncIterator[Any]:
        """Both contexts, and the two ends of a connection between them; one engine for all."""
        async with pydoca.ProgressEngine() as pe, self.a.rdma(pe, **options) as a, self.b.rdma(pe, **options) as b:
            ab, ba = a.export(), b.export()
            ab.connect(ba.details)
            ba.connect(ab.details)
            await ab.established()
            await ba.established()
            yield a, b, ab, ba

    def remote(self, memory: pydoca.Mmap) -> pydoca.Mmap:
        """b's memory as a sees it. It stays until the end."""
        self._lent.append(memory)
        return self.a.device.import_mmap(memory.export_rdma())


@pytest.fixture
def pair(rdma_names: tuple[str, str]) -> Iterator[Pair]:
    pair = Pair(rdma_names)
    yield pair
    gc.collect()  # of what a test has dropped
    pair.close()
