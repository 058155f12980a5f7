"""Streams to a peer of the network: RDMA's operations."""

from __future__ import annotations

from typing import Any

import numpy as np

import pydoca
from pydoca.qualify.bench.rdma.pair import Pair
from pydoca.qualify.bench.streams.completions import Completions
from pydoca.qualify.bench.waiting import DeviceFault, Stand

_SLOT = 64
_WINDOW = 16
_KINDS = ("write", "read", "add", "message")


class Transfers:
    """Writes, reads, additions and messages, in turn; receives have the user data -1 - number."""

    context: pydoca.Context
    window: int

    def __init__(self, stand: Stand, device: pydoca.Device, ends: Completions) -> None:
        self.window = _WINDOW
        self._pair = Pair(stand, device, device, _SLOT * (_WINDOW + 1), num_tasks=2 * _WINDOW, **ends.callbacks)
        self.context = self._pair.a
        self._ends = ends
        self._bufs: dict[int, Stand] = {}
        self._counter = self._pair.theirs.data(_SLOT * _WINDOW, 8).view(np.uint64)
        self._counter[0] = 0
        self._added = 0

    def begin(self, number: int, submit: bool) -> pydoca.Task:
        """A transfer begins when its place is free, as transfers end in order."""
        bufs, place = Stand(), number % _WINDOW * _SLOT
        self._bufs[number] = bufs
        if number >= _WINDOW and _KINDS[number % len(_KINDS)] != "add":
            self._compare(number - _WINDOW, "and its data has changed since then")
        self._pair.here.data(place, _SLOT)[:] = number % 251
        self._pair.theirs.data(place, _SLOT)[:] = (number + 1) % 251
        kind = _KINDS[number % len(_KINDS)]
        options: dict[str, Any] = {"user_data": number, "submit": submit}
        if kind == "write":
            return self._pair.ab.write(self._here(bufs, place), self._room_there(bufs, place), **options)
        if kind == "read":
            return self._pair.ab.read(self._there(bufs, place), self._room_here(bufs, place), **options)
        if kind == "add":
            word = self._there(bufs, _SLOT * _WINDOW, 8)
            return self._pair.ab.atomic_fetch_add(word, self._room_here(bufs, place, 8), 1, **options)
        theirs = self._pair.theirs
        room = bufs.keep(self._pair.inventory.get_by_addr(theirs.mmap, theirs.address(place), _SLOT))
        self._ends.add(-1 - number, self._pair.b.receive(room, user_data=-1 - number))
        return self._pair.ab.send_imm(self._here(bufs, place), number, **options)

    def check(self, number: int, task: pydoca.Task) -> None:
        """Checks the transfer's data at both ends; a message must be received first."""
        if number < 0:
            assert isinstance(task, pydoca.RdmaTask)
            if (task.result_immediate_data, task.result_len) != (-1 - number, _SLOT):
                told = f"{task.result_immediate_data}, {task.result_len} bytes"
                raise DeviceFault(f"message {-1 - number} is received with the number {told}")
            self._require_equal(-1 - number)
        elif _KINDS[number % len(_KINDS)] == "add":
            self._check_addition(number, task)
        elif _KINDS[number % len(_KINDS)] != "message":
            self._require_equal(number)

    def _check_addition(self, number: int, task: pydoca.Task) -> None:
        self._bufs.pop(number).close()
        if task.result() != self._added:
            raise DeviceFault(f"addition {number} is told {task.result()}; the value before was {self._added}")
        self._added += 1
        if self._counter[0] < self._added:
            raise DeviceFault(f"addition {number} has completed, and the value is {self._counter[0]}")

    def _require_equal(self, number: int) -> None:
        self._bufs.pop(number).close()
        self._compare(number, "and its data is not there")

    def _compare(self, number: int, what: str) -> None:
        place = number % _WINDOW * _SLOT
        if (self._pair.here.data(place, _SLOT) != self._pair.theirs.data(place, _SLOT)).any():
            raise DeviceFault(f"{_KINDS[number % len(_KINDS)]} {number} has completed, {what}")

    def _here(self, bufs: Stand, place: int) -> pydoca.Buf:
        here = self._pair.here
        return bufs.keep(self._pair.inventory.get_by_data(here.mmap, here.address(place), _SLOT))

    def _there(self, bufs: Stand, place: int, size: int = _SLOT) -> pydoca.Buf:
        address = self._pair.theirs.address(place)
        return bufs.keep(self._pair.inventory.get_by_data(self._pair.there, address, size))

    def _room_here(self, bufs: Stand, place: int, size: int = _SLOT) -> pydoca.Buf:
        here = self._pair.here
        return bufs.keep(self._pair.inventory.get_by_addr(here.mmap, here.address(place), size))

    def _room_there(self, bufs: Stand, place: int) -> pydoca.Buf:
        address = self._pair.theirs.address(place)
        return bufs.keep(self._pair.inventory.get_by_addr(self._pair.there, address, _SLOT))
