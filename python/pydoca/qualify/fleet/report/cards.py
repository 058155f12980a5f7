"""The table of cards."""

from __future__ import annotations

from pydoca.qualify.figures import figure
from pydoca.qualify.fleet.findings import TOLD, reasons
from pydoca.qualify.fleet.record import CardRecord, FleetRecord
from pydoca.qualify.verdicts import Verdict

_WORST = (
    Verdict.FAIL, Verdict.ERROR, Verdict.INTERRUPTED, Verdict.INCOMPLETE, Verdict.MARGINAL, Verdict.SKIPPED,
    Verdict.UNJUDGED, Verdict.PASS,
)  # fmt: skip


def worst_first(fleet: FleetRecord) -> list[CardRecord]:
    return sorted(fleet.cards, key=lambda each: (_WORST.index(each.run.verdict), -each.outliers))


def why(each: CardRecord) -> str:
    """The reasons of a card that is not simply fine."""
    return reasons(each) if each.run.verdict in TOLD or not each.was_tested else ""


def ran(each: CardRecord) -> str:
    """How many cases ran."""
    if not each.was_tested:
        return "none"
    cases = [case for case in each.run.cases if case.verdict is not Verdict.SKIPPED]
    return f"{figure(len(cases))} of {figure(max(each.run.planned, len(each.run.cases)))}"
