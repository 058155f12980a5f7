"""Runs in their own processes that end early, by Ctrl-C once and twice or by SIGKILL, and how they go on."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

# The second case tells that it runs, and goes on until a file appears or it is interrupted.
BODY = """
import pathlib, time
import pytest

def count(name):
    with open("ran", "a") as file:
        file.write(name + "\\n")

@pytest.mark.pydoca_case("A-1")
def test_a(pydoca_device):
    count("a")

@pytest.mark.pydoca_case("B-2", seconds=300)
def test_b(pydoca_device, pydoca_measure):
    count("b")
    with pydoca_measure("b.time", unit="us", n_min=10_000_000) as m:
        while not m.has_enough() and not pathlib.Path("go").exists():
            m.add(1.0)
            time.sleep(0.01)
            pathlib.Path("running").touch()

@pytest.mark.pydoca_case("C-3")
def test_c(pydoca_device):
    count("c")
"""

PYTEST = ("pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio")


@pytest.fixture
def start(runs):
    """Starts pytest or the command in a process; ends the processes that are left."""
    processes = []
    runs.write(BODY)

    def start(*words, program=PYTEST, keeps_errors=False):
        line = [sys.executable, "-P", "-m", *program, *words]
        env = {**os.environ, "PYTHONUNBUFFERED": "1"}
        with open(runs.path / "errors", "w") as errors:
            processes.append(
                subprocess.Popen(
                    line,
                    cwd=runs.path,
                    env=env,
                    stdout=subprocess.PIPE,
                    stderr=errors if keeps_errors else subprocess.STDOUT,
                    text=True,
                )
            )
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def wait_for(path: Path, process) -> None:
    end = time.monotonic() + 50
    while not path.exists():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end, f"{path} has not appeared"
        time.sleep(0.02)


def end_of(process) -> str:
    return process.communicate(timeout=150)[0]


def ran(runs) -> str:
    return "".join((runs.path / "ran").read_text().split())


def said_by(folder) -> tuple:
    """The verdict of run.json, of the page's title, and of the stream."""
    title = re.findall("<title>(.*?):", (folder / "report.html").read_text())[0]  # pictures also have titles
    last = json.loads((folder / "results.jsonl").read_text().splitlines()[-1])
    end = last["testRunArtifact"]["testRunEnd"] if "testRunArtifact" in last else {}
    return json.loads((folder / "run.json").read_text())["verdict"], title, (end.get("status"), end.get("result"))


def test_ctrl_c_ends_the_sample_writes_everything_and_the_run_goes_on(runs, start):
    process = start("--pydoca-device=sim:p0", "--pydoca-seed=9")
    wait_for(runs.path / "running", process)
    process.send_signal(signal.SIGINT)
    output = end_of(process)
    assert process.returncode == 2, output
    assert "Ctrl-C: the current case ends after its sample; Ctrl-C again ends it at once" in output
    record = runs.record()
    assert runs.verdicts() == {"A-1": "PASS", "B-2": "SKIPPED"}
    (case,) = [case for case in record["cases"] if case["id"] == "B-2"]
    (measured,) = case["measurements"]
    assert "interrupted" in case["reason"]
    assert (measured["verdict"], measured["n"] + measured["warmup"] > 0) == ("UNJUDGED", True)
    assert (record["run"]["exit_code"], record["run"]["planned"]) == (2, 3)
    assert "INTERRUPTED: 1 PASS, 1 SKIPPED; not run: 1 of 3 cases" in output
    (folder,) = (runs.path / "runs").iterdir()
    assert said_by(folder) == ("INTERRUPTED", "INTERRUPTED", ("ERROR", "NOT_APPLICABLE"))
    assert (folder / "SHA256SUMS").is_file()
    assert f"--pydoca-resume={folder}" in output

    (runs.path / "go").touch()
    process = start(f"--pydoca-resume={folder}")
    output = end_of(process)
    assert "1 case finished before" in output
    assert runs.verdicts() == {"A-1": "PASS", "B-2": "ERROR", "C-3": "PASS"}  # B-2 has fewer samples than its limit
    assert (runs.record()["run"]["seed"], process.returncode) == (9, runs.record()["run"]["exit_code"])
    assert ran(runs) == "abbc"


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_sigterm_ends_a_run_as_ctrl_c_does(runs, start, workers):
    process = start("qualify", "p0", "--tests=test_it.py", *workers, program=("pydoca",))
    wait_for(runs.path / "running", process)
    assert any("A-1" in line for line in process.stdout)  # xdist's controller learns of it later
    process.send_signal(signal.SIGTERM)
    output = end_of(process)
    assert process.returncode == 2, output
    assert runs.verdicts()["A-1"] == "PASS"
    assert runs.record()["run"]["exit_code"] == 2
    (folder,) = (runs.path / "runs").iterdir()
    assert (folder / "report.html").is_file()
    assert f"go on with: pydoca qualify --tests=test_it.py --resume {folder}" in output
    assert "--pydoca-resume" not in output


def test_a_reader_that_goes_away_interrupts_the_run(runs, start):
    process = start("--pydoca-device=sim:p0", keeps_errors=True)
    wait_for(runs.path / "running", process)
    process.stdout.close()
    (runs.path / "go").touch()
    process.wait(50)
    assert process.returncode == 2
    assert "the reader of the output has gone, which has interrupted the run" in (runs.path / "errors").read_text()
    assert runs.record()["run"]["exit_code"] == 2


