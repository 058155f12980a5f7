"""The machine of the run, and how the run was started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydoca._display.frame.escaping import escaped
from pydoca.qualify.machine import changes, text_of
from pydoca.qualify.machine.facts import Fact
from pydoca.qualify.records import RunRecord
from pydoca.qualify.report.elements import scrolled, section

_BLOCKS = {
    "Device": ("device.",),
    "Processor and memory": ("cpu.", "memory.", "numa.", "iommu"),
    "System": ("hostname", "os", "kernel.", "bios", "board"),
    "Software": ("",),
}


def machine_section(run: RunRecord) -> str:
    if not run.machine:
        return section("machine", "Machine", '<p class="pq-soft">No inventory was taken.</p>')
    changed = {name: after for name, _, after in changes(run.machine, run.machine_after)}
    left = dict(run.machine)
    blocks = []
    for title, prefixes in _BLOCKS.items():
        names = [name for name in left if name.startswith(prefixes)]
        blocks.append(_block(title, {name: left.pop(name) for name in names}, changed))
    note = "the same before and after" if run.machine_after and not changed else ""
    return section("machine", "Machine", f'<div class="pq-blocks">{"".join(blocks)}</div>', note)


def run_section(run: RunRecord) -> str:
    options = {name: {"value": value} for name, value in run.options.items() if value not in (None, "", [], False)}
    versions = {name: {"value": value} for name, value in run.versions.items()}
    device = {name: {"value": value} for name, value in run.device.items() if value not in (None, "")}
    blocks = _block("Options", options, {}) + _block("Versions", versions, {}) + _block("Device as chosen", device, {})
    return section("run", "Run", f'<div class="pq-blocks">{blocks}</div>')


def _block(title: str, facts: Mapping[str, Fact], changed: Mapping[str, str]) -> str:
    if not facts:
        return ""
    known, reasons = _by_reason(facts, changed)
    rows = "".join(f"<tr><td>{escaped(_label(name))}</td>{_cell(fact, changed.get(name))}</tr>" for name, fact in known)
    rows += "".join(
        f'<tr><td>{escaped(", ".join(map(_label, names)))}</td><td class="pq-absent">{escaped(reason)}</td></tr>'
        for reason, names in reasons.items()
    )
    table = f"<table><caption>{title}</caption><tbody>{rows}</tbody></table>"
    return f'<div class="pq-block">{scrolled(table, title)}</div>'


def _by_reason(
    facts: Mapping[str, Fact], changed: Mapping[str, str]
) -> tuple[list[tuple[str, Fact]], dict[str, list[str]]]:
    """What is known or has changed, and the names of what is absent by its reason."""
    reasons: dict[str, list[str]] = {}
    known = []
    for name, fact in facts.items():
        if "absent" in fact and name not in changed:
            reasons.setdefault(str(fact["absent"]), []).append(name)
        else:
            known.append((name, fact))
    return known, reasons


def _label(name: str) -> str:
    return name.removeprefix("device.").removeprefix("kernel.").replace("_", " ").replace(".", " ")


def _cell(fact: Fact, after: str | None) -> str:
    kind = ' class="pq-absent"' if "absent" in fact else ""
    text = escaped(_shown(fact))
    if after is not None:
        text += f'<br/><span class="pq-mark pq-busy">\u25d0</span>after the run: {escaped(after)}'
    return f"<td{kind}>{text}</td>"


def _shown(fact: Fact) -> str:
    if "absent" in fact:
        return str(fact["absent"])
    value: Any = fact.get("value")
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else text_of(fact)
