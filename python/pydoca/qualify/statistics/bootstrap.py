"""The confidence intervals of statistics, by the moving-block bootstrap."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from pydoca.qualify.statistics.blocks import block_length
from pydoca.qualify.statistics.samples import Array, Samples, as_array
from pydoca.qualify.statistics.summary import LEAST, PERCENTILES, STATISTICS, check_name

_RESAMPLES = 1_000
_AT_A_TIME = 1_000_000  # samples drawn, so that memory stays bounded
_MANY = 20_000  # samples: from here on the ranks of percentiles are normally distributed among resamples
_BLOCKS = 200  # the number of blocks: more of them cost time, and tell nothing
# These statistics are facts of the samples, not estimates of anything behind them.
_FACTS = {"min", "max", "count"}


def interval(samples: Samples, stat: str, confidence: float = 0.95, seed: int = 0) -> tuple[float, float] | None:
    """The confidence interval of a statistic of such samples. None when the statistic itself is not given.

    Samples that follow one another resemble one another, so blocks are drawn, not single samples; a block is longer
    than the samples' memory. The interval of min, max and count, and that of a single sample, is the value itself.
    """
    check_name(stat)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence: {confidence} is not between 0 and 1; give a fraction such as 0.95")
    array = as_array(samples)
    if len(array) < max(LEAST.get(stat, 1), 1):
        return None
    if stat in _FACTS or array.min() == array.max():
        value = float(STATISTICS[stat](array))
        return (value, value) if np.isfinite(value) else None
    length = max(block_length(array), len(array) // _BLOCKS)
    tail = _widened((1 - confidence) / 2, blocks=len(array) / length)
    if stat in PERCENTILES and len(array) >= _MANY:
        return _by_rank(array, PERCENTILES[stat] / 100, length, tail)
    values = _resampled(array, stat, length, np.random.default_rng(seed))
    low, high = np.quantile(values[np.isfinite(values)], [tail, 1 - tail])
    return float(low), float(high)


def _resampled(array: Array, stat: str, length: int, random: np.random.Generator) -> Array:
    """The statistic of each resample."""
    size = len(array)
    blocks = -(-size // length)
    windows = _windows(array, length)
    at_a_time = max(1, _AT_A_TIME // size)
    parts = []
    for begin in range(0, _RESAMPLES, at_a_time):
        rows = min(at_a_time, _RESAMPLES - begin)
        drawn = windows[random.integers(size, size=(rows, blocks))]
        parts.append(STATISTICS[stat](drawn.reshape(rows, -1)[:, :size]))
    return np.concatenate(parts)


def _windows(array: Array, length: int) -> Array:
    """The block that begins at each sample; in a circle, so that those at both ends are drawn as often as others."""
    return sliding_window_view(np.concatenate([array, array[: length - 1]]), length)


def _by_rank(array: Array, part: float, length: int, tail: float) -> tuple[float, float]:
    """The ends of a percentile's interval, from how the number of samples below it varies from block to block."""
    from scipy import stats

    ordered = np.sort(array)
    below = (array <= np.quantile(ordered, part)).astype(np.float64)
    running = np.concatenate([[0.0], np.cumsum(np.concatenate([below, below[: length - 1]]))])
    counts = running[length:] - running[:-length]
    deviation = np.sqrt(counts.var() * len(array) / length)
    ranks = len(array) * part + np.array([1, -1]) * stats.norm.ppf(tail) * deviation
    low, high = ordered[np.clip(np.round(ranks).astype(int), 0, len(array) - 1)]
    return float(low), float(high)


def _widened(tail: float, blocks: float) -> float:
    """The tail that makes up for few blocks, whose resamples vary as a normal distribution does beside Student's."""
    from scipy import stats

    free = max(blocks - 1, 1)
    wide = stats.t.ppf(tail, free) * np.sqrt((free + 1) / free)
    return float(stats.norm.cdf(wide))
