"""A comparison as a page, in the style of reports."""

from __future__ import annotations

from collections.abc import Iterable

from pydoca._display.frame.escaping import escaped
from pydoca._display.frame.markup import inline_svg
from pydoca._display.frame.panel import Tone
from pydoca.qualify.history.comparison import (
    CHANGED,
    IMPROVED,
    MISSING,
    ORDER,
    REGRESSED,
    SUSPECTED,
    UNTESTED,
    Comparison,
    Row,
    Run,
)
from pydoca.qualify.history.metrics import metrics_of, samples_of
from pydoca.qualify.history.picture import both_distributions
from pydoca.qualify.report.elements import cells, scrolled, section, words_of
from pydoca.qualify.report.page import whole_page

_TONES: dict[str, Tone] = {REGRESSED: "bad", MISSING: "bad", SUSPECTED: "busy", CHANGED: "busy", IMPROVED: "good"}
_MARKS = {
    REGRESSED: "\u2715", MISSING: "!", SUSPECTED: "?", CHANGED: "\u25d0", UNTESTED: "\u25cb", IMPROVED: "\u25b2",
}  # fmt: skip
_DRAWN = (REGRESSED, SUSPECTED, CHANGED, IMPROVED, UNTESTED)
_MOST = 60  # pictures
_HEADS = (
    ("", ""),
    ("Measurement", "pq-name"),
    ("First", "pq-n"),
    ("Second", "pq-n"),
    ("Effect", "pq-n"),
    ("p (Holm)", "pq-n"),
    ("Samples", "pq-n"),
)


def comparison_html(found: Comparison, first: Run, second: Run) -> str:
    """With the distributions of what is not the same."""
    parts = [
        _notes(found), _rows(found.rows), _missing(found), _left_out(found), _verdicts(found),
        _pictures(found, first, second), _machine(found),
    ]  # fmt: skip
    return whole_page(f"{found.second} compared with {found.first}", _band(found), "".join(parts))


def left_out_texts(found: Comparison) -> list[str]:
    """A sentence for each run with a selection: it names what only the other run has, because of that selection."""
    runs = {"first": found.first, "second": found.second}
    return [
        f"not selected in {runs[word]} ({each.selection}): {each.text}"
        for word, each in found.not_selected.items()
        if each.cases
    ]


def effect_text(row: Row) -> str:
    return "" if row.effect is None else f"{100 * row.effect:+.1f} %" if row.effect else "0 %"


def p_text(row: Row) -> str:
    return "" if row.p is None else "< 0.0001" if row.p < 1e-4 else f"{row.p:.3g}"


def _band(found: Comparison) -> str:
    tone, mark, word = ("bad", "\u2715", "REGRESSED") if found.regressions else _without_regressions(found)
    counts = {word: sum(row.word == word for row in found.rows) for word in ORDER}
    items = "".join(
        f'<li><span class="pq-mark pq-{_tone(word)}">{_mark(word)}</span> <b>{count:,}</b> {word}</li>'
        for word, count in counts.items()
        if count
    )
    return (
        f'<header class="pq-band pq-{tone}"><div class="pq-inner"><div class="pq-top">'
        f'<div class="pq-verdict"><span class="pq-mark">{mark}</span>{word}</div>'
        f'<div class="pq-who"><p class="pq-kind">Comparison of two runs</p><h1>{escaped(found.second)}</h1>'
        f"<p>compared with {escaped(found.first)}; an effect counts from {100 * found.threshold:g}\u00a0% on</p>"
        "</div></div>"
        f'<ul class="pq-counts" style="margin-top:18px">{items}</ul></div></header>\n'
    )


def _without_regressions(found: Comparison) -> tuple[Tone, str, str]:
    return ("busy", "?", "SUSPECTED") if found.suspicions else ("good", "\u25cf", "NO REGRESSION")


def _tone(word: str) -> Tone:
    return _TONES.get(word, "quiet")


