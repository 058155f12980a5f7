"""Runs of pytest with the plug-in, each with its own lock files and its own directory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy  # noqa: F401  a second import in one process fails, and pytester forgets what a run has imported
import pytest
import scipy.stats  # noqa: F401
import tqdm  # noqa: F401

import pydoca
import pydoca.qualify.report  # and its templates stay compiled
import pydoca.qualify.results
import pydoca.qualify.session.hooks

BODY = """
import pytest

@pytest.mark.pydoca_case("A-1", title="the first", levels=("smoke", "quick"))
def test_first(pydoca_device, pydoca_measure):
    pydoca_measure.record("a.count", 3, unit="1", max=5)

@pytest.mark.pydoca_case("A-2", levels=("full",))
def test_second(pydoca_device):
    assert pydoca_device.is_open
"""


class Runs:
    """Makes test files, runs pytest on them, and reads what the runs have written."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester, self.path = pytester, pytester.path

    def write(self, body: str, name: str = "test_it") -> Path:
        return self.pytester.makepyfile(**{name: body})

    def limits(self, text: str, name: str = "limits.toml") -> str:
        (self.path / name).write_text(text)
        return f"--pydoca-limits={name}"

    def run(self, *words: str, body: str | None = None, device: str | None = "sim:p0") -> pytest.RunResult:
        """Runs pytest in this process."""
        if body is not None:
            self.write(body)
        return self.pytester.runpytest_inprocess(*self.line(device), *words)

    def line(self, device: str | None) -> list[str]:
        chosen = [f"--pydoca-device={device}"] if device else []
        # Plug-ins of other libraries take longer to import than most of these runs take.
        without = ["cacheprovider", "randomly", "hypothesispytest", "anyio"]
        return [*(word for name in without for word in ("-p", f"no:{name}")), *chosen]

    def records(self) -> list[dict[str, Any]]:
        """state.json of each run, the oldest first; its directory also holds "cases"."""
        states = [json.loads(path.read_text()) for path in (self.path / "runs").glob("*/state.json")]
        return sorted(states, key=lambda state: state["run"]["begin"])

    def record(self) -> dict[str, Any]:
        (found,) = self.records()
        return found

    def verdicts(self) -> dict[str, str]:
        return {case["id"]: case["verdict"] for case in self.record()["cases"]}


@pytest.fixture
def runs(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Runs:
    runtime = pytester.path / "runtime"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("PYDOCA_BACKEND", "sim")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
        monkeypatch.delenv(name, raising=False)
    return Runs(pytester)


@pytest.fixture
def device_info() -> Callable[[str], pydoca.DeviceInfo]:
    return lambda name: next(info for info in pydoca.devices() if info.name == name)
