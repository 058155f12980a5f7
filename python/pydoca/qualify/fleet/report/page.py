"""The page of a fleet."""

from __future__ import annotations

from pydoca._display.frame.escaping import escaped
from pydoca.qualify.figures import plural
from pydoca.qualify.fleet.record import FleetRecord
from pydoca.qualify.fleet.report.band import band
from pydoca.qualify.fleet.report.findings import findings_section
from pydoca.qualify.fleet.report.measurements import measurements_section
from pydoca.qualify.fleet.report.tables import cards_section, workers_section
from pydoca.qualify.report.page import whole_page

_TITLES = {
    "findings": "Findings",
    "cards": "Cards",
    "measurements": "Measurements",
    "workers": "Workers",
}


def fleet_html(fleet: FleetRecord) -> str:
    parts = [findings_section(fleet), cards_section(fleet), measurements_section(fleet), workers_section(fleet)]
    links = "".join(
        f'<a href="#{name}">{title}</a>' for (name, title), part in zip(_TITLES.items(), parts, strict=True) if part
    )
    navigation = f'<div class="pq-nav"><div class="pq-inner"><nav>{links}</nav></div></div>\n'
    title = f"{fleet.verdict.value}: {plural(len(fleet.cards), 'card')}, {fleet.id}"
    return whole_page(title, band(fleet) + navigation, f"{''.join(parts)}<footer>{_footer(fleet)}</footer>")


def _footer(fleet: FleetRecord) -> str:
    version = escaped(str(fleet.versions.get("pydoca", "")))
    return (
        f"Made by pydoca {version} from the directory {escaped(fleet.id)}: cards/ has each run with "
        "its report, fleet.json is for programs, junit.xml for CI servers, and SHA256SUMS has all checksums."
    )
