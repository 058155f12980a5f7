"""The pictures of measurements whose samples are there, by the places of the measurements on the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from markupsafe import Markup

from pydoca.qualify.report.cases import Line
from pydoca.qualify.report.plots.distribution import distribution
from pydoca.qualify.report.plots.series import series
from pydoca.qualify.report.plots.spark import spark
from pydoca.qualify.report.rendering import svg
from pydoca.qualify.statistics.samples import Array

ReadSamples = Callable[[str], tuple[Array, int]]

_FEW = 8  # samples: fewer make no distribution


def sparks_of(lines: Iterable[Line], read: ReadSamples) -> dict[str, Markup]:
    """The small pictures of the table."""
    return {
        line.place: svg(spark(line.record, samples[warmup:]), f"{line.place}-s")
        for line, samples, warmup in _with_samples(lines, read, _FEW)
    }


def plots_of(lines: Iterable[Line], read: ReadSamples) -> dict[str, list[Markup]]:
    """The pictures of the cards."""
    return {
        line.place: [
            svg(distribution(line.record, samples[warmup:]), f"{line.place}-d"),
            svg(series(line.record, samples, warmup), f"{line.place}-t"),
        ]
        for line, samples, warmup in _with_samples(lines, read, 2)
    }


def _with_samples(lines: Iterable[Line], read: ReadSamples, least: int) -> Iterator[tuple[Line, Array, int]]:
    """The lines with at least so many samples behind the warm-up. A file that is not there leaves out its line."""
    for line in lines:
        try:
            found = read(line.record.samples) if line.record.samples else None
        except (OSError, ValueError, KeyError):
            continue
        if found is not None and len(found[0]) - found[1] >= least:
            yield line, *found
