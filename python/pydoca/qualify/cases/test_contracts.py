"""API: promises of the public API, one by one: the values that calls return and count, and their refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench.contracts import (
    bufs,
    channels,
    connections,
    copies,
    devices,
    digests,
    engines,
    events,
    exports,
    graphs,
    maps,
    patience,
    peer_events,
    queues,
    transfers,
)
from pydoca.qualify.bench.sides import both_sides, has_link
from pydoca.qualify.cases.counts import at
from pydoca.qualify.cases.needs import require

if TYPE_CHECKING:
    import random

    from pydoca.qualify.bench.sides import Sides
    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun

ALL = ("smoke", "quick", "full")


@pytest.mark.pydoca_case("API-1", title="copies and their tasks are counted, fail and end as they say", levels=ALL)
@pytest.mark.pydoca_needs("dma")
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
@pytest.mark.pydoca_needs("dma")
def test_bufs(pydoca_device: pydoca.Device, pydoca_run: CaseRun) -> None:
    bufs.references(pydoca_device)
    for _ in range(at(pydoca_run, smoke=2, quick=20, full=200)):
        bufs.edges(pydoca_device)
        bufs.ranges(pydoca_device)
        bufs.lists(pydoca_device)
        bufs.inventories(pydoca_device)
        bufs.pools(pydoca_device)


@pytest.mark.pydoca_case("API-3", title="memory and its maps keep their settings, limits and ends apart", levels=ALL)
@pytest.mark.pydoca_needs("dma")
def test_maps(pydoca_device: pydoca.Device, pydoca_run: CaseRun) -> None:
    for _ in range(at(pydoca_run, smoke=2, quick=20, full=200)):
        maps.memory(pydoca_device)
        maps.configured(pydoca_device)
        maps.read_only(pydoca_device)
        maps.overlapping(pydoca_device)
        maps.released(pydoca_device)
    maps.in_threads(pydoca_device, at(pydoca_run, smoke=50, quick=500, full=5000))


@pytest.mark.pydoca_case(
    "API-4",
    title="engines, contexts and tasks return, count and refuse as they promise, and waits end in time",
    levels=ALL,
)
@pytest.mark.pydoca_needs("dma")
def test_engines(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    rounds = at(pydoca_run, smoke=100, quick=2000, full=20_000)
    pydoca_measure.record("contract.deliveries", engines.deliveries(pydoca_device, rounds), unit="1", min=rounds)
    patience.crowds(pydoca_device)
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
    pydoca_measure.record("contract.jobs", queues.check(pydoca_device, rounds), unit="1", min=rounds)
    pydoca_measure.record("contract.failed_jobs", queues.failures(pydoca_device), unit="1", min=2)


@pytest.mark.pydoca_case(
    "API-6", title="sync events, clocks and the DPA refuse, time out and tell as they promise", levels=ALL
)
@pytest.mark.pydoca_needs("sync_event")
def test_events(pydoca_device: pydoca.Device, pydoca_run: CaseRun) -> None:
    for _ in range(at(pydoca_run, smoke=1, quick=5, full=50)):
        events.numbers(pydoca_device)
        events.places(pydoca_device)
        events.states(pydoca_device)
        events.tasks(pydoca_device)
        if pydoca_device.info.supports("async_sync_event_wait"):
            events.wait_tasks(pydoca_device)
            patience.stragglers(pydoca_device)
        if pydoca_device.info.supports("clock"):
            events.clocks(pydoca_device)
        if pydoca_device.info.supports("dpa"):
            events.kernels(pydoca_device)
    patience.late_ends(pydoca_device)


@pytest.mark.pydoca_case(
    "API-7", title="RDMA tasks do what their operands say, each time, and leave all else as it was", levels=ALL
)
@pytest.mark.pydoca_needs("rdma")
def test_transfers(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random, pydoca_measure: Measure
) -> None:
    rounds = at(pydoca_run, smoke=10, quick=400, full=4000)
    again = transfers.again(pydoca_device, rounds, pydoca_random)
    pydoca_measure.record("contract.rdma.again", again, unit="1", min=rounds)
    transfers.in_flight(pydoca_device)
    pydoca_measure.record("contract.rdma.maps", transfers.over_maps(pydoca_device, 5), unit="1", min=3)
    pydoca_measure.record("contract.rdma.failures", transfers.failed(pydoca_device), unit="1", min=1)
    info = pydoca_device.info
    if info.supports("sync_event_export_to_remote_net") and info.supports("sync_event_remote_net_create_from_export"):
        changed = peer_events.events(pydoca_device, rounds, pydoca_random)
        pydoca_measure.record("contract.rdma.events", changed, unit="1", min=rounds)


@pytest.mark.pydoca_case(
    "API-8", title="RDMA connections, listeners and settings tell and refuse, in each state, what they say", levels=ALL
)
@pytest.mark.pydoca_needs("rdma")
def test_connections(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    info, lives = pydoca_device.info, at(pydoca_run, smoke=1, quick=20, full=100)
    limits = info.capabilities.rdma
    assert limits is not None
    by_address = pydoca.Rdma.is_connection_manager_supported(info) and info.to_dict()["ipv4_addr"] is not None
    for _ in range(lives):
        connections.exported(pydoca_device)
        if by_address:
            connections.given_up(pydoca_device)
            if limits.max_num_connections >= connections.REQUESTS:
                connections.addressed(pydoca_device)
                connections.at_each_address(pydoca_device)
    connections.time_outs(pydoca_device, by_address=by_address)
    pydoca_measure.record("contract.rdma.settings", connections.settings(pydoca_device), unit="1", min=1)
    pydoca_measure.record("contract.rdma.gids", connections.gids(pydoca_device), unit="1", min=1)


@pytest.mark.pydoca_case(
    "API-9",
    title="SHA tasks tell and refuse, in each state, what they say, and hash lists over memory maps",
    levels=ALL,
)
@pytest.mark.pydoca_needs("sha")
def test_digests(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random, pydoca_measure: Measure
) -> None:
    pydoca_measure.record("contract.sha.algorithms", digests.at_once(pydoca_device), unit="1", min=1)
    pydoca_measure.record("contract.sha.pieces", digests.in_pieces(pydoca_device), unit="1", min=1)
    rounds = at(pydoca_run, smoke=10, quick=400, full=4000)
    listed = digests.over_maps(pydoca_device, rounds, pydoca_random)
    pydoca_measure.record("contract.sha.maps", listed, unit="1", min=rounds)
    longest = at(pydoca_run, smoke=(1 << 21) + 4096, quick=(1 << 25) + 4096)
    hashed = digests.long_message(pydoca_device, longest)
    pydoca_measure.record("contract.sha.long", hashed, unit="B", min=longest // 2)


@pytest.mark.pydoca_case(
    "API-10", title="comch counts, calls back, waits, refuses and ends as its documentation says", levels=ALL
)
@pytest.mark.pydoca_needs("pair", "sim")
def test_channels(sides: Sides, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    channels.settings(sides)
    rounds = at(pydoca_run, smoke=20, quick=300, full=3000)
    pydoca_measure.record("contract.comch.counted", channels.counters(sides, rounds), unit="1", min=rounds)
    pydoca_measure.record("contract.comch.sends", channels.tasks(sides, rounds), unit="1", min=rounds)
    channels.callbacks(sides)
    pydoca_measure.record("contract.comch.held_back", channels.held_back(sides), unit="1", min=0)
    pydoca_measure.record("contract.comch.lives", channels.accepting(sides), unit="1", min=2)
    channels.beginnings(sides)
    patience.late_peers(sides)


@pytest.mark.pydoca_case(
    "API-11", title="devices and representors tell the truth, and do what they say that they can do", levels=ALL
)
def test_devices(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    pydoca_measure.record("contract.device.properties", devices.properties(pydoca_device), unit="1", min=1)
    pydoca_measure.record("contract.device.questions", devices.questions(pydoca_device), unit="1", min=1)
    pydoca_measure.record("contract.device.abilities", devices.abilities(pydoca_device), unit="1", min=1)
    devices.openings(pydoca_device)
    if has_link(pydoca_device):
        with both_sides(pydoca_device) as sides:
            devices.in_use(sides)
            devices.last_opening(sides.other(pydoca_device))


@pytest.mark.pydoca_case(
    "API-12", title="exports tell what they are of, allow what they say, and end with their owner's", levels=ALL
)
def test_exports(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    has_net = pydoca_device.info.supports("rdma") and pydoca_device.info.supports("mmap_export_rdma")
    linked = has_link(pydoca_device)
    require(has_net or linked, pydoca_device, "exports")
    if linked:
        with both_sides(pydoca_device) as sides:
            if sides.dpu.info.supports("dma"):
                count = at(pydoca_run, smoke=8, quick=64, full=256)
                pydoca_measure.record("contract.exports.maps", exports.maps(sides), unit="1", min=1)
                pydoca_measure.record("contract.exports.several", exports.several(sides, count), unit="1", min=count)
            pydoca_measure.record("contract.exports.events", exports.events(sides), unit="1", min=1)
    if has_net:
        pydoca_measure.record("contract.exports.network", exports.network(pydoca_device), unit="1", min=1)
    event = pydoca_device.info.capabilities.sync_event
    if event and event.export_to_remote_net and event.remote_net_create_from_export:
        count = exports.network_events(pydoca_device)
        pydoca_measure.record("contract.exports.network_events", count, unit="1", min=1)
