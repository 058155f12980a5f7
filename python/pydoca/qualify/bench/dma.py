"""The copy engine: integrity with red zones, bandwidth, latency, rate against depth, order of completions."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.delays import tail
from pydoca.qualify.bench.patterns import PATTERNS, Bytes, noise, view
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, finish_all
from pydoca.qualify.bench.zones import Damage, Zoned, require_equal

BATCH = 64  # samples between two looks at `until`
_made = itertools.count()  # copies that are made one after the other do not have the same stamps at a time
_STAMPED = 512  # words; one in this many changes before each sample, so that stale data is seen


class Ends(NamedTuple):
    """The ends of a copy: memory of the device's side, or of the other side."""

    src: pydoca.Mmap
    dst: pydoca.Mmap
    source: Bytes
    target: Bytes


def sizes_up_to(largest: int) -> list[int]:
    """Sizes: 1, odd sizes around powers of two, and the largest."""
    sizes = {1, 2, 3, 7, 8, 63, 64, 65, largest}
    for power in range(7, largest.bit_length()):
        sizes |= {(1 << power) - 1, 1 << power, (1 << power) + 1}
    return sorted(size for size in sizes if size <= largest)


def lengths(largest: int, seed: int = 0) -> list[int]:
    """1 to 130 bytes, the sizes of sizes_up_to(), the neighbours of pages, each remainder modulo 64, and random ones.

    The places of the remainders and the random sizes follow from the seed.
    """
    rng = random.Random(seed)
    sizes = {*range(1, 131), *sizes_up_to(largest)}
    sizes |= {4096 * pages + by for pages in range(1, 5) for by in (-1, 0, 1)}
    sizes |= {64 * rng.randrange(2, max(3, largest // 64)) + rest for rest in range(64)}
    sizes |= {rng.randint(1, largest) for _ in range(64)}
    return sorted(size for size in sizes if 0 < size <= largest)


def fitting(device: pydoca.Device, sizes: Iterable[int]) -> list[int]:
    """The sizes that the device copies in one task."""
    largest = pydoca.Dma.max_buf_size(device.info)
    return [size for size in sizes if size <= largest]


def depth_for(device: pydoca.Device, wanted: int) -> int:
    """The wanted number of tasks, or as many as a context of the device may have."""
    return min(wanted, pydoca.Dma.max_num_tasks(device.info))


def integrity(
    device: pydoca.Device,
    sizes: Iterable[int],
    offsets: Iterable[tuple[int, int]] = ((0, 0),),
    patterns: Iterable[str] = tuple(PATTERNS),
    seed: int = 0,
    memory: Callable[[Stand, int], tuple[Zoned, Zoned]] | None = None,
) -> Iterator[Damage]:
    """Copies each pattern in each size from and to each pair of offsets; yields the damage, false if there is none.

    Source and destination are pydoca's memory on the device's own side, or the memory of memory(stand, capacity).
    """
    sizes, offsets = list(sizes), list(offsets)
    capacity = max(sizes) + max(max(pair) for pair in offsets)
    with Stand() as stand:
        src, dst = memory(stand, capacity) if memory else (Zoned(stand, device, capacity) for _ in range(2))
        inventory, bufs, pe = stand.bufs(2), stand.enter_context(Stand()), stand.engine()
        with duty("start the DMA engine"):
            dma = stand.enter_context(pydoca.Dma(pe, device, num_tasks=1))
        numbers = itertools.count(seed)
        for size, name, (from_, to) in itertools.product(sizes, patterns, offsets):
            what = f"copy {size} bytes of {name}, offsets {from_} and {to}"
            data = PATTERNS[name](size, next(numbers))
            src.data(from_, size)[:] = data
            dst.guard(to, size)
            source = bufs.keep(inventory.get_by_data(src.mmap, src.address(from_), size))
            _copy(dma, source, bufs.keep(inventory.get_by_addr(dst.mmap, dst.address(to), size)), size, what)
            bufs.close()
            require_equal(src.data(from_, size), data, f"{what}: the source, which only the program writes")
            yield dst.damage(what, to, data)


def _copy(dma: pydoca.Dma, src: pydoca.Buf, dst: pydoca.Buf, size: int, what: str) -> None:
    with duty(what):
        task = dma.memcpy(src, dst)
    finish(task, what)
    task.free()
    if dst.data_len != size:
        raise DeviceFault(f"{what}: the device says that it copied {dst.data_len} bytes")


def local(stand: Stand, device: pydoca.Device, size: int) -> Ends:
    """Ends in memory of the device's own side."""
    memories = [stand.enter_context(pydoca.alloc(size)) for _ in range(2)]
    maps = [stand.enter_context(device.mmap(memory)) for memory in memories]
    source, target = (view(memory) for memory in memories)
    source[:] = noise(size, 1)
    return Ends(maps[0], maps[1], source, target)


def remote(stand: Stand, device: pydoca.Device, other: pydoca.Device, size: int, *, read: bool) -> Ends:
    """Ends of which one is memory of the other side of the PCIe link: the source when `read`, else the destination."""
    here = local(stand, device, size)
    theirs = stand.enter_context(pydoca.alloc(size))
    exported = stand.enter_context(other.mmap(theirs, access="local_read_write|pci_read_write"))
    with duty("import memory of the other side"):
        imported = stand.enter_context(device.import_mmap(exported.export_pci()))
    array = view(theirs)
    if read:
        array[:] = here.source
        return Ends(imported, here.dst, array, here.target)
    return Ends(here.src, imported, here.source, array)


def pieces(
    stand: Stand, ends: Ends, size: int, depth: int
) -> tuple[list[pydoca.Buf], list[pydoca.Buf], pydoca.ProgressEngine]:
    """Bufs of equal size, one after the other, at both ends; and an engine that stops before they are released."""
    inventory, pe = stand.bufs(2 * depth), stand.engine()
    src = [stand.keep(inventory.get_by_data(ends.src, ends.src.addr + i * size, size)) for i in range(depth)]
    dst = [stand.keep(inventory.get_by_addr(ends.dst, ends.dst.addr + i * size, size)) for i in range(depth)]
    return src, dst, pe


class Copies:
    """Copies of equal size, in flight at the same time, each in its own piece of both ends."""

    ends: Ends
    size: int
    depth: int
    dst: list[pydoca.Buf]
    pe: pydoca.ProgressEngine
    dma: pydoca.Dma
    tasks: list[pydoca.DmaMemcpyTask]
    what: str

    def __init__(self, stand: Stand, device: pydoca.Device, ends: Ends, size: int, depth: int) -> None:
        self.ends, self.size, self.depth = ends, size, depth
        src, self.dst, self.pe = pieces(stand, ends, size, depth)
        with duty(f"start the DMA engine with {depth} tasks"):
            self.dma = stand.enter_context(pydoca.Dma(self.pe, device, num_tasks=depth))
            pairs = zip(src, self.dst, strict=True)
            self.tasks = [self.dma.memcpy(*pair, submit=False) for pair in pairs]
        self._stamps = ends.source.view(np.uint64)[:: min(_STAMPED, size // 8)] if size % 8 == 0 else None
        self._number = 1000 * next(_made)
        self.what = f"{depth} copies of {size} bytes"

    def run(self) -> int:
        """Runs all copies once, and verifies the data.

        Returns nanoseconds from the first submission to the last completion.
        """
        self.prepare()
        with duty(self.what):
            begin = time.perf_counter_ns()
            for task in self.tasks:
                task.submit()
            self.pe.run_until(self.tasks, timeout=waiting.PATIENCE)
            taken = time.perf_counter_ns() - begin
        require_equal(self.ends.target, self.ends.source, self.what)
        return taken

    def run_one(self) -> int:
        """Runs the first copy alone, without the cost of a list; returns nanoseconds."""
        self.prepare()
        taken = waiting.time_of(self.tasks[0], self.what)
        require_equal(self.ends.target, self.ends.source, self.what)
        return taken

    def run_one_by(self, wait: waiting.Wait) -> int:
        """Does the same as run_one(), with another wait."""
        self.prepare()
        taken = waiting.time_by(wait, self.pe, self.tasks[0], self.what)
        require_equal(self.ends.target, self.ends.source, self.what)
        return taken

    def prepare(self) -> None:
        """Writes new data to the source and empties the destination, before each round."""
        self._number += 1
        if self._stamps is not None:
            self._stamps[:] = self._number
        for buf in self.dst:
            buf.reset_data_len()


def bandwidth(
    device: pydoca.Device,
    size: int,
    until: Callable[[], bool],
    depth: int = 8,
    ends: Callable[[Stand, int], Ends] | None = None,
) -> Iterator[float]:
    """GB/s of `depth` copies in flight, a sample for each round of at least half a millisecond."""
    depth = depth_for(device, depth)
    with Stand() as stand:
        lent = ends(stand, size * depth) if ends else local(stand, device, size * depth)
        copies = Copies(stand, device, lent, size, depth)
        rounds = _rounds_for(copies, 500_000)
        while not until():
            taken = sum(copies.run() for _ in range(rounds))
            yield rounds * depth * size / taken


def _rounds_for(copies: Copies, nanoseconds: int) -> int:
    copies.run()
    return max(1, min(1000, nanoseconds // max(1, copies.run())))


def rate(device: pydoca.Device, depth: int, until: Callable[[], bool], size: int = 64) -> Iterator[float]:
    """Millions of copies a second with `depth` of them in flight."""
    with Stand() as stand:
        copies = Copies(stand, device, local(stand, device, size * depth), size, depth)
        rounds = _rounds_for(copies, 500_000)
        while not until():
            taken = sum(copies.run() for _ in range(rounds))
            yield rounds * depth * 1e3 / taken


def latency(device: pydoca.Device, size: int, until: Callable[[], bool]) -> Iterator[NDArray[np.float64]]:
    """Microseconds from submission to completion with one copy in flight; BATCH samples at a time.

    Each sample is one copy, since the tail counts; it includes reading the clock, some 50 ns.
    """
    with Stand() as stand:
        copies = Copies(stand, device, local(stand, device, size), size, 1)
        while not until():
            yield np.array([copies.run_one() for _ in range(BATCH)]) / 1e3


def late_share(device: pydoca.Device, size: int, count: int) -> float:
    """The share of late copies among count that follow one another, as `bench.delays.tail` finds them."""
    with Stand() as stand:
        copies = Copies(stand, device, local(stand, device, size), size, 1)
        return tail.late_share(partial(copies.run_one_by, waiting.poll), count)


def ordering(device: pydoca.Device, count: int, depth: int = 32, size: int = 64) -> tuple[int, int]:
    """Copies with ordered completions; returns completions out of order, and data that was not there at completion."""
    depth = depth_for(device, depth)
    with Stand() as stand:
        ends = local(stand, device, size * depth)
        src, dst, pe = pieces(stand, ends, size, depth)
        check = _Order(ends, size)
        dma = pydoca.Dma(pe, device, num_tasks=depth, on_completion=check.completed)
        dma.ordered_completions = True
        with duty("start the DMA engine with ordered completions"):
            stand.enter_context(dma)
            tasks = [dma.memcpy(*pair, user_data=i, submit=False) for i, pair in enumerate(zip(src, dst, strict=True))]
        for _ in waiting.paced(-(-count // depth)):
            check.begin()
            for buf in dst:
                buf.reset_data_len()
            with duty(f"{depth} copies in order"):
                for task in tasks:
                    task.submit()
            finish_all(pe, tasks, f"{depth} copies in order")
            check.end(depth)
            require_equal(ends.target, ends.source, f"{depth} copies in order")
        return check.disorders, check.invisible


def mixed_order(device: pydoca.Device, rounds: int, large: int = 1 << 20, depth: int = 16) -> int:
    """Small copies after large ones, with ordered completions; returns completions out of order."""
    depth, large = depth_for(device, depth), min(large, pydoca.Dma.max_buf_size(device.info))
    disorders, seen = 0, list[int]()
    with Stand() as stand:
        src, dst, pe = pieces(stand, local(stand, device, large * depth), large, depth)
        small = stand.bufs(depth)
        dma = pydoca.Dma(pe, device, num_tasks=depth, on_completion=lambda _, index, __: seen.append(index))
        dma.ordered_completions = True
        what = "copies of two sizes in order"
        with duty(what):
            stand.enter_context(dma)
            first = [stand.keep(small.get_by_data(buf.mmap, buf.data, 64)) for buf in src[1::2]]
            sources = [src[i] if i % 2 == 0 else first[i // 2] for i in range(depth)]
            tasks = [dma.memcpy(sources[i], dst[i], user_data=i, submit=False) for i in range(depth)]
        for _ in range(rounds):
            seen.clear()
            for buf in dst:
                buf.reset_data_len()
            with duty(what):
                for task in tasks:
                    task.submit()
            finish_all(pe, tasks, what)
            if sorted(seen) != list(range(depth)):
                raise DeviceFault(f"{what}: the completions were those of tasks {seen}")
            disorders += sum(a > b for a, b in itertools.pairwise(seen))
    return disorders


class _Order:
    """Checks completions: each comes once, in the order of submission, with its data in place."""

    def __init__(self, ends: Ends, size: int) -> None:
        self.disorders = self.invisible = 0
        self._seen: list[int] = []
        self._size = size
        self._source = ends.source.view(np.uint64)[:: size // 8]
        self._target = ends.target.view(np.uint64)[:: size // 8]
        self._round = 0

    def begin(self) -> None:
        self._round += 1
        self._seen.clear()
        self._source[:] = self._round

    def completed(self, task: pydoca.DmaMemcpyTask, index: int, _: object) -> None:
        self._seen.append(index)
        self.invisible += int(self._target[index] != self._round)

    def end(self, depth: int) -> None:
        if sorted(self._seen) != list(range(depth)):
            raise DeviceFault(f"{depth} copies in order: {len(self._seen)} completions, of tasks {self._seen}")
        self.disorders += sum(a > b for a, b in itertools.pairwise(self._seen))


def run_together(*several: Copies) -> int:
    """Runs one round of each, all in flight at once.

    Returns nanoseconds from the first submission to the last completion.
    """
    for copies in several:
        copies.prepare()
    with duty("copies of several contexts"):
        begin = time.perf_counter_ns()
        for copies in several:
            for task in copies.tasks:
                task.submit()
        for copies in several:
            copies.pe.run_until(copies.tasks, timeout=waiting.PATIENCE)
        taken = time.perf_counter_ns() - begin
    for copies in several:
        require_equal(copies.ends.target, copies.ends.source, copies.what)
    return taken
