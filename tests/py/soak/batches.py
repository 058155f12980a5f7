"""Runs of the state machine, each batch from a seed of its own, until the time is over.

usage: python -m soak.batches SEED SECONDS
"""

import faulthandler
import gc
import logging
import secrets
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from types import TracebackType

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

import pydoca
from soak.machine import Machine
from soak.report import Report
from soak.world import COUNTS, TRACE, open_descriptors

BATCH = 5  # runs of one seed
STEPS = 150
SETTLING = 10.0  # seconds; usually milliseconds are enough, but the machine may be busy
SLACK = 2  # descriptors that the system's libraries may add in a warm process


def main(seed: int, seconds: float) -> None:
    report = Report("one_process", seed)
    report.counts = COUNTS
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the process at once
    faulthandler.enable()
    # A step that hangs ends the process with the stacks of all threads.
    faulthandler.register(signal.SIGALRM, all_threads=True, chain=True)
    logging.getLogger("pydoca").addHandler(logging.NullHandler())
    pydoca.sim.set_fabric(f"soak-{secrets.token_hex(8)}")
    end = time.monotonic() + seconds
    warm_up()
    before: dict[str, int] | None = None
    while before is None or time.monotonic() < end:
        TRACE.seed = seed
        # Each generation of the card has engines that the other one does not have.
        pydoca.sim.load_topology(pydoca.sim.default_topology(("bluefield2", "bluefield3")[seed % 2]))
        run_batch(report, seed)
        after = settled_descriptors(before)
        if before and sum(after.values()) > sum(before.values()) + SLACK:
            report.fail(seed, f"descriptors are left: {before} after the first batch, {after} now\n{live_objects()}")
        before = before or after
        seed += 1
        print(report.line(), flush=True)


def settled_descriptors(before: dict[str, int] | None) -> dict[str, int]:
    """The descriptors that are left when all threads have released theirs; that may take a moment."""
    end = time.monotonic() + SETTLING
    while True:
        gc.collect()  # Hypothesis keeps the last machine in a cycle
        left = open_descriptors()
        if before is None or sum(left.values()) <= sum(before.values()) + SLACK or time.monotonic() > end:
            return left
        time.sleep(0.05)


def live_objects() -> str:
    """Objects of pydoca that are reachable, for the reader of a finding."""
    kinds = Counter(type(each).__name__ for each in gc.get_objects() if type(each).__module__.startswith("pydoca"))
    return f"objects: {dict(kinds)}; threads: {threading.enumerate()}"


def warm_up() -> None:
    """Makes the objects that a process makes once, at their first use, before descriptors are counted."""
    machine = Machine()
    machine.set_up()
    for make in machine.makers.values():
        make(0)
    machine.teardown()


def run_batch(report: Report, seed: int) -> None:
    how = settings(
        max_examples=BATCH,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # shrinking a finding would take minutes; its steps say enough
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(hypothesis.seed(seed)(Machine), settings=how)
    except Exception as error:
        report.fail(seed, describe(error))


def describe(error: Exception) -> str:
    """The steps that led to the error, which Hypothesis adds as notes, and its traceback within this project."""
    steps = getattr(error, "__notes__", [])
    if steps:
        error.__notes__ = []
    trace = traceback.format_exception(error.with_traceback(own_frames(error.__traceback__)))
    return "\n".join([*steps, "".join(trace)])


def own_frames(frames: TracebackType | None) -> TracebackType | None:
    """The frames without those of Hypothesis."""
    if frames is None:
        return None
    rest = own_frames(frames.tb_next)
    if "hypothesis" in frames.tb_frame.f_code.co_filename:
        return rest
    return TracebackType(rest, frames.tb_frame, frames.tb_lasti, frames.tb_lineno)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
