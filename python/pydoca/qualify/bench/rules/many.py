"""Many objects of one kind at once: each works as it does alone, and leads to its own memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.patterns import view
from pydoca.qualify.bench.sides import both_sides, has_link
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, require_value
from pydoca.qualify.bench.zones import require_equal

_SIZE = 64


def check(device: pydoca.Device, name: str, count: int) -> int:
    """Makes, uses and ends count objects of one of KINDS; returns how many there were."""
    with Stand() as stand, duty(f"{count} {name} at once"):
        KINDS[name][1](stand, device, count)
    return count


class _Copier:
    """Copies all of a map into its own place, which shows whose data came."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        memory = pydoca.alloc(_SIZE)
        self.pe, self._inventory = stand.engine(), stand.bufs(2)
        self._target, self._mmap = view(memory), stand.enter_context(device.mmap(memory))
        self.dma = stand.enter_context(pydoca.Dma(self.pe, device, num_tasks=1))

    def require(self, mmap: pydoca.Mmap, number: int, dma: pydoca.Dma | None = None) -> None:
        """Checks that the map's memory has this number in each word."""
        self._target[:] = 0xFF
        with (
            self._inventory.get_by_data(mmap, mmap.addr, _SIZE) as src,
            self._inventory.get_by_addr(self._mmap, self._mmap.addr, _SIZE) as dst,
        ):
            task = (dma or self.dma).memcpy(src, dst)
            waiting.finish(task, f"copy {number}")
            task.free()
        require_equal(self._target, _data(number), f"a copy by object {number}")


def _data(number: int) -> np.typing.NDArray[np.uint8]:
    return np.full(_SIZE // 8, number, np.uint64).view(np.uint8)


def _numbered(count: int) -> np.typing.NDArray[np.uint8]:
    """Pieces of memory, each with its number in each word."""
    return np.repeat(np.arange(count, dtype=np.uint64), _SIZE // 8).view(np.uint8)


def _maps(stand: Stand, device: pydoca.Device, count: int) -> None:
    copier, memory = _Copier(stand, device), _numbered(count)
    pieces = memory.reshape(count, _SIZE)
    made = [stand.enter_context(device.mmap(piece.data)) for piece in pieces]
    for number, mmap in enumerate(made):
        copier.require(mmap, number)
    for mmap in made[::2]:
        mmap.close()
    for number in range(1, count, 2):
        copier.require(made[number], number)


def _contexts(stand: Stand, device: pydoca.Device, count: int) -> None:
    """Makes contexts of one engine, half of which stop."""
    copier, memory = _Copier(stand, device), _numbered(count)
    pieces = memory.reshape(count, _SIZE)
    running = [stand.enter_context(pydoca.Dma(copier.pe, device, num_tasks=1)) for _ in range(count)]
    maps = [stand.enter_context(device.mmap(piece.data)) for piece in pieces]
    for number, dma in enumerate(running):
        copier.require(maps[number], number, dma)
    for dma in running[::2]:
        dma.stop()
    for number in range(1, count, 2):
        copier.require(maps[number], number, running[number])


def _events(stand: Stand, device: pydoca.Device, count: int) -> None:
    made = [stand.enter_context(pydoca.SyncEvent(device)) for _ in range(count)]
    for number, event in enumerate(made):
        event.update_set(number + 1)
    for number, event in enumerate(made):
        require_value(event.update_add(count), number + 1, f"the value of event {number}")
    for number, event in enumerate(made):
        require_value(event.get(), number + 1 + count, f"the value of event {number} after an addition")


def _imports(stand: Stand, device: pydoca.Device, count: int) -> None:
    sides = stand.enter_context(both_sides(device))
    copier, memory = _Copier(stand, sides.dpu), _numbered(count)
    lent = [
        stand.enter_context(sides.host.mmap(piece.data, access="pci_read_only")) for piece in memory.reshape(count, -1)
    ]
    made = [stand.enter_context(sides.dpu.import_mmap(each.export_pci())) for each in lent]
    for number, mmap in enumerate(made):
        if mmap.len != _SIZE:
            raise DeviceFault(f"import {number} has {mmap.len} bytes, and was made of {_SIZE}")
        copier.require(mmap, number)


def _imported_events(stand: Stand, device: pydoca.Device, count: int) -> None:
    other = stand.enter_context(both_sides(device)).other(device)
    made = [
        stand.enter_context(pydoca.SyncEvent(device, publisher="remote_pci", subscriber="cpu")) for _ in range(count)
    ]
    there = [stand.enter_context(other.import_sync_event(event.export_to_remote_pci())) for event in made]
    for number, event in enumerate(there):
        event.update_set(number + 1)
    for number, event in enumerate(made):
        require_value(event.get(), number + 1, f"the value of event {number}, which the other side has set")


KINDS: dict[str, tuple[Callable[[pydoca.Device], bool], Callable[[Stand, pydoca.Device, int], None]]] = {
    "maps": (lambda device: device.info.supports("dma"), _maps),
    "contexts": (lambda device: device.info.supports("dma"), _contexts),
    "events": (lambda device: device.info.supports("sync_event"), _events),
    "imports": (lambda device: device.info.supports("dma") and has_link(device), _imports),
    "imported events": (
        lambda device: device.info.supports("sync_event_export_to_remote_pci") and has_link(device),
        _imported_events,
    ),
}
