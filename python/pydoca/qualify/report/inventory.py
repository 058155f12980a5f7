"""The machine of the run, and how the run was started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydoca.qualify.machine import changes, text_of
from pydoca.qualify.machine.facts import Fact
from pydoca.qualify.records import RunRecord

_BLOCKS = {
    "Device": ("device.",),
    "Processor and memory": ("cpu.", "memory.", "numa.", "iommu"),
    "System": ("hostname", "os", "kernel.", "bios", "board"),
    "Software": ("",),
}


class Row(NamedTuple):
    label: str
    text: str
    is_absent: bool = False
    after: str | None = None  # what it was after the run, where that is something else


class Block(NamedTuple):
    title: str
    rows: list[Row]


def machine_blocks(run: RunRecord) -> list[Block]:
    changed = {name: after for name, _, after in changes(run.machine, run.machine_after)}
    left = dict(run.machine)
    blocks = []
    for title, prefixes in _BLOCKS.items():
        names = [name for name in left if name.startswith(prefixes)]
        blocks.append(Block(title, _rows({name: left.pop(name) for name in names}, changed)))
    return blocks


def start_blocks(run: RunRecord) -> list[Block]:
    options = {name: value for name, value in run.options.items() if value not in (None, "", [], False)}
    device = {name: value for name, value in run.device.items() if value not in (None, "")}
    titles = {"Options": options, "Versions": run.versions, "Device as chosen": device}
    return [
        Block(title, _rows({name: {"value": value} for name, value in values.items()}, {}))
        for title, values in titles.items()
    ]


def _rows(facts: Mapping[str, Fact], changed: Mapping[str, str]) -> list[Row]:
    """What is known or has changed, then the names of what is absent by its reason."""
    reasons: dict[str, list[str]] = {}
    rows = []
    for name, fact in facts.items():
        if "absent" in fact and name not in changed:
            reasons.setdefault(str(fact["absent"]), []).append(_label(name))
        else:
            rows.append(Row(_label(name), _shown(fact), "absent" in fact, changed.get(name)))
    return rows + [Row(", ".join(labels), reason, True) for reason, labels in reasons.items()]


def _label(name: str) -> str:
    return name.removeprefix("device.").removeprefix("kernel.").replace("_", " ").replace(".", " ")


def _shown(fact: Fact) -> str:
    if "absent" in fact:
        return str(fact["absent"])
    value: Any = fact.get("value")
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else text_of(fact)
