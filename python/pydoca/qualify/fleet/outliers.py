"""Cards that measure unlike equal ones: by the median over the cards, and the median of the deviations from it.

A card's value counts as an outlier when it lies farther from the median than `cutoff()` robust sigmas, and by more than
WORTH of the median. Both statistics stay what they are while fewer than half of the cards are bad.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pydoca.qualify.figures import plural, quantity, stat_text
from pydoca.qualify.fleet.cards import Card
from pydoca.qualify.records import RunRecord
from pydoca.qualify.statistics.samples import Array

LEAST = 5  # equal cards: among fewer, the median of the deviations says nothing
WORTH = 0.05  # a part of the median
_TO_SIGMA = 1.4826  # makes sigma of the median deviation of a normal distribution
# Among so many good cards with normal values, the largest deviation lies beyond so many robust sigmas in one
# measurement of a hundred: few cards estimate the sigma badly. (Simulated; numpy.random, 4,000 to 200,000 fleets each.)
_CUTOFFS = {5: 18.7, 6: 10.7, 8: 7.9, 10: 7.0, 12: 6.3, 15: 6.0, 20: 5.2, 30: 4.8, 50: 4.5}


@dataclass(frozen=True)
class Spread:
    """One measurement over all equal cards."""

    kind: str  # the cards' kind
    name: str
    stat: str
    unit: str
    better: str
    cards: int  # that have a value
    median: float
    sigma: float  # robust
    low: float
    high: float
    judged: bool  # there are LEAST cards or more
    values: tuple[float, ...] = ()  # a value for each card, in their order


@dataclass(frozen=True)
class Outlier:
    card: str  # its key
    title: str
    kind: str
    name: str
    stat: str
    unit: str
    value: float
    median: float
    sigmas: float | None  # None: more than half of the cards have the median itself
    effect: float | None  # a fraction of the median; None: that is 0
    word: str  # "worse", "better" or "different"
    cards: int

    @property
    def reason(self) -> str:
        own, median = (quantity(each, self.unit, self.stat) for each in (self.value, self.median))
        far = f", {self.sigmas:.1f} robust sigmas away" if self.sigmas is not None else ", which most of them have"
        share = f" ({100 * self.effect:+.1f} %)" if self.effect is not None else ""
        than = "different from" if self.word == "different" else f"{self.word} than"
        return (
            f"{self.name} {stat_text(self.stat)} is {own}, {than} the median of {plural(self.cards, 'equal card')}, "
            f"{median}{share}{far}"
        )


def cutoff(cards: int) -> float:
    """The cut-off for so many cards, in robust sigmas."""
    return next(value for count, value in sorted(_CUTOFFS.items(), reverse=True) if cards >= count)


def compare_cards(tested: Iterable[tuple[Card, RunRecord]]) -> tuple[list[Spread], list[Outlier]]:
    """Compares all measurements of each kind of card, in the order in which they were first seen."""
    values: dict[tuple[str, str, str, str, str], dict[Card, list[float]]] = {}
    for card, run in tested:
        for case in run.cases:
            for each in case.measurements:
                if each.value is not None and math.isfinite(each.value):
                    key = (card.kind, each.name, each.stat, each.unit, each.better)
                    values.setdefault(key, {}).setdefault(card, []).append(each.value)
    spreads, outliers = [], []
    for key, by_card in values.items():
        cards, array = list(by_card), np.array([float(np.median(each)) for each in by_card.values()])
        spread = _spread(key, array)
        spreads.append(spread)
        outliers += [_outlier(cards[index], spread, float(array[index])) for index in find(array)]
    return spreads, outliers


def find(values: Array) -> list[int]:
    """The indices of the outliers among equal cards; none among fewer than LEAST."""
    if len(values) < LEAST:
        return []
    median, sigma = _middle(values)
    deviations = np.abs(values - median)
    beyond = deviations > WORTH * abs(median)
    if sigma > 0:
        return [int(index) for index in np.flatnonzero(beyond & (deviations > cutoff(len(values)) * sigma))]
    few = max(1, len(values) // 10)  # more are no exceptions from a value that most have
    found = np.flatnonzero(beyond)
    return [int(index) for index in found] if len(found) <= few else []


def _middle(values: Array) -> tuple[float, float]:
    median = float(np.median(values))
    return median, _TO_SIGMA * float(np.median(np.abs(values - median)))


def _spread(key: tuple[str, str, str, str, str], values: Array) -> Spread:
    median, sigma = _middle(values)
    low, high = float(values.min()), float(values.max())
    return Spread(*key, len(values), median, sigma, low, high, len(values) >= LEAST, tuple(values.tolist()))


def _outlier(card: Card, spread: Spread, value: float) -> Outlier:
    away = value - spread.median
    return Outlier(
        card=card.key,
        title=card.title,
        kind=spread.kind,
        name=spread.name,
        stat=spread.stat,
        unit=spread.unit,
        value=value,
        median=spread.median,
        sigmas=abs(away) / spread.sigma if spread.sigma > 0 else None,
        effect=away / abs(spread.median) if spread.median else None,
        word=_word(spread.better, away),
        cards=spread.cards,
    )


def _word(better: str, away: float) -> str:
    if better not in ("higher", "lower"):
        return "different"
    return "better" if (away > 0) == (better == "higher") else "worse"


def kinds_not_judged(spreads: Sequence[Spread]) -> dict[str, int]:
    """The kinds of which too few cards were measured, with how many there are."""
    most: dict[str, int] = {}
    for spread in spreads:
        most[spread.kind] = max(most.get(spread.kind, 0), spread.cards)
    return {kind: count for kind, count in most.items() if count < LEAST}
