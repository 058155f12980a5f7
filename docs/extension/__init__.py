"""The site's own parts: names of DOCA as link targets, displays, and pages that are made of data."""

from __future__ import annotations

from typing import Any

from extension import details, names, pages, shown, source, state_machines


def setup(app: Any) -> dict[str, bool]:
    for part in (details, names, pages, shown, source, state_machines):
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
