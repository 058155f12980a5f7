"""CON: what the API of RDMA and SHA promises, promise by promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench.contracts import connections, digests, transfers
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    import random

    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun

ALL = ("smoke", "quick", "full")


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
        changed = transfers.events(pydoca_device, rounds, pydoca_random)
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
