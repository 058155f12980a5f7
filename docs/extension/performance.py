"""The page of figures, made of docs/figures.json, which `script/bench --json docs/figures.json` writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).resolve().parents[1] / "figures.json"

SIGNS = {"<": "<", "<=": "≤", ">=": "≥"}
NO_BREAK = "\N{NO-BREAK SPACE}"
HEAD = """\
# Figures

Each figure was measured beside its floor, the bare operation that it is compared with, in turns and in the same run.
The ratio of the two says what pydoca costs; the times themselves say more about the machine. Most figures have a
target, and `benchmarks/ledger.json` says why, where one is missed. The name of a figure says what its floor is.
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
    for name, report in measured["reports"].items():
        lines += [
            f"## {report['title']}",
            "",
            f"`benchmarks/{name}` prints these lines.",
            "",
            *table(report["figures"]),
        ]
    if measured["not_run"]:
        lines += ["## Not measured there", ""]
        lines += [f"* `benchmarks/{name}`: {reason}" for name, reason in measured["not_run"].items()]
    yield "figures.md", "\n".join(lines) + "\n"


def table(figures: list[Mapping[str, Any]]) -> Iterator[str]:
    yield from ("| Figure | Measured | Floor | Compared | Target |", "|---|--:|--:|--:|--:|")
    for each in figures:
        unit = each["unit"]
        cells = (f"{each['value']:.1f} {unit}", f"{each['floor']:.1f} {unit}", compared(each), target(each))
        yield f"| {each['name']} | {' | '.join(cell.replace(' ', NO_BREAK) for cell in cells)} |"
    yield ""


def compared(figure: Mapping[str, Any]) -> str:
    """The difference from the floor, or the ratio to it."""
    is_difference = figure["compared"] == "difference"
    return f"{figure['score']:+.1f} {figure['unit']}" if is_difference else f"{figure['score']:.2f} x"


def target(figure: Mapping[str, Any]) -> str:
    if figure["target"] is None:
        return ""
    unit = figure["unit"] if figure["compared"] == "difference" else "x"
    return f"{SIGNS[figure['rule']]} {figure['target']:g} {unit}{'' if figure['ok'] else ', missed'}"
