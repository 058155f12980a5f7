"""Operations that are late now and then or at intervals, told apart from delays by the tester's machine."""

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
_TIMES = 20  # an operation of a slow device is late only if it takes this many times the usual time
_WARM = 100
_CONTROL = 4  # the computing after an operation takes this many times as long
_CHANCE = 1e-4  # the probability of a false alarm, on a machine that delays this thread without a trace
_LONGEST = 5.0  # seconds; a slow device has fewer samples


class Lateness:
    """Counts late operations, and how often this thread is late by itself.

    run_one() does one operation without a sleep, and returns its nanoseconds. Between two operations this thread
    computes several times as long, so that the machine delays the computing more often.
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
        """Runs one operation, and the computing after it."""
        self.count += 1
        self.late += self._is_late(self._run_one)
        self.own += self._is_late(self._compute)

    def _is_late(self, run: Callable[[], int]) -> bool:
        """Tells whether run() is late; if the thread lost its processor, only its own running time counts."""
        switches, busy = _of_thread()
        if run() <= self._limit:
            return False
        switches_now, busy_now = _of_thread()
        return switches_now == switches or busy_now - busy > self._limit


def share_of(*several: Lateness) -> float:
    """The share of late operations; 0 if chance may explain it.

    Operations of several kinds that take turns show together that a device stops at intervals, even if each kind meets
    only a few stops.
    """
    late, own, count = (
        sum(counts) for counts in zip(*((each.late, each.own, each.count) for each in several), strict=True)
    )
    is_chance = stats.binom.sf(late - 1, late + own, 1 / (1 + _CONTROL)) > _CHANCE
    return 0.0 if is_chance else late / count


def late_share(run_one: Callable[[], int], count: int) -> float:
    """The share of late operations among count, or among as many as there is time for."""
    with without_collections():
        lateness = Lateness(run_one)
        end = time.monotonic() + _LONGEST
        while lateness.count < count and (not lateness.count or time.monotonic() < end):
            lateness.sample()
        return share_of(lateness)


def limit_of(device: pydoca.Device) -> float | None:
    """The share that a device may have: 0; None for one in software, since the machine delays its threads."""
    return 0 if device.pci_addr else None


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """Stops the garbage collector: it takes milliseconds, and operations allocate more than the computing."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _of_thread() -> tuple[int, int]:
    """The number of times that this thread lost its processor, and its nanoseconds of running time."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw, time.thread_time_ns()


def _compute(nanoseconds: float) -> int:
    begin = now = time.perf_counter_ns()
    while now - begin < nanoseconds:
        now = time.perf_counter_ns()
    return now - begin
