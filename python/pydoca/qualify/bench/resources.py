"""What this process holds: descriptors, mapped memory of devices, threads. For finding leaks."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

_PARTS = 4


class Usage(NamedTuple):
    """What this process holds; the difference of two is what came in between."""

    descriptors: int
    mappings: int  # of memory that has a descriptor: what devices and exports use
    threads: int
    resident: int  # bytes

    @classmethod
    def now(cls) -> Usage:
        """That of this moment, after a garbage collection."""
        gc.collect()
        with open("/proc/self/maps") as maps:
            mappings = sum("memfd:" in line or "anon_inode" in line for line in maps)
        return cls(descriptors(), mappings, len(os.listdir("/proc/self/task")), resident())

    def __sub__(self, other: Usage) -> Usage:
        return Usage(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))


def descriptors() -> int:
    """How many this process has open."""
    return len(os.listdir("/proc/self/fd"))


@contextlib.contextmanager
def only_new_objects() -> Iterator[None]:
    """Collections of garbage look at what comes into being inside only: at all of a process they take long."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def resident() -> int:
    """Bytes of memory that this process has in use."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(cycle: Callable[[], object], cycles: int, warm: int = 3) -> Usage:
    """What so many cycles leave behind, beyond what a few cycles left before."""
    for _ in range(warm):
        cycle()
    give_back()
    before = settled()
    sizes = [before.resident]
    for quarter in range(_PARTS):
        for _ in range(quarter, cycles, _PARTS):
            cycle()
        sizes.append(resident())
    return (settled(before) - before)._replace(resident=leaked(sizes))


def leaked(sizes: list[int]) -> int:
    """Bytes that were left behind, by what was in use at the ends of equal parts of the work.

    A leak of memory shows itself in each part, and what an allocator keeps for later in some: the part with the least
    stands for all.
    """
    return (len(sizes) - 1) * max(0, min(later - earlier for earlier, later in itertools.pairwise(sizes)))


def give_back() -> None:
    """Collects garbage, and has the C library return what is free of its heap: a leak would fill that first."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
    if trim is not None:
        trim(0)


def settled(before: Usage | None = None, looks: int = 100) -> Usage:
    """The usage; a thread or a descriptor of the fabric may take a moment to go, after what used it.

    Looks have no end by the clock: where a busy machine keeps this thread waiting, it does so to that one.
    """
    usage = Usage.now()
    for _ in range(looks):
        if before is None or all(delta <= 0 for delta in (usage - before)[:3]):
            break
        time.sleep(0.02)
        usage = Usage.now()
    return usage
