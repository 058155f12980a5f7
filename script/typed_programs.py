"""Checks the types of the programs of README, the documentation and examples/, as strictly as those of the package.

usage: .venv/bin/python script/typed_programs.py mypy|pyright
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "build/typed_programs"
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^(?:```python|:::\{shown\})\n(.*?)^(?:```|:::)$", re.MULTILINE | re.DOTALL)
CELL = "# a cell"  # marks a cell of a notebook, which awaits at its top level
PYTHON_VERSION = "3.12"  # NumPy's arrays have the buffer protocol's type from this version on
MYPY = [sys.executable, "-m", "mypy", f"--python-version={PYTHON_VERSION}", "--config-file=pyproject.toml"]
PYRIGHT = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable]
# The functions of tests and their fixtures are called by pytest alone: their parameters need no types.
TESTS = "tests"
TESTS_BY_MYPY = ["--allow-untyped-defs", "--allow-incomplete-defs"]
TESTS_BY_PYRIGHT = {
    f"report{rule}": "none"
    for rule in (
        "MissingParameterType",
        "UnknownArgumentType",
        "UnknownMemberType",
        "UnknownParameterType",
        "UnknownVariableType",
    )
}
# pyverbs has no types, and pip does not install it; mypy's exemption is in pyproject.toml.
UNTYPED_MODULE = re.compile(r"^ *from (pyverbs\.\w+) import ", re.MULTILINE)
STUBS = "untyped"
ANY_NAME = "from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"


def pages() -> Iterator[Path]:
    yield ROOT / "README.md"
    for path in sorted(DOCS.rglob("*.md")):
        if not path.is_relative_to(DOCS / "made"):
            yield path


def programs() -> Iterator[tuple[str, str]]:
    """The programs, each with a name that tells its place: docs_start_30 begins at line 30 of docs/start.md."""
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


def write(target: Path, programs: Iterable[tuple[str, str]]) -> None:
    """Writes the programs, and nothing else, into the directory; tests into a folder of their own."""
    shutil.rmtree(target, ignore_errors=True)
    (target / TESTS).mkdir(parents=True)
    for name, program in programs:
        directory = target / TESTS if "def test_" in program else target
        (directory / f"{name}.py").write_text(checkable(program))


def run_mypy(paths: list[Path], *options: str) -> int:
    return subprocess.run([*MYPY, *options, *paths], cwd=ROOT, check=False).returncode if paths else 0


def check_with_mypy(target: Path) -> int:
    return max(
        run_mypy(sorted(target.glob("*.py"))),
        run_mypy(sorted((target / TESTS).glob("*.py")), *TESTS_BY_MYPY),
    )


def pyright_settings() -> dict[str, Any]:
    return {
        "include": ["."],
        "exclude": [STUBS],
        "extraPaths": [str(ROOT / "python")],
        "pythonVersion": PYTHON_VERSION,
        "pythonPlatform": "Linux",  # the types of Windows are not checked
        "typeCheckingMode": "strict",
        "stubPath": STUBS,
        "reportMissingModuleSource": "none",  # the stubs' modules have no source
        "executionEnvironments": [{"root": TESTS, **TESTS_BY_PYRIGHT}],
    }


def write_stubs(target: Path) -> None:
    """Writes a stub for each module without types that the programs import: each name in it may be anything."""
    for path in target.rglob("*.py"):
        for module in UNTYPED_MODULE.findall(path.read_text()):
            stub = target.joinpath(STUBS, *module.split(".")).with_suffix(".pyi")
            stub.parent.mkdir(parents=True, exist_ok=True)
            stub.write_text(ANY_NAME)


def check_with_pyright(target: Path) -> int:
    write_stubs(target)
    (target / "pyrightconfig.json").write_text(json.dumps(pyright_settings(), indent=2))
    return subprocess.run([*PYRIGHT, "--project", target], cwd=ROOT, check=False).returncode


CHECKS = {"mypy": check_with_mypy, "pyright": check_with_pyright}


def main() -> int:
    parser = argparse.ArgumentParser(prog="typed_programs.py", description=__doc__.splitlines()[0])
    parser.add_argument("checker", choices=CHECKS)
    arguments = parser.parse_args()
    write(TARGET, programs())
    return CHECKS[arguments.checker](TARGET)


if __name__ == "__main__":
    sys.exit(main())
