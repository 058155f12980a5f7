"""counters.csv: what the device counted after each case, as far as it has changed."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path

from pydoca.qualify.machine import counters
from pydoca.qualify.records import RunRecord

_HEADS = ("time", "after", "counter", "value")


class CounterFile:
    """The file of a run's counters. A simulated device has no counters, and its run has no file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, float] = {}

    def add(self, run: RunRecord, case: str) -> None:
        found = counters(run.device)
        changed = {name: value for name, value in found.items() if self._known.get(name) != value}
        self._known = found
        if changed:
            self._append([[f"{time.time():.3f}", case, name, f"{value:g}"] for name, value in changed.items()])

    def _append(self, rows: list[list[str]]) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows(rows if self._path.exists() else [list(_HEADS), *rows])
        with self._path.open("a", encoding="utf-8") as file:
            file.write(text.getvalue())
