"""A case does not need another one before it: each passes alone in a new process, and all pass in random order."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lone_cases import CASES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
PROGRAM = Path(__file__).with_name("lone_cases.py")


def run(tmp_path, *words):
    """Checks that all cases end well, and that each has a test that is not skipped."""
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "PYDOCA_BACKEND": "sim"}
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYDOCA_FABRIC"):
        env.pop(name, None)
    line = [sys.executable, str(PROGRAM), *words]
    done = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=280)
    found = [json.loads(text) for text in done.stdout.splitlines()]
    wrong = [each for each in found if each["verdict"] not in ("PASS", "UNJUDGED", "SKIPPED")]
    assert (done.returncode, wrong) == (0, []), f"{wrong}\n{done.stderr}"
    verdicts: dict[str, set[str]] = {}
    for each in found:
        verdicts.setdefault(each["id"], set()).add(each["verdict"])
    assert verdicts.keys() == CASES.keys()
    assert [id for id, each in verdicts.items() if each == {"SKIPPED"}] == []


def test_each_case_passes_alone(tmp_path):
    run(tmp_path, "alone")


def test_the_cases_pass_in_random_order(tmp_path):
    run(tmp_path, "shuffled", os.environ["PYDOCA_SEED"])


@pytest.mark.parametrize("function", ["pf1vf0", "p1s0"])
def test_the_cases_pass_on_functions_that_have_less(tmp_path, function):
    """The devices are a VF and an SF: neither has an address in the network, for example."""
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "PYDOCA_BACKEND": "sim"}
    line = [sys.executable, "-m", "pydoca", "qualify", function, "--level", "smoke", "--out", str(tmp_path)]
    done = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout
