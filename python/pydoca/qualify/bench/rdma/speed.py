"""The speed of RDMA: latency and bandwidth of writes, each verified."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.delays import tail
from pydoca.qualify.bench.patterns import prbs31
from pydoca.qualify.bench.rdma.pair import Pair
from pydoca.qualify.bench.waiting import Stand, duty
from pydoca.qualify.bench.zones import require_equal

BATCH = 64


def write_latency(
    a: pydoca.Device, b: pydoca.Device, size: int, until: Callable[[], bool]
) -> Iterator[NDArray[np.float64]]:
    """Microseconds from submission to completion of a write with nothing else in flight; BATCH samples at a time."""
    with Stand() as stand:
        writes = Writes(stand, a, b, size)
        while not until():
            yield np.array([writes.run_one() for _ in range(BATCH)]) / 1e3


def late_share(a: pydoca.Device, b: pydoca.Device, size: int, count: int) -> float:
    """The share of late writes among count that follow one another, as `bench.delays.tail` finds them."""
    with Stand() as stand:
        return tail.late_share(partial(Writes(stand, a, b, size).run_one_by, waiting.poll), count)


class Writes:
    """Writes of equal size, one after the other, each verified."""

    def __init__(self, stand: Stand, a: pydoca.Device, b: pydoca.Device, size: int) -> None:
        self._pair = Pair(stand, a, b, size)
        self._task = _write(self._pair, size)
        stand.callback(self._task.free)
        self._here, self._theirs = (zoned.data(0, size) for zoned in (self._pair.here, self._pair.theirs))
        self._what, self._number = f"a write of {size} bytes", 0

    def run_one(self) -> int:
        """Writes once; returns nanoseconds from submission to completion."""
        self._prepare()
        taken = waiting.time_of(self._task, self._what)
        require_equal(self._theirs, self._here, self._what)
        return taken

    def run_one_by(self, wait: waiting.Wait) -> int:
        """Does the same as run_one(), with another wait."""
        self._prepare()
        taken = waiting.time_by(wait, self._pair.pe, self._task, self._what)
        require_equal(self._theirs, self._here, self._what)
        return taken

    def _prepare(self) -> None:
        self._number += 1
        self._here[:] = self._number & 0xFF


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
