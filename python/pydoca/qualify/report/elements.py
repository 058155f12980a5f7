"""The small pieces of the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pydoca._display.frame.escaping import escaped
from pydoca.qualify.figures import plural
from pydoca.qualify.records import CaseRecord
from pydoca.qualify.report.words import MARKS, TONES
from pydoca.qualify.verdicts import Verdict

_LONG, _WIDE = 14, ' class="pq-two"'  # characters of a label, and the class of one that takes two columns
_LINES, _CHARACTERS = 24, 6_000  # of a log: all of it stands in state.json


def badge(verdict: Verdict) -> str:
    return (
        f'<span class="pq-badge pq-{TONES[verdict]}"><span class="pq-mark">{MARKS[verdict]}</span>'
        f"{verdict.value}</span>"
    )


def mark(verdict: Verdict) -> str:
    """In a line that is short of room; its word is for those who point at it, and for programs that read aloud."""
    return (
        f'<span class="pq-mark pq-{TONES[verdict]}" role="img" aria-label="{verdict.value}" '
        f'title="{verdict.value}">{MARKS[verdict]}</span>'
    )


def facts(pairs: Iterable[tuple[str, str]], kind: str) -> str:
    """Pairs of a label and HTML; those without a value are left out."""
    items = "".join(
        f"<div{_WIDE if len(label) > _LONG else ''}><dt>{escaped(label)}</dt><dd>{value}</dd></div>"
        for label, value in pairs
        if value
    )
    return f'<dl class="{kind}">{items}</dl>'


def section(identifier: str, title: str, body: str, note: str = "") -> str:
    small = f"<small>{escaped(note)}</small>" if note else ""
    return f'<section id="{identifier}"><h2>{escaped(title)}{small}</h2>{body}</section>\n'


def scrolled(table: str, label: str) -> str:
    """A table in a container of its own, which scrolls sideways where the page is narrow, also by the keyboard."""
    return f'<div class="pq-scroll" tabindex="0" role="region" aria-label="{escaped(label)}">{table}</div>'


def anchor(case: int, measurement: int | None = None) -> str:
    return f"case-{case}" if measurement is None else f"m-{case}-{measurement}"


def log_name(number: int, case: CaseRecord) -> str:
    """Below the run's directory: "logs/003_DMA-BW.log"."""
    return f"logs/{number:03}_{re.sub(r'[^A-Za-z0-9.-]+', '_', case.id)[:60]}.log"


def excerpt(log: str) -> str:
    """The end of a log, where a failure is."""
    lines = log.strip("\n").splitlines()
    shown = "\n".join(lines[-_LINES:])[-_CHARACTERS:]
    more = len(lines) - len(shown.splitlines())
    return escaped(f"\u2026 {plural(more, 'line')} before\n{shown}" if more > 0 else shown)


def cells(values: Sequence[str], kinds: Sequence[str]) -> str:
    return "".join(
        f'<td class="{kind}">{value}</td>' if kind else f"<td>{value}</td>"
        for value, kind in zip(values, kinds, strict=True)
    )


def words_of(text: str) -> str:
    """Text whose long names may be broken behind their dots and slashes."""
    return re.sub(r"([./:_])(?=\w)", r"\1<wbr/>", escaped(text)) if "&" not in text else escaped(text)
