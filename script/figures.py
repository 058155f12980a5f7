"""Collects what the benchmarks have measured, for the documentation: the figures, and the machine that they are of.

usage: .venv/bin/python script/figures.py [--load LOAD] DIRECTORY FILE
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
from pathlib import Path


def processor() -> str:
    names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return names[0] if names else platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(prog="figures.py", description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, help="has a file .json of each benchmark")
    parser.add_argument("file", type=Path, help="is written")
    parser.add_argument("--load", type=float, default=0, help="of the machine, by other processes")
    arguments = parser.parse_args()
    kernel = platform.release().split("-")[0]
    machine = {"processor": processor(), "cores": os.cpu_count(), "kernel": kernel, "load": arguments.load}
    figures = {path.stem: json.loads(path.read_text()) for path in sorted(arguments.directory.glob("*.json"))}
    arguments.file.write_text(json.dumps({"machine": machine, "reports": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
