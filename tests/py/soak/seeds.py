"""Batches of seeds in one process, until the time is over or its share of the seeds has run.

usage: python -m soak.seeds SEED PLACE PROCESSES SECONDS SHARE
"""

import faulthandler
import gc
import json
import logging
import os
import secrets
import signal
import sys
import time
import traceback
from collections import Counter

import pydoca
from soak.report import replay
from soak.two_sides import KINDS, explore

BATCH = 50
HANG = 900  # seconds of real time; a batch takes less than one, but the machine may be busy
SLACK = 4  # descriptors that a warm process may add


def main(seed: int, place: int, processes: int, seconds: float, share: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    logging.getLogger("pydoca").addHandler(logging.NullHandler())
    pydoca.sim.set_fabric(f"soak-{secrets.token_hex(8)}")
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    number = seed // BATCH + place
    before = None
    while time.monotonic() < end and not 0 < share <= counts["runs"]:
        faulthandler.dump_traceback_later(HANG, exit=True)
        run_batch(number, seed, counts)
        gc.collect()
        after = len(os.listdir("/proc/self/fd"))
        # The first batch of each kind opens the descriptors that a process opens once.
        if counts["batches"] == len(KINDS):
            before = after
        if before is not None and after > before + SLACK:
            fail(number * BATCH, f"descriptors are left: {before} after the first batches, {after} now", counts)
        number += processes
        print(json.dumps(counts), flush=True)
    faulthandler.cancel_dump_traceback_later()


def run_batch(number: int, first: int, counts: Counter[str]) -> None:
    kind = KINDS[number % len(KINDS)]
    begin = number * BATCH
    try:
        explore(kind, range(max(begin, first), begin + BATCH), counts)
    except BaseException as error:
        notes = " ".join(getattr(error, "__notes__", []))
        words = notes.split("with seed ")
        seed = int(words[1].split(",")[0]) if len(words) > 1 else begin
        fail(seed, f"{kind.name}\n{traceback.format_exc()}", counts)
    counts["batches"] += 1


def fail(seed: int, why: str, counts: Counter[str]) -> None:
    """Ends the process at once: threads of a run that went wrong may never end."""
    print(why)
    print(f"FINDING in explore; to repeat it: {replay('explore', seed)}")
    print(json.dumps(counts), flush=True)
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
