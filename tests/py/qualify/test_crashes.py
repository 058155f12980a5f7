"""Workers of xdist that end during a case: the outcome of the case, and of the others."""

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

# The first case ends its process: each time, or the first time only.
BODY = """
import os, pathlib, signal

def test_before(pydoca_device): pass

def test_crash(pydoca_device, pydoca_run):
    with open(f"ran-{pydoca_device.name}", "a") as file:
        file.write("x")
    if pydoca_device.name == "p0" and len(pathlib.Path("ran-p0").read_text()) <= CRASHES:
        os.kill(os.getpid(), signal.SIGSEGV)

def test_after(pydoca_device): pass
"""


@pytest.mark.parametrize("crashes", [1, 100])
def test_a_case_that_ends_its_worker_is_an_error_once_and_the_others_run(runs, crashes):
    result = runs.run("-n", "2", "--pydoca-device=sim:p1", body=BODY.replace("CRASHES", str(crashes)))
    assert result.ret == 3
    assert (runs.path / "ran-p0").read_text() == "x"
    found = {
        record["run"]["device"]["name"]: {case["id"]: case["verdict"] for case in record["cases"]}
        for record in runs.records()
    }
    assert found == {
        "p0": {"test_before": "PASS", "test_crash": "ERROR", "test_after": "PASS"},
        "p1": {"test_before": "PASS", "test_crash": "PASS", "test_after": "PASS"},
    }
    (record,) = [record for record in runs.records() if record["run"]["device"]["name"] == "p0"]
    assert (record["run"]["verdict"], record["run"]["exit_code"]) == ("ERROR", 3)
    (case,) = [case for case in record["cases"] if case["id"] == "test_crash"]
    assert "the process of the case ended, by a crash or from outside" in case["reason"]
    assert "test_it.py::test_crash --pydoca-level=quick" in case["again"]
    result.stdout.fnmatch_lines(["*ERROR *test_crash*the process of the case ended*", "ERROR: 2 PASS, 1 ERROR"])


def test_a_crash_in_a_repeat_leaves_the_repeats_before_it(runs):
    body = "import os\ndef test_it(pydoca_run):\n    if pydoca_run.repeat == 1: os._exit(1)\n"
    result = runs.run("-n", "1", "--pydoca-repeat=3", body=body)
    assert result.ret == 3
    assert [(case["repeat"], case["verdict"]) for case in runs.record()["cases"]] == [(0, "PASS"), (1, "ERROR")]


def test_one_run_of_several_devices_goes_on_where_it_ended(runs):
    body = """
import os, pathlib, pytest, signal
def test_one(pydoca_device): pass
@pytest.mark.parametrize("n", [1, 2])
def test_two(pydoca_device, n):
    ran = pathlib.Path(f"ran-{n}-{pydoca_device.name}")
    ran.write_text(ran.read_text() + "x" if ran.exists() else "x")
    if n == 1: os.kill(os.getpid(), signal.SIGINT)
def test_three(pydoca_run): pass
"""
    assert runs.run("--pydoca-device=sim:p1", body=body).ret == 2
    (folder,) = [each for each in (runs.path / "runs").iterdir() if "03-00.0_" in each.name]
    result = runs.run(f"--pydoca-resume={folder}", device=None)
    assert result.ret == 0
    record = next(record for record in runs.records() if record["run"]["device"]["name"] == "p0")
    nodes = [case["node"].removeprefix("test_it.py::") for case in record["cases"]]
    assert sorted(nodes) == ["test_one", "test_three", "test_two[1]", "test_two[2]"]
    assert record["run"]["planned"] == 4
    assert (runs.path / "ran-1-p0").read_text() == "x"
