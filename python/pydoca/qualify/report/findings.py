"""The findings of a run with what they link to, and its failures with their logs."""

from __future__ import annotations

from dataclasses import dataclass

from pydoca.qualify.figures import plural
from pydoca.qualify.findings import findings_of
from pydoca.qualify.records import CaseRecord, RunRecord
from pydoca.qualify.report.cases import Case, Line
from pydoca.qualify.report.words import log_name
from pydoca.qualify.verdicts import Verdict

_FAILED = (Verdict.FAIL, Verdict.ERROR)
_LINES, _CHARACTERS = 24, 6_000  # the most of a log that is shown; state.json has all of it


@dataclass(frozen=True)
class ShownFinding:
    verdict: Verdict
    text: str
    case: CaseRecord | None = None  # what it is about, if that is one case
    target: str = ""  # the id of the case or of the failure
    lines: tuple[Line, ...] = ()  # the measurements that decided the case


@dataclass(frozen=True)
class Failure:
    number: int
    record: CaseRecord

    @property
    def place(self) -> str:
        return f"failure-{self.number}"

    @property
    def file(self) -> str:
        return log_name(self.number, self.record)

    @property
    def log(self) -> str:
        """The end of the log, where a failure is."""
        lines = self.record.log.strip("\n").splitlines()
        shown = "\n".join(lines[-_LINES:])[-_CHARACTERS:]
        more = len(lines) - len(shown.splitlines())
        return (f"\u2026 {plural(more, 'line')} before\n{shown}" if more > 0 else shown) if shown.strip() else ""


def shown_findings(run: RunRecord) -> list[ShownFinding]:
    return [_shown(run, each.verdict, each.text, each.number) for each in findings_of(run)]


def _shown(run: RunRecord, verdict: Verdict, text: str, number: int | None) -> ShownFinding:
    if number is None:
        return ShownFinding(verdict, text)
    case = Case(number, run.cases[number])
    target = Failure(number, case.record).place if case.record.verdict in _FAILED else case.place
    lines = tuple(line for line in case.lines if line.record.verdict is case.record.verdict)
    return ShownFinding(verdict, text, case.record, target, lines)


def failures_of(run: RunRecord) -> list[Failure]:
    return [Failure(number, case) for number, case in enumerate(run.cases) if case.verdict in _FAILED]
