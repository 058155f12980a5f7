"""The section of the findings."""

from __future__ import annotations

from pydoca._display.frame.escaping import escaped
from pydoca.qualify.fleet.findings import CARD, OUTLIER, FleetFinding, findings_of
from pydoca.qualify.fleet.record import CardRecord, FleetRecord
from pydoca.qualify.report.elements import badge, section

_MOST = 100
_OUTLIER = '<span class="pq-badge pq-busy"><span class="pq-mark">◆</span>OUTLIER</span>'


def findings_section(fleet: FleetRecord) -> str:
    found = findings_of(fleet)
    if not found:
        return section("findings", "Findings", '<p class="pq-soft">None.</p>')
    cards = {each.card.key: each for each in fleet.cards}
    shown = "".join(_item(each, cards) for each in found[:_MOST])
    more = f'<p class="pq-soft">… and {len(found) - _MOST:,} more; fleet.json has all.</p>' if found[_MOST:] else ""
    return section("findings", "Findings", f'<ul class="pq-findings">{shown}</ul>{more}', f"{len(found):,}")


def _item(finding: FleetFinding, cards: dict[str, CardRecord]) -> str:
    mark = _OUTLIER if finding.kind == OUTLIER else badge(finding.verdict)
    name = f'<span class="pq-id">{escaped(finding.title)}</span> ' if finding.title else ""
    if finding.kind == CARD:
        name = f"{title(cards[finding.card])} "
    return f"<li><span>{mark}</span><span>{name}{escaped(finding.text)}</span></li>"


def title(each: CardRecord) -> str:
    """With a link to the report of the card's run."""
    name = escaped(each.card.title)
    if not each.directory:
        return f'<span class="pq-id">{name}</span>'
    return f'<a class="pq-id" href="{escaped(each.directory)}/report.html">{name}</a>'
