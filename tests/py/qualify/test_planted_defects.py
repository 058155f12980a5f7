"""The suite is tested: each planted defect makes the cases fail that are named for it, and without it they pass."""

import contextlib
import io
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest

import pydoca
from pydoca import faults
from pydoca.faults import FaultPlan, FaultRule
from pydoca.qualify.bench import waiting
from pydoca.qualify.records import CaseRecord, RunRecord
from pydoca.qualify.results import RunDirectory
from pydoca.qualify.verdicts import Verdict
from qualify.case_table import case_table
from qualify.defects import DEFECTS, LIMITS, Defect

CASES = case_table()
Qualify = Callable[..., list[RunRecord]]


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

    def run(ids: Iterable[str], level: str = "smoke", devices: Sequence[str] = ("sim:p0",)) -> list[RunRecord]:
        out = tmp_path / f"runs-{len(list(tmp_path.glob('runs-*')))}"
        options = {"level": level, "limits": limits, "out": out, "seed": 1}
        line = [f"--pydoca-{name}={value}" for name, value in options.items()]
        line += [f"--pydoca-device={device}" for device in devices]
        line += [
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:warnings",
            f"--rootdir={tmp_path}",
            "-c",
            str(tmp_path / "pytest.ini"),
        ]
        with contextlib.redirect_stdout(output := io.StringIO()):
            code = pytest.main([*line, *(CASES[id].node for id in ids)])
        found = sorted(out.glob("*/run.json"))
        assert len(found) == len(devices), f"exit code {code}\n{output.getvalue()}"
        return [RunDirectory.load(each.parent) for each in found]

    return run


def named(run: RunRecord, id: str) -> list[CaseRecord]:
    return [case for case in run.cases if case.id == id]


@contextlib.contextmanager
def planted(defect: Defect, folder: Path) -> Iterator[None]:
    """Loads the card, its timing and the plan; a plan whose rules meet nothing is an error."""
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setattr(waiting, "PATIENCE", defect.patience)
        pydoca.sim.load_topology(pydoca.sim.default_topology(defect.profile))
        pydoca.sim.load_config(dict(defect.timing))
        if defect.plant:
            defect.plant(patch, stack)
        if defect.peer:
            (folder / "peer.toml").write_text(defect.peer)
            patch.setenv("PYDOCA_FAULTS", str(folder / "peer.toml"))
            patch.setattr(faults, "_environment_seen", True)  # it is for the processes that this one starts
        if rules := defect.rules():
            stack.enter_context(FaultPlan(*rules, seed=1))
        yield


@pytest.mark.parametrize("name", DEFECTS)
def test_the_named_cases_find_the_defect(name: str, qualify: Qualify, tmp_path: Path) -> None:
    defect = DEFECTS[name]
    for id in defect.cases:
        with planted(defect, tmp_path):
            [run] = qualify([id], defect.level)
        failed = [case for case in named(run, id) if case.verdict is Verdict.FAIL]
        assert failed, f"{id} did not find it: {[(case.verdict, case.reason) for case in run.cases]}"
        reasons = [f"{case.reason} {[each.reason for each in case.measurements]}" for case in failed]
        assert any(re.search(defect.says, reason) for reason in reasons), f"{id}: {reasons}"


@pytest.mark.parametrize("level", ["smoke", "quick"])
def test_without_a_defect_the_same_cases_pass(level: str, qualify: Qualify) -> None:
    """On both kinds of card, with the same limits."""
    ids = {id for defect in DEFECTS.values() for id in defect.cases if level in CASES[id].levels}
    for profile in ("bluefield2", "bluefield3"):
        pydoca.sim.load_topology(pydoca.sim.default_topology(profile))
        [run] = qualify(sorted(ids), level)
        assert not [
            (case.id, case.verdict, case.reason) for case in run.cases if case.verdict in (Verdict.FAIL, Verdict.ERROR)
        ]
        assert {case.id for case in run.cases} == ids


def test_one_bad_card_of_eight_is_found_and_no_other(qualify: Qualify) -> None:
    pydoca.sim.load_topology({"card": [{"count": 8}]})
    rule = FaultRule("corrupt", "dma.memcpy", device="card3-p0", every=50)
    with FaultPlan(rule, seed=1):
        runs = qualify(["DMA-1", "DMA-ORD"], devices=[f"sim:card{number}-p0" for number in range(8)])
    verdicts = {run.device["name"]: run.verdict for run in runs}
    assert len(verdicts) == 8
    assert {name for name, verdict in verdicts.items() if verdict is Verdict.FAIL} == {"card3-p0"}


def test_at_least_thirty_defects_are_planted_and_each_names_its_cases() -> None:
    assert len(DEFECTS) >= 30
    for defect in DEFECTS.values():
        assert defect.cases
        assert all(defect.level in CASES[id].levels for id in defect.cases), defect.what
