"""A distribution in a cell of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydoca._display.frame import svg
from pydoca._display.frame.panel import Picture
from pydoca.qualify.records import MeasurementRecord
from pydoca.qualify.report.plots.distribution import bins_of
from pydoca.qualify.report.plots.scale import Scale, bounds_of, range_of
from pydoca.qualify.statistics.samples import Array

WIDTH, HEIGHT = 120.0, 24.0


def spark(measurement: MeasurementRecord, samples: Array) -> Picture:
    def draw(prefix: str) -> Iterable[str]:
        return _draw(measurement, samples)

    title = f"distribution of {measurement.name}"
    return Picture(title, WIDTH, HEIGHT, draw, lines=[title])


def _draw(measurement: MeasurementRecord, samples: Array) -> Iterator[str]:
    scale = Scale(*range_of(samples, measurement.limit), 1, WIDTH - 1)
    counts, edges = bins_of(scale, samples, most=30)
    for count, begin, end in zip(counts, edges, edges[1:], strict=False):
        if count:
            x, height = scale(begin), max(1.5, (HEIGHT - 4) * count / counts.max())
            yield svg.bar(x, HEIGHT - 1 - height, max(scale(end) - x - 0.4, 0.6), height, "accent", opacity=0.7)
    yield svg.line(f"M1 {HEIGHT - 0.5:g}H{WIDTH - 1:g}", thin=True)
    for bound in bounds_of(measurement.limit).values():
        if scale.has(bound):
            yield svg.stroke(f"M{scale(bound):g} 0V{HEIGHT:g}", "bad", width=1.6)
