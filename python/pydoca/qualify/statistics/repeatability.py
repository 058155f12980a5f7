"""A gauge study: the part of a measurement's spread that is the tester's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

_GOOD, _USABLE = 10.0, 30.0  # per cent of the tolerance, the usual rule of thumb for gauges


@dataclass(frozen=True)
class Repeatability:
    """Standard deviations in the measurement's unit; six of them are compared with the tolerance."""

    repeatability: float  # the same device, measured again in the same session
    reproducibility: float  # the spread between sessions
    parts: float  # the spread between devices
    percent: float | None  # the spread as a part of the tolerance; None: without a tolerance
    verdict: str  # "good", "usable", "unfit" or "no tolerance"

    @property
    def gauge(self) -> float:
        return float(np.hypot(self.repeatability, self.reproducibility))


def repeatability(values: Mapping[tuple[str, str], Sequence[float]], tolerance: float | None = None) -> Repeatability:
    """The study of values[part, session], the value of each repeat. Each part and session needs two repeats or more.

    A nested analysis of variance: sessions of a part, parts. A negative variance counts as 0.
    """
    few = [f"{part}, {session}" for (part, session), repeats in values.items() if len(repeats) < 2]
    if not values or few:
        raise ValueError(f"repeatability: {few[0] if few else 'no device'} has fewer than two repeats; measure again")
    within = _pooled_variance(list(values.values()))
    sessions = _between_sessions(values, within)
    parts = _between_parts(values, within, sessions)
    spread = 6 * float(np.sqrt(within + sessions))
    percent = 100 * spread / tolerance if tolerance else None
    return Repeatability(
        float(np.sqrt(within)), float(np.sqrt(sessions)), float(np.sqrt(parts)), percent, _word(percent)
    )


def _word(percent: float | None) -> str:
    if percent is None:
        return "no tolerance"
    return "good" if percent < _GOOD else "usable" if percent <= _USABLE else "unfit"


def _pooled_variance(groups: Sequence[Sequence[float]]) -> float:
    free = sum(len(group) - 1 for group in groups)
    return sum(float(np.var(group, ddof=1)) * (len(group) - 1) for group in groups) / free


def _means(values: Mapping[tuple[str, str], Sequence[float]]) -> dict[str, list[float]]:
    """The mean of each session, by part."""
    means: dict[str, list[float]] = {}
    for (part, _), repeats in values.items():
        means.setdefault(part, []).append(float(np.mean(repeats)))
    return means


def _repeats(values: Mapping[tuple[str, str], Sequence[float]]) -> float:
    return len(values) / sum(1 / len(repeats) for repeats in values.values())


def _between_sessions(values: Mapping[tuple[str, str], Sequence[float]], within: float) -> float:
    groups = [means for means in _means(values).values() if len(means) > 1]
    return max(0.0, _pooled_variance(groups) - within / _repeats(values)) if groups else 0.0


def _between_parts(values: Mapping[tuple[str, str], Sequence[float]], within: float, sessions: float) -> float:
    means = _means(values)
    if len(means) < 2:
        return 0.0
    per_part = len(values) / len(means)
    noise = sessions / per_part + within / (per_part * _repeats(values))
    return max(0.0, float(np.var([np.mean(each) for each in means.values()], ddof=1)) - noise)
