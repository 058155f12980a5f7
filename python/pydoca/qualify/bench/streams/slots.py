"""Pieces of memory for tasks in flight, each with the data of one task."""

from __future__ import annotations

import numpy as np

import pydoca
from pydoca.qualify.bench import dma
from pydoca.qualify.bench.waiting import DeviceFault, Stand

SLOT = 64  # bytes of each task's source and destination


class Slots:
    """Pieces of a source and of a destination, one for each task in flight."""

    pe: pydoca.ProgressEngine

    def __init__(self, stand: Stand, device: pydoca.Device, window: int) -> None:
        ends = dma.local(stand, device, SLOT * window)
        self._src, self._dst, self.pe = dma.pieces(stand, ends, SLOT, window)
        self._sources = ends.source.reshape(window, SLOT)
        self._targets = ends.target.reshape(window, SLOT)
        self._free = list(range(window))
        self._taken: dict[int, int] = {}  # the key is the task's number
        self._results: dict[int, bytes] = {}  # the result of each slot's last task

    def take(self, number: int) -> tuple[pydoca.Buf, pydoca.Buf]:
        """Takes a source with data of this number, and an empty destination."""
        slot = self._taken[number] = self._free.pop(0)
        if self._targets[slot].tobytes() != self._results.get(slot, self._targets[slot].tobytes()):
            raise DeviceFault(f"the result of a task has changed since its completion, before task {number}")
        self._sources[slot] = number % 251
        self._sources[slot].view(np.uint64)[0] = number
        self._targets[slot] = 0
        self._dst[slot].reset_data_len()
        return self._src[slot], self._dst[slot]

    def give_back(self, number: int) -> tuple[bytes, bytes]:
        """Frees the slot, and returns the bytes at both ends."""
        slot = self._taken.pop(number)
        self._free.append(slot)
        self._results[slot] = self._targets[slot].tobytes()
        return self._sources[slot].tobytes(), self._results[slot]
