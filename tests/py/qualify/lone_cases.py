"""Runs the cases of level quick without the cases that usually come before: each case alone, or all in random order.

A case alone has a process that has used no device before: a fork of this one, which has imported everything. The cases
do as little as level smoke where that has them, and take little time for a measurement.

usage: lone_cases.py alone [ID...]       # prints a JSON object per case, as it ends
       lone_cases.py shuffled [SEED]     # the same, in one process for each card
"""

from __future__ import annotations

import gc
import json
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy  # noqa: F401  the forks have it then
import pytest
import scipy.stats  # noqa: F401

import pydoca
from pydoca.qualify.cases import counts
from pydoca.qualify.session import hooks, levels, marks, settings  # noqa: F401
from pydoca.qualify.start import words_of_pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from qualify.case_table import Case, case_table

# A simulated card skips the other cases.
CASES = {id: case for id, case in case_table().items() if "quick" in case.levels and "hardware" not in case.needs}
_FORKS = 2  # processes at a time
_SECONDS = 0.02  # seconds for a measurement


class Cases:
    """A plug-in that shuffles the cases, and keeps their verdicts."""

    def __init__(self, seed: int | None) -> None:
        self._seed = seed
        self.found: list[dict[str, Any]] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._seed is not None:
            random.Random(self._seed).shuffle(items)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if text := getattr(report, "pydoca_case", None):
            case = json.loads(text)
            self.found.append({key: case[key] for key in ("id", "node", "verdict", "reason", "seconds")})


def _few(run: Any, *, smoke: int = 0, quick: int = 0, full: int = 0, soak: int = 0) -> int:
    """Replaces `counts.at`: gives a tenth of a large number; small numbers are sizes, steps and kills."""
    return smoke or (quick // 10 if quick >= 1000 else quick)


def _make_short() -> None:
    """Turns off records, reports and the look at the machine, and gives no case a time of its own."""
    counts.at = _few
    levels.LEVELS["quick"] = levels.Level("quick", levels.LEVELS["quick"].seconds, _SECONDS)
    marks._seconds = lambda *_: None
    settings.Settings.is_recorded = property(lambda self: False)  # type: ignore[method-assign,assignment]


def run(cases: Sequence[Case], seed: int | None = None) -> list[dict[str, Any]]:
    """Runs the cases in this process."""
    _make_short()
    if any("sha" in case.needs for case in cases):
        pydoca.sim.load_topology(pydoca.sim.default_topology("bluefield2"))
    plugin = Cases(seed)
    words = ["--pydoca-device=sim:p0", "--pydoca-level=quick", "--pydoca-seed=1"]
    words = [*words_of_pytest(words, None, os.getcwd())[:-1], *(case.node for case in cases)]
    code = pytest.main(words, plugins=[plugin])
    return plugin.found or [_nothing("NONE", f"pytest ended with {code}")]


def _nothing(verdict: str, reason: str) -> dict[str, Any]:
    return {"id": "", "node": "", "verdict": verdict, "reason": reason, "seconds": 0.0}


def _fork(cases: Sequence[Case], seed: int | None = None) -> tuple[int, int]:
    """Runs cases in a fork. Gives its process and a descriptor of the results; pytest's output is dropped."""
    reading, writing = os.pipe()
    if process := os.fork():
        os.close(writing)
        return process, reading
    os.close(reading)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    pydoca.sim.set_fabric(f"lone-{os.getpid()}-{time.monotonic_ns()}")
    found: list[dict[str, Any]] = []
    try:
        found = run(cases, seed)
    finally:
        os.write(writing, json.dumps(found).encode())
        os._exit(0)


def _found(process: int, reading: int) -> list[dict[str, Any]]:
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(process, 0)
    return json.loads(text or "[]") or [_nothing("CRASH", f"its process ended with status {status}")]


def alone(ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    waiting, running = [CASES[id] for id in ids], []
    gc.freeze()  # a collection in a fork would copy all pages of the imported modules
    while waiting or running:
        while waiting and len(running) < _FORKS:
            case = waiting.pop(0)
            running.append((case.id, *_fork([case])))
        id, process, reading = running.pop(0)
        yield from ({**each, "id": each["id"] or id} for each in _found(process, reading))


def shuffled(seed: int) -> Iterator[dict[str, Any]]:
    """Runs all cases in two processes, as the card that has an engine for digests lacks others."""
    for has_sha in (False, True):
        yield from _found(*_fork([case for case in CASES.values() if ("sha" in case.needs) is has_sha], seed))


def main(words: Sequence[str]) -> int:
    match words:
        case ["alone", *ids]:
            found = alone(ids or list(CASES))
        case ["shuffled", *seed]:
            found = shuffled(int(seed[0]) if seed else 1)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    bad = 0
    for each in found:
        bad += each["verdict"] not in ("PASS", "UNJUDGED", "SKIPPED", "MARGINAL")
        print(json.dumps(each), flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
