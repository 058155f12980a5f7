"""The judgement of a value by a limit, and its reason."""

from __future__ import annotations

import math
from typing import TypeGuard

from pydoca.qualify.figures import bound_text, plural, quantity, quantity_beside, span_text, stat_text
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
        shown = "no value" if value is None else quantity(value, unit)
        return Verdict.UNJUDGED, f"{shown}; no limit says what is right"
    if n < limit.n_min:
        are = "is" if limit.n_min == 1 else "are"
        return Verdict.ERROR, f"{plural(n, 'sample')}, and {limit.n_min:,} {are} needed{_source(limit)}"
    if value is None:
        return Verdict.ERROR, f"{plural(n, 'sample')}: too few for {stat_text(limit.stat)}{_source(limit)}"
    verdict, said = _compared(value, interval or (value, value), limit, unit)
    bounds = [bound for _, bound in _bounds(limit)]  # the digits must not contradict the verdict
    shown = quantity_beside(value, bounds, unit, limit.stat)
    ends = f" ({span_text(interval, unit, limit.stat, bounds)})" if _is_wide(interval) else ""
    stat = "" if n == 1 else f"{stat_text(limit.stat)} "  # one sample is all statistics of itself
    reason = f"{stat}{shown}{ends} {said}{_source(limit)}"
    if verdict is Verdict.FAIL and limit.waived:
        return Verdict.MARGINAL, f"{reason}; waived: {limit.waived}"
    return verdict, reason


def _compared(value: float, interval: Interval, limit: LimitRecord, unit: str) -> tuple[Verdict, str]:
    low, high = interval
    low_text, high_text = ("" if each is None else _bound(each, limit, unit) for each in (limit.min, limit.max))
    if limit.min is not None and high < limit.min:
        return Verdict.FAIL, f"is below min {low_text}"
    if limit.max is not None and low > limit.max:
        return Verdict.FAIL, f"is above max {high_text}"
    if limit.min is not None and low < limit.min:
        return Verdict.MARGINAL, f"may be below min {low_text}: the interval crosses it"
    if limit.max is not None and high > limit.max:
        return Verdict.MARGINAL, f"may be above max {high_text}: the interval crosses it"
    known = [(f"{name} {_bound(bound, limit, unit)}", bound) for name, bound in _bounds(limit)]
    for text, bound in known:
        if _is_close(value, bound, limit):
            return Verdict.MARGINAL, f"is within {100 * limit.marginal:.3g} % of {text}"
    return Verdict.PASS, f"is inside {', '.join(text for text, _ in known)}"


def _is_close(value: float, bound: float, limit: LimitRecord) -> bool:
    """Whether the value is in the marginal band; an exact limit, whose min is its max, has none."""
    return limit.min != limit.max and abs(value - bound) < limit.marginal * abs(bound)


def _bounds(limit: LimitRecord) -> list[tuple[str, float]]:
    return [(name, bound) for name, bound in (("min", limit.min), ("max", limit.max)) if bound is not None]


def _bound(bound: float, limit: LimitRecord, unit: str) -> str:
    return bound_text(bound, unit, limit.stat)


def _is_wide(interval: Interval | None) -> TypeGuard[Interval]:
    return interval is not None and interval[0] != interval[1]


def _source(limit: LimitRecord) -> str:
    return f" ({limit.source})" if limit.source else ""
