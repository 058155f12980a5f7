"""How samples followed one another, from the first one of the warm-up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from pydoca._display.frame import svg
from pydoca._display.frame.panel import Picture
from pydoca.qualify.figures import plural, unit_text
from pydoca.qualify.records import MeasurementRecord
from pydoca.qualify.report.plots.axes import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    limits_along,
    x_axis,
    y_axis,
)
from pydoca.qualify.report.plots.scale import Scale, range_of
from pydoca.qualify.statistics.samples import Array

_DOTS, _LINE = 200, 2_000  # samples: so many are dots, so many a line
_COLUMNS = 200  # beyond, each column shows the least, the middle and the largest of its samples


def series(measurement: MeasurementRecord, samples: Array, warmup: int) -> Picture:
    """The series of all samples, those of the warm-up first."""

    def draw(prefix: str) -> Iterable[str]:
        return _draw(measurement, samples, warmup, prefix)

    title = f"{measurement.name}: {plural(len(samples), 'sample')} in their order"
    return Picture(title, WIDTH, HEIGHT, draw, lines=[title])


def _draw(measurement: MeasurementRecord, samples: Array, warmup: int, prefix: str) -> Iterator[str]:
    along = Scale(0, max(len(samples) - 1, 1), LEFT + 4, RIGHT - 4)
    upright = Scale(*range_of(samples, measurement.limit), BOTTOM, TOP)
    yield svg.hatch(f"{prefix}-hatch")
    yield from y_axis(upright, unit_text(measurement.unit))
    if warmup:
        yield svg.bar(LEFT, TOP, along(warmup - 0.5) - LEFT, BOTTOM - TOP, "quiet", opacity=0.18)
        yield svg.text(LEFT + 2, TOP - 5, f"warm-up: {warmup:,}", faint=True, size=10.5)
    yield from limits_along(upright, measurement, f"{prefix}-hatch")
    yield from _few(along, upright, samples) if len(samples) <= _LINE else _many(along, upright, samples)
    yield from x_axis(along, "sample", whole=True)


def _few(along: Scale, upright: Scale, samples: Array) -> Iterator[str]:
    points = [(along(index), upright(value)) for index, value in enumerate(samples.tolist())]
    dots = len(samples) <= _DOTS
    yield svg.stroke("M" + "L".join(f"{x:g} {y:g}" for x, y in points), "accent", width=0.8 if dots else 1)
    for (x, y), value in zip(points, samples.tolist(), strict=True):
        if not upright.has(value):
            yield _beyond(x, y, value > upright.high)
        elif dots:
            yield svg.dot(x, y, 2, "accent")


def _many(along: Scale, upright: Scale, samples: Array) -> Iterator[str]:
    parts = np.array_split(np.arange(len(samples)), _COLUMNS)
    columns = [(along(float(part.mean())), np.percentile(samples[part], [0, 25, 50, 75, 100])) for part in parts]
    reach = "".join(f"M{x:g} {upright(ends[0]):g}V{upright(ends[4]):g}" for x, ends in columns)
    yield svg.stroke(reach, "accent", width=1.1, opacity=0.35)
    most = "".join(f"M{x:g} {upright(ends[1]):g}V{upright(ends[3]):g}" for x, ends in columns)
    yield svg.stroke(most, "accent", width=1.9, opacity=0.65)
    middle = "L".join(f"{x:g} {upright(ends[2]):g}" for x, ends in columns)
    yield svg.stroke(f"M{middle}", "text", width=1.1)
    for x, ends in columns:
        if not upright.has(ends[4]):
            yield _beyond(x, TOP, True)
        if not upright.has(ends[0]):
            yield _beyond(x, BOTTOM, False)


def _beyond(x: float, y: float, above: bool) -> str:
    """A sample outside of the picture: a triangle at its edge."""
    return svg.filled(f"M{x - 3.5:g} {y + (6 if above else -6):g}h7l-3.5 {-6 if above else 6}z", "busy")
