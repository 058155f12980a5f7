"""Counts instructions of a process by valgrind's callgrind, without those of the kernel."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 600.0  # seconds, for one run


@dataclass(frozen=True)
class Count:
    instructions: int
    output: str  # the command's output


def count(line: Sequence[str], environment: Mapping[str, str] | None = None, out: str = "/dev/null") -> Count:
    """Counts those of the process that line starts: all of its threads, not its children. out: callgrind's own file.

    Debian/Ubuntu: apt-get install valgrind.
    """
    full = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--child-silent-after-fork=yes", *line]
    run = subprocess.run(full, capture_output=True, text=True, timeout=PATIENCE, env=environment)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or found is None:
        raise RuntimeError(f"{' '.join(full)} ends with {run.returncode}: {run.stderr[-2000:]}")
    return Count(int(found[1]), run.stdout)


@dataclass
class Function:
    calls: int = 0
    instructions: int = 0  # its own, and those of the functions that it calls
    own: int = 0
    home: str = ""  # the file of the program or library

    @property
    def per_call(self) -> float:
        return self.instructions / self.calls


def count_functions(line: Sequence[str], environment: Mapping[str, str] | None = None) -> dict[str, Function]:
    """Counts as count() does, by the names of functions."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "callgrind.out"
        count(line, environment, str(out))
        return read_functions(out.read_text().splitlines())


def read_functions(lines: Iterable[str]) -> dict[str, Function]:
    """Reads callgrind's file of one kind of events, by source line, whose names have numbers."""
    names: dict[tuple[str, str], str] = {}
    functions: dict[str, Function] = defaultdict(Function)
    caller = callee = home = ""
    is_call = False

    def name_of(kind: str, text: str) -> str:
        number, _, name = text.partition(" ")
        return names.setdefault((kind, number), name)

    for text in lines:
        key, _, value = text.partition("=")
        if key == "ob":
            home = name_of("ob", value)
        elif key == "cob":
            name_of("ob", value)
        elif key == "fn":
            caller = name_of("fn", value)
            functions[caller].home = home
        elif key == "cfn":
            callee = name_of("fn", value)
        elif key == "calls":
            functions[callee].calls += int(value.split()[0])
            is_call = True
        elif caller and re.match(r"[+*\d-]\S* \d+$", text):
            instructions = int(text.split()[1])
            functions[caller].instructions += instructions
            functions[caller].own += 0 if is_call else instructions
            is_call = False
    return functions
