"""The driver of one process: it runs in a child, so that a crash or a hang is also a finding with its steps."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from soak.report import replay

MARGIN = 150  # seconds for the start, for the batch that runs when the time is over, and for a step that hangs


def main(seed: int, seconds: float) -> None:
    with tempfile.NamedTemporaryFile(prefix="soak-") as trace:
        code = run(seed, seconds, trace.name)
        if code < 0 or code > 1:
            show_crash(seed, code, Path(trace.name).read_text())
    if code:
        sys.exit(1)


def run(seed: int, seconds: float, trace: str) -> int:
    env = {**os.environ, "PYDOCA_SOAK_TRACE": trace, "PYTHONPATH": str(Path(__file__).parents[1])}
    line = [sys.executable, "-P", "-m", "soak.batches", str(seed), str(seconds)]
    with subprocess.Popen(line, env=env) as child:
        try:
            return child.wait(seconds + MARGIN)
        except subprocess.TimeoutExpired:
            print(f"the driver did not end {MARGIN} s after its time")
            return 2
        finally:
            child.kill()


def show_crash(seed: int, code: int, trace: str) -> None:
    """The trace begins with the seed of the batch."""
    steps = trace.splitlines()
    seed = int(steps[0].removeprefix("seed ")) if steps else seed
    print("\n".join(["the steps of the last run:", *steps]))
    print(f"FINDING in one_process: it ended with {code}; to repeat it: {replay('one_process', seed)}")
    print(json.dumps({"part": "one_process", "seed": seed, "findings": 1}))
