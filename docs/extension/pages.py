"""Writes the pages that are made of the package's own data into docs/made, before Sphinx looks for pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from extension import (
    c_api,
    commands,
    cpp_api,
    examples,
    from_c,
    glossary,
    notebooks,
    performance,
    python_api,
    qualification_api,
    statuses,
)

# Each function gives the pages of its kind: the path below docs/made, and the text.
MAKERS = (
    c_api.pages,
    commands.pages,
    cpp_api.pages,
    examples.pages,
    from_c.pages,
    glossary.pages,
    notebooks.pages,
    performance.pages,
    python_api.pages,
    qualification_api.pages,
    statuses.pages,
)


def write(app: Any) -> None:
    target = Path(app.srcdir) / "made"
    made = {target / path: text for maker in MAKERS for path, text in maker()}
    for old in {each for each in target.rglob("*") if each.is_file()} - made.keys():
        old.unlink()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:  # Sphinx reads changed files again
            path.write_text(text)


def setup(app: Any) -> None:
    app.connect("builder-inited", write)
