"""The number of samples at the beginning that a device gave before it was warm."""

from __future__ import annotations

import numpy as np

from pydoca.qualify.statistics.samples import Array, Samples, as_array

_AGREE = 0.01  # a fraction of the mean
_MOST = 10  # the warm-up is a tenth of the samples at most
_WINDOWS = 50


def warmup(samples: Samples) -> int:
    """The samples before the first two consecutive windows whose means agree: within 1 %, or within their own noise.

    It is at most a tenth of the samples: what drifts after that belongs to the device, and its distribution shows it.
    Fewer than 50 samples have no warm-up, as a window would be too short to say so.
    """
    array = as_array(samples)
    window = max(5, len(array) // _WINDOWS)
    most = len(array) // _MOST
    if most < window:
        return 0
    for begin in range(0, most + 1, window):
        if _agree(array[begin : begin + window], array[begin + window : begin + 2 * window]):
            return begin
    return most


def _agree(one: Array, other: Array) -> bool:
    difference = abs(float(one.mean() - other.mean()))
    noise = float(np.sqrt((one.var(ddof=1) + other.var(ddof=1)) / len(one)))
    return difference <= max(_AGREE * abs(float(other.mean())), 2 * noise)
