"""Fixtures that the cases share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pydoca.qualify.bench import maps, resources
from pydoca.qualify.bench.sides import Sides, both_sides
from pydoca.qualify.bench.waiting import DeviceFault

if TYPE_CHECKING:
    import pydoca
    from pydoca.qualify.measure import Measure


@pytest.fixture
def sides(pydoca_device: pydoca.Device) -> Iterator[Sides]:
    """Both ends of the device's PCIe link, in this process; for cases that need "pair" and "sim"."""
    with both_sides(pydoca_device) as found:
        yield found


MOST_LEFT = 32  # descriptors; a process keeps fewer from its first use of each library on
MOST_KEPT = 64 << 20  # bytes; allocators keep fewer


@pytest.fixture(autouse=True)
def few_descriptors() -> Iterator[None]:
    """Checks that a case leaves few descriptors open; the cases about leaks allow none."""
    before = resources.descriptors()
    yield
    if resources.descriptors() > before + MOST_LEFT:
        left = resources.settled().descriptors - before
        if left > MOST_LEFT:
            raise DeviceFault(f"{left} descriptors are left open behind this case")


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """Checks that a case leaves little memory in use, beyond the memory that allocators keep for later."""
    before = resources.resident()
    yield
    if resources.resident() > before + MOST_KEPT:
        resources.give_back()
        kept = resources.resident() - before
        if kept > MOST_KEPT:
            raise DeviceFault(f"{kept >> 20} MiB of memory are in use behind this case that were not before it")


@pytest.fixture
def no_leak(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> Iterator[None]:
    """Measures the descriptors, mappings and threads that the case leaves behind; the limit is 0."""
    maps.registrations(pydoca_device, 4096)  # this opens the descriptors that a process keeps from its first context on
    before = resources.Usage.now()
    yield
    grown = resources.settled(before) - before
    pydoca_measure.record("leak.descriptors", grown.descriptors, unit="1", max=0)
    pydoca_measure.record("leak.mappings", grown.mappings, unit="1", max=0)
    pydoca_measure.record("leak.threads", grown.threads, unit="1", max=0)
