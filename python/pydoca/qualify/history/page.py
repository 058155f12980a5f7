"""A comparison as a page, in the style of reports."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from pydoca.qualify.history.comparison import (
    CHANGED,
    IMPROVED,
    MISSING,
    NEW,
    ORDER,
    REGRESSED,
    SAME,
    SUSPECTED,
    UNTESTED,
    Comparison,
    Row,
    Run,
)
from pydoca.qualify.history.metrics import metrics_of, samples_of
from pydoca.qualify.history.picture import both_distributions
from pydoca.qualify.report.rendering import render, svg
from pydoca.qualify.report.words import Sign

_SIGNS = {
    REGRESSED: Sign("REGRESSED", "bad", "\u2715"),
    MISSING: Sign("MISSING", "bad", "!"),
    SUSPECTED: Sign("SUSPECTED", "busy", "?"),
    CHANGED: Sign("CHANGED", "busy", "\u25d0"),
    UNTESTED: Sign("UNTESTED", "quiet", "\u25cb"),
    IMPROVED: Sign("IMPROVED", "good", "\u25b2"),
    SAME: Sign("SAME", "quiet", "\u2013"),
    NEW: Sign("NEW", "quiet", "\u2013"),
}
_GOOD = Sign("NO REGRESSION", "good", "\u25cf")
_DRAWN = (REGRESSED, SUSPECTED, CHANGED, IMPROVED, UNTESTED)
_MOST = 60  # pictures


def comparison_html(found: Comparison, first: Run, second: Run) -> str:
    """The page has the distributions of what is not the same."""
    counts = {word: sum(row.word == word for row in found.rows) for word in ORDER}
    return render(
        __package__,
        "comparison.html",
        found=found,
        title=f"{found.second} compared with {found.first}",
        sign=_SIGNS[REGRESSED] if found.regressions else _SIGNS[SUSPECTED] if found.suspicions else _GOOD,
        said=f"compared with {found.first}; an effect counts from {100 * found.threshold:g}\u00a0% on",
        counts=[(_SIGNS[word]._replace(word=word), count) for word, count in counts.items() if count],
        signs=_SIGNS,
        notes=[("Note", note) for note in found.notes],
        missing=[(case, "") for case in found.missing],
        left_out=[
            (f"{word.capitalize()} run", f"{each.selection} left out {each.text}")
            for word, each in found.not_selected.items()
            if each.cases
        ],
        verdicts=[(case, f"{one} in the first run, {other} in the second one") for case, one, other in found.verdicts],
        pictures=list(_pictures(found, first, second)),
    )


def _pictures(found: Comparison, first: Run, second: Run) -> Iterator[tuple[Row, Markup]]:
    metrics, others = metrics_of(first[1]), metrics_of(second[1])
    drawn = 0
    for row in found.rows:
        key = (row.name, row.stat)
        a, b = samples_of(first[0], metrics.get(key)), samples_of(second[0], others.get(key))
        if row.word in _DRAWN and min(len(a), len(b)) >= 2 and drawn < _MOST:
            yield row, svg(both_distributions(row, a, b), f"c{drawn}")
            drawn += 1
