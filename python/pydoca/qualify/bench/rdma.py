"""RDMA between two contexts of this process: writes, reads, messages, atomics, latency, bandwidth."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.patterns import PATTERNS, prbs31
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish
from pydoca.qualify.bench.zones import Damage, Zoned, require_equal

ACCESS = "local_read_write|rdma_read|rdma_write|rdma_atomic"
BATCH = 64


class Pair:
    """Two connected contexts of one engine; `there` is memory of the second one, as the first one sees it."""

    here: Zoned
    theirs: Zoned
    there: pydoca.Mmap
    inventory: pydoca.BufInventory
    bufs: Stand
    pe: pydoca.ProgressEngine
    a: pydoca.Rdma
    b: pydoca.Rdma
    ab: pydoca.RdmaConnection
    ba: pydoca.RdmaConnection

    def __init__(self, stand: Stand, a: pydoca.Device, b: pydoca.Device, capacity: int, **options: Any) -> None:
        self.here, self.theirs = Zoned(stand, a, capacity, ACCESS), Zoned(stand, b, capacity, ACCESS)
        self.inventory, self.pe = stand.bufs(64), stand.engine()
        self.bufs = stand.enter_context(Stand())
        settings: dict[str, Any] = {"permissions": "rdma_read|rdma_write|rdma_atomic", **options}
        with duty("connect two RDMA contexts"):
            self.a = stand.enter_context(pydoca.Rdma(self.pe, a, **settings))
            self.b = stand.enter_context(pydoca.Rdma(self.pe, b, **settings))
            self.ab, self.ba = self.a.export(), self.b.export()
            self.ab.connect(self.ba.details)
            self.ba.connect(self.ab.details)
            for end in (self.ab, self.ba):
                end.established().wait(timeout=waiting.PATIENCE)
            self.there = stand.enter_context(a.import_mmap(self.theirs.mmap.export_rdma()))

    def data(self, mmap: pydoca.Mmap, address: int, size: int) -> pydoca.Buf:
        """A buf of bytes to send; the pair releases it."""
        return self.bufs.keep(self.inventory.get_by_data(mmap, address, size))

    def room(self, mmap: pydoca.Mmap, address: int, size: int) -> pydoca.Buf:
        """A buf without data, to receive or read into; the pair releases it."""
        return self.bufs.keep(self.inventory.get_by_addr(mmap, address, size))


def _done(task: pydoca.RdmaTask, what: str) -> Any:
    result = finish(task, what)
    task.free()
    return result


def integrity(
    a: pydoca.Device, b: pydoca.Device, sizes: Iterable[int], seed: int = 0, patterns: Iterable[str] = tuple(PATTERNS)
) -> Iterator[Damage]:
    """Writes each pattern in each size to the peer and reads it back; yields what is wrong, true or false."""
    sizes, patterns = list(sizes), list(patterns)
    with Stand() as stand:
        pair = Pair(stand, a, b, max(sizes))
        number = seed
        for size in sizes:
            for name in patterns:
                number += 1
                yield from _write_and_read(pair, PATTERNS[name](size, number), f"{size} bytes of {name}")


def _write_and_read(pair: Pair, data: NDArray[np.uint8], what: str) -> Iterator[Damage]:
    size, here, theirs = len(data), pair.here, pair.theirs
    here.data(0, size)[:] = data
    theirs.guard(0, size)
    with duty(f"write {what}"):
        write = pair.ab.write(
            pair.data(here.mmap, here.address(0), size), pair.room(pair.there, theirs.address(0), size)
        )
    _done(write, f"write {what}")
    yield theirs.damage(f"write {what}", 0, data)
    here.guard(0, size)
    with duty(f"read {what}"):
        read = pair.ab.read(pair.data(pair.there, theirs.address(0), size), pair.room(here.mmap, here.address(0), size))
    length = _done(read, f"read {what}")
    if length != size:
        raise DeviceFault(f"read {what}: the device says that it read {length} bytes")
    yield here.damage(f"read {what}", 0, data)
    pair.bufs.close()


def messages(a: pydoca.Device, b: pydoca.Device, lengths: Iterable[int]) -> int:
    """Messages of each length, and a number with each; length, number, data and order are exact."""
    lengths = list(lengths)
    with Stand() as stand:
        pair = Pair(stand, a, b, max(lengths))
        for number, length in enumerate(lengths):
            what = f"message {number} of {length} bytes"
            data = prbs31(length, number)
            pair.here.data(0, length)[:] = data
            pair.theirs.guard(0, length)
            room = pair.room(pair.theirs.mmap, pair.theirs.address(0), length)
            with duty(what):
                receive = pair.b.receive(room)
                send = pair.ab.send_imm(pair.data(pair.here.mmap, pair.here.address(0), length), number)
            _done(send, f"send {what}")
            finish(receive, f"receive {what}")
            if (receive.result_len, receive.result_immediate_data) != (length, number):
                arrived = f"{receive.result_len} bytes with the number {receive.result_immediate_data}"
                raise DeviceFault(f"{what}: {arrived} arrived")
            receive.free()
            if damage := pair.theirs.damage(what, 0, data):
                raise DeviceFault(str(damage))
            pair.bufs.close()
    return len(lengths)


def atomics(a: pydoca.Device, b: pydoca.Device, count: int) -> int:
    """Additions and exchanges in the peer's memory; every old value, and the sum, are exact."""
    with Stand() as stand:
        pair = Pair(stand, a, b, 64)
        word = pair.theirs.data(0, 8).view(np.uint64)
        word[0] = expected = 0
        there = pair.data(pair.there, pair.theirs.address(0), 8)
        old = pair.room(pair.here.mmap, pair.here.address(0), 8)
        for number in range(1, count + 1):
            swaps = number % 4 == 0
            old.reset_data_len()
            with duty(f"atomic {number}"):
                if swaps:
                    task = pair.ab.atomic_cmp_swp(there, old, expected, number)
                else:
                    task = pair.ab.atomic_fetch_add(there, old, number)
            before = _done(task, f"atomic {number}")
            if before != expected:
                raise DeviceFault(f"atomic {number}: the value before was {before}; it must be {expected}")
            expected = number if swaps else expected + number
            if int(word[0]) != expected:
                raise DeviceFault(f"atomic {number}: the value is {int(word[0])}; it must be {expected}")
    return count


