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

    Also of a map of 32 MiB: the shortest, as it takes so much of the processor that a busy machine interrupts most.
    """
    found = {name: _samples(cycle, device) for name, cycle in contexts.cycles(device).items()}
    large = min(_samples(_map_much, device))
    return {name: float(np.median(samples)) / 1e6 for name, samples in found.items()} | {"large_map": large / 1e6}


def _map_much(device: pydoca.Device) -> None:
    with pydoca.alloc(_MUCH) as memory, duty("a large map"), device.mmap(memory):
        pass


def _samples(cycle: Callable[[pydoca.Device], None], device: pydoca.Device) -> list[int]:
    """Nanoseconds."""
    cycle(device)
    samples = []
    for _ in range(_TIMES):
        begin = time.perf_counter_ns()
        cycle(device)
        samples.append(time.perf_counter_ns() - begin)
    return samples
