"""What a reader of a fleet must know: cards that failed or were not tested, what is of no card alone, and outliers.

The page, fleet.json and the end of the terminal's lines have the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydoca.qualify.figures import plural, share
from pydoca.qualify.findings import Finding
from pydoca.qualify.fleet.record import CardRecord, FleetRecord
from pydoca.qualify.verdicts import Verdict

CARD, FLEET, OUTLIER = KINDS = ("card", "fleet", "outlier")
TOLD = (Verdict.FAIL, Verdict.ERROR, Verdict.INTERRUPTED, Verdict.INCOMPLETE, Verdict.MARGINAL)
_CASES = 3  # the most that the text of a card names


@dataclass(frozen=True)
class FleetFinding(Finding):
    """A finding as a run has them, about one card unless it is of the kind FLEET."""

    card: str = ""  # its key
    title: str = ""  # its host and its name there

    def to_dict(self) -> dict[str, Any]:
        """The object of fleet.json."""
        known = super().to_dict()
        return {**known, "card": self.card, "title": self.title} if self.card else known


def findings_of(fleet: FleetRecord) -> list[FleetFinding]:
    """The worst ones first."""
    return [*_of_cards(fleet), *_of_fleet(fleet), *_outliers(fleet)]


def _of_cards(fleet: FleetRecord) -> Iterator[FleetFinding]:
    for verdict in TOLD:
        for each in fleet.cards:
            if each.run.verdict is verdict:
                ids = tuple(case.id for case in each.run.cases if case.verdict is verdict)
                yield FleetFinding(CARD, verdict, reasons(each), ids, card=each.card.key, title=each.card.title)


def _of_fleet(fleet: FleetRecord) -> Iterator[FleetFinding]:
    yield from (FleetFinding(FLEET, Verdict.MARGINAL, text) for text in fleet.findings)


def _outliers(fleet: FleetRecord) -> Iterator[FleetFinding]:
    """Worth a look, in whichever direction it lies."""
    for each in fleet.outliers:
        yield FleetFinding(OUTLIER, Verdict.MARGINAL, each.reason, card=each.card, title=each.title)


def reasons(each: CardRecord) -> str:
    """The reasons of the cases that decided."""
    if each.run.verdict is Verdict.INTERRUPTED:
        return _interrupted(each)
    cases = [case for case in each.run.cases if case.verdict is each.run.verdict]
    told = []
    for case in cases[:_CASES]:
        measured = [f"{one.name}: {one.reason}" for one in case.measurements if one.verdict is case.verdict]
        told.append(f"{case.id}: {case.reason or '; '.join(measured)}")
    more = f"; and {plural(len(cases) - _CASES, 'case')} more" if len(cases) > _CASES else ""
    return "; ".join(told) + more


def _interrupted(each: CardRecord) -> str:
    run = each.run
    if not each.was_tested:
        return run.cases[0].reason
    return f"not run: {share(max(0, run.planned - len(run.cases)), run.planned, 'case')}"
