"""The start of pytest by the front ends: no configuration that pytest finds around it applies."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SUITE = Path(__file__).resolve().parent  # the folder cases is a part of this one
QUIET_IMPORTS = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # the plug-in may be imported before
_SETTINGS = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")


def words_of_pytest(words: Sequence[str], tests: Sequence[str] | None, rootdir: str) -> list[str]:
    """The words of pytest for a run with these options, over the user's own cases or pydoca's.

    No configuration file applies. A user's own cases may need the plug-ins that are installed, and the conftest.py
    beside them. pydoca's need neither: importing all plug-ins can take most of a start, and the conftest.py of the
    current directory could leave cases out.
    """
    first = ["-c", os.devnull, f"--rootdir={rootdir}", "-p", "no:cacheprovider", "--tb=short", "--no-header", "-q"]
    if tests:
        return [*first, *words, *tests]
    plugins = ["pytest_pydoca.plugin", *(["xdist.plugin"] if "-n" in words else [])]
    first += ["--disable-plugin-autoload", *(word for plugin in plugins for word in ("-p", plugin))]
    return [*first, f"--confcutdir={SUITE}", *words, str(SUITE)]


@contextmanager
def without_settings() -> Iterator[None]:
    """Hides from pytest what the environment would add to its words."""
    before = {name: os.environ.pop(name) for name in _SETTINGS if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(before)
