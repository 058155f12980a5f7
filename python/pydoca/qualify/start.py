"""How the front ends start pytest."""

from __future__ import annotations

import os


def first_words(rootdir: str, *, own_cases: bool, side_by_side: bool) -> list[str]:
    """The words before those of the run: no configuration of pytest applies.

    A user's own cases may need the plug-ins that are installed. pydoca's do not, and importing them can take most of a
    start.
    """
    words = ["-c", os.devnull, f"--rootdir={rootdir}", "-p", "no:cacheprovider", "--tb=short", "--no-header", "-q"]
    if not own_cases:
        plugins = ["pytest_pydoca.plugin", *(["xdist.plugin"] if side_by_side else [])]
        words += ["--disable-plugin-autoload", *(word for plugin in plugins for word in ("-p", plugin))]
    return words
