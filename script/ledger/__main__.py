"""The part of script/bench that runs when everything is built; its options are those of script/bench."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ledger import table
from ledger.comparison import Change, changes, without_counterpart
from ledger.figures import Figure
from ledger.records import FILE, Ledger, this_machine
from ledger.reports import BY_NAME, REPORTS, Report, find_device, obstacle
from ledger.runs import ReportError, Tree, run

ROOT = Path(__file__).resolve().parents[2]
TURNS = 3  # turns of both revisions, and as many again of a report with a figure that seems worse


@dataclass
class Outcome:
    """The outcome of one run of the reports, or of several."""

    figures: list[Figure] = field(default_factory=list)
    not_run: dict[str, str] = field(default_factory=dict)  # reasons
    failed: dict[str, str] = field(default_factory=dict)


class Bench:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.device = arguments.device or find_device()
        self.here = Tree(ROOT)
        self.reports = [BY_NAME[name] for name in arguments.report] or list(REPORTS)

    def run(self, report: Report, tree: Tree, outcome: Outcome) -> list[Figure]:
        """Runs a report and adds to the outcome; an obstacle or a failure does not end the others."""
        if reason := obstacle(report, self.device, tree.programs):
            outcome.not_run[report.name] = reason
            print(f"not run: {reason}", flush=True)
            return []
        try:
            figures, missing = run(report, tree, self.arguments.repetitions, self.device)
        except ReportError as error:
            outcome.failed[report.name] = str(error)
            print(f"failed: {report.name} {error}", flush=True)
            return []
        if missing:
            outcome.not_run[report.name] = "; ".join(missing)
            print("not measured:", *missing, sep="\n  ", flush=True)
        outcome.figures += figures
        return figures

    def run_all(self, heading: str = "") -> Outcome:
        ledger, machine = Ledger.read(), this_machine()
        recorded = ledger.spreads(machine)
        outcome = Outcome()
        for number, report in enumerate(self.reports, 1):
            announce(f"{heading}{report.name}, {report.title} ({number} of {len(self.reports)})")
            for figure in self.run(report, self.here, outcome):
                print(table.figure_line(figure, recorded.get(figure.key)), flush=True)
        return outcome


def announce(text: str) -> None:
    print(f"\n==> [{time.strftime('%T')}] {text}", flush=True)


def revision() -> str:
    line = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def document(reports: Iterable[Report], outcome: Outcome, load: float) -> dict[str, object]:
    """The object of docs/figures.json, from which the documentation makes its page."""
    kernel = platform.release().split("-")[0]
    of_reports = {
        report.name: {
            "title": report.title,
            "figures": [figure.document() for figure in outcome.figures if figure.report == report.name],
        }
        for report in reports
    }
    found = {name: each for name, each in of_reports.items() if each["figures"]}
    return {
        "machine": {**this_machine(), "kernel": kernel, "load": load},
        "reports": found,
        "not_run": {**outcome.not_run, **outcome.failed},
    }


def close(outcome: Outcome, check: bool) -> int:
    """Prints the summary; returns the exit code, which --check makes 1 for what the ledger does not explain."""
    ledger, machine = Ledger.read(), this_machine()
    announce("Summary")
    with_targets = [figure for figure in outcome.figures if figure.target is not None]
    met = sum(figure.ok for figure in with_targets)
    print(f"{len(outcome.figures)} figures; {met} of {len(with_targets)} targets are met")
    if missed := table.misses(outcome.figures, ledger):
        print("missed:", *missed, sep="\n  ")
    show_gaps(outcome)
    recorded = ledger.spreads(machine)
    where = f"{machine['cores']} cores of {machine['processor']}"
    worse = table.worse_than_recorded(outcome.figures, recorded)
    if not recorded:
        print(f"the ledger has no record of a machine with {where}: its ratios inform only")
    elif worse:
        print(f"worse than the ledger's record of {where}:", *map(table.change_line, worse), sep="\n  ")
    unexplained = [figure for figure in outcome.figures if not figure.ok and not ledger.reason(*figure.key)]
    return 1 if outcome.failed or (check and (worse or unexplained)) else 0


def show_gaps(outcome: Outcome) -> None:
    for kind, reports in (("not run", outcome.not_run), ("FAILED", outcome.failed)):
        for name, reason in reports.items():
            print(f"{kind}: {name}: {reason}")


def record(bench: Bench) -> int:
    """Records several runs, so that the ledger knows the spread."""
    outcomes = [bench.run_all(f"turn {turn} of {TURNS}: ") for turn in range(1, TURNS + 1)]
    ledger = Ledger.read()
    ledger.record(this_machine(), revision(), [outcome.figures for outcome in outcomes])
    ledger.write()
    print(f"\nwritten: {FILE}")
    without = [miss for miss in ledger.misses() if not miss.reason]
    for miss in without:
        print(f"write the reason of this miss: {miss.report}: {miss.name}")
    show_gaps(outcomes[-1])
    return 1 if without or any(outcome.failed for outcome in outcomes) else 0


class Comparison:
    """A comparison of this tree with another revision's, in turns."""

    def __init__(self, bench: Bench, tree: Tree, name: str) -> None:
        self.bench = bench
        self.before, self.after = Outcome(), Outcome()
        self.tree = tree
        self.name = name
        self.runs: dict[str, list[tuple[list[Figure], list[Figure]]]] = {}

    def take_turn(self, heading: str, reports: list[Report]) -> None:
        for number, report in enumerate(reports, 1):
            announce(f"{heading}, {report.name} ({number} of {len(reports)})")
            old = self.bench.run(report, self.tree, self.before) if self.tree.has(report) else []
            new = self.bench.run(report, self.bench.here, self.after)
            self.runs.setdefault(report.name, []).append((old, new))

    def changes(self) -> list[Change]:
        return [each for runs in self.runs.values() for each in changes(*zip(*runs, strict=True))]

    def run(self) -> int:
        for turn in range(1, TURNS + 1):
            self.take_turn(f"turn {turn} of {TURNS}", self.bench.reports)
        suspects = [report for report in self.bench.reports if report.name in set(self._worse())]
        for turn in range(1, TURNS + 1):
            self.take_turn(f"again, as figures seem worse: turn {turn} of {TURNS}", suspects)
        return self.close()

    def _worse(self) -> Iterator[str]:
        """The reports with a figure that is worse, except by counts, which need no second look."""
        for change in self.changes():
            if change.is_worse and not change.figure.is_counted:
                yield change.figure.report

    def close(self) -> int:
        found = self.changes()
        announce(
            f"{self.name} -> this tree: costs, as ratios to their floors, or instructions; the median of all turns"
        )
        print(*map(table.change_line, found), sep="\n")
        olds, news = zip(*(pair for runs in self.runs.values() for pair in runs), strict=True)
        for these, others, where in ((news, olds, self.name), (olds, news, "this tree")):
            for report, name in without_counterpart(these, others):
                print(f"no counterpart in {where}: {report}: {name}")
        show_gaps(self.after)
        worse = [change for change in found if change.is_worse]
        print(f"\n{len(found)} figures are in both; worse: {len(worse)}")
        for change in worse:
            print(table.change_line(change))
        return 1 if worse or self.after.failed else 0


def parse_arguments(line: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="script/bench")
    parser.add_argument("report", nargs="*", choices=[[], *BY_NAME])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against")
    parser.add_argument("--tree", type=Path, help="of the revision, built")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--device")
    parser.add_argument("--load", type=float, default=0.0, help="of the machine, by other processes")
    return parser.parse_args(line)


def main() -> int:
    arguments = parse_arguments()
    if arguments.list:
        print(*(f"{report.name:<22} {report.title}" for report in REPORTS), sep="\n")
        return 0
    bench = Bench(arguments)
    if arguments.against:
        other = Tree(arguments.tree, site=arguments.tree / "build" / "site")
        return Comparison(bench, other, arguments.against).run()
    if arguments.record:
        return record(bench)
    outcome = bench.run_all()
    if arguments.json:
        found = document(bench.reports, outcome, arguments.load)
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    return close(outcome, arguments.check)


if __name__ == "__main__":
    sys.exit(main())
