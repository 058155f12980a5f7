"""Memory for verified transfers: the bytes around the data are guarded, and every change of them is found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import pydoca
from pydoca.qualify.bench.origins import ORIGINS
from pydoca.qualify.bench.patterns import Bytes, view
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty

ZONE = 256  # bytes before and after the data


def difference(actual: Bytes, expected: Bytes) -> tuple[int, int | None]:
    """The number of wrong bits, and the first wrong byte."""
    if actual.tobytes() == expected.tobytes():
        return 0, None
    wrong = np.bitwise_xor(actual, expected)
    return int(np.unpackbits(wrong).sum()), int(np.flatnonzero(wrong)[0])


@dataclass(frozen=True)
class Damage:
    """The damage after a transfer; false if there is none."""

    what: str  # "copy 100 bytes of prbs31, offsets 3 and 5"
    bit_errors: int = 0
    outside: int = 0  # bytes outside the destination that changed
    first: int | None = None  # wrong byte, in the data

    def __bool__(self) -> bool:
        return self.bit_errors > 0 or self.outside > 0

    def __str__(self) -> str:
        if self.bit_errors:
            return f"{self.what}: {self.bit_errors} wrong bits, the first one in byte {self.first}"
        return f"{self.what}: {self.outside} bytes were written outside the destination"


def require_equal(actual: Bytes, expected: Bytes, what: str) -> None:
    """Raises DeviceFault that counts the wrong bits."""
    errors, first = difference(actual, expected)
    if errors:
        raise DeviceFault(str(Damage(what, errors, 0, first)))


class Zoned:
    """Memory of a device with a red zone at each end; `array` is all of it. Its origin is one of `bench.origins`."""

    def __init__(
        self,
        stand: Stand,
        device: pydoca.Device,
        capacity: int,
        access: str | None = None,
        origin: str = "pydoca.alloc",
    ) -> None:
        self.capacity = capacity
        memory = ORIGINS[origin](capacity + 2 * ZONE)
        if isinstance(memory, pydoca.Memory):
            stand.enter_context(memory)
        self.array: Bytes = view(memory)
        self.mmap: pydoca.Mmap = stand.enter_context(device.mmap(memory, access=access))
        self._guard = np.resize(np.arange(251, dtype=np.uint8) ^ 0xA5, capacity + 2 * ZONE)

    @classmethod
    def lent(
        cls,
        stand: Stand,
        owner: pydoca.Device,
        user: pydoca.Device,
        capacity: int,
        origin: str = "pydoca.alloc",
        access: str = "local_read_write|pci_read_write",
    ) -> Zoned:
        """Memory that the owner has lent to the user at the other end of the PCIe link."""
        zoned = cls(stand, owner, capacity, access, origin)
        with duty("import memory of the other side"):
            zoned.mmap = stand.enter_context(user.import_mmap(zoned.mmap.export_pci()))
        return zoned

    def address(self, offset: int) -> int:
        """The address of a byte of the data."""
        return self.mmap.addr + ZONE + offset

    def data(self, offset: int, size: int) -> Bytes:
        """The bytes at this place, as a view."""
        return self.array[ZONE + offset : ZONE + offset + size]

    def guard(self, offset: int, size: int) -> None:
        """Writes the guard to this place and around it, before a transfer."""
        begin, end = self._surroundings(offset, size)
        self.array[begin:end] = self._guard[begin:end]

    def damage(self, what: str, offset: int, expected: Bytes) -> Damage:
        """The damage at this place and around it after a transfer."""
        size = len(expected)
        errors, first = difference(self.data(offset, size), expected)
        begin, end = self._surroundings(offset, size)
        changed = self.array[begin:end] != self._guard[begin:end]
        outside = int(changed.sum()) - int(changed[ZONE : ZONE + size].sum())
        return Damage(what, errors, outside, first)

    def _surroundings(self, offset: int, size: int) -> tuple[int, int]:
        return offset, offset + size + 2 * ZONE
