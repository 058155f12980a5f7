"""CON: promises of channels, devices and exports, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench.contracts import channels, devices, exports
from pydoca.qualify.bench.sides import both_sides, has_link
from pydoca.qualify.cases.counts import at
from pydoca.qualify.cases.needs import require

if TYPE_CHECKING:
    from pydoca.qualify.bench.sides import Sides
    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun

ALL = ("smoke", "quick", "full")


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
