"""What a busy machine does to a thread, told by its kernel."""

from __future__ import annotations

from pathlib import Path


def run_delay(thread: int) -> float:
    """Seconds so far that a thread of this process, by its native id, was ready to run and had no processor.

    A time that has not ended yet does not count. 0 where the kernel does not tell (it was built without
    CONFIG_SCHED_INFO).
    """
    try:
        fields = Path(f"/proc/self/task/{thread}/schedstat").read_text(encoding="ascii").split()
    except OSError:
        return 0.0
    return int(fields[1]) / 1e9
