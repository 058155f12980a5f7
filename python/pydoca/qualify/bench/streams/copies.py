"""Streams of copies: one size within a function, or any size, also across the PCIe link."""

from __future__ import annotations

import random

import numpy as np

import pydoca
from pydoca.qualify.bench import dma
from pydoca.qualify.bench.sides import both_sides
from pydoca.qualify.bench.streams.completions import Completions
from pydoca.qualify.bench.streams.slots import Slots
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty

_WINDOW = 32
_ROOM = 4096  # bytes at each end of a copy of any size


class SmallCopies:
    """Copies of 64 bytes."""

    context: pydoca.Context
    window: int

    def __init__(self, stand: Stand, device: pydoca.Device, ends: Completions) -> None:
        self.window = dma.depth_for(device, _WINDOW)
        self._slots = Slots(stand, device, self.window)
        self._dma = stand.enter_context(pydoca.Dma(self._slots.pe, device, num_tasks=self.window, **ends.callbacks))
        self.context = self._dma

    def begin(self, number: int, submit: bool) -> pydoca.Task:
        """Copies the number's data."""
        return self._dma.memcpy(*self._slots.take(number), user_data=number, submit=submit)

    def check(self, number: int, _: pydoca.Task) -> None:
        """Checks that the data is at the destination."""
        source, target = self._slots.give_back(number)
        if source != target:
            raise DeviceFault(f"copy {number} has completed, and its data is not there")


class AnyCopies:
    """Copies of 1 to 4,096 bytes, from and to any place."""

    context: pydoca.Context
    window: int

    def __init__(self, stand: Stand, device: pydoca.Device, ends: Completions, between: dma.Ends | None = None) -> None:
        self.window = dma.depth_for(device, _WINDOW // 2)
        lent = between or dma.local(stand, device, _ROOM * self.window)
        self._sources, self._targets = lent.source.reshape(-1, _ROOM), lent.target.reshape(-1, _ROOM)
        self._src, self._dst, pe = dma.pieces(stand, lent, _ROOM, self.window)
        self._dma = stand.enter_context(pydoca.Dma(pe, device, num_tasks=self.window, **ends.callbacks))
        self.context = self._dma
        self._rng = random.Random(5)
        self._free = list(range(self.window))
        self._taken: dict[int, tuple[int, int, int, int]] = {}  # slot, source, destination and size of each number

    def begin(self, number: int, submit: bool) -> pydoca.Task:
        """Copies a part of a slot's source to a part of its destination."""
        slot, size = self._free.pop(0), self._rng.randint(1, _ROOM)
        from_, to = (self._rng.randrange(_ROOM - size + 1) for _ in range(2))
        self._taken[number] = slot, from_, to, size
        self._sources[slot] = number % 251
        self._sources[slot].view(np.uint64)[::16] = number
        self._targets[slot] = (number + 1) % 251
        src, dst = self._src[slot], self._dst[slot]
        src.set_data(src.head + from_, size)
        dst.set_data(dst.head + to, 0)
        return self._dma.memcpy(src, dst, user_data=number, submit=submit)

    def check(self, number: int, _: pydoca.Task) -> None:
        """Checks that the data is at the destination, and that the bytes around it have not changed."""
        slot, from_, to, size = self._taken.pop(number)
        self._free.append(slot)
        expected = np.full(_ROOM, (number + 1) % 251, np.uint8)
        expected[to : to + size] = self._sources[slot, from_ : from_ + size]
        if self._targets[slot].tobytes() != expected.tobytes():
            raise DeviceFault(f"copy {number}, of {size} bytes, has completed, and its data or what is around is wrong")
        if self._dst[slot].data_len != size:
            raise DeviceFault(f"copy {number}, of {size} bytes, says that it copied {self._dst[slot].data_len}")


def across(stand: Stand, device: pydoca.Device, ends: Completions, *, read: bool) -> AnyCopies:
    """Copies by the DPU from the host's memory, or to it."""
    sides = stand.enter_context(both_sides(device))
    size = _ROOM * dma.depth_for(sides.dpu, _WINDOW // 2)
    with duty("memory of both sides"):
        return AnyCopies(stand, sides.dpu, ends, dma.remote(stand, sides.dpu, sides.host, size, read=read))
