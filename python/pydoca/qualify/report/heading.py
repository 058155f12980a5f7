"""The band at the top of a report: its verdict, its subject, and how many results came to what."""

from __future__ import annotations

from collections.abc import Iterable

from pydoca._display.frame.escaping import escaped
from pydoca.qualify.report.elements import facts
from pydoca.qualify.report.words import MARKS, TONES
from pydoca.qualify.verdicts import Verdict

_ORDER = (
    Verdict.FAIL, Verdict.ERROR, Verdict.INTERRUPTED, Verdict.INCOMPLETE, Verdict.MARGINAL, Verdict.PASS,
    Verdict.UNJUDGED, Verdict.SKIPPED,
)  # fmt: skip


def heading(verdict: Verdict, kind: str, title: str, said: str, pairs: Iterable[tuple[str, str]], counts: str) -> str:
    """kind, title and counts are HTML, as are the values of the pairs."""
    return (
        f'<header class="pq-band pq-{TONES[verdict]}"><div class="pq-inner"><div class="pq-top">'
        f'<div class="pq-verdict"><span class="pq-mark">{MARKS[verdict]}</span>{verdict.value}</div>'
        f'<div class="pq-who"><p class="pq-kind">{kind}</p><h1>{title}</h1><p>{escaped(said)}</p></div></div>'
        f"{facts(pairs, 'pq-facts')}{counts}</div></header>\n"
    )


def counts_of(verdicts: list[Verdict], more: str = "") -> str:
    """A bar of the verdicts' shares, and their numbers; more: further items of the list."""
    known = {verdict: count for verdict in _ORDER if (count := verdicts.count(verdict))}
    parts = "".join(
        f'<i class="pq-{TONES[verdict]} pq-{verdict.value.lower()}" style="flex:{count}"></i>'
        for verdict, count in known.items()
    )
    items = "".join(
        f'<li><span class="pq-mark pq-{TONES[verdict]}">{MARKS[verdict]}</span> <b>{count:,}</b> {verdict.value}</li>'
        for verdict, count in known.items()
    )
    return f'<div class="pq-bar" aria-hidden="true">{parts}</div><ul class="pq-counts">{items}{more}</ul>'
