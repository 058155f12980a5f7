"""The page of a run."""

from __future__ import annotations

from pydoca.qualify.machine import changes, hostname
from pydoca.qualify.records import RunRecord
from pydoca.qualify.report.band import is_simulated, said, seconds_of, subject
from pydoca.qualify.report.cases import shown_cases
from pydoca.qualify.report.findings import failures_of, shown_findings
from pydoca.qualify.report.inventory import machine_blocks, start_blocks
from pydoca.qualify.report.pictures import ReadSamples, plots_of, sparks_of
from pydoca.qualify.report.rendering import render
from pydoca.qualify.report.words import counts_of, sign_of

_DRAWN = 150  # cards with pictures: a page of more is slow to open


def report_html(run: RunRecord, read_samples: ReadSamples) -> str:
    """read_samples is that of the run's directory: a file that is not there leaves out its pictures."""
    cases = shown_cases(run)
    lines = [line for case in cases for line in case.lines]
    cards = [line for line in lines if line.has_card]
    has_plots = not run.options.get("no_plots")
    name = run.device.get("name", "device")
    return render(
        __package__,
        "report.html",
        run=run,
        title=f"{run.verdict.value}: {name}{', simulated' if is_simulated(run) else ''}, {run.id}",
        sign=sign_of(run.verdict),
        said=said(run),
        counts=counts_of([case.verdict for case in run.cases]),
        subject=subject(run),
        name=name,
        address=str(run.device.get("pci_address", "")).removeprefix("0000:"),
        is_simulated=is_simulated(run),
        host=hostname(run.machine),
        seconds=seconds_of(run),
        findings=shown_findings(run),
        cases=cases,
        sparks=sparks_of(lines if has_plots else [], read_samples),
        failures=failures_of(run),
        cards=cards,
        plots=plots_of(cards[:_DRAWN] if has_plots else [], read_samples),
        machine=machine_blocks(run),
        is_unchanged=bool(run.machine and run.machine_after) and not changes(run.machine, run.machine_after),
        start=start_blocks(run),
    )
