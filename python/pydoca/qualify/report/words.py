"""Verdicts, numbers and times in the words of reports."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from pydoca._display.frame.panel import State, Tone
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


# In the order of their values, as readers call them.
STATISTICS = {
    "min": "min", "p50": "p50", "mean": "mean", "p90": "p90", "p99": "p99", "p999": "p99.9", "max": "max",
    "stdev": "stdev",
}  # fmt: skip
_ANSWERS = {"True": "yes", "False": "no", "None": "none"}
PROPERTY = "value"  # the statistic of what is compared, and not measured
_UNITS = {"1": "", "us": "\u00b5s", "degC": "\u00b0C"}


def state_of(verdict: Verdict) -> State:
    return State(verdict.value, TONES[verdict])


def unit_text(unit: str) -> str:
    """Of numbers without a dimension: nothing."""
    return _UNITS.get(unit, unit)


def figure(value: float | None) -> str:
    """Four significant digits; counts whole."""
    if value is None:
        return "\u2013"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1e6 or abs(value) < 1e-3:
        return f"{value:.3g}"
    digits = max(0, 3 - len(str(int(abs(value)))) + (1 if abs(value) >= 1 else 0) + (1 if abs(value) < 1 else 0))
    return f"{value:,.{digits}f}"


def quantity(value: float | None, unit: str) -> str:
    """A dash, where there is no value."""
    return figure(value) if value is None else f"{figure(value)} {unit_text(unit)}".strip()


def value_text(measurement: MeasurementRecord) -> str:
    """Of a property that is not a number, what its reason begins with."""
    if measurement.stat == PROPERTY:
        said = re.split(r"[;,] ", measurement.reason)[0]
        if said in _ANSWERS or measurement.value is None:
            return _ANSWERS.get(said, said)
    return quantity(measurement.value, measurement.unit)


def interval_text(measurement: MeasurementRecord) -> str:
    ends = measurement.interval
    return f"{figure(ends[0])} to {figure(ends[1])}" if ends and ends[0] != ends[1] else ""


def parameter(case: CaseRecord) -> str:
    """Of the case's test, as pytest writes it: "[65536]". Several cases have one id."""
    return f"[{case.node.partition('[')[2]}" if "[" in case.node else ""


def named(case: CaseRecord) -> str:
    return f"{case.id} {parameter(case)}".strip()


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def limit_text(limit: LimitRecord | None) -> str:
    signs = {"min": "\u2265", "max": "\u2264"}
    bounds = bounds_of(limit)
    if len(bounds) == 2 and bounds["min"] == bounds["max"]:
        return f"= {bounds['min']:g}"
    return ", ".join(f"{signs[name]} {bound:g}" for name, bound in bounds.items())


def moment(at: float | None) -> str:
    return "\u2013" if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
