"""Runs each random driver for seconds; script/soak runs them for an hour.

PYDOCA_SEED sets the seed of pytest's header.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = float(os.environ.get("PYDOCA_SOAK_SECONDS", "2"))
MARGIN = 200  # seconds for the start, the end, and the time that the drivers themselves allow a step that hangs


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + MARGIN + 20)
@pytest.mark.parametrize("part", ["one_process", "two_processes", "explore"])
def test_a_driver_finds_nothing(part):
    line = [sys.executable, "-P", "-m", "soak", part, "--seconds", str(SECONDS)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    ended = subprocess.run(
        line,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS + MARGIN,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
