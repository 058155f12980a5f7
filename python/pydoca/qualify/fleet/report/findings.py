"""What a reader must know: cards that failed or were not tested, outliers, lost workers."""

from __future__ import annotations

from collections.abc import Iterator

from pydoca._display.frame.escaping import escaped
from pydoca.qualify.figures import plural, share
from pydoca.qualify.fleet.record import CardRecord, FleetRecord
from pydoca.qualify.report.elements import badge, section
from pydoca.qualify.verdicts import Verdict

TOLD = (Verdict.FAIL, Verdict.ERROR, Verdict.INTERRUPTED, Verdict.INCOMPLETE, Verdict.MARGINAL)
_MOST = 100


def findings_section(fleet: FleetRecord) -> str:
    items = list(_items(fleet))
    if not items:
        return section("findings", "Findings", '<p class="pq-soft">None.</p>')
    shown = "".join(f"<li>{item}</li>" for item in items[:_MOST])
    more = (
        f'<p class="pq-soft">… and {len(items) - _MOST:,} more; fleet.json has all.</p>' if len(items) > _MOST else ""
    )
    return section("findings", "Findings", f'<ul class="pq-findings">{shown}</ul>{more}', f"{len(items):,}")


def _items(fleet: FleetRecord) -> Iterator[str]:
    for verdict in TOLD:
        for each in fleet.cards:
            if each.run.verdict is verdict:
                yield _item(verdict, f"{title(each)} {escaped(reasons(each))}")
    for finding in fleet.findings:
        yield _item(Verdict.MARGINAL, escaped(finding))
    for outlier in fleet.outliers:
        yield _item(None, f'<span class="pq-id">{escaped(outlier.title)}</span> {escaped(outlier.reason)}')


def _item(verdict: Verdict | None, text: str) -> str:
    mark = badge(verdict) if verdict else '<span class="pq-badge pq-busy"><span class="pq-mark">◆</span>OUTLIER</span>'
    return f"<span>{mark}</span><span>{text}</span>"


def title(each: CardRecord) -> str:
    """With a link to the report of the card's run."""
    name = escaped(each.card.title)
    if not each.directory:
        return f'<span class="pq-id">{name}</span>'
    return f'<a class="pq-id" href="{escaped(each.directory)}/report.html">{name}</a>'


def reasons(each: CardRecord) -> str:
    """Of the cases that decided."""
    if each.run.verdict is Verdict.INTERRUPTED:
        return _interrupted(each)
    cases = [case for case in each.run.cases if case.verdict is each.run.verdict]
    told = []
    for case in cases[:3]:
        measured = [f"{one.name}: {one.reason}" for one in case.measurements if one.verdict is case.verdict]
        told.append(f"{case.id}: {case.reason or '; '.join(measured)}")
    more = f"; and {plural(len(cases) - 3, 'case')} more" if len(cases) > 3 else ""
    return "; ".join(told) + more


def _interrupted(each: CardRecord) -> str:
    run = each.run
    if not each.was_tested:
        return run.cases[0].reason
    return f"not run: {share(max(0, run.planned - len(run.cases)), run.planned, 'case')}"
