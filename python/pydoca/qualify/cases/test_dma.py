"""DMA: integrity, bandwidth, latency, rate, order."""

from __future__ import annotations

import itertools
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench import dma, origins
from pydoca.qualify.bench.delays import tail
from pydoca.qualify.bench.relations import link
from pydoca.qualify.bench.sides import Sides
from pydoca.qualify.bench.tasks import memory
from pydoca.qualify.bench.trend import Trend
from pydoca.qualify.bench.waiting import DeviceFault, Stand
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun

pytestmark: pytest.MarkDecorator = pytest.mark.pydoca_needs("dma")
ALL = ("smoke", "quick", "full")
QUICK = ("quick", "full")
MOST = 4 << 20  # bytes of the largest copy: a network card takes a gigabyte


@pytest.mark.pydoca_case(
    "DMA-1", title="every size, offset and pattern arrives, and nothing around it changes", levels=ALL
)
def test_integrity(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    largest = min(pydoca.Dma.max_buf_size(pydoca_device.info), MOST)
    seed = pydoca_run.seed_of("patterns")
    edges = [(0, 0), (1, 0), (0, 1), (3, 5), (63, 63)]
    work = [dma.integrity(pydoca_device, dma.sizes_up_to(min(largest, 4096)), edges, seed=seed)]
    work.append(dma.integrity(pydoca_device, [min(largest, 65536), largest - 1, largest], seed=seed))
    if pydoca_run.level != "smoke":
        places = range(0, 64, at(pydoca_run, quick=7, full=1))
        offsets = [(from_, to) for from_ in places for to in places]
        work.append(dma.integrity(pydoca_device, [65, 1000, 4097], offsets, ["prbs31", "address"], seed))
        work.append(dma.integrity(pydoca_device, dma.sizes_up_to(largest), [(0, 0), (7, 9)], seed=seed))
        lengths = dma.lengths(min(largest, 65536), seed)
        work.append(dma.integrity(pydoca_device, lengths, [(0, 0), (5, 3)], ["prbs31", "address"], seed))
        every = range(1, min(largest, at(pydoca_run, quick=4096, full=1 << 16)) + 1)
        work.append(dma.integrity(pydoca_device, every, patterns=["prbs31"], seed=seed))
    copies = bit_errors = outside = 0
    first = None
    for damage in itertools.chain.from_iterable(work):
        copies += 1
        bit_errors += damage.bit_errors
        outside += damage.outside
        first = first or (damage if damage else None)
    pydoca_measure.record("dma.copies", copies, unit="1", min=500)
    if first:
        raise DeviceFault(f"{first} ({bit_errors} wrong bits, {outside} bytes outside, in {copies} copies)")
    pydoca_measure.record("dma.bit_errors", bit_errors, unit="1", max=0)
    pydoca_measure.record("dma.outside", outside, unit="1", max=0)


@pytest.mark.pydoca_case(
    "DMA-PCI",
    title="every size arrives across the PCIe link, both ways, from and to memory of every origin",
    levels=ALL,
)
@pytest.mark.pydoca_needs("pair", "sim")
def test_integrity_across_the_link(sides: Sides, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    seed, most = pydoca_run.seed_of("lengths"), at(pydoca_run, smoke=4096, quick=1 << 15, full=1 << 20)
    sizes = dma.lengths(min(most, pydoca.Dma.max_buf_size(sides.dpu.info)), seed)
    copies = 0
    for origin in origins.of_this_machine()[: at(pydoca_run, smoke=2, quick=len(origins.ORIGINS))]:
        for damage in memory.across(sides, origin, sizes, seed):
            copies += 1
            if damage:
                raise DeviceFault(f"{origin} of the host: {damage}")
    every = range(1, at(pydoca_run, smoke=256, quick=2048, full=10_000) + 1)
    for damage in memory.across(sides, "pydoca.alloc", every, seed, [(0, 0)]):
        copies += 1
        if damage:
            raise DeviceFault(str(damage))
    pydoca_measure.record("dma.copies.across", copies, unit="1", min=2 * len(sizes))


@pytest.mark.pydoca_case("DMA-BW", title="bandwidth by size, within the device's own side", levels=QUICK)
@pytest.mark.parametrize("size", [4096, 65536, 1 << 20])
def test_bandwidth(pydoca_device: pydoca.Device, pydoca_measure: Measure, size: int) -> None:
    if not dma.fitting(pydoca_device, [size]):
        pytest.skip(f"{pydoca_device.name} copies less than {size} bytes in a task")
    with pydoca_measure(f"dma.bw.{size}", unit="GB/s", stat="p50", better="higher", n_min=10) as bandwidth:
        for value in dma.bandwidth(pydoca_device, size, bandwidth.has_enough):
            bandwidth.add(value)


@pytest.mark.pydoca_case("DMA-BW-PCI", title="bandwidth across the PCIe link, both ways", levels=QUICK)
@pytest.mark.pydoca_needs("pair", "sim")
@pytest.mark.parametrize("way", ["read", "write"])
def test_bandwidth_across_the_link(sides: Sides, pydoca_measure: Measure, way: str) -> None:
    def ends(stand: Stand, size: int) -> dma.Ends:
        return dma.remote(stand, sides.dpu, sides.host, size, read=way == "read")

    with pydoca_measure(f"dma.{way}.bw.65536", unit="GB/s", stat="p50", better="higher", n_min=10) as bandwidth:
        for value in dma.bandwidth(sides.dpu, 65536, bandwidth.has_enough, ends=ends):
            bandwidth.add(value)
    share = link.share(sides, read=way == "read")
    pydoca_measure.record(f"dma.{way}.share", share, unit="1", better="higher", min=0.05)


@pytest.mark.pydoca_case("DMA-LAT", title="latency with one copy in flight", levels=QUICK)
@pytest.mark.parametrize("size", [64, 4096])
def test_latency(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure, size: int) -> None:
    with pydoca_measure(f"dma.lat.{size}", unit="us", stat="p50", better="lower", n_min=1000) as latency:
        for values in dma.latency(pydoca_device, size, latency.has_enough):
            latency.extend(values)
    late = dma.late_share(pydoca_device, size, at(pydoca_run, quick=10_000, full=100_000))
    pydoca_measure.record(f"dma.late.{size}", late, unit="1", better="lower", max=tail.limit_of(pydoca_device))


@pytest.mark.pydoca_case("DMA-QD", title="rate of small copies against the number in flight", levels=QUICK)
@pytest.mark.parametrize("depth", [1, 8, 64, 512])
def test_rate(pydoca_device: pydoca.Device, pydoca_measure: Measure, depth: int) -> None:
    if depth > pydoca.Dma.max_num_tasks(pydoca_device.info):
        pytest.skip(f"{pydoca_device.name} takes fewer tasks than {depth}")
    with pydoca_measure(f"dma.rate.{depth}", unit="Mop/s", stat="p50", better="higher", n_min=10) as rate:
        for value in dma.rate(pydoca_device, depth, rate.has_enough):
            rate.add(value)


@pytest.mark.pydoca_case("DMA-ORD", title="completions come in order, each with its data in place", levels=ALL)
def test_order(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    count = at(pydoca_run, smoke=10_000, quick=200_000, full=1_000_000)
    disorders, invisible = dma.ordering(pydoca_device, count)
    pydoca_measure.record("dma.order.violations", disorders, unit="1", max=0)
    pydoca_measure.record("dma.order.invisible", invisible, unit="1", max=0)
    mixed = dma.mixed_order(pydoca_device, at(pydoca_run, smoke=5, quick=50, full=500))
    pydoca_measure.record("dma.order.mixed", mixed, unit="1", max=0)


@pytest.mark.pydoca_case("DMA-BI", title="both directions at once, in two contexts", levels=("full",))
@pytest.mark.pydoca_needs("pair", "sim")
def test_both_directions(sides: Sides, pydoca_measure: Measure) -> None:
    size, depth = 65536, 8
    with Stand() as stand:
        reads = dma.Copies(
            stand, sides.dpu, dma.remote(stand, sides.dpu, sides.host, size * depth, read=True), size, depth
        )
        writes = dma.Copies(
            stand, sides.dpu, dma.remote(stand, sides.dpu, sides.host, size * depth, read=False), size, depth
        )
        with pydoca_measure("dma.both.bw", unit="GB/s", stat="p50", better="higher", n_min=10) as bandwidth:
            while not bandwidth.has_enough():
                bandwidth.add(2 * depth * size / dma.run_together(reads, writes))


@pytest.mark.pydoca_case(
    "DMA-DRIFT", title="latency stays what it was, under load", levels=("quick", "full", "soak"), seconds=8
)
def test_drift(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    """A drift shows thermal throttling, or a search through a list that grows."""
    time.sleep(2)  # the previous cases have left the device warm
    trend = Trend()
    with pydoca_measure("dma.lat.load", unit="us", stat="p50", better="lower", n_min=1000) as latency:
        trend.run(partial(dma.latency, pydoca_device, 4096), latency.seconds, pydoca_run.must_stop)
        for window in trend.samples:
            latency.extend(window)
    pydoca_measure.record("dma.lat.drift", trend.growth(), unit="1", better="lower", max=1.25)
    pydoca_measure.record("dma.lat.step", trend.step(), unit="1", better="lower", max=2)
