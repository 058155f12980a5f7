"""Operations of each library by an engine that sleeps, and after a rest of the device."""

from __future__ import annotations

import time

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.tasks.operations import operations
from pydoca.qualify.bench.waiting import Stand


def asleep(device: pydoca.Device, count: int) -> int:
    """So many operations of each library, by engines that sleep meanwhile; returns how many libraries there were."""
    with Stand() as stand:
        found = operations(stand, device, waiting.sleep_until)
        for run_one in found.values():
            for _ in waiting.paced(count):
                run_one()
    return len(found)


def after_rests(device: pydoca.Device, rests: int, seconds: float) -> dict[str, float]:
    """Milliseconds of the first operation of each library after a rest: the least of so many rests."""
    with Stand() as stand:
        found = operations(stand, device)
        times = {name: [run_one()] for name, run_one in found.items()}
        for _ in range(rests):
            time.sleep(seconds)
            for name, run_one in found.items():
                times[name].append(run_one())
    return {name: min(samples[1:]) / 1e6 for name, samples in times.items()}
