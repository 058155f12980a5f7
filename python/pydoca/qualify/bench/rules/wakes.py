"""Operations of each library by an engine that sleeps, and after a pause of the device."""

from __future__ import annotations

import time

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.tasks.operations import operations
from pydoca.qualify.bench.waiting import Stand

_SHORT, _LONG = 0.08, 0.8  # seconds


def asleep(device: pydoca.Device, count: int) -> int:
    """Runs count operations of each library by engines that sleep meanwhile; returns how many libraries there were."""
    with Stand() as stand:
        found = operations(stand, device, waiting.sleep_until)
        for run_one in found.values():
            for _ in waiting.paced(count):
                run_one()
    return len(found)


def after_rests(device: pydoca.Device, rests: int) -> dict[str, float]:
    """Milliseconds of the first operation of each library after a pause: the least over all pauses.

    Each library has its own short pauses, and all of them have long ones together; the worse result counts.
    """
    with Stand() as stand:
        found = operations(stand, device)
        for run_one in found.values():
            run_one()
        short: dict[str, list[int]] = {name: [] for name in found}
        long: dict[str, list[int]] = {name: [] for name in found}
        for _ in range(rests):
            for name, run_one in found.items():
                time.sleep(_SHORT)
                short[name].append(run_one())
            time.sleep(_LONG)
            for name, run_one in found.items():
                long[name].append(run_one())
    return {name: max(min(short[name]), min(long[name])) / 1e6 for name in found}
