"""Verdicts, measurements and moments in the words of reports."""

from __future__ import annotations

from datetime import UTC, datetime

from pydoca._display.frame.panel import State, Tone
from pydoca.qualify.figures import CV, bound_text, cv_text, property_text, quantity, span_text, stat_text
from pydoca.qualify.records import CaseRecord, LimitRecord, MeasurementRecord
from pydoca.qualify.report.plots.scale import bounds_of
from pydoca.qualify.verdicts import Verdict

TONES: dict[Verdict, Tone] = {
    Verdict.FAIL: "bad",
    Verdict.ERROR: "bad",
    Verdict.INTERRUPTED: "busy",
    Verdict.INCOMPLETE: "busy",
    Verdict.MARGINAL: "busy",
    Verdict.PASS: "good",
    Verdict.UNJUDGED: "quiet",
    Verdict.SKIPPED: "quiet",
}
# Verdicts of one tone have different marks: a report is read without colours, too.
MARKS = {
    Verdict.FAIL: "\u2715",
    Verdict.ERROR: "!",
    Verdict.INTERRUPTED: "\u2016",
    Verdict.INCOMPLETE: "\u25d4",
    Verdict.MARGINAL: "\u25d0",
    Verdict.PASS: "\u25cf",
    Verdict.UNJUDGED: "\u25cb",
    Verdict.SKIPPED: "\u2013",
}


STATISTICS = ("min", "p50", "mean", "p90", "p99", "p999", "max", "stdev")  # in the order of their values
PROPERTY = "value"  # the statistic of what is compared, and not measured


def state_of(verdict: Verdict) -> State:
    return State(verdict.value, TONES[verdict])


def value_text(measurement: MeasurementRecord) -> str:
    if measurement.stat == PROPERTY:
        return property_text(measurement.reason, measurement.value)
    return quantity(measurement.value, measurement.unit, measurement.stat)


def stat_of(measurement: MeasurementRecord) -> str:
    """Nothing of a property and of a single value, which is all statistics of itself."""
    is_plain = measurement.stat == PROPERTY or (measurement.n == 1 and measurement.stat in STATISTICS)
    return "" if is_plain else stat_text(measurement.stat)


def interval_text(measurement: MeasurementRecord) -> str:
    ends = measurement.interval
    if not ends or ends[0] == ends[1]:
        return ""
    return span_text(ends, measurement.unit, measurement.stat)


def statistics_of(measurement: MeasurementRecord) -> list[tuple[str, str]]:
    """All that is known, by the names that readers use."""
    known, unit = measurement.statistics, measurement.unit
    told = [(stat_text(stat), quantity(known[stat], unit)) for stat in STATISTICS if stat in known]
    return [*told, *([(CV, cv_text(known["cv"]))] if "cv" in known else [])]


def parameter(case: CaseRecord) -> str:
    """Of the case's test, as pytest writes it: "[65536]". Several cases have one id."""
    return f"[{case.node.partition('[')[2]}" if "[" in case.node else ""


def named(case: CaseRecord) -> str:
    return f"{case.id} {parameter(case)}".strip()


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def limit_text(limit: LimitRecord | None, unit: str) -> str:
    signs = {"min": "\u2265", "max": "\u2264"}
    bounds = bounds_of(limit)
    stat = limit.stat if limit else ""
    if len(bounds) == 2 and bounds["min"] == bounds["max"]:
        return f"= {bound_text(bounds['min'], unit, stat)}"
    return ", ".join(f"{signs[name]} {bound_text(bound, unit, stat)}" for name, bound in bounds.items())


def moment(at: float | None) -> str:
    return "\u2013" if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
