"""CON: promises of the public API about engines, contexts, tasks, graphs and sync events, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench.contracts import engines, events, graphs
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun

ALL = ("smoke", "quick", "full")


@pytest.mark.pydoca_case(
    "API-4",
    title="engines, contexts and tasks return, count and refuse as they promise, and waits end in time",
    levels=ALL,
)
@pytest.mark.pydoca_needs("dma")
def test_engines(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    rounds = at(pydoca_run, smoke=100, quick=2000, full=20_000)
    pydoca_measure.record("contract.deliveries", engines.deliveries(pydoca_device, rounds), unit="1", min=rounds)
    engines.silence(pydoca_device)
    if pydoca_device.info.supports("sync_event"):
        engines.time_outs(pydoca_device)
    engines.woken(pydoca_device)
    engines.submissions(pydoca_device)
    engines.callbacks(pydoca_device)
    lives = at(pydoca_run, smoke=5, quick=50, full=500)
    pydoca_measure.record("contract.stops", engines.stops(pydoca_device, lives), unit="1", min=lives)
    engines.ends(pydoca_device)


@pytest.mark.pydoca_case(
    "API-5", title="graphs and work queues tell, refuse and end in each state as they promise", levels=ALL
)
@pytest.mark.pydoca_needs("dma")
def test_graphs(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    rounds = at(pydoca_run, smoke=10, quick=400, full=4000)
    pydoca_measure.record("contract.graphs", graphs.check(pydoca_device, rounds), unit="1", min=rounds)
    pydoca_measure.record("contract.jobs", graphs.queues(pydoca_device, rounds), unit="1", min=rounds)


@pytest.mark.pydoca_case(
    "API-6", title="sync events, clocks and the DPA refuse, time out and tell as they promise", levels=ALL
)
@pytest.mark.pydoca_needs("sync_event")
def test_events(pydoca_device: pydoca.Device, pydoca_run: CaseRun) -> None:
    for _ in range(at(pydoca_run, smoke=1, quick=5, full=50)):
        events.numbers(pydoca_device)
        events.states(pydoca_device)
        events.tasks(pydoca_device)
        if pydoca_device.info.supports("async_sync_event_wait"):
            events.wait_tasks(pydoca_device)
        if pydoca_device.info.supports("clock"):
            events.clocks(pydoca_device)
        if pydoca_device.info.supports("dpa"):
            events.kernels(pydoca_device)
