"""Several objects of one kind, made one after the other: no object is far slower than the others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.tasks.operations import OPERATIONS
from pydoca.qualify.bench.waiting import Stand

_SIBLINGS = 4
_ROUNDS = 40
_LEAST = 5000  # nanoseconds; only longer times count


def ratios(device: pydoca.Device) -> dict[str, float]:
    """The time of the slowest of several instances of each operation, over that of the fastest."""
    return {name: _ratio(device, make) for name, (has, make) in OPERATIONS.items() if has(device)}


def _ratio(device: pydoca.Device, make: Callable[[Stand, pydoca.Device, waiting.Wait], Callable[[], int]]) -> float:
    with Stand() as stand:
        siblings = [make(stand, device, waiting.poll) for _ in range(_SIBLINGS)]
        times = np.array([[run_one() for run_one in siblings] for _ in range(_ROUNDS)])
    medians = np.median(times, axis=0) + _LEAST
    return float(medians.max() / medians.min())
