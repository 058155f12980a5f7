"""A measurement with its samples, as notebooks show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydoca._display.frame.markup import panel_html
from pydoca._display.frame.panel import Fact, Note, Panel, Part
from pydoca.qualify.figures import figure, stat_text
from pydoca.qualify.records import MeasurementRecord
from pydoca.qualify.report.plots.distribution import distribution
from pydoca.qualify.report.plots.series import series
from pydoca.qualify.report.words import interval_text, limit_text, state_of, statistics_of, value_text
from pydoca.qualify.statistics.samples import Array


@dataclass(frozen=True, eq=False)
class Measured:
    """`RunDirectory.measured(name)` makes it. The samples are all of them, those of the warm-up first."""

    record: MeasurementRecord
    samples: Array
    warmup: int = 0

    def __repr__(self) -> str:
        record = self.record
        return f"<Measured {record.name}: {stat_text(record.stat)} {value_text(record)}, {record.verdict.value}>"

    def _repr_html_(self) -> str:
        return panel_html(self._panel())

    def _panel(self) -> Panel:
        """What `pydoca.display` shows."""
        record = self.record
        return Panel("Measurement", record.name, state_of(record.verdict), _facts(record), list(self._parts()))

    def _parts(self) -> Iterator[Part]:
        yield Note("Verdict", self.record.reason)
        if len(self.samples) - self.warmup >= 2:
            yield distribution(self.record, self.samples[self.warmup :])
            yield series(self.record, self.samples, self.warmup)


def _facts(record: MeasurementRecord) -> list[Fact]:
    own = stat_text(record.stat)
    facts: list[Fact] = [
        (own, value_text(record)),
        ("interval", interval_text(record)),
        ("limit", limit_text(record.limit, record.unit)),
        ("samples", figure(record.n)),
        ("warm-up", figure(record.warmup)),
        ("outliers", figure(record.outliers)),
        *((label, text) for label, text in statistics_of(record) if label != own),
    ]
    return [(label, value) for label, value in facts if value != ""]
