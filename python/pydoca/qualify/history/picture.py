"""The distributions of a measurement in two runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pydoca._display.frame import svg
from pydoca._display.frame.panel import Picture
from pydoca.qualify.history.comparison import Row
from pydoca.qualify.report.plots.axes import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, axis_title, x_axis, y_axis
from pydoca.qualify.report.plots.scale import Scale, range_of
from pydoca.qualify.statistics.samples import Array


def both_distributions(row: Row, first: Array, second: Array) -> Picture:
    """The share of samples below each value."""

    def draw(prefix: str) -> Iterator[str]:
        scale = Scale(*range_of(np.concatenate([first, second]), None), LEFT, RIGHT)
        upright = Scale(0, 100, BOTTOM, TOP)
        yield from y_axis(upright, "% of samples below")
        yield svg.stroke(_curve(scale, upright, first), "quiet", width=1.6, dashed=True)
        yield svg.stroke(_curve(scale, upright, second), "accent", width=2)
        yield svg.text(RIGHT, TOP - 12, "dashed: first run, solid: second", anchor="end", faint=True, size=10.5)
        yield from x_axis(scale, axis_title(row.name, row.unit))

    title = f"{row.name}: the share of samples below each value, in both runs"
    return Picture(title, WIDTH, HEIGHT, draw, lines=[title])


def _curve(scale: Scale, upright: Scale, samples: Array) -> str:
    shares = np.linspace(0, 100, min(len(samples) * 2, 201))
    ends = zip(np.percentile(samples, shares).tolist(), shares.tolist(), strict=True)
    return "M" + "L".join(f"{scale(value):g} {upright(share):g}" for value, share in ends)
