"""Runs the reports of a tree: this one, or that of another revision."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ledger import older
from ledger.figures import Figure, parse
from ledger.reports import Report

PATIENCE = 1800.0  # seconds, for a report
MISSING = "not measured: "  # begins a line of a report's standard error


class ReportError(Exception):
    """A report has not printed its figures."""


@dataclass(frozen=True)
class Tree:
    """Sources, with programs in build/bench/benchmarks. site: where the package is, unless it is installed."""

    root: Path
    site: Path | None = None

    @property
    def programs(self) -> Path:
        return self.root / "build" / "bench" / "benchmarks"

    def command(self, report: Report) -> list[str]:
        if report.name.endswith(".py"):
            return [sys.executable, str(self.root / "benchmarks" / report.name)]
        return [str(self.programs / report.name)]

    def has(self, report: Report) -> bool:
        return Path(self.command(report)[-1]).exists()

    def knows_repetitions(self, report: Report) -> bool:
        """Whether the report takes repetitions; not all reports of older revisions do."""
        program = self.command(report)[-1]
        return not program.endswith(".py") or "--repetitions" in Path(program).read_text() or self.is_of_one_form

    @property
    def is_of_one_form(self) -> bool:
        return (self.root / "benchmarks" / "print_report.py").exists()

    def environment(self) -> dict[str, str]:
        environment = dict(os.environ)
        if self.site:
            environment["PYTHONPATH"] = str(self.site)
        return environment


def run(report: Report, tree: Tree, repetitions: int | None, device: str | None) -> tuple[list[Figure], list[str]]:
    """Returns the figures, and what the report says that it could not measure here. Raises ReportError."""
    line = [*tree.command(report), "--json"]
    if repetitions and not report.keeps_repetitions and tree.knows_repetitions(report):
        line += ["--repetitions", str(repetitions)]
    if report.needs_device and device:
        line += ["--device", device]
    try:
        ended = subprocess.run(
            line, capture_output=True, text=True, timeout=PATIENCE, cwd=tree.root, env=tree.environment()
        )
    except subprocess.TimeoutExpired:
        raise ReportError(f"has not ended after {PATIENCE:g} s") from None
    if ended.returncode != 0:
        raise ReportError(f"ended with {ended.returncode}: {ended.stderr.strip()[-2000:]}")
    try:
        figures = [parse(report.name, row) for row in older.rows(report.name, ended.stdout)]
    except (json.JSONDecodeError, KeyError) as error:
        raise ReportError(f"has printed something else than figures: {error!r}") from None
    return figures, [line.removeprefix(MISSING) for line in ended.stderr.splitlines() if line.startswith(MISSING)]
