"""Examples in the Python reference: a program for each page, which the tests run, and a line for each name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from extension.python_names import homes
from pydoca.cli.explain._table import load

PROGRAMS = Path(__file__).resolve().parents[1] / "reference"
MOST_LINES = 3  # one name's


def program_lines(page: str) -> Iterator[str]:
    """What docs/reference has for the page: a sentence, a program, and what the program prints."""
    fence = ""
    for line in (PROGRAMS / f"{page}.md").read_text().splitlines():
        if line.startswith("```"):
            fence = line.removeprefix("```")
            yield from (f".. code-block:: {fence}", "") if fence else ("",)
        else:
            yield f"   {line}" if fence and line else line
    yield ""


def require_pages(pages: set[str]) -> None:
    """A program without a page would not be seen; a page without a program ends the build by itself."""
    if unused := {path.stem for path in PROGRAMS.glob("*.md")} - pages:
        raise ValueError(f"docs/reference has programs for pages that do not exist: {', '.join(sorted(unused))}")


def name_lines(name: str) -> Iterator[str]:
    """The lines of `pydoca explain` that use the public name, "Mmap.export_pci"."""
    if lines := examples().get(name, [])[:MOST_LINES]:
        yield from ("", ".. code-block:: python", "", *(f"   {line}" for line in lines), "")


@cache
def examples() -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for entry in load().entries.values():
        for name in {each.partition("(")[0] for each in entry.python} if entry.example else ():
            if re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", entry.example):
                found.setdefault(homes().get(name, name), {})[entry.example] = None
    return {name: list(lines) for name, lines in found.items()}
