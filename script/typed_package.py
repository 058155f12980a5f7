"""Checks that each public name of the package has a type that every type checker sees alike (pyright --verifytypes).

usage: .venv/bin/python script/typed_package.py
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-m", "basedpyright", "--ignoreexternal", "--outputjson"]


def report_of(package: str, directory: Path) -> dict[str, Any]:
    """Pyright's report of the sources in this directory, which precede an installed package."""
    # The option --verifytypes looks for packages in the Python of PATH, whatever --pythonpath says.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PYTHONPATH": str(directory), "PATH": path}
    run = subprocess.run([*COMMAND, "--verifytypes", package], env=env, capture_output=True, text=True, check=False)
    if not run.stdout:
        sys.exit(run.stderr)
    report: dict[str, Any] = json.loads(run.stdout)
    return report


def faults_in(report: dict[str, Any]) -> Iterator[str]:
    """The place and the fault; a name in several modules has the same ones again."""
    found = list(report["generalDiagnostics"])
    for symbol in report["typeCompleteness"]["symbols"]:
        found += symbol["diagnostics"] if symbol["isExported"] else []
    for each in found:
        if each["severity"] == "error":
            line = f":{each['range']['start']['line'] + 1}" if "range" in each else ""
            yield f"{each['file']}{line}: {each['message']}"


def main() -> int:
    argparse.ArgumentParser(prog="typed_package.py", description=__doc__.splitlines()[0]).parse_args()
    report = report_of("pydoca", ROOT / "python")
    counts = report["typeCompleteness"]["exportedSymbolCounts"]
    faults = list(dict.fromkeys(faults_in(report)))
    for fault in faults:
        print(fault)
    print(f"{counts['withKnownType']} of {sum(counts.values())} public names have a type")
    return 1 if faults or report["typeCompleteness"]["completenessScore"] < 1 else 0


if __name__ == "__main__":
    sys.exit(main())
