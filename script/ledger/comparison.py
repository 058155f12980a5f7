"""The figures that are worse than before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ledger.figures import Figure, Spread, spreads

TIME = 0.15  # the part of its cost by which a figure must have grown to be worse
COUNT = 0.02  # the same for a count of instructions, which hardly changes from run to run
LEAST = 0.1  # floors: a smaller difference counts as this, because the ratio of two small ones says nothing


@dataclass(frozen=True)
class Change:
    figure: Figure
    before: Spread
    after: Spread

    @property
    def growth(self) -> float:
        """The growth of the median cost: 0.1 is a tenth worse."""
        least = LEAST if self.figure.is_difference and not self.figure.is_counted else 0
        return (self.after.median - self.before.median) / max(abs(self.before.median), least)

    @property
    def is_worse(self) -> bool:
        """Whether it is worse by more than noise: each run is worse than each one before, and the medians differ."""
        if self.figure.is_counted:
            return self.growth > COUNT
        return self.growth > TIME and self.after.low > self.before.high


def changes(before: Iterable[Iterable[Figure]], after: Iterable[Iterable[Figure]]) -> list[Change]:
    """The changes of the figures that both have, in several runs each."""
    runs = [list(run) for run in after]
    old, new = spreads(before), spreads(runs)
    figures = {figure.key: figure for run in runs for figure in run}
    return [Change(figure, old[key], new[key]) for key, figure in figures.items() if key in old]


def without_counterpart(these: Iterable[Iterable[Figure]], others: Iterable[Iterable[Figure]]) -> list[tuple[str, str]]:
    found = {figure.key for run in others for figure in run}
    return list(dict.fromkeys(figure.key for run in these for figure in run if figure.key not in found))
