"""How long it takes to make, start and end what a program makes once: maps, contexts, connections, imports."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import pydoca
from pydoca.qualify.bench import contexts
from pydoca.qualify.bench.waiting import duty

_TIMES = 5
_MUCH = 32 << 20  # bytes


def times(device: pydoca.Device) -> dict[str, float]:
    """Milliseconds of a life of each of bench.contexts, which is made, used once and ended: the median.

    Also of a map of 32 MiB.
    """
    return {name: _median(cycle, device) for name, cycle in (contexts.cycles(device) | _LARGE).items()}


def _map_much(device: pydoca.Device) -> None:
    with pydoca.alloc(_MUCH) as memory, duty("a large map"), device.mmap(memory):
        pass


def _median(cycle: Callable[[pydoca.Device], None], device: pydoca.Device) -> float:
    cycle(device)
    samples = []
    for _ in range(_TIMES):
        begin = time.perf_counter_ns()
        cycle(device)
        samples.append(time.perf_counter_ns() - begin)
    return float(np.median(samples)) / 1e6


_LARGE: dict[str, Callable[[pydoca.Device], None]] = {"large_map": _map_much}
