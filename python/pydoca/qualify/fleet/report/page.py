"""The page of a fleet."""

from __future__ import annotations

from pydoca.qualify.figures import plural
from pydoca.qualify.fleet.findings import findings_of
from pydoca.qualify.fleet.record import FleetRecord
from pydoca.qualify.fleet.report.band import said
from pydoca.qualify.fleet.report.cards import ran, why, worst_first
from pydoca.qualify.fleet.report.measurements import tables_of
from pydoca.qualify.report.rendering import render
from pydoca.qualify.report.words import Sign, counts_of, sign_of


def fleet_html(fleet: FleetRecord) -> str:
    return render(
        __package__,
        "fleet.html",
        fleet=fleet,
        title=f"{fleet.verdict.value}: {plural(len(fleet.cards), 'card')}, {fleet.id}",
        sign=sign_of(fleet.verdict),
        said=said(fleet),
        counts=counts_of([each.run.verdict for each in fleet.cards]),
        findings=findings_of(fleet),
        by_key={each.card.key: each for each in fleet.cards},
        outlier=Sign("OUTLIER", "busy", "\u25c6"),
        cards=worst_first(fleet),
        why=why,
        ran=ran,
        tables=tables_of(fleet),
    )
