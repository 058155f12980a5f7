"""The loss of the output's reader, as after `head`: the output is dropped, and the run can end in order."""

from __future__ import annotations

import contextlib
import os


def drop_output(descriptor: int) -> None:
    """Drops the output of this pipe: of each descriptor that this process has for it, as pytest keeps its own."""
    lost = _identity(descriptor)
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        for each in map(int, os.listdir("/proc/self/fd")):
            with contextlib.suppress(OSError):  # the list's own descriptor is closed
                if _identity(each) == lost:
                    os.dup2(null, each, inheritable=os.get_inheritable(each))
    finally:
        os.close(null)


def _identity(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino
