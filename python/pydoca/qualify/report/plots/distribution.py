"""How samples are distributed: a histogram, dots where they are few, a tail where the tail is measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from pydoca._display.frame import svg
from pydoca._display.frame.panel import Picture
from pydoca.qualify.figures import figure, plural
from pydoca.qualify.records import MeasurementRecord
from pydoca.qualify.report.plots.axes import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    axis_title,
    limits_across,
    value_across,
    x_axis,
    y_axis,
)
from pydoca.qualify.report.plots.scale import Scale, range_of
from pydoca.qualify.statistics.samples import Array

_FEW = 20  # samples: a histogram of them would tell about its bins
_TAILS = {"p99": 0.01, "p999": 0.001}
_MOST_BINS = 60


def distribution(measurement: MeasurementRecord, samples: Array) -> Picture:
    """The distribution of samples, without those of the warm-up."""
    is_tail = measurement.stat in _TAILS and len(samples) >= 1_000
    kind = "share of samples above" if is_tail else "distribution"

    def draw(prefix: str) -> Iterable[str]:
        return _draw(measurement, samples, prefix, is_tail)

    title = f"{measurement.name}: {kind} of {plural(len(samples), 'sample')}"
    return Picture(title, WIDTH, HEIGHT, draw, lines=[title])


def _draw(measurement: MeasurementRecord, samples: Array, prefix: str, is_tail: bool) -> Iterator[str]:
    ends = [measurement.value] if measurement.value is not None else []
    scale = Scale(*range_of(samples, measurement.limit, ends + list(measurement.interval or ())), LEFT, RIGHT)
    yield svg.hatch(f"{prefix}-hatch")
    if is_tail:
        yield from _tail(scale, samples, _TAILS[measurement.stat])
    elif len(samples) < _FEW:
        yield from _dots(scale, samples, measurement)
    else:
        yield from _histogram(scale, samples)
    yield from limits_across(scale, measurement, f"{prefix}-hatch")
    yield from x_axis(scale, axis_title(measurement.name, measurement.unit))
    yield from value_across(scale, measurement)
    yield from _wild(scale, samples)


def bins_of(scale: Scale, samples: Array, most: int = _MOST_BINS) -> tuple[Array, Array]:
    """Counts and edges, by the rule of Freedman and Diaconis."""
    inside = samples[(samples >= scale.low) & (samples <= scale.high)]
    first, third = np.percentile(inside, [25, 75])
    width = 2 * (third - first) / len(inside) ** (1 / 3)
    wanted = math.ceil((scale.high - scale.low) / width) if width > 0 else most
    counts, edges = np.histogram(inside, bins=int(np.clip(wanted, 12, most)), range=(scale.low, scale.high))
    return counts.astype(np.float64), edges


def _histogram(scale: Scale, samples: Array) -> Iterator[str]:
    counts, edges = bins_of(scale, samples)
    upright = Scale(0, float(counts.max()) * 1.04, BOTTOM, TOP)
    yield from y_axis(upright)
    for count, begin, end in zip(counts, edges, edges[1:], strict=False):
        if count:
            x, y = scale(begin), upright(count)
            shape = svg.bar(x + 0.5, y, scale(end) - x - 1, BOTTOM - y, "accent", opacity=0.55)
            yield svg.group(shape, f"{figure(begin)} to {figure(end)}: {plural(int(count), 'sample')}")


def _dots(scale: Scale, samples: Array, measurement: MeasurementRecord) -> Iterator[str]:
    middle = (TOP + BOTTOM) / 2
    for index, value in enumerate(samples.tolist()):
        y = middle + (index % 3 - 1) * 16
        yield svg.group(svg.dot(scale(value), y, 4, "accent", opacity=0.6), figure(value, measurement.unit))


def _tail(scale: Scale, samples: Array, part: float) -> Iterator[str]:
    """The share of samples above each value, each line a tenth of the one above."""
    ordered = np.sort(samples)
    decades = math.floor(math.log10(len(ordered)))
    upright = Scale(-decades, 0, BOTTOM, TOP)
    for decade in range(decades + 1):
        y = upright(-decade)
        yield svg.line(f"M{LEFT:g} {y:g}H{RIGHT:g}", thin=True)
        yield svg.text(LEFT - 6, y + 3.5, f"{100 / 10**decade:g} %", anchor="end", faint=True, size=10.5)
    share = 1 - np.arange(len(ordered)) / len(ordered)
    picked = np.unique(np.concatenate([_spread(len(ordered)), len(ordered) - _spread(len(ordered))]))
    points = [
        (scale(float(ordered[i])), upright(math.log10(share[i])))
        for i in picked
        if i < len(ordered) and scale.has(ordered[i])
    ]
    path = "L".join(f"{x:g} {y:g}" for x, y in points)
    yield svg.filled(f"M{points[0][0]:g} {BOTTOM:g}L{path}V{BOTTOM:g}z", "accent", opacity=0.15)
    yield svg.stroke(f"M{path}", "accent", width=1.8)
    y = upright(math.log10(part))
    yield svg.stroke(f"M{LEFT:g} {y:g}H{RIGHT:g}", "accent", width=1, dashed=True)


def _spread(size: int) -> Array:
    """Indices close together at the beginning, and ever farther apart: as a logarithmic axis needs them."""
    return np.unique(np.geomspace(1, size, 90).astype(int)) - 1


def _wild(scale: Scale, samples: Array) -> Iterator[str]:
    for beyond, x, anchor, form in (
        (int((samples < scale.low).sum()), LEFT + 4, "start", "\u2190 {} beyond"),
        (int((samples > scale.high).sum()), RIGHT - 4, "end", "{} beyond \u2192"),
    ):
        if beyond:
            yield svg.text(x, BOTTOM - 6, form.format(f"{beyond:,}"), anchor=anchor, size=10.5)
