"""The common parts of the reports in Python: the options, and the form of a figure, which is print_report.hpp's."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

# The programs of the preset `bench`, beside which some figures stand.
PROGRAMS = Path(__file__).resolve().parent.parent / "build" / "bench" / "benchmarks"


@dataclass(frozen=True)
class Figure:
    """A measured value beside its floor, the bare operation of the same run.

    score is what the target limits: unless given, the value as a multiple of the floor, or its difference from it.
    """

    name: str
    unit: str
    value: float
    floor: float
    target: float | None = None
    score: float | None = None
    compared: str = "ratio"  # or "difference", in the unit
    rule: str = "<="  # or "<"

    @classmethod
    def of_pairs(cls, name: str, unit: str, pairs: list[tuple[float, float]], target: float | None) -> Figure:
        """The medians of values and floors that were measured in turns; the score is the median of their ratios."""
        values, floors = zip(*pairs, strict=True)
        score = median(value / floor for value, floor in pairs)
        return cls(name, unit, median(values), median(floors), target, score)

    @property
    def result(self) -> float:
        if self.score is not None:
            return self.score
        return self.value - self.floor if self.compared == "difference" else self.value / self.floor

    @property
    def ok(self) -> bool:
        if self.target is None:
            return True
        return self.result < self.target if self.rule == "<" else self.result <= self.target

    def document(self) -> dict[str, Any]:
        """The object of --json."""
        return {
            "name": self.name,
            "unit": self.unit,
            "value": round(self.value, 3),
            "floor": round(self.floor, 3),
            "score": round(self.result, 4),
            "compared": self.compared,
            "rule": self.rule,
            "target": self.target,
            "ok": self.ok,
        }

    def line(self) -> str:
        compared = f"{self.unit} above" if self.compared == "difference" else "x"
        measured = f"{self.name:<76} {self.value:9.2f} {self.unit:<4}  floor {self.floor:9.2f}"
        text = f"{measured}  {self.result:6.2f} {compared:<8}"
        if self.target is None:
            return text.rstrip()
        return f"{text}  target {self.rule} {self.target:<5g} {'ok' if self.ok else 'OVER'}"


def arguments_of(description: str | None, repetitions: int) -> argparse.ArgumentParser:
    """The options of every report; those of its own are added to them."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON array, with an object for each figure")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--repetitions", type=int, default=repetitions, help=f"of each figure (default: {repetitions})")
    return parser


def print_report(figures: Iterable[Figure], arguments: argparse.Namespace) -> int:
    """Prints each figure as soon as it is measured, or all as one JSON array. Returns the exit code."""
    taken = []
    for figure in figures:
        taken.append(figure)
        if not arguments.json:
            print(figure.line(), flush=True)
    if arguments.json:
        print(json.dumps([figure.document() for figure in taken], indent=1))
    return 1 if arguments.check and not all(figure.ok for figure in taken) else 0
