"""What this process holds: descriptors, mapped memory of devices, threads. For finding leaks."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import NamedTuple


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
        with open("/proc/self/statm") as statm:
            resident = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return cls(len(os.listdir("/proc/self/fd")), mappings, len(os.listdir("/proc/self/task")), resident)

    def __sub__(self, other: Usage) -> Usage:
        return Usage(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))


def growth(cycle: Callable[[], object], cycles: int, warm: int = 3) -> Usage:
    """What so many cycles leave behind, beyond what a few cycles left before."""
    for _ in range(warm):
        cycle()
    before = settled()
    for _ in range(cycles):
        cycle()
    return settled(before) - before


def settled(before: Usage | None = None, patience: float = 2.0) -> Usage:
    """The usage; a thread or a descriptor of the fabric may take a moment to go, after what used it."""
    end = time.monotonic() + patience
    usage = Usage.now()
    while before is not None and any(delta > 0 for delta in (usage - before)[:3]) and time.monotonic() < end:
        time.sleep(0.02)
        usage = Usage.now()
    return usage
