"""Each measurement over all equal cards: where the cards lie, and which lie apart."""

from __future__ import annotations

from collections.abc import Iterator

from pydoca._display.frame.escaping import escaped
from pydoca._display.frame.markup import inline_svg
from pydoca.qualify.figures import plural, quantity, span_text, stat_text
from pydoca.qualify.fleet.outliers import LEAST, Spread, cutoff
from pydoca.qualify.fleet.record import FleetRecord
from pydoca.qualify.fleet.report.strip import strip
from pydoca.qualify.fleet.report.tables import table_of
from pydoca.qualify.report.elements import cells, section, words_of

_MOST = 300  # with pictures
_HEADS = (
    ("Measurement", "pq-name"),
    ("Cards", "pq-n"),
    ("Median", "pq-n"),
    ("Robust sigma", "pq-n"),
    ("Range", "pq-n"),
    ("Outliers", "pq-n"),
    ("Cards by value", ""),
)


def measurements_section(fleet: FleetRecord) -> str:
    if not fleet.spreads:
        return ""
    kinds = dict.fromkeys(spread.kind for spread in fleet.spreads)
    tables = "".join(_table(fleet, kind) for kind in kinds)
    return section("measurements", "Measurements", tables, f"{len(fleet.spreads):,}")


def _table(fleet: FleetRecord, kind: str) -> str:
    spreads = [(number, spread) for number, spread in enumerate(fleet.spreads) if spread.kind == kind]
    # First those with outliers.
    marked = {(each.kind, each.name, each.stat) for each in fleet.outliers}
    spreads.sort(key=lambda each: (each[1].kind, each[1].name, each[1].stat) not in marked)
    return (
        f'<p class="pq-soft">{escaped(kind)}: {escaped(_rule(max(each.cards for _, each in spreads)))}</p>'
        f"{table_of(f'Measurements: {kind}', _HEADS, _lines(fleet, spreads))}"
    )


def _rule(cards: int) -> str:
    if cards < LEAST:
        return f"{plural(cards, 'card')}; outliers can be told from {LEAST} equal cards on."
    return (
        f"of {cards:,} equal cards one is an outlier that lies more than {cutoff(cards):g} robust sigmas and "
        "5 % off the median. An outlier is worth a look, and is not a verdict."
    )


def _lines(fleet: FleetRecord, spreads: list[tuple[int, Spread]]) -> Iterator[str]:
    for at, (number, spread) in enumerate(spreads):
        apart = [
            each.value
            for each in fleet.outliers
            if (each.kind, each.name, each.stat, each.unit) == (spread.kind, spread.name, spread.stat, spread.unit)
        ]
        picture = inline_svg(strip(spread, apart), f"strip-{number}") if at < _MOST and spread.cards > 1 else ""
        of = (spread.unit, spread.stat)
        values = (
            f'{words_of(spread.name)} <span class="pq-soft">{escaped(stat_text(spread.stat))}</span>',
            f"{spread.cards:,}",
            escaped(quantity(spread.median, *of)),
            escaped(quantity(spread.sigma, *of)),
            escaped(span_text((spread.low, spread.high), *of)),
            f"{len(apart):,}" if apart else "" if spread.judged else "not judged",
            picture,
        )
        yield f"<tr>{cells(values, [css for _, css in _HEADS])}</tr>"
