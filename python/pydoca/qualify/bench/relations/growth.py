"""Repeated operations and starts: the resources that they leave behind, and whether they become slower."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import pydoca
from pydoca.qualify.bench import resources
from pydoca.qualify.bench.rules import lives
from pydoca.qualify.bench.tasks.operations import operations
from pydoca.qualify.bench.waiting import Stand

_WARM = 300


class Growth(NamedTuple):
    """Bytes and descriptors that the repetitions leave behind, and how much longer the last quarter took."""

    resident: int
    descriptors: int
    slowdown: float  # the median of the last quarter over that of the first one, in times of at least 5 us


def of_operations(device: pydoca.Device, count: int) -> dict[str, Growth]:
    """The growth of count small operations of each library that the device has."""
    with Stand() as stand:
        return {name: _growth(run_one, count) for name, run_one in operations(stand, device).items()}


def _growth(run_one: Callable[[], int], count: int) -> Growth:
    times, numbers = np.zeros(_WARM + count, np.int64), itertools.count()

    def cycle() -> None:
        times[next(numbers)] = run_one()

    grown = resources.growth(cycle, count, _WARM)
    return Growth(grown.resident, grown.descriptors, slowdown(times[_WARM:]))


def slowdown(times: np.typing.NDArray[np.int64]) -> float:
    """The median of the last quarter over that of the first one; times are nanoseconds."""
    first, last = (float(np.median(part)) for part in (times[: len(times) // 4], times[-len(times) // 4 :]))
    return (last + 5000) / (first + 5000)


def of_starts(device: pydoca.Device, cycles: int) -> dict[str, float]:
    """The slowdown of the last starts of a context of each library, compared with the first ones."""
    return {
        name: slowdown(lives.times(device, name, cycles))
        for name, (has, _) in lives.LIBRARIES.items()
        if has(device.info)
    }
