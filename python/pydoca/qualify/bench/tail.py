"""Operations that are late now and then: told apart from what the tester's own machine does to them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

_LATE = 1e6  # nanoseconds; a device does a small operation in far less
_TIMES = 20  # and no operation of a slow device is late that takes less than so many times the usual
_WARM = 100
_SIGMAS = 4
_LONGEST = 5.0  # seconds: of a slow device there are fewer samples


def late_share(run_one: Callable[[], int], count: int) -> float:
    """The share of late operations that chance does not explain, 0 for a device that is never late.

    run_one() does one operation, and returns how long that took in nanoseconds. Between two of them this thread
    computes for as long as an operation usually takes: a neighbour that takes the processor away does that to both, and
    only an excess by four standard deviations counts.
    """
    usual = float(np.median([run_one() for _ in range(_WARM)]))
    end = time.monotonic() + _LONGEST
    pairs: list[tuple[int, int]] = []
    while len(pairs) < count and (not pairs or time.monotonic() < end):
        pairs.append((run_one(), _compute(usual)))
    operations, control = np.array(pairs, dtype=float).T
    limit = max(_LATE, _TIMES * float(np.median(operations)))
    late, own = int((operations > limit).sum()), int((control > limit).sum())
    return max(0.0, late - own - _SIGMAS * math.sqrt(late + own)) / len(pairs)


def _compute(nanoseconds: float) -> int:
    begin = now = time.perf_counter_ns()
    while now - begin < nanoseconds:
        now = time.perf_counter_ns()
    return now - begin
