"""BUF: inventories, lists, and the effects of tasks on their destination."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench import dma, maps
from pydoca.qualify.bench.objects import buf_states
from pydoca.qualify.bench.sides import Sides
from pydoca.qualify.bench.tasks import destinations
from pydoca.qualify.bench.waiting import Stand
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    import random

    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun

ALL = ("smoke", "quick", "full")
QUICK = ("quick", "full")


@pytest.mark.pydoca_case(
    "BUF-1", title="an inventory gives all its bufs, refuses one more, and gives all again", levels=ALL
)
@pytest.mark.pydoca_needs("dma")
def test_inventory(pydoca_device: pydoca.Device) -> None:
    maps.exhaust_inventory(pydoca_device)


@pytest.mark.pydoca_case("BUF-2", title="lists of bufs keep the order of their data", levels=ALL)
@pytest.mark.pydoca_needs("dma")
def test_scatter_lists(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random) -> None:
    longest = pydoca.Dma.max_buf_list_len(pydoca_device.info)
    if longest < 2:
        pytest.skip(f"{pydoca_device.name} takes no lists")
    for _ in range(at(pydoca_run, smoke=5, quick=50, full=500)):
        maps.scatter_lists(pydoca_device, longest, pydoca_random.getrandbits(32))


@pytest.mark.pydoca_case("BUF-3", title="lists of bufs keep the order of their data across the PCIe link", levels=QUICK)
@pytest.mark.pydoca_needs("dma", "pair", "sim")
@pytest.mark.parametrize("way", ["read", "write"])
def test_lists_across_the_link(sides: Sides, pydoca_run: CaseRun, pydoca_random: random.Random, way: str) -> None:
    def ends(stand: Stand, size: int) -> dma.Ends:
        return dma.remote(stand, sides.dpu, sides.host, size, read=way == "read")

    longest = pydoca.Dma.max_buf_list_len(sides.dpu.info)
    if longest < 2:
        pytest.skip(f"{sides.dpu.name} takes no lists")
    for _ in range(at(pydoca_run, quick=20, full=200)):
        maps.scatter_lists(sides.dpu, longest, pydoca_random.getrandbits(32), ends)


@pytest.mark.pydoca_case("BUF-4", title="results go behind the data that their destination has", levels=ALL)
def test_destinations_with_data(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    for kind in _kinds(pydoca_device):
        count = destinations.append(pydoca_device, kind)
        pydoca_measure.record(f"buf.appended.{kind.replace(' ', '_')}", count, unit="1", min=5)


@pytest.mark.pydoca_case(
    "BUF-5", title="a destination that is too short is refused, and nothing is written", levels=QUICK
)
def test_short_destinations(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    for kind in _kinds(pydoca_device):
        count = destinations.refuse(pydoca_device, kind)
        pydoca_measure.record(f"buf.refused.{kind.replace(' ', '_')}", count, unit="1", min=5)


def _kinds(device: pydoca.Device) -> list[str]:
    found = destinations.kinds(device)
    if not found:
        pytest.skip(f"{device.name} has no task that fills a buf")
    return found


@pytest.mark.pydoca_case("BUF-6", title="bufs of inventories and pools are what a model says", levels=ALL)
@pytest.mark.pydoca_needs("dma")
def test_model(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random, pydoca_measure: Measure
) -> None:
    steps = at(pydoca_run, smoke=1000, quick=20_000, full=200_000)
    buf_states.told(pydoca_device)
    walked = buf_states.walk(pydoca_device, steps, pydoca_random) + buf_states.pools(
        pydoca_device, steps, pydoca_random
    )
    pydoca_measure.record("buf.steps", walked, unit="1", min=steps)
