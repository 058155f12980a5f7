"""OBJ: the properties of each kind of object and the operations that its states allow, in every state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench.contracts import launches
from pydoca.qualify.bench.objects import (
    comch_states,
    conf_states,
    device_states,
    dpa_states,
    engine_states,
    event_states,
    graph_states,
    map_states,
    rdma_states,
    sha_states,
    task_states,
)
from pydoca.qualify.bench.sides import Sides
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun

ALL = ("smoke", "quick", "full")


@pytest.mark.pydoca_case(
    "OBJ-1", title="the device tells the same of itself in each way that there is to ask", levels=ALL
)
def test_device(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    lists = device_states.lists(pydoca_device, at(pydoca_run, smoke=30, quick=300, full=3000))
    pydoca_measure.record("object.lists", lists, unit="1", min=1)
    pydoca_measure.record("object.capabilities", device_states.capabilities(pydoca_device), unit="1", min=1)
    if pydoca_device.pci_addr:
        pydoca_measure.record("object.ports", device_states.rates(pydoca_device.info), unit="1", min=1)
    if pydoca_device.info.supports("representors"):
        pydoca_measure.record("object.representors", device_states.representors(pydoca_device), unit="1", min=0)


@pytest.mark.pydoca_case("OBJ-2", title="memory maps start, are exported and stop again and again", levels=ALL)
@pytest.mark.pydoca_needs("dma")
def test_maps(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    cycles = at(pydoca_run, smoke=9, quick=90, full=900)
    pydoca_measure.record("object.map.starts", map_states.states(pydoca_device, cycles), unit="1", min=cycles)
    map_states.thread_safe(pydoca_device)
    others = [info for info in pydoca.devices(side=pydoca_device.side) if info.supports("dma")]
    for info in others:
        if (info.backend, info.name) != (pydoca_device.info.backend, pydoca_device.name):
            with pydoca.open_device(info) as other:
                map_states.shared(pydoca_device, other)
            break


@pytest.mark.pydoca_case("OBJ-3", title="exports lead to the memory of their map, wherever that begins", levels=ALL)
@pytest.mark.pydoca_needs("dma", "pair", "sim")
def test_exports(sides: Sides, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    cycles = at(pydoca_run, smoke=5, quick=50, full=500)
    pydoca_measure.record("object.map.exports", map_states.exports(sides, cycles), unit="1", min=cycles)
    pydoca_measure.record("object.map.parts", map_states.part_of_a_page(sides), unit="1", min=1)
    engine_states.awaited_imports(sides)


@pytest.mark.pydoca_case(
    "OBJ-4", title="a progress engine counts its contexts and tasks, and its handle tells of them", levels=ALL
)
@pytest.mark.pydoca_needs("dma")
def test_engines(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    if pydoca_device.info.supports("async_sync_event_wait"):
        engine_states.counts(pydoca_device)
    engine_states.failures(pydoca_device)
    engine_states.moves(pydoca_device)
    rounds = at(pydoca_run, smoke=200, quick=2000, full=20_000)
    pydoca_measure.record("object.engine.rounds", engine_states.handle(pydoca_device, rounds), unit="1", min=rounds)


@pytest.mark.pydoca_case(
    "OBJ-5", title="sync events begin, compare and end as their memory and numbers say", levels=ALL
)
@pytest.mark.pydoca_needs("sync_event")
def test_events(pydoca_device: pydoca.Device) -> None:
    event_states.in_memory(pydoca_device)
    event_states.told(pydoca_device)
    event_states.operands(pydoca_device)


@pytest.mark.pydoca_case(
    "OBJ-6", title="instances of a graph tell how far they are, and call the right callback", levels=ALL
)
@pytest.mark.pydoca_needs("dma")
def test_graphs(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    rounds = at(pydoca_run, smoke=20, quick=500, full=5000)
    pydoca_measure.record("object.graph.runs", graph_states.check(pydoca_device, rounds), unit="1", min=rounds)


@pytest.mark.pydoca_case("OBJ-7", title="messages in pieces can be given up, and algorithms can take turns", levels=ALL)
@pytest.mark.pydoca_needs("sha")
def test_digests(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    rounds = at(pydoca_run, smoke=20, quick=500, full=5000)
    pydoca_measure.record("object.sha.resets", sha_states.resets(pydoca_device, rounds), unit="1", min=rounds)
    sha_states.algorithms_in_turn(pydoca_device, rounds)


@pytest.mark.pydoca_case(
    "OBJ-8", title="RDMA contexts start again, and connections end and fill up, as they say", levels=ALL
)
@pytest.mark.pydoca_needs("rdma")
def test_rdma(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    lives = at(pydoca_run, smoke=4, quick=30, full=300)
    pydoca_measure.record("object.rdma.lives", rdma_states.restarts(pydoca_device, lives), unit="1", min=lives)
    pydoca_measure.record("object.rdma.messages", rdma_states.ends(pydoca_device, 6), unit="1", min=1)
    pydoca_measure.record("object.rdma.taken", rdma_states.full_queue(pydoca_device), unit="1", min=8)
    rdma_states.settings(pydoca_device)
    rdma_states.refused_tasks(pydoca_device)


@pytest.mark.pydoca_case(
    "OBJ-9", title="comch connections tell their ends, and what arrived before their end is there", levels=ALL
)
@pytest.mark.pydoca_needs("pair", "sim")
def test_comch(sides: Sides, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    comch_states.told(sides)
    comch_states.limits(sides)
    rounds = at(pydoca_run, smoke=4, quick=40, full=400)
    pydoca_measure.record("object.comch.last_words", comch_states.last_words(sides, 5, rounds), unit="1", min=rounds)
    count = at(pydoca_run, smoke=640, quick=12_800, full=128_000)
    pydoca_measure.record("object.comch.bursts", comch_states.in_flight(sides, count, 64), unit="1", min=count)


@pytest.mark.pydoca_case(
    "OBJ-10", title="kernels on the DPA run once a thread, meet this side, and end, fail and stop as told", levels=ALL
)
@pytest.mark.pydoca_needs("dpa")
def test_dpa(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    rounds = at(pydoca_run, smoke=20, quick=200, full=2000)
    pydoca_measure.record("object.dpa.threads", dpa_states.launches(pydoca_device, rounds), unit="1", min=rounds)
    pydoca_measure.record("object.dpa.rounds", dpa_states.exchanges(pydoca_device, rounds), unit="1", min=rounds)
    dpa_states.operations(pydoca_device)
    pydoca_measure.record("object.dpa.signals", launches.signals(pydoca_device, rounds), unit="1", min=rounds)
    pydoca_measure.record("object.dpa.crowd", launches.crowds(pydoca_device), unit="1", min=1)
    pydoca_measure.record("object.dpa.together", launches.together(pydoca_device), unit="1", min=1)
    pydoca_measure.record("object.dpa.memory", launches.memory(pydoca_device), unit="1", min=1)
    pydoca_measure.record("object.dpa.relay", launches.relay(pydoca_device, rounds), unit="1", min=rounds)
    pydoca_measure.record("object.dpa.repeated", launches.repeated(pydoca_device, rounds), unit="1", min=rounds)
    failed = at(pydoca_run, smoke=3, quick=10, full=100)
    pydoca_measure.record("object.dpa.failures", launches.failures(pydoca_device, failed), unit="1", min=failed)
    launches.closings(pydoca_device)


@pytest.mark.pydoca_case(
    "OBJ-11", title="tasks tell how far they are, and a context has as many as it says", levels=ALL
)
@pytest.mark.pydoca_needs("dma")
def test_tasks(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    rounds = at(pydoca_run, smoke=50, quick=1000, full=10_000)
    pydoca_measure.record("object.task.slots", task_states.slots(pydoca_device, rounds), unit="1", min=rounds)
    if pydoca_device.info.supports("async_sync_event_wait"):
        pydoca_measure.record("object.task.waits", task_states.waits(pydoca_device, rounds), unit="1", min=rounds)
    pydoca_measure.record("object.task.again", task_states.again(pydoca_device, rounds), unit="1", min=rounds)
    task_states.settings(pydoca_device)
    pydoca_measure.record("object.task.kinds", conf_states.check(pydoca_device), unit="1", min=1)
