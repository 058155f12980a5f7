"""The page of figures, made of docs/figures.json, which script/figures writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).resolve().parents[1] / "figures.json"

# The reports in the order of the page, and their titles.
REPORTS = {
    "report": "DMA",
    "buf_report": "Bufs",
    "sync_event_report": "Sync events",
    "rdma_report": "RDMA",
    "graph_report": "Graphs",
    "sha_report": "SHA",
    "trace_report": "Traces",
    "virtual_time_report": "Virtual time",
}
SIGNS = {"<=": "≤", ">=": "≥"}
NO_BREAK = "\N{NO-BREAK SPACE}"
HEAD = """\
# Figures

Each figure was measured beside its floor, the bare operation that it is compared with, in turns and in the same run.
The ratio of the two says what pydoca costs; the times themselves say more about the machine. Each figure has a target,
and `--check` ends a benchmark with an error when one is missed. The name of a figure says what its floor is.
"""


def pages() -> Iterator[tuple[str, str]]:
    measured = json.loads(FIGURES.read_text())
    machine = measured["machine"]
    where = f"Measured on {machine['cores']} cores of {machine['processor']}, Linux {machine['kernel']}."
    if machine["load"] >= 1:
        where += (
            f" The load by other processes was {machine['load']:g}: with several threads, figures are worse than alone."
        )
    lines = [HEAD, where, ""]
    for report, title in REPORTS.items():
        if figures := measured["reports"].get(report):
            lines += [f"## {title}", "", f"`benchmarks/{report}` prints these lines.", "", *table(figures)]
    yield "figures.md", "\n".join(lines) + "\n"


def table(figures: list[Mapping[str, Any]]) -> Iterator[str]:
    yield from ("| Figure | Measured | Floor | Compared | Target |", "|---|--:|--:|--:|--:|")
    for each in figures:
        unit = each["unit"]
        is_excess = is_difference(each)
        compared = f"{each['score']:+.1f} ns" if is_excess else f"{each['score']:.2f} x"
        verdict = "" if each["ok"] else ", missed"
        target = f"{SIGNS[each['rule']]} {each['target']:g} {'ns' if is_excess else 'x'}{verdict}"
        cells = (f"{each['value']:.1f} {unit}", f"{each['floor']:.1f} {unit}", compared, target)
        yield f"| {each['name']} | {' | '.join(cell.replace(' ', NO_BREAK) for cell in cells)} |"
    yield ""


def is_difference(figure: Mapping[str, Any]) -> bool:
    """Whether the figure is compared by its difference from the floor, in nanoseconds, not by the ratio."""
    ratio = figure["value"] / figure["floor"]
    return abs(figure["score"] - (figure["value"] - figure["floor"])) < abs(figure["score"] - ratio)
