"""The notebooks, with the outputs that they are committed with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


def pages() -> Iterator[tuple[str, str]]:
    names = []
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        names.append(path.stem)
        yield f"notebooks/{path.name}", path.read_text()
    tree = "\n".join([":::{toctree}", ":hidden:", "", *names, ":::"])
    yield "notebooks/index.md", f"{(NOTEBOOKS / 'README.md').read_text()}\n{tree}\n"
