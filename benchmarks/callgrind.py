"""Counts instructions of a process by valgrind's callgrind, without those of the kernel."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PATIENCE = 600.0  # seconds, for one run


@dataclass(frozen=True)
class Count:
    instructions: int
    output: str  # the command's output


def count(line: Sequence[str], environment: Mapping[str, str] | None = None) -> Count:
    """Counts those of the process that line starts: all of its threads, not its children.

    Debian/Ubuntu: apt-get install valgrind.
    """
    full = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--child-silent-after-fork=yes", *line]
    run = subprocess.run(full, capture_output=True, text=True, timeout=PATIENCE, env=environment)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or found is None:
        raise RuntimeError(f"{' '.join(full)} ends with {run.returncode}: {run.stderr[-2000:]}")
    return Count(int(found[1]), run.stdout)
