"""Files that the environment names: from a pipe, interrupted, beside a program's own choice, and for its children."""

import os
import shlex
import signal
import subprocess
import sys

import pytest

import pydoca
from pydoca import sim

TWO_CARDS = '[[card]]\ncount = 2\nprofile = "bluefield2"\n'
COUNT = "import pydoca; print(len(pydoca.devices()))"


def start(program: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(program: str, **environment: str) -> tuple[str, str]:
    with start(program, **environment) as process:
        return process.communicate(timeout=60)


@pytest.fixture(autouse=True)
def usual_machine():
    yield
    sim.load_topology(sim.default_topology())
    sim.load_config({})


@pytest.fixture
def fifo(tmp_path):
    os.mkfifo(path := tmp_path / "fifo")
    return path


def test_a_topology_comes_through_a_pipe_of_the_shell():
    line = shlex.join(["exec", sys.executable, "-c", COUNT])
    expected = run(f"import pydoca.sim as s; s.load_topology({{'card': [{{'count': 2}}]}}); {COUNT}")
    command = ["bash", "-c", f"PYDOCA_TOPOLOGY=<(printf '{TWO_CARDS}') {line}"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert (result.stdout, result.stderr) == expected


def test_a_writer_that_comes_late_is_waited_for_and_other_threads_run_meanwhile(fifo):
    program = f"""
import threading
def write():
    with open({str(fifo)!r}, "w") as file:
        file.write({TWO_CARDS!r})
threading.Timer(0.2, write).start()
{COUNT}
"""
    out, error = run(program, PYDOCA_TOPOLOGY=str(fifo))
    assert (out, error) == ("8\n", "")


@pytest.mark.parametrize("variable", ["PYDOCA_TOPOLOGY", "PYDOCA_TIMING", "PYDOCA_FAULTS"])
def test_ctrl_c_ends_the_wait_for_a_file(fifo, variable):
    with start(f"import pydoca; print(1, flush=True); {COUNT}", **{variable: str(fifo)}) as process:
        try:
            process.stdout.readline()
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.3)
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (out, error.splitlines()[-1]) == ("", "KeyboardInterrupt")
    assert process.returncode == -signal.SIGINT


def test_a_timing_that_the_program_loads_wins_over_a_file_that_is_wrong():
    program = "from pydoca import sim; sim.load_config({'dma': {'latency': '1us'}}); print(sim.timing('p0')['dma'])"
    assert run(program, PYDOCA_TIMING="/absent.toml") == ("{'latency': '1us'}\n", "")


@pytest.mark.parametrize("text", ["", "[timing.dma]\nlatency = '1us'\n", "# nothing yet\n"])
def test_a_file_without_functions_is_the_default_machine(tmp_path, text):
    (file := tmp_path / "machine.toml").write_text(text)
    assert run(COUNT, PYDOCA_TOPOLOGY=str(file)) == ("9\n", "")


@pytest.mark.parametrize("key", ["seed = 1", "preset = 'bluefield2'", "[dma]\nlatency = '1us'"])
def test_a_timing_file_without_its_heading_is_told_of_it(tmp_path, key):
    (file := tmp_path / "timing.toml").write_text(key)
    with pytest.raises(pydoca.InvalidValueError, match=r"is a key of the table timing; write \[timing\] above it"):
        sim.load_config(file)


def test_a_rule_of_a_file_is_named_by_its_number(tmp_path):
    (file := tmp_path / "faults.toml").write_text("[[rule]]\naction = 'fail'\n[[rule]]\naction = 'fial'\n")
    _, error = run(COUNT, PYDOCA_FAULTS=str(file))
    assert f"the environment's PYDOCA_FAULTS: {file}: rule 2: fault rule: action 'fial' does not exist" in error


def test_a_process_that_is_started_later_has_the_file_of_faults_although_the_directory_changed(tmp_path):
    (tmp_path / "faults.toml").write_text("[[rule]]\naction = 'misreport_capability'\ncapabilities = {dma = false}\n")
    program = f"""
import os, pydoca
from pydoca import sim
os.chdir({str(tmp_path)!r})
print(pydoca.devices()[-1].supports("dma"))
os.chdir("/")
with sim.spawn('import pydoca; print(pydoca.devices()[-1].supports("dma"))', show=False) as process:
    process.wait(50)
    print(process.output.strip())
"""
    out, error = run(program, PYDOCA_FAULTS="faults.toml")
    assert (out, error) == ("False\nFalse\n", "")


@pytest.mark.parametrize("variable", ["PYDOCA_PROFILE", "PYDOCA_TIMING"])
def test_variables_that_a_process_is_given_win_over_the_machine_of_its_parent(tmp_path, variable):
    (file := tmp_path / "timing.toml").write_text("[timing.dma]\nlatency = '7us'\n")
    value = {"PYDOCA_PROFILE": "bluefield2", "PYDOCA_TIMING": str(file)}[variable]
    sim.load_topology(sim.default_topology() | {"timing": {"dma": {"latency": "1us"}}})
    program = """
import pydoca
from pydoca import sim
print(pydoca.devices()[0].profile, sim.timing("p0").get("dma"))
"""
    with sim.spawn(program, env={variable: value}, show=False) as process:
        process.wait(50)
        assert (
            process.output.strip()
            == {
                "PYDOCA_PROFILE": "bluefield2 None",
                "PYDOCA_TIMING": "bluefield3 {'latency': '7us'}",
            }[variable]
        )
