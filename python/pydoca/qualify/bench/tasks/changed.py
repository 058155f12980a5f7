"""Small operations that each are the first of their kind: from a new map, by another algorithm, at the other side."""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Callable

import pydoca
from pydoca.qualify.bench import sha, waiting
from pydoca.qualify.bench.patterns import prbs31, view
from pydoca.qualify.bench.sides import both_sides, has_link
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, require_value
from pydoca.qualify.bench.zones import require_equal

_SIZE = 64


def operations(stand: Stand, device: pydoca.Device) -> dict[str, Callable[[], int]]:
    """The operations that the device has; each runs once, verifies its result, and returns its nanoseconds."""
    return {name: make(stand, device) for name, (has, make) in _OPERATIONS.items() if has(device)}


def _copy_from_new_map(stand: Stand, device: pydoca.Device) -> Callable[[], int]:
    memory, room = (stand.enter_context(pydoca.alloc(_SIZE)) for _ in range(2))
    source, target = view(memory), view(room)
    source[:] = prbs31(_SIZE, 1)
    pe, inventory = stand.engine(), stand.bufs(2)
    with duty("start the DMA engine"):
        engine = stand.enter_context(pydoca.Dma(pe, device, num_tasks=1))
    dst = stand.keep(inventory.get_by_addr(stand.enter_context(device.mmap(room))))

    def run_one() -> int:
        source[0] = (int(source[0]) + 1) % 251
        dst.reset_data_len()
        with duty("a copy from a new map"), device.mmap(memory) as mmap, inventory.get_by_data(mmap) as src:
            task = engine.memcpy(src, dst, submit=False)
            taken = waiting.time_by(waiting.poll, pe, task, "a copy from a new map")
            task.free()
        require_equal(target, source, "a copy from a new map")
        return taken

    return run_one


def _digest_by_another_algorithm(stand: Stand, device: pydoca.Device) -> Callable[[], int]:
    data = prbs31(_SIZE, 1).tobytes()
    digest = stand.enter_context(pydoca.alloc(64))
    pe, inventory = stand.engine(), stand.bufs(2)
    names = sha.algorithms(device)
    with duty("start the SHA engine"):
        engine = stand.enter_context(pydoca.Sha(pe, device, num_tasks=len(names)))
    src = stand.keep(inventory.get_by_data(stand.enter_context(device.mmap(data))))
    dst = stand.keep(inventory.get_by_addr(stand.enter_context(device.mmap(digest))))
    tasks = [(engine.hash(src, dst, name, submit=False), hashlib.new(name, data).digest()) for name in names]
    for task, _ in tasks:
        stand.callback(task.free)
    turns = itertools.cycle(tasks)

    def run_one() -> int:
        task, expected = next(turns)
        dst.reset_data_len()
        taken = waiting.time_by(waiting.poll, pe, task, "a digest by another algorithm")
        if digest[: len(expected)] != expected:
            raise DeviceFault("a digest by another algorithm than the one before differs from hashlib's")
        return taken

    return run_one


def _read_there(stand: Stand, device: pydoca.Device) -> Callable[[], int]:
    """Reads the value of an event of the other side."""
    sides = stand.enter_context(both_sides(device))
    with duty("an event of the other side"):
        event = stand.enter_context(pydoca.SyncEvent(device, publisher="remote_pci", subscriber="cpu"))
        imported = stand.enter_context(sides.other(device).import_sync_event(event.export_to_remote_pci()))
    values = itertools.count(1)

    def run_one() -> int:
        value = next(values)
        with duty("an event of the other side"):
            imported.update_set(value)
            begin = time.perf_counter_ns()
            found = imported.get()
            taken = time.perf_counter_ns() - begin
        require_value(found, value, "the value of an event of the other side")
        return taken

    return run_one


_OPERATIONS: dict[str, tuple[Callable[[pydoca.Device], bool], Callable[[Stand, pydoca.Device], Callable[[], int]]]] = {
    "copy.new_map": (lambda device: device.info.supports("dma"), _copy_from_new_map),
    "digest.other": (lambda device: device.info.supports("sha"), _digest_by_another_algorithm),
    "reading.across": (lambda device: device.info.supports("sync_event") and has_link(device), _read_there),
}
