"""The time to make, start and end objects that a program makes once: maps, contexts, connections, imports."""

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
    """The median milliseconds of a life of each context of bench.contexts: made, used once and ended.

    A map of 32 MiB is included with its shortest time, since a busy machine interrupts most of its lives.
    """
    found = {name: _samples(cycle, device) for name, cycle in contexts.cycles(device).items()}
    large = min(_samples(_map_much, device))
    return {name: float(np.median(samples)) / 1e6 for name, samples in found.items()} | {"large_map": large / 1e6}


def _map_much(device: pydoca.Device) -> None:
    with pydoca.alloc(_MUCH) as memory, duty("a large map"), device.mmap(memory):
        pass


def _samples(cycle: Callable[[pydoca.Device], None], device: pydoca.Device) -> list[int]:
    """Nanoseconds of several cycles, after a first one."""
    cycle(device)
    samples = []
    for _ in range(_TIMES):
        begin = time.perf_counter_ns()
        cycle(device)
        samples.append(time.perf_counter_ns() - begin)
    return samples
