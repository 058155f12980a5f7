"""Operations that are late now and then, or at intervals: told apart from what the tester's machine does to them."""

from __future__ import annotations

import contextlib
import gc
import resource
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy import stats

import pydoca

_LATE = 1e6  # nanoseconds; a device does a small operation in far less
_TIMES = 20  # and no operation of a slow device is late that takes less than so many times the usual
_WARM = 100
_CONTROL = 4  # times as long as an operation takes, this thread computes after it
_CHANCE = 1e-4  # of a false alarm, on a machine that delays this thread without a trace
_LONGEST = 5.0  # seconds: of a slow device there are fewer samples


class Lateness:
    """How many operations are late, and how often this thread is late by itself.

    run_one() does one operation without a sleep, and returns how long that took in nanoseconds. Between two of them
    this thread computes for some times as long: what the machine does to the thread it does to computing more often.
    """

    count: int
    late: int
    own: int

    def __init__(self, run_one: Callable[[], int]) -> None:
        self._run_one = run_one
        usual = float(np.median([run_one() for _ in range(_WARM)]))
        self._compute = partial(_compute, _CONTROL * usual)
        self._limit = max(_LATE, _TIMES * usual)
        self.count = self.late = self.own = 0

    def sample(self) -> None:
        """One operation, and the computing after it."""
        self.count += 1
        self.late += self._is_late(self._run_one)
        self.own += self._is_late(self._compute)

    def _is_late(self, run: Callable[[], int]) -> bool:
        """A thread that had to give its processor away is late only as far as it ran."""
        switches, busy = _of_thread()
        if run() <= self._limit:
            return False
        switches_now, busy_now = _of_thread()
        return switches_now == switches or busy_now - busy > self._limit


def share_of(*several: Lateness) -> float:
    """The share of late operations, where chance does not explain it: 0 for a device that is never late.

    Together, operations of several kinds that take turns show a device that stands still at intervals, which one of
    them meets.
    """
    late, own, count = (
        sum(counts) for counts in zip(*((each.late, each.own, each.count) for each in several), strict=True)
    )
    is_chance = stats.binom.sf(late - 1, late + own, 1 / (1 + _CONTROL)) > _CHANCE
    return 0.0 if is_chance else late / count


def late_share(run_one: Callable[[], int], count: int) -> float:
    """The share of late operations among so many, or among as many as there is time for."""
    with without_collections():
        lateness = Lateness(run_one)
        end = time.monotonic() + _LONGEST
        while lateness.count < count and (not lateness.count or time.monotonic() < end):
            lateness.sample()
        return share_of(lateness)


def limit_of(device: pydoca.Device) -> float | None:
    """0, the share that a device may have; None for one in software, whose threads the machine delays, too."""
    return 0 if device.pci_addr else None


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """Python collects no garbage meanwhile: that takes milliseconds, and operations allocate more than computing."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _of_thread() -> tuple[int, int]:
    """How often another thread took its processor, and for how many nanoseconds it had one."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw, time.thread_time_ns()


def _compute(nanoseconds: float) -> int:
    begin = now = time.perf_counter_ns()
    while now - begin < nanoseconds:
        now = time.perf_counter_ns()
    return now - begin
