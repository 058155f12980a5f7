"""Whether a program in C has a name: the headers that the package carries say so, and the table what is refused."""

from __future__ import annotations

from dataclasses import dataclass

from pydoca import _sdk
from pydoca.cli.explain._table import Entry


@dataclass(frozen=True)
class InC:
    state: str  # "yes", "refused" or "missing"
    reason: str = ""


def in_c(entry: Entry) -> InC:
    if entry.name in _sdk.names():
        return InC("refused", entry.refused) if entry.refused else InC("yes")
    if not _sdk.headers():
        return InC("missing", "this pydoca was built without the C API")
    if entry.until:
        return InC("missing", f"DOCA has it up to {entry.until}")
    return InC("missing", "the name is an old one" if entry.now else "this part of DOCA is not in C yet")