def test_a_resumed_run_counts_on(runs, start):
    process = start("--pydoca-device=sim:p0")
    wait_for(runs.path / "running", process)
    process.send_signal(signal.SIGINT)
    end_of(process)
    (runs.path / "go").touch()
    (folder,) = (runs.path / "runs").iterdir()
    output = end_of(start(f"--pydoca-resume={folder}"))
    assert "[2/3] " in output
    assert "[3/3] " in output
    assert "[1/3] " not in output


def test_ctrl_c_twice_ends_at_once(runs, start):
    runs.write(BODY.replace("m.has_enough()", "False"))  # the case does not ask
    process = start("--pydoca-device=sim:p0")
    wait_for(runs.path / "running", process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    output = end_of(process)
    assert process.returncode == 2, output
    record = runs.record()
    assert record["run"]["exit_code"] == 2
    assert record["cases"][0]["id"] == "A-1"


def test_a_killed_run_goes_on_with_what_is_left(runs, start):
    process = start("--pydoca-device=sim:p0")
    wait_for(runs.path / "running", process)
    process.kill()
    process.wait(50)
    assert runs.record()["run"]["end"] is None
    assert runs.verdicts() == {"A-1": "PASS"}
    (runs.path / "go").touch()
    (folder,) = (runs.path / "runs").iterdir()
    report = end_of(start("qualify", "report", str(folder), "--json", program=("pydoca",)))
    assert [json.loads(report)[key] for key in ("verdict", "exit_code")] == ["INTERRUPTED", 2]
    assert said_by(folder) == ("INTERRUPTED", "INTERRUPTED", (None, None))  # the stream has no end
    process = start("qualify", f"--resume={folder}", "--tests", "test_it.py", "--json", program=("pydoca",))
    output = end_of(process)
    assert list(runs.verdicts()) == ["A-1", "B-2", "C-3"]
    assert ran(runs) == "abbc"
    (summary,) = json.loads(next(line for line in output.splitlines() if line.startswith("{")))["runs"]
    assert [case["id"] for case in summary["cases"]] == ["A-1", "B-2", "C-3"]
    assert (summary["directory"], summary["verdict"]) == (str(folder), "ERROR")  # B-2 has too few samples


def test_the_kernel_gives_the_device_of_a_killed_run_back(runs, start):
    first = start("--pydoca-device=sim:p0")
    wait_for(runs.path / "running", first)
    words = ("sim:p0", "--tests", "test_it.py", "--select", "A-1", "--wait", "0.2", "--json")
    second = start(*words, program=("pydoca", "qualify"), keeps_errors=True)
    document = json.loads(end_of(second))
    assert (second.returncode, document["exit_code"], document["runs"]) == (4, 4, [])
    reason = document["reason"]
    assert (reason["kind"], reason["device"]) == ("in_use", "sim:p0")
    assert reason["text"].startswith(f"sim:p0 is still in use by another run (process {first.pid}, since ")
    assert reason["text"].endswith("give --wait more time, or use the device beside it by --force")
    assert f"ERROR: {reason['text']}" in (runs.path / "errors").read_text()
    first.kill()
    first.wait(50)
    third = start("--pydoca-device=sim:p0", "-k", "A-1")
    output = end_of(third)
    assert third.returncode == 0, output


def test_an_interrupt_ends_the_wait_for_a_device_at_once(runs, start):
    first = start("--pydoca-device=sim:p0")
    wait_for(runs.path / "running", first)
    second = start("sim:p0", "--wait", "10min", "--tests", "test_it.py", "--json", program=("pydoca", "qualify"))
    line = next(line for line in second.stdout if "is in use" in line)
    assert f"(process {first.pid}, since " in line
    assert "pytest -p no:cacheprovider" in line
    assert line.rstrip().endswith("this run waits for its end, at most 10 min 00 s; Ctrl-C ends that")
    begin = time.monotonic()
    second.send_signal(signal.SIGINT)
    second.send_signal(signal.SIGINT)  # the user is impatient
    said = [line for line in end_of(second).splitlines() if line.strip()]
    assert (second.returncode, time.monotonic() - begin < 60) == (2, True), said
    text, document = said[0], json.loads(said[1])
    assert re.fullmatch(r"interrupted: \S+ m?s of waiting for sim:p0, and no test", text)
    assert document == {
        "exit_code": 2, "runs": [], "reason": {"kind": "interrupted", "text": text, "device": "sim:p0"},
    }  # fmt: skip
    assert len(said) == 2
    assert len(list((runs.path / "runs").iterdir())) == 1  # the first run's directory


def test_a_run_is_resumed_on_the_same_device_with_the_same_options(runs):
    runs.write("def test_a(pydoca_device): pass\n")
    assert runs.run("--pydoca-seed=3", device="sim:p1").ret == 0
    (folder,) = (runs.path / "runs").iterdir()
    refused = [
        ("--pydoca-device=sim:p0", "the run was on sim:p1, not on 'sim:p0'"),
        ("--pydoca-level=full", "the run has --pydoca-level 'quick', not 'full'; leave the option out"),
        ("--pydoca-seed=4", "the run has --pydoca-seed 3, not 4"),
    ]
    for word, message in refused:
        result = runs.run(f"--pydoca-resume={folder}", word, device=None)
        assert (result.ret, message in result.stderr.str()) == (4, True)
    result = runs.run(f"--pydoca-resume={folder}", device=None)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["pydoca: resumes *: 1 case finished before", "PASS: 1 PASS"])
    state = json.loads((folder / "state.json").read_text())
    state["run"]["device"]["serial"] = "SIM-GONE"
    (folder / "state.json").write_text(json.dumps(state))
    result = runs.run(f"--pydoca-resume={folder}", device=None)
    assert result.ret == 4
    assert "with the serial number 'SIM-GONE', and this machine has no such device" in result.stderr.str()
