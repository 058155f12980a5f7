"""The suite is tested: the cases that name a planted defect fail with it, and pass without it."""

import contextlib
import io
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest

import pydoca
from pydoca.faults import FaultPlan, FaultRule
from pydoca.qualify.bench import waiting
from pydoca.qualify.records import CaseRecord, RunRecord
from pydoca.qualify.results import RunDirectory
from pydoca.qualify.verdicts import Verdict
from qualify.case_table import case_table
from qualify.defects import DEFECTS, LIMITS, Defect

pytestmark = pytest.mark.slow
CASES = case_table()
Qualify = Callable[..., list[RunRecord]]


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    """Gives the test its own fabric, whose devices are not in use elsewhere; restores the usual cards afterwards."""
    before = pydoca.sim.fabric()
    pydoca.sim.set_fabric(f"defects-{secrets.token_hex(6)}")
    yield
    pydoca.sim.set_fabric(before)
    pydoca.sim.load_topology(pydoca.sim.default_topology())
    pydoca.sim.load_config({})


@pytest.fixture
def qualify(tmp_path: Path) -> Qualify:
    """Runs cases in this process, with a new pytest."""
    limits = tmp_path / "limits.toml"
    limits.write_text(LIMITS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(
        ids: Iterable[str], level: str = "smoke", devices: Sequence[str] = ("sim:p0",), seed: int = 1
    ) -> list[RunRecord]:
        out = tmp_path / f"runs-{len(list(tmp_path.glob('runs-*')))}"
        options = {"level": level, "limits": limits, "out": out, "seed": seed}
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
    """Loads the card, its timing and the plan; a plan whose rules match nothing is an error."""
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setattr(waiting, "PATIENCE", defect.patience)
        pydoca.sim.load_topology(pydoca.sim.default_topology(defect.profile))
        pydoca.sim.load_config(dict(defect.timing))
        if defect.plant:
            defect.plant(patch, stack)
        if defect.peer:
            (folder / "peer.toml").write_text(defect.peer)
            pydoca.devices()  # the first look reads the variable; the value below is for processes that start later
            patch.setenv("PYDOCA_FAULTS", str(folder / "peer.toml"))
        if rules := defect.rules():
            stack.enter_context(FaultPlan(*rules, seed=1))
        yield


@pytest.mark.parametrize("name", DEFECTS)
def test_the_named_cases_find_the_defect(name: str, qualify: Qualify, tmp_path: Path) -> None:
    defect = DEFECTS[name]
    for id in defect.cases:
        for _ in range(defect.tries):
            with planted(defect, tmp_path):
                [run] = qualify([id], defect.level)
            if failed := [case for case in named(run, id) if case.verdict is Verdict.FAIL]:
                break
        assert failed, f"{id} did not find it: {[(case.verdict, case.reason) for case in run.cases]}"
        reasons = [f"{case.reason} {[each.reason for each in case.measurements]}" for case in failed]
        assert any(re.search(defect.says, reason) for reason in reasons), f"{id}: {reasons}"


# The device and the card of each clean run. A small card has lower limits.
CLEAN = [("sim:p0", "bluefield3"), ("sim:p0", "bluefield2"), ("sim:p0", "small"), ("sim:pf0", "bluefield3")]
CLEAN_RUNS = int(os.environ.get("PYDOCA_CLEAN_RUNS", "3"))
SMALL = {"dma": {"max_buf_size": 65536, "max_buf_list_len": 1, "max_num_tasks": 8}, "comch": {"max_clients": 8}}


def load_card(name: str) -> None:
    machine = pydoca.sim.default_topology("bluefield3" if name == "small" else name)
    for function in machine["function"] if name == "small" else ():
        for library, limits in SMALL.items():
            function["capabilities"][library] |= limits
    pydoca.sim.load_topology(machine)


@pytest.mark.parametrize("number", range(CLEAN_RUNS))
def test_a_device_without_a_defect_raises_no_alarm(number: int, qualify: Qualify) -> None:
    """Runs all cases of level smoke. PYDOCA_CLEAN_RUNS=100 makes a hundred runs."""
    device, card = CLEAN[number % len(CLEAN)]
    load_card(card)
    [run] = qualify([id for id, case in CASES.items() if "smoke" in case.levels], devices=[device], seed=number)
    assert alarms(run) == []
    assert sum(case.verdict is Verdict.PASS for case in run.cases) > 25


@pytest.mark.timeout(300)
def test_the_cases_of_level_quick_pass_without_a_defect(qualify: Qualify) -> None:
    """Runs the cases that find defects, with the same limits."""
    defects = [defect for defect in DEFECTS.values() if defect.level == "quick"]
    for profile in ("bluefield3", "bluefield2"):
        pydoca.sim.load_topology(pydoca.sim.default_topology(profile))
        ids = {id for defect in defects if defect.profile == profile for id in defect.cases}
        [run] = qualify(sorted(ids), "quick")
        assert alarms(run) == []
        assert {case.id for case in run.cases} == ids


def alarms(run: RunRecord) -> list[tuple[str, Verdict, str]]:
    wrong = (Verdict.FAIL, Verdict.ERROR, Verdict.MARGINAL)
    return [(case.id, case.verdict, case.reason) for case in run.cases if case.verdict in wrong]


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
