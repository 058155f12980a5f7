"""Verdicts, measurements and moments in the words of reports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from pydoca._display.frame.panel import State, Tone
from pydoca.qualify.figures import CV, bound_text, cv_text, property_text, quantity, span_text, stat_text
from pydoca.qualify.records import CaseRecord, LimitRecord, MeasurementRecord
from pydoca.qualify.report.plots.scale import bounds_of
from pydoca.qualify.verdicts import Verdict

# The order is that of counts.
_SIGNS: dict[Verdict, tuple[Tone, str]] = {
    Verdict.FAIL: ("bad", "\u2715"),
    Verdict.ERROR: ("bad", "!"),
    Verdict.INTERRUPTED: ("busy", "\u2016"),
    Verdict.INCOMPLETE: ("busy", "\u25d4"),
    Verdict.MARGINAL: ("busy", "\u25d0"),
    Verdict.PASS: ("good", "\u25cf"),
    Verdict.UNJUDGED: ("quiet", "\u25cb"),
    Verdict.SKIPPED: ("quiet", "\u2013"),
}
STATISTICS = ("min", "p50", "mean", "p90", "p99", "p999", "max", "stdev")  # their values have this order
PROPERTY = "value"  # the statistic of what is compared, and not measured


class Sign(NamedTuple):
    """A verdict as a badge shows it. Those of one tone have different marks: a report is read without colours, too."""

    word: str
    tone: Tone
    mark: str


def sign_of(verdict: Verdict) -> Sign:
    return Sign(verdict.value, *_SIGNS[verdict])


def state_of(verdict: Verdict) -> State:
    return State(verdict.value, _SIGNS[verdict][0])


def counts_of(verdicts: Sequence[Verdict]) -> list[tuple[Sign, int]]:
    """How many results came to each verdict that is there, the worst verdict first."""
    return [(sign_of(verdict), count) for verdict in _SIGNS if (count := verdicts.count(verdict))]


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
    """The parameter of the case's test, in pytest's form: "[65536]". Several cases have one id."""
    return f"[{case.node.partition('[')[2]}" if "[" in case.node else ""


def named(case: CaseRecord) -> str:
    return f"{case.id} {parameter(case)}".strip()


def log_name(number: int, case: CaseRecord) -> str:
    """The file of the case's log below the run's directory: "logs/003_DMA-BW.log"."""
    return f"logs/{number:03}_{re.sub(r'[^A-Za-z0-9.-]+', '_', case.id)[:60]}.log"


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
