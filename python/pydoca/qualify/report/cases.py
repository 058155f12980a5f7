"""The table of cases, each with its measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from pydoca._display.frame.escaping import escaped
from pydoca._display.frame.markup import inline_svg
from pydoca.qualify.figures import duration
from pydoca.qualify.records import CaseRecord, MeasurementRecord, RunRecord
from pydoca.qualify.report.elements import anchor, badge, cells, mark, scrolled, section, words_of
from pydoca.qualify.report.plots.spark import spark
from pydoca.qualify.report.words import PROPERTY, interval_text, limit_text, parameter, sentence, stat_of, value_text
from pydoca.qualify.statistics.samples import Array
from pydoca.qualify.verdicts import Verdict

Read = Callable[[MeasurementRecord], "tuple[Array, int] | None"]

MOST = 400  # cases: a soak repeats them for hours
_FEW = 8  # samples: fewer make no distribution
_HEADS = (
    ("", ""),
    ("Measurement", "pq-name"),
    ("Value", "pq-n"),
    ("Interval", "pq-n"),
    ("Limit", "pq-n"),
    ("Samples", "pq-n"),
    ("Distribution", "pq-spark"),
)


def shown_cases(run: RunRecord) -> list[tuple[int, CaseRecord]]:
    """With their numbers; the worst ones, where there are too many."""
    numbered = list(enumerate(run.cases))
    if len(numbered) <= MOST:
        return numbered
    worst = (Verdict.FAIL, Verdict.ERROR, Verdict.MARGINAL, Verdict.UNJUDGED, Verdict.PASS, Verdict.SKIPPED)
    kept = sorted(numbered, key=lambda each: worst.index(each[1].verdict))[:MOST]
    return sorted(kept, key=lambda each: each[0])


def case_table(run: RunRecord, read: Read) -> str:
    shown = shown_cases(run)
    heads = "".join(f'<th scope="col" class="{kind}">{title}</th>' for title, kind in _HEADS)
    bodies = "".join("".join(_case(number, case, read)) for number, case in shown)
    table = scrolled(f'<table class="pq-cases"><thead><tr>{heads}</tr></thead>{bodies}</table>', "Cases")
    if len(shown) < len(run.cases):
        table += f'<p class="pq-soft">The worst {len(shown):,} of {len(run.cases):,} cases; state.json has all.</p>'
    return section("cases", "Cases", table, f"{len(run.cases):,} of {max(run.planned, len(run.cases)):,} planned")


def _case(number: int, case: CaseRecord, read: Read) -> Iterator[str]:
    repeat = f' <span class="pq-soft">repeat {case.repeat + 1}</span>' if case.repeat else ""
    of_test = f' <span class="pq-soft">{escaped(parameter(case))}</span>' if parameter(case) else ""
    why = f'<span class="pq-why">{escaped(case.reason)}</span>' if _needs_reason(case) else ""
    yield (
        f'<tbody id="{anchor(number)}"><tr class="pq-case"><td>{badge(case.verdict)}</td>'
        f'<td colspan="6"><div class="pq-line"><span class="pq-took">{escaped(duration(case.seconds))}</span>'
        f'<span class="pq-id">{escaped(case.id)}</span><span class="pq-title">{escaped(sentence(case.title))}</span>'
        f"{of_test}{repeat}{why}</div></td></tr>"
    )
    properties = [each for each in case.measurements if _is_property(each)]
    for index, measurement in enumerate(case.measurements):
        if measurement not in properties:
            yield _measurement(anchor(number, index), measurement, read)
    if properties:
        yield _properties(properties)
    yield "</tbody>"


def _is_property(measurement: MeasurementRecord) -> bool:
    """Of the device, and nothing is wrong with it."""
    return measurement.stat == PROPERTY and measurement.verdict in (Verdict.PASS, Verdict.UNJUDGED)


def _properties(properties: Iterable[MeasurementRecord]) -> str:
    """Many short values side by side."""
    items = "".join(
        f"<li>{mark(each.verdict)}{words_of(each.name)} <b>{escaped(value_text(each))}</b></li>" for each in properties
    )
    return f'<tr class="pq-value"><td></td><td colspan="6"><ul class="pq-properties pq-line">{items}</ul></td></tr>'


def _needs_reason(case: CaseRecord) -> bool:
    """A reason that a measurement's line does not tell."""
    return bool(case.reason) and not any(case.reason.endswith(each.reason) for each in case.measurements)


def _name(place: str, measurement: MeasurementRecord) -> str:
    """A link, where there is more to see."""
    name = words_of(measurement.name)
    if has_card(measurement):
        name = f'<a href="#{place}">{name}</a>'
    reason = measurement.reason if measurement.verdict not in (Verdict.PASS, Verdict.UNJUDGED) else ""
    stat = f' <span class="pq-soft">{escaped(stat_of(measurement))}</span>' if stat_of(measurement) else ""
    return name + stat + (f'<span class="pq-why">{escaped(reason)}</span>' if reason else "")


def has_card(measurement: MeasurementRecord) -> bool:
    """A single value has no distribution, and stands in the table with all that is known of it."""
    return measurement.n > 1


def _measurement(place: str, measurement: MeasurementRecord, read: Read) -> str:
    found = read(measurement)
    picture = ""
    if found is not None and len(found[0]) - found[1] >= _FEW:
        picture = inline_svg(spark(measurement, found[0][found[1] :]), f"{place}-s")
    values = (
        mark(measurement.verdict),
        _name(place, measurement),
        escaped(value_text(measurement)),
        escaped(interval_text(measurement)),
        escaped(limit_text(measurement.limit, measurement.unit)),
        f"{measurement.n:,}",
        picture,
    )
    return f'<tr class="pq-value">{cells(values, [kind for _, kind in _HEADS])}</tr>'
