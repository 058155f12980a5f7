"""The memory of a few copies."""

from __future__ import annotations

import numpy as np

import pydoca
from pydoca.qualify.bench.patterns import prbs31, view
from pydoca.qualify.bench.waiting import Stand

SIZE = 64


class Places:
    """A source and two destinations, and a destination that is too short."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        memory = pydoca.alloc(4 * SIZE)
        inventory = stand.bufs(4)
        self.array: np.ndarray[tuple[int, int], np.dtype[np.uint8]] = view(memory).reshape(4, SIZE)
        mmap = stand.enter_context(device.mmap(memory))
        places = range(mmap.addr, mmap.addr + 4 * SIZE, SIZE)
        self.src: pydoca.Buf = stand.keep(inventory.get_by_data(mmap, places[0], SIZE))
        self.rooms: list[pydoca.Buf] = [stand.keep(inventory.get_by_addr(mmap, place, SIZE)) for place in places[1:3]]
        self.short: pydoca.Buf = stand.keep(inventory.get_by_addr(mmap, places[3], SIZE // 2))

    def prepare(self, seed: int) -> None:
        """Writes new data to the source, and empties the destinations."""
        self.array[0], self.array[1:] = prbs31(SIZE, seed), 0
        for buf in self.rooms:
            buf.reset_data_len()
