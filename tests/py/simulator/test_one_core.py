"""Two processes on one core: a wait that looks for its event keeps the core from the process that causes it."""

import json
import os
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parents[3] / "benchmarks/comch.py"


def test_messages_go_to_and_fro_on_one_core():
    cpu = min(os.sched_getaffinity(0))
    line = [sys.executable, BENCHMARK, "--cpus", str(cpu), "--rounds", "20", "--repetitions", "1", "--json"]
    result = subprocess.run(line, capture_output=True, text=True, timeout=150, check=True)
    figures = json.loads(result.stdout)
    names = [figure["name"].split(", ") for figure in figures]
    assert [parts[0].startswith("comch") for parts in names] == [False, True, True]  # the first one is asyncio's own
    assert [parts[1:3] for parts in names[1:]] == [["wait", "one core"], ["await", "one core"]]
    assert result.stderr == ""
