"""A smoke test of the installed package: what README shows first, and two processes by the command.

usage: python script/smoke.py [--one-process]
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import inspect
import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def first_block() -> str:
    found = re.search(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert found is not None, "README has no block of Python"
    return found[1]


async def run_cell(source: str) -> None:
    """Runs a cell as a notebook does, with `await` at the top level."""
    code = compile(source, str(README), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(code, {"__name__": "__main__"})
    if inspect.iscoroutine(result):
        await result


def copy_a_file() -> None:
    with tempfile.TemporaryDirectory() as directory:
        source, target = Path(directory, "source"), Path(directory, "target")
        source.write_bytes(bytes(range(256)) * 4096)
        subprocess.run([sys.executable, "-m", "pydoca", "copy", source, target], check=True, timeout=60)
        assert source.read_bytes() == target.read_bytes(), "the copy differs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one-process", action="store_true", help="without the command and its two processes")
    arguments = parser.parse_args()
    import pydoca

    print(f"pydoca {pydoca.__version__}, Python {sys.version.split()[0]}, {pydoca.__file__}")
    for name, reason in pydoca.unavailable_backends().items():
        print(f"unavailable: {name}: {reason}")
    asyncio.run(run_cell(first_block()))
    if not arguments.one_process:
        copy_a_file()


if __name__ == "__main__":
    main()
