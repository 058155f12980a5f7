"""Resources of this process that show leaks: descriptors, mapped memory of devices, threads."""

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
    """Resources of this process; the difference of two is the growth between them."""

    descriptors: int
    mappings: int  # mappings of memory with a descriptor, as devices and exports use
    threads: int
    resident: int  # bytes

    @classmethod
    def now(cls) -> Usage:
        """The usage at this moment, after a garbage collection."""
        gc.collect()
        with open("/proc/self/maps") as maps:
            mappings = sum("memfd:" in line or "anon_inode" in line for line in maps)
        return cls(descriptors(), mappings, len(os.listdir("/proc/self/task")), resident())

    def __sub__(self, other: Usage) -> Usage:
        return Usage(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))


def descriptors() -> int:
    """The number of open descriptors of this process."""
    return len(os.listdir("/proc/self/fd"))


@contextlib.contextmanager
def only_new_objects() -> Iterator[None]:
    """Makes collections of garbage skip the objects that exist now: a collection of a whole process takes long."""
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
    """The resources that the cycles leave behind, beyond those that a few cycles before left."""
    for _ in range(warm):
        cycle()
    give_back()
    before = settled()
    sizes = [before.resident]
    for quarter in range(_PARTS):
        for _ in range(quarter, cycles, _PARTS):
            cycle()
        gc.collect()  # a part may end before Python's own collection
        sizes.append(resident())
    return (settled(before) - before)._replace(resident=leaked(sizes))


def leaked(sizes: list[int]) -> int:
    """The leaked bytes, from the bytes in use at the ends of equal parts of the work.

    A leak of memory grows in each part; memory that an allocator keeps grows in some parts only. So the part with the
    least growth counts for all.
    """
    return (len(sizes) - 1) * max(0, min(later - earlier for earlier, later in itertools.pairwise(sizes)))


def give_back() -> None:
    """Collects garbage, and lets the C library return the free part of its heap: a leak would fill that first."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only glibc has it
    if trim is not None:
        trim(0)


def settled(before: Usage | None = None, looks: int = 100) -> Usage:
    """The usage, once it has settled: a thread or a descriptor of the fabric may outlive its user for a moment.

    The number of looks is limited, not their time: a busy machine delays that thread as it delays this one.
    """
    usage = Usage.now()
    for _ in range(looks):
        if before is None or all(delta <= 0 for delta in (usage - before)[:3]):
            break
        time.sleep(0.02)
        usage = Usage.now()
    return usage
