"""Whether two series of samples differ, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pydoca.qualify.statistics.blocks import block_length
from pydoca.qualify.statistics.samples import Array, Samples, as_array
from pydoca.qualify.statistics.summary import PERCENTILES, value_of

_TAILS = {stat: percent for stat, percent in PERCENTILES.items() if percent > 50}

_MANY = 1_000  # samples: so many make a complete separation beyond doubt


@dataclass(frozen=True)
class Difference:
    """The difference of the second series from the first one."""

    effect: float | None  # the statistic's change, as a part of the first value; None: one is not given, or is 0
    p: float | None  # how likely so large a difference is by chance; None: too few samples to say
    test: str  # "Mann-Whitney U", or "Fisher exact" of the samples beyond a percentile
    least: float | None = None  # the p of a complete separation: so many samples give no smaller one


def difference(one: Samples, other: Samples, stat: str = "p50") -> Difference:
    """Compares two series; for a percentile above the middle, the samples beyond it, as the rest need not move."""
    first, second = as_array(one), as_array(other)
    effect = _relative(value_of(first, stat), value_of(second, stat))
    test, compare = ("Fisher exact", _beyond) if stat in _TAILS else ("Mann-Whitney U", _ranks)
    thin_first, thin_second = _independent(first), _independent(second)
    if min(len(thin_first), len(thin_second)) < 4:  # even a complete separation could be chance
        return Difference(effect, None, test)
    least = _least(compare, len(thin_first), len(thin_second), stat)
    return Difference(effect, compare(thin_first, thin_second, stat), test, least)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values, each corrected for their number: the chance that any of them is below by accident."""
    order = np.argsort(np.asarray(p_values, dtype=np.float64), kind="stable")
    corrected = [0.0] * len(p_values)
    least = 0.0
    for rank, index in enumerate(order.tolist()):
        least = max(least, min(1.0, (len(p_values) - rank) * float(p_values[index])))
        corrected[index] = least
    return corrected


def _relative(first: float | None, second: float | None) -> float | None:
    if first is None or second is None:
        return None
    if first == second:
        return 0.0
    return (second - first) / abs(first) if first else None


def _independent(array: Array) -> Array:
    """One sample of each block: the tests need independent samples, and correlated ones would prove too much."""
    return array[:: block_length(array)]


def _least(compare: Callable[[Array, Array, str], float], first: int, second: int, stat: str) -> float:
    if min(first, second) >= _MANY:
        return 0.0
    numbers = np.arange(first + second, dtype=np.float64)
    return min(compare(numbers[:first], numbers[first:], stat), compare(numbers[second:], numbers[:second], stat))


def _ranks(first: Array, second: Array, stat: str) -> float:
    from scipy import stats

    return float(stats.mannwhitneyu(first, second).pvalue)


def _beyond(first: Array, second: Array, stat: str) -> float:
    from scipy import stats

    bound = np.percentile(np.concatenate([first, second]), _TAILS[stat])
    table = [[int((each > bound).sum()), int((each <= bound).sum())] for each in (first, second)]
    return float(stats.fisher_exact(table).pvalue)
