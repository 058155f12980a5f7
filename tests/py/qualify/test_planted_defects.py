"""The suite is tested: each planted defect makes the cases fail that are named for it, and without it they pass."""

import contextlib
import io
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from qualify.case_table import case_table
from qualify.defects import DEFECTS, LIMITS, Defect

import pydoca
from pydoca.faults import FaultPlan
from pydoca.qualify.bench import waiting
from pydoca.qualify.records import CaseRecord, RunRecord
from pydoca.qualify.results import RunDirectory
from pydoca.qualify.verdicts import Verdict

CASES = case_table()
Qualify = Callable[..., RunRecord]


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    """A fabric of the test's own, so that no other run has its devices; and the usual cards afterwards."""
    before = pydoca.sim.fabric()
    pydoca.sim.set_fabric(f"defects-{secrets.token_hex(6)}")
    yield
    pydoca.sim.set_fabric(before)
    pydoca.sim.load_topology(pydoca.sim.default_topology())
    pydoca.sim.load_config({})


@pytest.fixture
def qualify(tmp_path: Path) -> Qualify:
    """Runs cases in this process, by a pytest of their own."""
    limits = tmp_path / "limits.toml"
    limits.write_text(LIMITS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(ids: Iterable[str], level: str = "smoke", device: str = "sim:p0") -> RunRecord:
        out = tmp_path / f"runs-{len(list(tmp_path.glob('runs-*')))}"
        options = {"device": device, "level": level, "limits": limits, "out": out, "seed": 1}
        line = [f"--pydoca-{name}={value}" for name, value in options.items()]
        line += ["-q", "-p", "no:cacheprovider", "-p", "no:warnings", f"--rootdir={tmp_path}", "-c", str(tmp_path / "pytest.ini")]
        with contextlib.redirect_stdout(output := io.StringIO()):
            code = pytest.main([*line, *(CASES[id].node for id in ids)])
        found = list(out.glob("*/run.json"))
        assert len(found) == 1, f"exit code {code}\n{output.getvalue()}"
        return RunDirectory.load(found[0].parent)

    return run


def named(run: RunRecord, id: str) -> list[CaseRecord]:
    return [case for case in run.cases if case.id == id]


@contextlib.contextmanager
def planted(defect: Defect) -> Iterator[None]:
    """Loads the card, its timing and the plan; a plan whose rules meet nothing is an error."""
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setattr(waiting, "PATIENCE", defect.patience)
        pydoca.sim.load_topology(pydoca.sim.default_topology(defect.profile))
        pydoca.sim.load_config(dict(defect.timing))
        if defect.plant:
            defect.plant(patch, stack)
        if rules := defect.rules():
            stack.enter_context(FaultPlan(*rules, seed=1))
        yield


@pytest.mark.parametrize("name", DEFECTS)
def test_the_named_cases_find_the_defect(name: str, qualify: Qualify) -> None:
    defect = DEFECTS[name]
    for id in defect.cases:
        with planted(defect):
            run = qualify([id], defect.level)
        failed = [case for case in named(run, id) if case.verdict is Verdict.FAIL]
        assert failed, f"{id} did not find it: {[(case.verdict, case.reason) for case in run.cases]}"
        reasons = [f"{case.reason} {[each.reason for each in case.measurements]}" for case in failed]
        assert any(re.search(defect.says, reason) for reason in reasons), f"{id}: {reasons}"
