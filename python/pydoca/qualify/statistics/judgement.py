"""What a limit says of a value, and why."""

from __future__ import annotations

import math

from pydoca.qualify.records import LimitRecord
from pydoca.qualify.verdicts import Verdict

Interval = tuple[float, float]


def judge(
    value: float | None, interval: Interval | None, limit: LimitRecord | None, n: int, *, unit: str = ""
) -> tuple[Verdict, str]:
    """The verdict, and a sentence with the value, the limit and where that comes from.

    PASS: the interval lies inside the limits. FAIL: all of it lies beyond one. MARGINAL: it crosses a limit, or the
    value is closer to one than the marginal band; also what a waiver makes of FAIL. ERROR: too few samples to say.
    """
    if value is not None and not math.isfinite(value):
        return Verdict.ERROR, f"{value} is not a finite number: the tester failed"
    if limit is None or (limit.min is None and limit.max is None):
        shown = "no value" if value is None else _with_unit(value, unit)
        return Verdict.UNJUDGED, f"{shown}; no limit says what is right"
    if n < limit.n_min:
        return Verdict.ERROR, f"{_samples(n)}, and {limit.n_min:,} are needed{_source(limit)}"
    if value is None:
        return Verdict.ERROR, f"{_samples(n)}: too few for {limit.stat}{_source(limit)}"
    verdict, said = _compared(value, interval or (value, value), limit)
    reason = f"{limit.stat} {_with_unit(value, unit)}{_shown(interval)} {said}{_source(limit)}"
    if verdict is Verdict.FAIL and limit.waived:
        return Verdict.MARGINAL, f"{reason}; waived: {limit.waived}"
    return verdict, reason


def _compared(value: float, interval: Interval, limit: LimitRecord) -> tuple[Verdict, str]:
    low, high = interval
    if limit.min is not None and high < limit.min:
        return Verdict.FAIL, f"is below min {limit.min:g}"
    if limit.max is not None and low > limit.max:
        return Verdict.FAIL, f"is above max {limit.max:g}"
    if limit.min is not None and low < limit.min:
        return Verdict.MARGINAL, f"may be below min {limit.min:g}: the interval crosses it"
    if limit.max is not None and high > limit.max:
        return Verdict.MARGINAL, f"may be above max {limit.max:g}: the interval crosses it"
    for name, bound in (("min", limit.min), ("max", limit.max)):
        if bound is not None and _is_close(value, bound, limit):
            return Verdict.MARGINAL, f"is within {100 * limit.marginal:.3g} % of {name} {bound:g}"
    return Verdict.PASS, f"is inside {_bounds(limit)}"


def _is_close(value: float, bound: float, limit: LimitRecord) -> bool:
    """An exact value, whose min is its max, has no band."""
    return limit.min != limit.max and abs(value - bound) < limit.marginal * abs(bound)


def _bounds(limit: LimitRecord) -> str:
    known = (("min", limit.min), ("max", limit.max))
    return ", ".join(f"{name} {bound:g}" for name, bound in known if bound is not None)


def _samples(n: int) -> str:
    return "1 sample" if n == 1 else f"{n:,} samples"


def _with_unit(value: float, unit: str) -> str:
    return f"{value:.6g} {unit}" if unit not in ("", "1") else f"{value:.6g}"


def _shown(interval: Interval | None) -> str:
    return f" ({interval[0]:.6g} to {interval[1]:.6g})" if interval and interval[0] != interval[1] else ""


def _source(limit: LimitRecord) -> str:
    return f" ({limit.source})" if limit.source else ""
