"""A figure as a report printed it, and the spread of several runs."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

INSTRUCTIONS = "instructions"  # the unit of counts


@dataclass(frozen=True)
class Figure:
    report: str
    name: str
    unit: str
    value: float
    floor: float
    score: float  # what the target limits
    is_difference: bool  # whether score is value - floor; else it is a ratio
    rule: str
    target: float | None
    ok: bool

    @property
    def key(self) -> tuple[str, str]:
        return self.report, self.name

    @property
    def is_counted(self) -> bool:
        return self.unit == INSTRUCTIONS

    @property
    def cost(self) -> float:
        """The cost by which revisions are compared; more is worse. A count itself, else the ratio to the floor."""
        if self.is_counted:
            return self.score
        if self.is_difference:
            return self.score / self.floor
        return 1 / self.score if self.rule == ">=" else self.score

    def document(self) -> dict[str, Any]:
        """The report's own object again."""
        return {
            "name": self.name,
            "unit": self.unit,
            "value": self.value,
            "floor": self.floor,
            "score": self.score,
            "compared": "difference" if self.is_difference else "ratio",
            "rule": self.rule,
            "target": self.target,
            "ok": self.ok,
        }


def parse(report: str, row: Mapping[str, Any]) -> Figure:
    return Figure(
        report=report,
        name=row["name"],
        unit=row["unit"],
        value=row["value"],
        floor=row["floor"],
        score=row["score"],
        is_difference=row["compared"] == "difference",
        rule=row["rule"],
        target=row["target"],
        ok=row["ok"],
    )


@dataclass(frozen=True)
class Spread:
    """The costs of a figure in several runs: the lowest, the median and the highest."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, costs: Sequence[float]) -> Spread:
        return cls(min(costs), statistics.median(costs), max(costs))


def spreads(runs: Iterable[Iterable[Figure]]) -> dict[tuple[str, str], Spread]:
    costs: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        for figure in run:
            costs.setdefault(figure.key, []).append(figure.cost)
    return {key: Spread.of(values) for key, values in costs.items()}
