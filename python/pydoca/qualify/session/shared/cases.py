"""The cases that workers have collected: a file, as xdist carries names only."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from pydoca.qualify.session.record import again
from pydoca.qualify.session.selection import KEY
from pydoca.qualify.session.settings import Settings
from pydoca.qualify.session.target import Target


@dataclass(frozen=True)
class SharedCase:
    """A case as the controller knows it."""

    device: str  # its label
    seconds: float  # the time in the plan
    id: str
    title: str
    node: str
    again: str


class SharedPlan:
    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.path: Path = Path()
        self.cases: dict[str, SharedCase] = {}  # each case by pytest's identifier

    def open(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="pydoca-plan-")
            self.path = Path(self._folder.name, "plan.json")

    def read(self) -> bool:
        """Reads the file. False after the first time, because all workers collect the same."""
        if self.cases or not self.path.exists():
            return False
        self.cases = {node: SharedCase(**case) for node, case in json.loads(self.path.read_text()).items()}
        return True

    def scope_of(self, node: str) -> str:
        """The scope of a case, which is its device: the cases of one device go to one worker."""
        return self.cases[node].device if node in self.cases else node

    def close(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def write_plan(path: str, cases: dict[str, SharedCase]) -> None:
    beside = Path(f"{path}.{os.getpid()}")
    beside.write_text(json.dumps({node: dataclasses.asdict(case) for node, case in cases.items()}))
    beside.replace(path)


def shared_case(item: pytest.Item, target: Target, level: str, seed: int, settings: Settings) -> SharedCase:
    selected = item.stash[KEY]
    command = again(item, selected.node, target.info, level, seed, settings)
    return SharedCase(target.label, selected.estimate, selected.mark.id, selected.mark.title, selected.node, command)
