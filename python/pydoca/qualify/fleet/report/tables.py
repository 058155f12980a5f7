"""The tables of cards, the worst ones first, and of workers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydoca._display.frame.escaping import escaped
from pydoca.qualify.figures import duration, plural
from pydoca.qualify.fleet.findings import TOLD, reasons
from pydoca.qualify.fleet.record import CardRecord, FleetRecord
from pydoca.qualify.fleet.report.findings import title
from pydoca.qualify.report.elements import badge, cells, scrolled, section
from pydoca.qualify.verdicts import Verdict

_MOST = 2_000
_WORST = (
    Verdict.FAIL, Verdict.ERROR, Verdict.INTERRUPTED, Verdict.INCOMPLETE, Verdict.MARGINAL, Verdict.SKIPPED,
    Verdict.UNJUDGED, Verdict.PASS,
)  # fmt: skip
_CARDS = (
    ("", ""),
    ("Card", "pq-name"),
    ("Serial", "pq-name"),
    ("Kind", "pq-name"),
    ("Cases", "pq-n"),
    ("Outliers", "pq-n"),
    ("Runs lost", "pq-n"),
    ("Took", "pq-n"),
)
_WORKERS = (("Worker", "pq-name"), ("Cards that it has", "pq-n"), ("Cards that it tested", "pq-n"), ("", ""))


def table_of(label: str, columns: Sequence[tuple[str, str]], lines: Iterable[str]) -> str:
    """columns: the heads, and the classes of their cells."""
    heads = "".join(f'<th scope="col" class="{kind}">{name}</th>' for name, kind in columns)
    body = f"<thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return scrolled(f'<table class="pq-rows">{body}</table>', label)


def cards_section(fleet: FleetRecord) -> str:
    ordered = sorted(fleet.cards, key=lambda each: (_WORST.index(each.run.verdict), -each.outliers))
    table = table_of("Cards", _CARDS, (_line(each) for each in ordered[:_MOST]))
    if len(ordered) > _MOST:
        table += f'<p class="pq-soft">The worst {_MOST:,} of {plural(len(ordered), "card")}; fleet.json has all.</p>'
    return section("cards", "Cards", table, f"{len(fleet.cards):,}")


def _line(each: CardRecord) -> str:
    run, card = each.run, each.card
    bad = run.verdict in TOLD or not each.was_tested
    why = f'<span class="pq-why">{escaped(reasons(each))}</span>' if bad else ""
    ran = sum(case.verdict is not Verdict.SKIPPED for case in run.cases)
    values = (
        badge(run.verdict),
        f"{title(each)}{why}",
        escaped(str(run.device.get("serial", ""))),
        escaped(", ".join(filter(None, (card.kind, card.firmware)))),
        f"{ran:,} of {max(run.planned, len(run.cases)):,}" if each.was_tested else "none",
        f"{each.outliers:,}" if each.outliers else "",
        f"{len(each.losses):,}" if each.losses else "",
        escaped(duration((run.end or run.begin) - run.begin)) if each.was_tested else "",
    )
    return f"<tr>{cells(values, [kind for _, kind in _CARDS])}</tr>"


def workers_section(fleet: FleetRecord) -> str:
    lines = (
        f"<tr>{cells(values, [kind for _, kind in _WORKERS])}</tr>"
        for values in (
            (escaped(each.name), f"{each.cards:,}", f"{each.tested:,}", "was lost" if each.lost else "")
            for each in fleet.workers
        )
    )
    return section("workers", "Workers", table_of("Workers", _WORKERS, lines), f"{len(fleet.workers):,}")
