"""Memory as programs have it: a device must copy from and to memory of every origin."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import pydoca


def _of_file(size: int, access: int = mmap.ACCESS_WRITE) -> mmap.mmap:
    with tempfile.TemporaryFile() as file:
        file.truncate(size)
        return mmap.mmap(file.fileno(), size, access=access)


def _of_memfd(size: int) -> mmap.mmap:
    descriptor = os.memfd_create("pydoca-qualify")
    try:
        os.ftruncate(descriptor, size)
        return mmap.mmap(descriptor, size)
    finally:
        os.close(descriptor)


_HUGE = 8  # huge pages that a case has at a time

# Writable memory, by its origin. A peer maps pydoca's, and the kernel copies the others'.
ORIGINS: dict[str, Callable[[int], Any]] = {
    "pydoca.alloc": pydoca.alloc,
    "bytearray": bytearray,
    "NumPy": lambda size: np.zeros(size, np.uint8),
    "anonymous memory": lambda size: mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS),
    "shared memory": lambda size: mmap.mmap(-1, size, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS),
    "a memfd": _of_memfd,
    "a file": _of_file,
    "a private file": partial(_of_file, access=mmap.ACCESS_COPY),
    "huge pages": partial(pydoca.alloc, huge_pages=True),
}


def of_this_machine() -> list[str]:
    """The origins that exist on this machine: the operator decides on huge pages."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = dict(line.split(":") for line in lines).get("HugePages_Free", "0")
    return [origin for origin in ORIGINS if origin != "huge pages" or int(free) >= _HUGE]
