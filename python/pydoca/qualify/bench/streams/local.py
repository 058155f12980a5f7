"""Streams within a function: digests, additions to a sync event."""

from __future__ import annotations

import hashlib

import pydoca
from pydoca.qualify.bench.events import with_tasks
from pydoca.qualify.bench.sha import Algorithm, algorithms
from pydoca.qualify.bench.streams.completions import Completions
from pydoca.qualify.bench.streams.slots import Slots
from pydoca.qualify.bench.waiting import DeviceFault, Stand

_WINDOW = 32


class SmallHashes:
    """Digests of 64 bytes, by each algorithm in turn."""

    context: pydoca.Context
    window: int

    def __init__(self, stand: Stand, device: pydoca.Device, ends: Completions) -> None:
        self.window = min(_WINDOW, pydoca.Sha.max_num_tasks(device.info))
        self._slots = Slots(stand, device, self.window)
        self._sha = stand.enter_context(pydoca.Sha(self._slots.pe, device, num_tasks=self.window, **ends.callbacks))
        self.context = self._sha
        self._algorithms = algorithms(device)

    def begin(self, number: int, submit: bool) -> pydoca.Task:
        """Hashes the number's data."""
        src, dst = self._slots.take(number)
        return self._sha.hash(src, dst, self._algorithm(number), user_data=number, submit=submit)

    def check(self, number: int, _: pydoca.Task) -> None:
        """Checks that the digest is that of hashlib."""
        source, target = self._slots.give_back(number)
        expected = hashlib.new(self._algorithm(number), source).digest()
        if target != expected.ljust(len(target), b"\0"):
            raise DeviceFault(f"digest {number} ({self._algorithm(number)}) has completed, and differs from hashlib's")

    def _algorithm(self, number: int) -> Algorithm:
        return self._algorithms[number // 3 % len(self._algorithms)]


class Additions:
    """Additions of 1 to a sync event, each of which gets another value."""

    context: pydoca.Context
    window: int

    def __init__(self, stand: Stand, device: pydoca.Device, ends: Completions) -> None:
        self.window = 16
        _, self._event = with_tasks(stand, device, self.window, **ends.callbacks)
        self.context = self._event
        self._told: set[int] = set()  # values from self._least on
        self._least = 0  # a task has got each value below it

    def begin(self, number: int, submit: bool) -> pydoca.Task:
        """Adds 1."""
        return self._event.notify_add(1, user_data=number, submit=submit)

    def check(self, number: int, task: pydoca.Task) -> None:
        """Checks that no other addition got the same value."""
        before = task.result()
        if before in self._told or not self._least <= before < number + self.window:
            raise DeviceFault(f"addition {number} is told that the value before it was {before}")
        self._told.add(before)
        while self._least in self._told:
            self._told.remove(self._least)
            self._least += 1
