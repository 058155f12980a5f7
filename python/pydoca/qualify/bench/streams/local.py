"""Streams within a function: copies, digests, additions to a sync event."""

from __future__ import annotations

import hashlib

import numpy as np

import pydoca
from pydoca.qualify.bench import dma
from pydoca.qualify.bench.events import with_tasks
from pydoca.qualify.bench.streams.completions import Completions
from pydoca.qualify.bench.waiting import DeviceFault, Stand

_SLOT = 64  # bytes of each task's source, and of its destination
_WINDOW = 32


class _Slots:
    """Pieces of a source and of a destination, one for each task in flight."""

    def __init__(self, stand: Stand, device: pydoca.Device, window: int) -> None:
        ends = dma.local(stand, device, _SLOT * window)
        self._src, self._dst, self.pe = dma.pieces(stand, ends, _SLOT, window)
        self._sources = ends.source.reshape(window, _SLOT)
        self._targets = ends.target.reshape(window, _SLOT)
        self._free = list(range(window))
        self._taken: dict[int, int] = {}  # by number

    def take(self, number: int) -> tuple[pydoca.Buf, pydoca.Buf]:
        """A source with data of this number alone, and an empty destination."""
        slot = self._taken[number] = self._free.pop(0)
        self._sources[slot] = number % 251
        self._sources[slot].view(np.uint64)[0] = number
        self._targets[slot] = 0
        self._dst[slot].reset_data_len()
        return self._src[slot], self._dst[slot]

    def give_back(self, number: int) -> tuple[bytes, bytes]:
        """What is at both ends; the slot is free."""
        slot = self._taken.pop(number)
        self._free.append(slot)
        return self._sources[slot].tobytes(), self._targets[slot].tobytes()


class Copies:
    """Copies of 64 bytes."""

    context: pydoca.Context
    window: int

    def __init__(self, stand: Stand, device: pydoca.Device, ends: Completions) -> None:
        self.window = dma.depth_for(device, _WINDOW)
        self._slots = _Slots(stand, device, self.window)
        made = pydoca.Dma(
            self._slots.pe,
            device,
            num_tasks=self.window,
            on_completion=ends.ended,
            on_error=ends.ended,
            user_data=ends,
        )
        self.context = self._dma = stand.enter_context(made)

    def begin(self, number: int, submit: bool) -> pydoca.Task:
        """Copies the number's data."""
        return self._dma.memcpy(*self._slots.take(number), user_data=number, submit=submit)

    def check(self, number: int, _: pydoca.Task) -> None:
        """The data is there."""
        source, target = self._slots.give_back(number)
        if source != target:
            raise DeviceFault(f"copy {number} has completed, and its data is not there")


class Hashes:
    """Digests of 64 bytes."""

    context: pydoca.Context
    window: int

    def __init__(self, stand: Stand, device: pydoca.Device, ends: Completions) -> None:
        self.window = min(_WINDOW, pydoca.Sha.max_num_tasks(device.info))
        self._slots = _Slots(stand, device, self.window)
        made = pydoca.Sha(
            self._slots.pe,
            device,
            num_tasks=self.window,
            on_completion=ends.ended,
            on_error=ends.ended,
            user_data=ends,
        )
        self.context = self._sha = stand.enter_context(made)

    def begin(self, number: int, submit: bool) -> pydoca.Task:
        """Hashes the number's data."""
        src, dst = self._slots.take(number)
        return self._sha.hash(src, dst, "sha256", user_data=number, submit=submit)

    def check(self, number: int, _: pydoca.Task) -> None:
        """The digest is that of hashlib."""
        source, target = self._slots.give_back(number)
        if hashlib.sha256(source).digest() != target[:32]:
            raise DeviceFault(f"digest {number} has completed, and differs from hashlib's")


class Additions:
    """Additions of 1 to a sync event, each of which is told another value."""

    context: pydoca.Context
    window: int

    def __init__(self, stand: Stand, device: pydoca.Device, ends: Completions) -> None:
        self.window = 16
        callbacks = {"on_completion": ends.ended, "on_error": ends.ended, "user_data": ends}
        _, self._event = with_tasks(stand, device, self.window, **callbacks)
        self.context = self._event
        self._told: set[int] = set()

    def begin(self, number: int, submit: bool) -> pydoca.Task:
        """Adds 1."""
        return self._event.notify_add(1, user_data=number, submit=submit)

    def check(self, number: int, task: pydoca.Task) -> None:
        """The value before is of this addition alone."""
        before = task.result()
        if before in self._told or not 0 <= before < number + self.window:
            raise DeviceFault(f"addition {number} is told that the value before it was {before}")
        self._told.add(before)