def _mark(word: str) -> str:
    return _MARKS.get(word, "\u2013")


def _table(label: str, heads: Iterable[tuple[str, str]], lines: Iterable[str]) -> str:
    head = "".join(f'<th scope="col" class="{kind}">{title}</th>' for title, kind in heads)
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return scrolled(f'<table class="pq-rows">{body}</table>', label)


def _rows(rows: Iterable[Row]) -> str:
    return section("measurements", "Measurements", _table("Measurements", _HEADS, map(_line, rows)))


def _line(row: Row) -> str:
    badge = (
        f'<span class="pq-badge pq-{_tone(row.word)}"><span class="pq-mark">{_mark(row.word)}</span>'
        f"{row.word.upper()}</span>"
    )
    why = f'<span class="pq-why">{escaped(row.reason)}</span>' if row.reason else ""
    values = (
        badge,
        f'{words_of(row.name)} <span class="pq-soft">{escaped(row.statistic)}</span>{why}',
        *map(escaped, row.texts),
        escaped(effect_text(row)),
        escaped(p_text(row)),
        f"{row.samples[0]:,}, {row.samples[1]:,}",
    )
    return f"<tr>{cells(values, [kind for _, kind in _HEADS])}</tr>"


def _missing(found: Comparison) -> str:
    if not found.missing:
        return ""
    items = "".join(f'<li><span class="pq-id">{escaped(case)}</span><span></span></li>' for case in found.missing)
    return section("missing", "Cases that the second run does not have", f'<ul class="pq-findings">{items}</ul>')


def _left_out(found: Comparison) -> str:
    """Apart from what is missing: it is not a regression."""
    items = "".join(
        f'<li><span class="pq-id">{word.capitalize()} run</span><span>{escaped(each.selection)} left out '
        f"{escaped(each.text)}</span></li>"
        for word, each in found.not_selected.items()
        if each.cases
    )
    return section("not-selected", "Not selected", f'<ul class="pq-findings">{items}</ul>') if items else ""


def _verdicts(found: Comparison) -> str:
    if not found.verdicts:
        return ""
    items = "".join(
        f'<li><span class="pq-id">{escaped(case)}</span>'
        f"<span>{one} in the first run, {other} in the second one</span></li>"
        for case, one, other in found.verdicts
    )
    return section("cases", "Cases with another verdict", f'<ul class="pq-findings">{items}</ul>')


def _notes(found: Comparison) -> str:
    items = "".join(f'<li><span class="pq-id">Note</span><span>{escaped(note)}</span></li>' for note in found.notes)
    return section("notes", "The runs are not alike", f'<ul class="pq-findings">{items}</ul>') if items else ""


def _machine(found: Comparison) -> str:
    if not found.machine:
        return ""
    lines = (
        f"<tr>{cells([escaped(each) for each in texts], ['', 'pq-name', 'pq-name'])}</tr>" for texts in found.machine
    )
    heads = [("Fact", ""), ("First", ""), ("Second", "")]
    return section("machine", "Differences of the machines", _table("Differences of the machines", heads, lines))


def _pictures(found: Comparison, first: Run, second: Run) -> str:
    metrics, others = metrics_of(first[1]), metrics_of(second[1])
    cards: list[str] = []
    for row in found.rows:
        key = (row.name, row.stat)
        a, b = samples_of(first[0], metrics.get(key)), samples_of(second[0], others.get(key))
        if row.word in _DRAWN and min(len(a), len(b)) >= 2 and len(cards) < _MOST:
            picture = inline_svg(both_distributions(row, a, b), f"c{len(cards)}")
            cards.append(
                f'<article class="pq-card pq-{_tone(row.word)}"><div class="pq-head"><h3>{words_of(row.name)}</h3>'
                f'<span class="pq-figure">{escaped(effect_text(row))}</span></div>{picture}</article>'
            )
    plots = f'<div class="pq-plots">{"".join(cards)}</div>'
    return section("distributions", "Distributions", plots) if cards else ""
