"""Each measurement with its pictures and numbers."""

from __future__ import annotations

from collections.abc import Iterator

from pydoca._display.frame.escaping import escaped
from pydoca._display.frame.markup import inline_svg
from pydoca.qualify.figures import stat_text
from pydoca.qualify.records import CaseRecord, MeasurementRecord, RunRecord
from pydoca.qualify.report.cases import Read, has_card, shown_cases
from pydoca.qualify.report.elements import anchor, badge, facts, section, words_of
from pydoca.qualify.report.plots.distribution import distribution
from pydoca.qualify.report.plots.series import series
from pydoca.qualify.report.words import TONES, interval_text, limit_text, statistics_of, value_text

_MOST = 150  # with pictures: a page of more is slow to open


def measurement_cards(run: RunRecord, read: Read) -> str:
    found = [
        (anchor(number, index), case, measurement)
        for number, case in shown_cases(run)
        for index, measurement in enumerate(case.measurements)
        if has_card(measurement)
    ]
    if not found:
        return ""
    cards = "".join(_card(*each, read if at < _MOST else _without_samples) for at, each in enumerate(found))
    return section("measurements", "Measurements", cards, f"{len(found):,}")


def _without_samples(measurement: MeasurementRecord) -> None:
    return None


def _card(place: str, case: CaseRecord, measurement: MeasurementRecord, read: Read) -> str:
    interval = interval_text(measurement)
    return (
        f'<article class="pq-card pq-{TONES[measurement.verdict]}" id="{place}"><div class="pq-head">'
        f"{badge(measurement.verdict)}<h3>{words_of(measurement.name)}</h3>"
        f'<span class="pq-soft">{escaped(case.id)}</span><span class="pq-figure">{escaped(value_text(measurement))} '
        f"<small>{escaped(', '.join(filter(None, (stat_text(measurement.stat), interval))))}</small></span></div>"
        f'<p class="pq-reason">{escaped(measurement.reason)}</p>'
        f'<div class="pq-plots">{"".join(_plots(place, measurement, read))}{_numbers(measurement)}</div>'
        f"{_foot(measurement)}</article>"
    )


def _plots(place: str, measurement: MeasurementRecord, read: Read) -> Iterator[str]:
    found = read(measurement)
    if found is None or len(found[0]) - found[1] < 2:
        return
    samples, warmup = found
    yield f"<div>{inline_svg(distribution(measurement, samples[warmup:]), f'{place}-d')}</div>"
    yield f"<div>{inline_svg(series(measurement, samples, warmup), f'{place}-t')}</div>"


def _numbers(measurement: MeasurementRecord) -> str:
    pairs = [
        ("samples", f"{measurement.n:,}"),
        ("warm-up", f"{measurement.warmup:,}" if measurement.warmup else ""),
        ("outliers", f"{measurement.outliers:,}"),
        *((label, escaped(text)) for label, text in statistics_of(measurement)),
        ("limit", escaped(limit_text(measurement.limit, measurement.unit))),
    ]
    return facts(pairs, "pq-numbers") if measurement.n > 1 else ""


def _foot(measurement: MeasurementRecord) -> str:
    limit = measurement.limit
    names = [f"{measurement.samples}{suffix}" for suffix in (".csv", ".npz")] if measurement.samples else []
    links = " ".join(f'<a href="{escaped(name)}"><code>{words_of(name)}</code></a>' for name in names)
    told = [
        f"Limit from <code>{words_of(limit.source)}</code>" if limit and limit.source else "",
        f"Waived: {escaped(limit.waived)}" if limit and limit.waived else "",
        f"Raw samples: {links}" if links else "",
    ]
    shown = "".join(f"<span>{each}</span>" for each in told if each)
    return f'<div class="pq-foot">{shown}</div>' if shown else ""
