"""benchmarks/ledger.json: the costs of each machine that was recorded, and why figures miss their targets."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger.figures import Figure, Spread, spreads

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "ledger.json"


def processor() -> str:
    names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return str(names[0]) if names else platform.machine()


def this_machine() -> dict[str, Any]:
    """The machine that a record is for: the figures of another machine are not comparable."""
    return {"processor": processor(), "cores": os.cpu_count()}


@dataclass(frozen=True)
class Miss:
    report: str
    name: str
    reason: str  # "" where none is written


class Ledger:
    def __init__(self, document: Mapping[str, Any] | None = None) -> None:
        document = document or {"reasons": {}, "machines": []}
        self.reasons: dict[str, dict[str, str]] = document["reasons"]
        self.machines: list[dict[str, Any]] = document["machines"]

    @classmethod
    def read(cls, file: Path = FILE) -> Ledger:
        return cls(json.loads(file.read_text()) if file.exists() else None)

    def write(self, file: Path = FILE) -> None:
        document = {"reasons": self.reasons, "machines": self.machines}
        # A figure is one line, so that a change of one is a change of one line.
        text = json.dumps(document, indent=1)
        text = re.sub(r"\{\s+(\"cost\": \[)\s+([^]]*?)\s+\],\s+([^}]*?)\s+\}", _one_line, text)
        file.write_text(text + "\n")

    def reason(self, report: str, name: str) -> str:
        return self.reasons.get(report, {}).get(name, "")

    def of(self, machine: Mapping[str, Any]) -> dict[str, Any] | None:
        """The record of a machine of the same kind."""
        same = (each for each in self.machines if all(each[key] == machine[key] for key in ("processor", "cores")))
        return next(same, None)

    def spreads(self, machine: Mapping[str, Any]) -> dict[tuple[str, str], Spread]:
        record = self.of(machine)
        reports = record["reports"] if record else {}
        return {(report, name): Spread(*row["cost"]) for report, rows in reports.items() for name, row in rows.items()}

    def record(self, machine: Mapping[str, Any], revision: str, runs: Iterable[Iterable[Figure]]) -> None:
        """Replaces the record of each report that ran; those of others stay."""
        taken = [list(run) for run in runs]
        record = self.of(machine)
        if record is None:
            record = {**machine, "reports": {}}
            self.machines.append(record)
        found = spreads(taken)
        reports: dict[str, dict[str, Any]] = {}
        for figure in (figure for run in taken for figure in run):
            row = _row(figure, found[figure.key], [each for run in taken for each in run if each.key == figure.key])
            reports.setdefault(figure.report, {})[figure.name] = row
        record["revision"] = revision
        record["reports"].update(reports)

    def misses(self) -> Iterator[Miss]:
        """The misses of all machines, each figure once."""
        seen = set()
        for machine in self.machines:
            for report, rows in machine["reports"].items():
                for name, row in rows.items():
                    if not row["ok"] and (report, name) not in seen:
                        seen.add((report, name))
                        yield Miss(report, name, self.reason(report, name))


def _row(figure: Figure, spread: Spread, runs: list[Figure]) -> dict[str, Any]:
    """A figure's row; ok: whether most runs met the target."""
    scores = sorted(each.score for each in runs)
    return {
        "cost": [round(cost, 4) for cost in (spread.low, spread.median, spread.high)],
        "score": scores[len(scores) // 2],
        "rule": figure.rule,
        "target": figure.target,
        "ok": 2 * sum(each.ok for each in runs) > len(runs),
    }


def _one_line(match: re.Match[str]) -> str:
    costs, rest = (re.sub(r"\s+", " ", match[group]) for group in (2, 3))
    return f"{{{match[1]}{costs}], {rest}}}"
