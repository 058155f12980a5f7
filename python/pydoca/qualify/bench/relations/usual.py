"""The usual time of small operations: a quarter of a millisecond is far too long for any device."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import pydoca
from pydoca.qualify.bench.tasks import changed
from pydoca.qualify.bench.tasks.operations import operations
from pydoca.qualify.bench.waiting import Stand

_SAMPLES = 200
_LONGEST = 2.0  # seconds for each operation


def times(device: pydoca.Device) -> dict[str, float]:
    """The median microseconds of a small operation of each library that the device has.

    Operations that each differ from the one before are included.
    """
    with Stand() as stand:
        kinds = operations(stand, device) | changed.operations(stand, device)
        return {name: _median(run_one) for name, run_one in kinds.items()}


def _median(run_one: Callable[[], int]) -> float:
    run_one()
    samples: list[int] = []
    end = time.monotonic() + _LONGEST
    while len(samples) < _SAMPLES and time.monotonic() < end:
        samples.append(run_one())
    return float(np.median(samples)) / 1e3
