"""Memory belongs to the program again once a task has ended: the device no longer reads or writes it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import pydoca
from pydoca.qualify.bench import dma, waiting
from pydoca.qualify.bench.patterns import Bytes
from pydoca.qualify.bench.rdma.pair import Pair
from pydoca.qualify.bench.sha import algorithms
from pydoca.qualify.bench.sides import both_sides, has_link
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty
from pydoca.qualify.bench.zones import require_equal

_SIZE = 64
_DEPTH = 64
_PAUSE = 0.004  # seconds within which a device that still writes does so


class _Batch(NamedTuple):
    """Tasks that run at once, and the memory that they read and write."""

    pe: pydoca.ProgressEngine
    run: Callable[[], object]
    source: Bytes
    target: Bytes


def check(device: pydoca.Device, name: str, rounds: int) -> int:
    """Writes all memory of tasks of one of LIBRARIES after they have ended; returns how many there were."""
    what = f"memory of {name} after its tasks have ended"
    with Stand() as stand:
        batch = LIBRARIES[name][1](stand, device)
        for number in range(rounds):
            batch.run()
            results = batch.target.copy()
            batch.source[:] = (number + 1) % 251
            require_equal(batch.target, results, f"{what}, and the program has changed their sources")
            batch.target[:] = (number + 2) % 251
            _pause(batch.pe)
            for array, value in ((batch.source, (number + 1) % 251), (batch.target, (number + 2) % 251)):
                if wrong := int((array != value).sum()):
                    raise DeviceFault(f"{what}: {wrong} bytes that the program wrote since then have changed")
    return rounds * _DEPTH


def _pause(pe: pydoca.ProgressEngine) -> None:
    end = time.monotonic() + _PAUSE
    while time.monotonic() < end:
        pe.drain()
        time.sleep(_PAUSE / 8)


def _copies(stand: Stand, device: pydoca.Device, ends: dma.Ends | None = None) -> _Batch:
    depth = dma.depth_for(device, _DEPTH)
    lent = ends or dma.local(stand, device, _SIZE * depth)
    copies = dma.Copies(stand, device, lent, _SIZE, depth)
    return _Batch(copies.pe, copies.run, lent.source, lent.target)


def _copies_across(stand: Stand, device: pydoca.Device, *, read: bool) -> _Batch:
    sides = stand.enter_context(both_sides(device))
    size = _SIZE * dma.depth_for(sides.dpu, _DEPTH)
    return _copies(stand, sides.dpu, dma.remote(stand, sides.dpu, sides.host, size, read=read))


def _read_across(stand: Stand, device: pydoca.Device) -> _Batch:
    return _copies_across(stand, device, read=True)


def _write_across(stand: Stand, device: pydoca.Device) -> _Batch:
    return _copies_across(stand, device, read=False)


def _digests(stand: Stand, device: pydoca.Device) -> _Batch:
    depth = min(_DEPTH, pydoca.Sha.max_num_tasks(device.info))
    ends = dma.local(stand, device, _SIZE * depth)
    src, dst, pe = dma.pieces(stand, ends, _SIZE, depth)
    with duty("start the SHA engine"):
        sha = stand.enter_context(pydoca.Sha(pe, device, num_tasks=depth))
    tasks = [sha.hash(*pair, algorithms(device)[0], submit=False) for pair in zip(src, dst, strict=True)]

    def run() -> None:
        for buf in dst:
            buf.reset_data_len()
        for task in tasks:
            task.submit()
        waiting.finish_all(pe, tasks, "digests")

    return _Batch(pe, run, ends.source, ends.target)


def _transfers(stand: Stand, device: pydoca.Device, *, read: bool) -> _Batch:
    pair = Pair(stand, device, device, _SIZE * _DEPTH, num_tasks=_DEPTH)
    inventory = stand.bufs(2 * _DEPTH)
    here, there = (pair.here.mmap, pair.here), (pair.there, pair.theirs)
    source, target = (there, here) if read else (here, there)
    begin = pair.ab.read if read else pair.ab.write
    tasks, rooms = [], []
    for place in range(0, _SIZE * _DEPTH, _SIZE):
        src = stand.keep(inventory.get_by_data(source[0], source[1].address(place), _SIZE))
        rooms.append(stand.keep(inventory.get_by_addr(target[0], target[1].address(place), _SIZE)))
        tasks.append(begin(src, rooms[-1], submit=False))
        stand.callback(tasks[-1].free)

    def run() -> None:
        for room in rooms:
            room.reset_data_len()
        for task in tasks:
            task.submit()
        waiting.finish_all(pair.pe, tasks, "transfers")

    arrays = (zoned.data(0, _SIZE * _DEPTH) for zoned in (source[1], target[1]))
    return _Batch(pair.pe, run, *arrays)


def _writes(stand: Stand, device: pydoca.Device) -> _Batch:
    return _transfers(stand, device, read=False)


def _reads(stand: Stand, device: pydoca.Device) -> _Batch:
    return _transfers(stand, device, read=True)


def _copies_across_are_there(device: pydoca.Device) -> bool:
    return device.info.supports("dma") and has_link(device)


LIBRARIES: dict[str, tuple[Callable[[pydoca.Device], bool], Callable[[Stand, pydoca.Device], _Batch]]] = {
    "copies": (lambda device: device.info.supports("dma"), _copies),
    "copies.read": (_copies_across_are_there, _read_across),
    "copies.write": (_copies_across_are_there, _write_across),
    "digests": (lambda device: device.info.supports("sha"), _digests),
    "rdma.writes": (lambda device: device.info.supports("rdma"), _writes),
    "rdma.reads": (lambda device: device.info.supports("rdma"), _reads),
}
