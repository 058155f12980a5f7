"""Each measurement over all equal cards: where the cards lie, and which lie apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from markupsafe import Markup

from pydoca.qualify.figures import plural
from pydoca.qualify.fleet.outliers import LEAST, Spread, cutoff
from pydoca.qualify.fleet.record import FleetRecord
from pydoca.qualify.fleet.report.strip import strip
from pydoca.qualify.report.rendering import svg

_MOST = 300  # the most cards that get pictures


class Row(NamedTuple):
    spread: Spread
    apart: list[float]  # the values of the outliers
    picture: Markup


class Table(NamedTuple):
    """The measurements of one kind of card."""

    kind: str
    rule: str
    rows: list[Row]


def tables_of(fleet: FleetRecord) -> list[Table]:
    kinds = dict.fromkeys(spread.kind for spread in fleet.spreads)
    return [Table(kind, _rule(fleet, kind), list(_rows(fleet, kind))) for kind in kinds]


def _rule(fleet: FleetRecord, kind: str) -> str:
    cards = max(spread.cards for spread in fleet.spreads if spread.kind == kind)
    if cards < LEAST:
        return f"{plural(cards, 'card')}; outliers can be told from {LEAST} equal cards on."
    return (
        f"of {cards:,} equal cards one is an outlier that lies more than {cutoff(cards):g} robust sigmas and "
        "5 % off the median. An outlier is worth a look, and is not a verdict."
    )


def _rows(fleet: FleetRecord, kind: str) -> Iterator[Row]:
    """The measurements with outliers come first."""
    marked = {(each.kind, each.name, each.stat) for each in fleet.outliers}
    spreads = [(number, spread) for number, spread in enumerate(fleet.spreads) if spread.kind == kind]
    spreads.sort(key=lambda each: (each[1].kind, each[1].name, each[1].stat) not in marked)
    for at, (number, spread) in enumerate(spreads):
        own = (spread.kind, spread.name, spread.stat, spread.unit)
        apart = [each.value for each in fleet.outliers if (each.kind, each.name, each.stat, each.unit) == own]
        is_drawn = at < _MOST and spread.cards > 1
        yield Row(spread, apart, svg(strip(spread, apart), f"strip-{number}") if is_drawn else Markup())
