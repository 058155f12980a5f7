"""The delays of a thread by a busy machine, as the kernel reports them."""

from __future__ import annotations

from pathlib import Path


def run_delay(thread: int) -> float:
    """Seconds that a thread of this process, by its native id, has been ready to run without a processor.

    A delay that has not ended does not count. 0 if the kernel was built without CONFIG_SCHED_INFO.
    """
    try:
        fields = Path(f"/proc/self/task/{thread}/schedstat").read_text(encoding="ascii").split()
    except OSError:
        return 0.0
    return int(fields[1]) / 1e9
