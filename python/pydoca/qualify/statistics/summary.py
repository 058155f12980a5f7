"""The statistics that limits may name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pydoca.qualify.statistics.samples import Array, Samples, as_array

PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p999": 99.9}


def _percentile(percent: float) -> Callable[[Array], Array]:
    return lambda rows: np.asarray(np.percentile(rows, percent, axis=-1), dtype=np.float64)


def _mean(rows: Array) -> Array:
    return np.asarray(rows.mean(axis=-1))


def _stdev(rows: Array) -> Array:
    return np.asarray(rows.std(axis=-1, ddof=1))


def _cv(rows: Array) -> Array:
    """The standard deviation as a part of the mean, which must not be 0."""
    means = np.abs(_mean(rows))
    return np.divide(_stdev(rows), means, out=np.full_like(means, np.nan), where=means > 0)


# Each function takes rows of samples, so that the bootstrap computes many resamples at a time.
STATISTICS: dict[str, Callable[[Array], Array]] = {
    "count": lambda rows: np.full(rows.shape[:-1], float(rows.shape[-1])),
    "min": lambda rows: np.asarray(rows.min(axis=-1)),
    "max": lambda rows: np.asarray(rows.max(axis=-1)),
    "mean": _mean,
    **{stat: _percentile(percent) for stat, percent in PERCENTILES.items()},
    "stdev": _stdev,
    "cv": _cv,
}

# The number of samples that a statistic needs. A percentile is known when about ten samples lie beyond it.
LEAST = {"count": 0, "stdev": 2, "cv": 2, "p99": 1_000, "p999": 10_000}


def check_name(stat: str) -> None:
    if stat not in STATISTICS:
        raise ValueError(f"statistic: {stat!r} is not one; give one of {', '.join(STATISTICS)}")


def value_of(samples: Samples, stat: str) -> float | None:
    """The statistic; None when there are too few samples for it, or it has no value: cv around a mean of 0."""
    check_name(stat)
    array = as_array(samples)
    if len(array) < LEAST.get(stat, 1):
        return None
    value = float(STATISTICS[stat](array))
    return value if np.isfinite(value) else None


def summary(samples: Samples) -> dict[str, float]:
    """Every statistic that so many samples allow."""
    array = as_array(samples)
    found = {stat: value_of(array, stat) for stat in STATISTICS}
    return {stat: value for stat, value in found.items() if value is not None}
