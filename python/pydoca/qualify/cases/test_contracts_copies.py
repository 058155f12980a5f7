"""CON: what the API promises of copies, of bufs, and of memory, one promise after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench.contracts import bufs, copies, maps
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    import random

    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun

pytestmark: pytest.MarkDecorator = pytest.mark.pydoca_needs("dma")
ALL = ("smoke", "quick", "full")


@pytest.mark.pydoca_case("API-1", title="copies and their tasks are counted, fail and end as they say", levels=ALL)
def test_copies(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random, pydoca_measure: Measure
) -> None:
    rounds = at(pydoca_run, smoke=60, quick=600, full=6000)
    pydoca_measure.record("contract.lists", copies.lists(pydoca_device, rounds, pydoca_random), unit="1", min=rounds)
    rounds = at(pydoca_run, smoke=100, quick=1500, full=15_000)
    pydoca_measure.record("contract.counts", copies.counts(pydoca_device, rounds), unit="1", min=rounds)
    for _ in range(at(pydoca_run, smoke=2, quick=20, full=200)):
        copies.in_flight(pydoca_device)
        copies.appends(pydoca_device)
        copies.failures(pydoca_device)
        copies.callbacks(pydoca_device)
        copies.stopping(pydoca_device)
        if pydoca_device.info.supports("mmap_advise"):
            copies.advice(pydoca_device)
    copies.dropped(pydoca_device, at(pydoca_run, smoke=20, quick=200, full=2000))


@pytest.mark.pydoca_case("API-2", title="bufs, inventories and pools keep their limits, and a refusal", levels=ALL)
def test_bufs(pydoca_device: pydoca.Device, pydoca_run: CaseRun) -> None:
    bufs.references(pydoca_device)
    for _ in range(at(pydoca_run, smoke=2, quick=20, full=200)):
        bufs.edges(pydoca_device)
        bufs.ranges(pydoca_device)
        bufs.lists(pydoca_device)
        bufs.inventories(pydoca_device)
        bufs.pools(pydoca_device)


@pytest.mark.pydoca_case("API-3", title="memory and its maps keep their settings, limits and ends apart", levels=ALL)
def test_maps(pydoca_device: pydoca.Device, pydoca_run: CaseRun) -> None:
    for _ in range(at(pydoca_run, smoke=2, quick=20, full=200)):
        maps.memory(pydoca_device)
        maps.configured(pydoca_device)
        maps.read_only(pydoca_device)
        maps.overlapping(pydoca_device)
        maps.released(pydoca_device)
    maps.in_threads(pydoca_device, at(pydoca_run, smoke=50, quick=500, full=5000))