def write_latency(
    a: pydoca.Device, b: pydoca.Device, size: int, until: Callable[[], bool]
) -> Iterator[NDArray[np.float64]]:
    """Microseconds from submission to completion of a write with nothing else in flight; BATCH samples at a time."""
    with Stand() as stand:
        pair = Pair(stand, a, b, size)
        task = _write(pair, size)
        what, number = f"a write of {size} bytes", 0
        here, theirs = pair.here.data(0, size), pair.theirs.data(0, size)
        while not until():
            batch = np.empty(BATCH)
            for i in range(BATCH):
                number += 1
                here[:] = number & 0xFF
                with duty(what):
                    begin = time.perf_counter_ns()
                    task.submit()
                    task.wait(waiting.PATIENCE)
                    batch[i] = (time.perf_counter_ns() - begin) / 1e3
                require_equal(theirs, here, what)
            yield batch
        task.free()


def _write(pair: Pair, size: int, place: int = 0) -> pydoca.RdmaTask:
    address = pair.theirs.address(place)
    with duty(f"a write of {size} bytes"):
        return pair.ab.write(
            pair.data(pair.here.mmap, pair.here.address(place), size),
            pair.room(pair.there, address, size),
            submit=False,
        )


def bandwidth(
    a: pydoca.Device, b: pydoca.Device, size: int, until: Callable[[], bool], depth: int = 8
) -> Iterator[float]:
    """GB/s of writes with `depth` of them in flight."""
    with Stand() as stand:
        pair = Pair(stand, a, b, size * depth, send_queue_size=depth)
        tasks = [_write(pair, size, place * size) for place in range(depth)]
        what, number = f"{depth} writes of {size} bytes", 0
        here, theirs = pair.here.data(0, size * depth), pair.theirs.data(0, size * depth)
        here[:] = prbs31(size * depth, 1)
        while not until():
            number += 1
            here[:: min(size, 4096)] = number & 0xFF
            with duty(what):
                begin = time.perf_counter_ns()
                for task in tasks:
                    task.submit()
                pair.pe.run_until(tasks, timeout=waiting.PATIENCE)
                taken = time.perf_counter_ns() - begin
            require_equal(theirs, here, what)
            yield depth * size / taken
        for task in tasks:
            task.free()
