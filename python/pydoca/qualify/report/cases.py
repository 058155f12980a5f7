"""The cases that the page shows, each with its measurements."""

from __future__ import annotations

from dataclasses import dataclass

from pydoca.qualify.records import CaseRecord, MeasurementRecord, RunRecord
from pydoca.qualify.report.words import PROPERTY
from pydoca.qualify.verdicts import Verdict

_MOST = 400  # cases: a soak repeats them for hours
_WORST = (Verdict.FAIL, Verdict.ERROR, Verdict.MARGINAL, Verdict.UNJUDGED, Verdict.PASS, Verdict.SKIPPED)
_FINE = (Verdict.PASS, Verdict.UNJUDGED)


@dataclass(frozen=True)
class Line:
    """A measurement of a case."""

    place: str  # the id of its card
    case: CaseRecord
    record: MeasurementRecord

    @property
    def has_card(self) -> bool:
        """A single value has no distribution, and stands in the table with all that is known of it."""
        return self.record.n > 1

    @property
    def reason(self) -> str:
        """The reason of a verdict that needs one."""
        return "" if self.record.verdict in _FINE else self.record.reason


@dataclass(frozen=True)
class Case:
    number: int  # its index in `RunRecord.cases`
    record: CaseRecord

    @property
    def place(self) -> str:
        return f"case-{self.number}"

    @property
    def reason(self) -> str:
        """A reason that the line of a measurement does not tell."""
        told = any(self.record.reason.endswith(each.reason) for each in self.record.measurements)
        return "" if told else self.record.reason

    @property
    def lines(self) -> list[Line]:
        return [
            Line(f"m-{self.number}-{index}", self.record, each) for index, each in enumerate(self.record.measurements)
        ]

    @property
    def rows(self) -> list[Line]:
        return [line for line in self.lines if not _is_property(line.record)]

    @property
    def properties(self) -> list[MeasurementRecord]:
        """Many short values, which stand side by side."""
        return [each for each in self.record.measurements if _is_property(each)]


def _is_property(measurement: MeasurementRecord) -> bool:
    """Whether it is of the device, and nothing is wrong with it."""
    return measurement.stat == PROPERTY and measurement.verdict in _FINE


def shown_cases(run: RunRecord) -> list[Case]:
    """The worst ones, where there are too many, in their order."""
    cases = [Case(number, record) for number, record in enumerate(run.cases)]
    worst = sorted(cases, key=lambda each: _WORST.index(each.record.verdict))[:_MOST]
    return sorted(worst, key=lambda each: each.number)
