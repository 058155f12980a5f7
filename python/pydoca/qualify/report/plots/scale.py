"""Which numbers a picture shows, and where."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pydoca.qualify.records import LimitRecord
from pydoca.qualify.statistics.samples import Array

_LARGE = {"T": 1e12, "G": 1e9, "M": 1e6}


@dataclass(frozen=True)
class Scale:
    """The numbers from low to high, on the pixels from begin to end; end may be the smaller one."""

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel; of a number beyond, the nearest one."""
        part = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.begin + part * (self.end - self.begin), 2)

    def has(self, value: float) -> bool:
        return self.low <= value <= self.high

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers, at most so many."""
        span = self.high - self.low
        step = 10.0 ** math.floor(math.log10(span / most))
        factor = next(factor for factor in (1, 2, 5, 10, 20) if span / (step * factor) <= most)
        step *= factor
        first = math.ceil(self.low / step - 1e-9)
        count = math.floor(self.high / step + 1e-9) - first + 1
        return [(first + index) * step for index in range(max(count, 0))]


def range_of(samples: Array, limit: LimitRecord | None, extra: Sequence[float] = ()) -> tuple[float, float]:
    """All samples, or all but a few wild ones; and the limits, where they are not far away."""
    low, high = _without_wild(samples)
    if extra:
        low, high = min(low, *extra), max(high, *extra)
    span = (high - low) or abs(high) * 0.1 or 1.0
    for bound in bounds_of(limit).values():
        if low - 3 * span <= bound <= high + 3 * span:
            low, high = min(low, bound), max(high, bound)
    margin = 0.06 * ((high - low) or span)
    return low - margin, high + margin


def _without_wild(samples: Array) -> tuple[float, float]:
    """A few samples far from all others would leave no room for these."""
    low, high = float(samples.min()), float(samples.max())
    first, last = (float(each) for each in np.percentile(samples, [1, 99]))
    reach = last - first
    if reach > 0:
        low, high = max(low, first - reach), min(high, last + reach)
    return low, high


def bounds_of(limit: LimitRecord | None) -> dict[str, float]:
    """The limits that are given, by name."""
    known = {"min": limit.min, "max": limit.max} if limit else {}
    return {name: bound for name, bound in known.items() if bound is not None}


def tick_text(value: float, step: float) -> str:
    """As many digits as tell two ticks apart; of large numbers in thousands of thousands, as there is little room."""
    if value == 0:
        return "0"
    for letter, factor in _LARGE.items():
        if abs(value) >= factor:
            return f"{tick_text(value / factor, step / factor)} {letter}"
    if abs(value) < 1e-4:
        return f"{value:.3g}"
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) if step else 0
    return f"{value:,.{digits}f}"
