"""Streams within a function: digests, expansions, additions to a sync event."""

from __future__ import annotations

import hashlib
import zlib

import pydoca
from pydoca.qualify.bench import dma
from pydoca.qualify.bench.events import with_tasks
from pydoca.qualify.bench.patterns import view
from pydoca.qualify.bench.sha import Algorithm, algorithms
from pydoca.qualify.bench.streams.completions import Completions
from pydoca.qualify.bench.streams.slots import SLOT, Slots
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


class Expansions:
    """Streams of one block that is not compressed, each with the data of its number."""

    context: pydoca.Context
    window: int

    def __init__(self, stand: Stand, device: pydoca.Device, ends: Completions) -> None:
        self.window = min(16, pydoca.Compress.max_num_tasks(device.info))
        lent = dma.local(stand, device, SLOT * self.window)
        self._src, self._dst, pe = dma.pieces(stand, lent, SLOT, self.window)
        self._sources, self._targets = (array.reshape(-1, SLOT) for array in (lent.source, lent.target))
        self._plain = self._sources[:, len(_HEAD) :]
        self._sources[:, : len(_HEAD)] = view(_HEAD)
        self._engine = stand.enter_context(pydoca.Compress(pe, device, num_tasks=self.window, **ends.callbacks))
        self.context = self._engine
        self._free = list(range(self.window))
        self._taken: dict[int, int] = {}  # the slot of each number

    def begin(self, number: int, submit: bool) -> pydoca.Task:
        """Expands the number's data."""
        slot = self._taken[number] = self._free.pop(0)
        self._plain[slot] = number % 251
        self._plain[slot, :8] = view(number.to_bytes(8, "little"))
        self._targets[slot] = 0
        self._dst[slot].reset_data_len()
        return self._engine.decompress_deflate(self._src[slot], self._dst[slot], user_data=number, submit=submit)

    def check(self, number: int, task: pydoca.Task) -> None:
        """Checks the plain data, and their checksums."""
        assert isinstance(task, pydoca.CompressDecompressDeflateTask)
        slot = self._taken.pop(number)
        self._free.append(slot)
        plain = self._plain[slot].tobytes()
        if self._targets[slot, : len(plain)].tobytes() != plain:
            raise DeviceFault(f"expansion {number} has completed, and its data is not there")
        if (task.crc_cs, task.adler_cs) != (zlib.crc32(plain), zlib.adler32(plain)):
            raise DeviceFault(f"expansion {number} has completed with other checksums than zlib's")


_LENGTH = SLOT - 5  # bytes of plain data behind the head of their block
_HEAD = b"\x01" + _LENGTH.to_bytes(2, "little") + (0xFFFF - _LENGTH).to_bytes(2, "little")
