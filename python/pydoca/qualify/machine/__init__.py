"""The machine that a device was tested in: each fact, or why it cannot be read; and what changed during a run."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydoca.qualify.machine.counters import counters
from pydoca.qualify.machine.facts import Absent, Fact, Late
from pydoca.qualify.machine.host import HOST
from pydoca.qualify.machine.models import MODELS, models_in_force
from pydoca.qualify.machine.pci import PCI
from pydoca.qualify.machine.software import SOFTWARE

__all__ = ["changes", "counters", "hostname", "inventory", "models_in_force", "text_of"]

# These facts differ from one moment to the next, so their changes tell nothing.
_MOVING = ("device.temperature", "cpu.load")


def inventory(device: Mapping[str, Any] | None = None, *, root: Path = Path("/")) -> dict[str, Fact]:
    """Facts by name, each as {"value": ...} or {"absent": reason}; "late" says that a program did not answer in time.

    device is `RunRecord.device`; root is for tests.
    """
    known = device or {}
    facts = {name: _read(partial(read, root)) for name, read in {**HOST, **SOFTWARE}.items()}
    facts |= {name: _read(partial(read, root, known)) for name, read in {**PCI, **MODELS}.items()}
    return facts


def changes(before: Mapping[str, Fact], after: Mapping[str, Fact]) -> list[tuple[str, str, str]]:
    """The name, the text before and after of each fact that is not the same; none without both inventories."""
    if not before or not after:
        return []
    names = [name for name in {**before, **after} if not name.startswith(_MOVING)]
    pairs = ((name, before.get(name), after.get(name)) for name in names)
    return [
        (name, text_of(one), text_of(other))
        for name, one, other in pairs
        if one != other and not any((fact or {}).get("late") for fact in (one, other))
    ]


def hostname(facts: Mapping[str, Fact]) -> str:
    """The name of the machine with this inventory; of this machine when the inventory has none."""
    return str(facts.get("hostname", {}).get("value") or socket.gethostname())


def text_of(fact: Fact | None) -> str:
    """The fact as people read it."""
    if fact is None:
        return "not read"
    return f"absent: {fact['absent']}" if "absent" in fact else str(fact.get("value"))


def _read(read: Callable[[], Any]) -> Fact:
    """The fact. Any error of the read becomes an absent fact: a file of the system may contain anything."""
    try:
        return {"value": read()}
    except Late as reason:
        return {"absent": str(reason), "late": True}
    except Absent as reason:
        return {"absent": str(reason)}
    except Exception as error:
        return {"absent": f"{type(error).__name__}: {error}"}
