"""The driver of `two_sides` under many seeds: each process explores its share of the batches.

A batch has one kind of fault. The seed of a finding repeats its run: it decides the batch, and so the kind.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from soak.report import Report

MARGIN = 1000  # seconds for the start, and for the batch that runs when the time is over


def main(seed: int, seconds: float, seeds: int | None) -> None:
    report = Report("explore", seed)
    processes = int(os.environ.get("PYDOCA_SOAK_PROCESSES", "0")) or len(os.sched_getaffinity(0))
    children = [start(seed, place, processes, seconds, seeds) for place in range(processes)]
    code = 0
    try:
        # Each process has a thread that reads its output; a process whose pipe is full would stop.
        with ThreadPoolExecutor(processes) as pool:
            takes = [pool.submit(take, child, seconds + MARGIN) for child in children]
            for counts, failed in (taking.result() for taking in as_completed(takes)):
                report.counts.update(counts)
                code |= failed
    finally:
        for child in children:
            child.kill()
    if code:
        report.counts["findings"] += 1
    print(report.line(), flush=True)
    if code:
        sys.exit(1)


def start(seed: int, place: int, processes: int, seconds: float, seeds: int | None) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    share = "0" if seeds is None else str(-(-seeds // processes))
    line = [sys.executable, "-P", "-m", "soak.seeds", str(seed), str(place), str(processes), str(seconds), share]
    return subprocess.Popen(line, env=env, stdout=subprocess.PIPE, text=True)


def take(child: subprocess.Popen[str], patience: float) -> tuple[dict[str, int], int]:
    """Returns the counts, which are the last line of each batch, and whether it failed; other lines are a finding's."""
    try:
        output, _ = child.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        child.kill()
        output, _ = child.communicate()
        print(f"FINDING in explore: a process did not end {MARGIN} s after its time")
    last: dict[str, int] = {}
    for line in output.splitlines():
        if line.startswith("{"):
            last = json.loads(line)
        else:
            print(line, flush=True)
    if child.returncode and "FINDING" not in output:
        print(f"FINDING in explore: a process ended with {child.returncode} after {last}")
    return last, int(child.returncode != 0)
