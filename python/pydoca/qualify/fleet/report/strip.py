"""All cards' values of one measurement, on one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pydoca._display.frame import svg
from pydoca._display.frame.panel import Picture
from pydoca.qualify.figures import plural
from pydoca.qualify.fleet.outliers import Spread
from pydoca.qualify.report.plots.scale import Scale

WIDTH, HEIGHT = 220.0, 22.0


def strip(spread: Spread, apart: Sequence[float]) -> Picture:
    """A stroke for each value that is not where another one is; outliers are taller, and in another colour."""

    def draw(prefix: str) -> Iterable[str]:
        return _draw(spread, apart)

    title = f"{spread.name} of {plural(spread.cards, 'card')}" + (f", {len(apart)} of them apart" if apart else "")
    return Picture(title, WIDTH, HEIGHT, draw, lines=[title])


def _draw(spread: Spread, apart: Sequence[float]) -> Iterator[str]:
    margin = 0.03 * ((spread.high - spread.low) or abs(spread.high) or 1.0)
    scale = Scale(spread.low - margin, spread.high + margin, 2, WIDTH - 2)
    yield svg.line(f"M1 {HEIGHT - 0.5:g}H{WIDTH - 1:g}", thin=True)
    for x in sorted({round(scale(value)) for value in spread.values if value not in apart}):
        yield svg.stroke(f"M{x} 8V{HEIGHT - 1:g}", "accent", width=1.2)
    for value in apart:
        yield svg.stroke(f"M{scale(value):g} 1V{HEIGHT - 1:g}", "bad", width=2.2)
