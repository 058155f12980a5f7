"""The names by which comparisons and limits find measurements."""

from __future__ import annotations

from collections.abc import Iterable

from pydoca.qualify.records import CaseRecord


def shared_names(cases: Iterable[CaseRecord]) -> list[str]:
    """Findings about names that two tests record; the repeats of one test share names."""
    nodes: dict[tuple[str, str], dict[str, CaseRecord]] = {}
    for case in cases:
        for each in case.measurements:
            nodes.setdefault((each.name, each.stat), {})[case.node] = case
    return [
        f"the measurement {name} is recorded by {_listed(list(found.values()))}; a comparison takes them for repeats "
        "of one: give each a name of its own"
        for (name, _), found in nodes.items()
        if len(found) > 1
    ]


def _listed(cases: list[CaseRecord]) -> str:
    return " and ".join(f"{case.id} ({case.node})" for case in cases)
