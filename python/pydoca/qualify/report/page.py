"""The page: without a network, without scripts, in light and in dark."""

from __future__ import annotations

from collections.abc import Callable

from pydoca._display.frame.escaping import escaped
from pydoca.qualify.records import MeasurementRecord, RunRecord
from pydoca.qualify.report.band import band, is_simulated
from pydoca.qualify.report.cases import case_table
from pydoca.qualify.report.findings import failures, findings
from pydoca.qualify.report.inventory import machine_section, run_section
from pydoca.qualify.report.measurements import measurement_cards
from pydoca.qualify.report.style import ROOT, style_sheet
from pydoca.qualify.statistics.samples import Array

# A browser that obeys it loads nothing, whatever the page says.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_TITLES = {
    "findings": "Findings",
    "cases": "Cases",
    "failures": "Failures",
    "measurements": "Measurements",
    "machine": "Machine",
    "run": "Run",
}


def report_html(run: RunRecord, read_samples: Callable[[str], tuple[Array, int]]) -> str:
    """read_samples is that of the run's directory: a file that is not there leaves out its pictures."""

    def read(measurement: MeasurementRecord) -> tuple[Array, int] | None:
        if run.options.get("no_plots"):
            return None
        try:
            return read_samples(measurement.samples) if measurement.samples else None
        except (OSError, ValueError, KeyError):
            return None

    parts = [
        findings(run), case_table(run, read), failures(run), measurement_cards(run, read), machine_section(run),
        run_section(run),
    ]  # fmt: skip
    links = "".join(
        f'<a href="#{name}">{title}</a>' for (name, title), part in zip(_TITLES.items(), parts, strict=True) if part
    )
    kind = ", simulated" if is_simulated(run) else ""
    title = f"{run.verdict.value}: {run.device.get('name', 'device')}{kind}, {run.id}"
    navigation = f'<div class="pq-nav"><div class="pq-inner"><nav>{links}</nav></div></div>\n'
    return whole_page(title, band(run) + navigation, f"{''.join(parts)}<footer>{_footer(run)}</footer>")


def whole_page(title: str, top: str, body: str) -> str:
    """title is text; top and body are HTML, and body stands in the column of text."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>'
        '<meta name="viewport" content="width=device-width,initial-scale=1"/>'
        f'<meta name="color-scheme" content="light dark"/><title>{escaped(title)}</title>'
        f'<style>{style_sheet()}</style></head>\n<body class="{ROOT}">{top}<main>{body}</main></body></html>\n'
    )


def _footer(run: RunRecord) -> str:
    version = escaped(str(run.versions.get("pydoca", "")))
    return (
        f"Made by pydoca {version} from the directory {escaped(run.id)}: results.jsonl is the stream in OCP&#x27;s "
        "Test &amp; Validation format 2.0, junit.xml is for CI servers, samples/ has every sample, and SHA256SUMS the "
        "checksums of all files."
    )
