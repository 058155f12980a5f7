"""Checks the types of the programs of README, the documentation and examples/, as strictly as those of the package.

usage: .venv/bin/python script/typed_programs.py
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "build/typed_programs"
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^(?:```python|:::\{shown\})\n(.*?)^(?:```|:::)$", re.MULTILINE | re.DOTALL)
CELL = "# a cell"  # of a notebook: it awaits at its top level
# NumPy's arrays have the buffer protocol's type from this version of Python on.
COMMAND = [sys.executable, "-m", "mypy", "--python-version=3.12", "--config-file=pyproject.toml"]
# The functions of tests and their fixtures are called by pytest alone.
OF_TESTS = ["--allow-untyped-defs", "--allow-incomplete-defs"]


def pages() -> Iterator[Path]:
    yield ROOT / "README.md"
    for path in sorted(DOCS.rglob("*.md")):
        if not path.is_relative_to(DOCS / "made") and path.name != "from-c.md":
            yield path


def programs() -> Iterator[tuple[str, str]]:
    """Each with a name that says where it stands: docs_start_30 begins at line 30 of docs/start.md."""
    for page in pages():
        text = page.read_text()
        for match in BLOCK.finditer(text):
            place = re.sub(r"\W", "_", str(page.relative_to(ROOT).with_suffix("")))
            line = text[: match.start()].count("\n") + 1
            yield f"{place}_{line}", match[1]
    for example in sorted((ROOT / "examples").glob("*.py")):
        yield f"examples_{example.stem}", example.read_text()


def checkable(program: str) -> str:
    if not program.startswith(CELL):
        return program
    return "async def cell() -> None:\n" + textwrap.indent(program, "    ")


def check(paths: list[Path], *options: str) -> int:
    return subprocess.run([*COMMAND, *options, *paths], cwd=ROOT, check=False).returncode if paths else 0


def main() -> int:
    argparse.ArgumentParser(prog="typed_programs.py", description=__doc__.splitlines()[0]).parse_args()
    TARGET.mkdir(parents=True, exist_ok=True)
    for old in TARGET.glob("*.py"):
        old.unlink()
    tests, others = [], []
    for name, program in programs():
        path = TARGET / f"{name}.py"
        path.write_text(checkable(program))
        (tests if "def test_" in program else others).append(path)
    return max(check(others), check(tests, *OF_TESTS))


if __name__ == "__main__":
    sys.exit(main())
