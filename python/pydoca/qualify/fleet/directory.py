"""The directory of a fleet: one of each card's run, and the reports of all of them."""

from __future__ import annotations

import shutil
import signal
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydoca.qualify.fleet.archive import ArchiveError, unpack
from pydoca.qualify.fleet.cards import Card
from pydoca.qualify.fleet.findings import findings_of
from pydoca.qualify.fleet.order import Order
from pydoca.qualify.fleet.record import NOT_TESTED, CardRecord, FleetRecord, not_tested
from pydoca.qualify.fleet.report.page import fleet_html
from pydoca.qualify.fleet.worker import Outcome
from pydoca.qualify.records import CaseRecord, RunRecord
from pydoca.qualify.results import RunDirectory
from pydoca.qualify.results.codec import to_json
from pydoca.qualify.results.files import replace_file, write_checksums
from pydoca.qualify.results.junit import junit_xml
from pydoca.qualify.results.samples import file_name
from pydoca.qualify.verdicts import ExitCode, Verdict

SCHEMA = 2  # fleet.json's version

_KILLED = -signal.SIGKILL  # the exit code of pytest after Ctrl-C twice


class FleetDirectory:
    def __init__(self, path: Path, order: Order) -> None:
        self.path: Path = path
        self._order = order
        self._names: set[str] = set()

    def begin(self, fleet: FleetRecord) -> None:
        self.path.mkdir(parents=True)
        replace_file(self.path / "fleet.json", to_json(to_dict(fleet), indent=2) + "\n")

    def card(self, card: Card, outcome: Outcome, *, interrupted: bool = False) -> CardRecord:
        """Writes what came back of the card's run; of one without a directory, says why. interrupted: by Ctrl-C."""
        if not outcome.archive:
            return CardRecord(card, self._without_directory(card, outcome, interrupted))
        name = self._name(card)
        try:
            unpack(outcome.archive, self.path / name)
            run = RunDirectory.load(self.path / name)
        except (ArchiveError, ValueError, TypeError, KeyError, OSError) as error:
            shutil.rmtree(self.path / name, ignore_errors=True)
            return CardRecord(card, self.missing(card, str(error), at=outcome.begin))
        self._complete(run, self.path / name, outcome, interrupted)
        return CardRecord(card, run, name)

    def missing(self, card: Card, why: str, *, at: float | None = None, verdict: Verdict = Verdict.ERROR) -> RunRecord:
        at = time.time() if at is None else at
        return not_tested(card, self._order.level, self._order.seed, why, at=at, verdict=verdict)

    def end(self, fleet: FleetRecord) -> None:
        replace_file(self.path / "fleet.json", to_json(to_dict(fleet), indent=2) + "\n")
        replace_file(self.path / "junit.xml", junit_xml(*(each.run for each in fleet.cards)))
        replace_file(self.path / "report.html", fleet_html(fleet))
        write_checksums(self.path)

    def _name(self, card: Card) -> str:
        stem = name = f"cards/{file_name(f'{card.host}_{card.device}')}"
        number = 2
        while name in self._names:
            name, number = f"{stem}-{number}", number + 1
        self._names.add(name)
        return name

    def _without_directory(self, card: Card, outcome: Outcome, interrupted: bool) -> RunRecord:
        """pytest has refused the options, found no case, or died early."""
        code, why = outcome.exit_code, _last_line(outcome.said)
        if code == ExitCode.INTERRUPTED or (interrupted and code == _KILLED):
            why = "the run was interrupted before its first case"
            return self.missing(card, why, at=outcome.begin, verdict=Verdict.INTERRUPTED)
        if code == ExitCode.NOTHING_TESTED:
            return self.missing(card, "no case was chosen", at=outcome.begin, verdict=Verdict.SKIPPED)
        run = self.missing(card, why or f"pytest ended with {code}", at=outcome.begin)
        run.cases[0] = replace(run.cases[0], log=outcome.said[-20_000:])
        run.exit_code = int(code) if code == ExitCode.USAGE else run.exit_code
        return run

    def _complete(self, run: RunRecord, path: Path, outcome: Outcome, interrupted: bool) -> None:
        """A run that did not end by itself is an error of the tester, unless Ctrl-C ended it."""
        unended = run.exit_code is None
        run.findings += [f"not copied from the worker, for its size: {name}" for name in outcome.left_out]
        reason = ""
        if outcome.timed_out:
            reason = f"the run was ended after {self._order.seconds:.0f} s"
        elif unended and interrupted and outcome.exit_code == _KILLED:
            run.verdict, run.exit_code, run.end = Verdict.INTERRUPTED, int(ExitCode.INTERRUPTED), outcome.end
        elif unended:
            reason = f"the run did not end by itself: pytest ended with {outcome.exit_code}"
        if reason:
            run.cases.append(_error(reason, outcome))
            run.verdict = Verdict.of_run(case.verdict for case in run.cases)
            run.exit_code = int(ExitCode.of_verdict(run.verdict))
            run.end = outcome.end
        if unended or reason or outcome.left_out:
            _write_anew(run, path)


def to_dict(fleet: FleetRecord) -> dict[str, Any]:
    """The text of fleet.json and of --json, without measurements and logs, which the cards' directories have."""
    document = {name: value for name, value in vars(fleet).items() if name not in ("cards", "spreads", "outliers")}
    return {
        "schema": SCHEMA,
        **document,
        "verdict": fleet.verdict.value,
        "findings": [each.to_dict() for each in findings_of(fleet)],
        "workers": [asdict(each) for each in fleet.workers],
        "cards": [_card(each) for each in fleet.cards],
        "outliers": [{**asdict(each), "reason": each.reason} for each in fleet.outliers],
        "measurements": [{k: v for k, v in asdict(each).items() if k != "values"} for each in fleet.spreads],
    }


def _card(each: CardRecord) -> dict[str, Any]:
    run = each.run
    return {
        **asdict(each.card),
        "verdict": run.verdict.value,
        "exit_code": run.exit_code,
        "tested": each.was_tested,
        "directory": each.directory or None,
        "worker": each.worker,
        "losses": each.losses,
        "outliers": each.outliers,
        "planned": run.planned,
        "cases": {v.value: n for v in Verdict if (n := sum(case.verdict is v for case in run.cases))},
        "problems": [
            {"id": case.id, "verdict": case.verdict.value, "reason": _reason(case)}
            for case in run.cases
            if case.verdict in (Verdict.FAIL, Verdict.ERROR, Verdict.MARGINAL)
        ],
    }


def _reason(case: CaseRecord) -> str:
    of_measurements = [f"{each.name}: {each.reason}" for each in case.measurements if each.verdict is case.verdict]
    return case.reason or "; ".join(of_measurements)


def _error(reason: str, outcome: Outcome) -> CaseRecord:
    seconds, log = outcome.end - outcome.begin, outcome.said[-20_000:]
    return CaseRecord(
        NOT_TESTED + "-END", "the run ends", "", 0, Verdict.ERROR, reason, outcome.begin, seconds, log=log
    )


def _write_anew(run: RunRecord, path: Path) -> None:
    """The machine of the run is not this one, so no second look is taken."""
    before, after = run.machine, run.machine_after
    directory = RunDirectory(path)
    directory.begin(run)
    run.machine, run.machine_after = before, after or before
    directory.end(run)


def _last_line(text: str) -> str:
    """The error that pytest ends with."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return (errors or lines or [""])[-1][:500]
