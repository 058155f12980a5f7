"""The measurements of a run as a table, for spreadsheets."""

from __future__ import annotations

import csv
import io

from pydoca.qualify.records import CaseRecord, MeasurementRecord, RunRecord

_HEADS = (
    "case", "repeat", "measurement", "unit", "statistic", "value", "low", "high", "samples", "warmup", "outliers",
    "min", "max", "source", "verdict", "reason",
)  # fmt: skip


def measurements_csv(run: RunRecord) -> str:
    """A line per measurement; low and high are the ends of the interval, min and max the limits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADS)
    for case in run.cases:
        writer.writerows(_row(case, each) for each in case.measurements)
    return text.getvalue()


def _row(case: CaseRecord, measurement: MeasurementRecord) -> list[object]:
    low, high = measurement.interval or (None, None)
    limit = measurement.limit
    return [
        case.id, case.repeat, measurement.name, measurement.unit, measurement.stat, measurement.value, low, high,
        measurement.n, measurement.warmup, measurement.outliers, limit and limit.min, limit and limit.max,
        limit and limit.source, measurement.verdict.value, measurement.reason,
    ]  # fmt: skip
