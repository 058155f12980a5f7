"""SOAK, RND: all engines at once for long, and a random walk beside a model."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench import dma, events, graphs, resources, sha, walk
from pydoca.qualify.bench.waiting import DeviceFault
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun

pytestmark: pytest.MarkDecorator = pytest.mark.pydoca_needs("dma")


@pytest.mark.pydoca_case(
    "RND-1", title="a random walk agrees with its model", levels=("smoke", "quick", "full", "soak")
)
def test_random_walk(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random, pydoca_measure: Measure
) -> None:
    """Level smoke has a number of steps, so that it can be repeated; the other levels have a time."""
    end = time.monotonic() + pydoca_run.seconds

    def over(steps: int) -> bool:
        if pydoca_run.level == "smoke":
            return steps >= at(pydoca_run, smoke=3000)
        return time.monotonic() > end or pydoca_run.must_stop()

    pydoca_measure.record("walk.steps", walk.walk(pydoca_device, pydoca_random, over), unit="1", min=1)


@pytest.mark.pydoca_case("SOAK-1", title="all engines in turn, for long: no error, no drift, no leak", levels=("soak",))
def test_soak(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random, pydoca_measure: Measure
) -> None:
    work = _work(pydoca_device, pydoca_random)
    for piece in work:
        piece()
    before = resources.settled()
    times: list[float] = []
    end = time.monotonic() + pydoca_run.seconds
    while (time.monotonic() < end and not pydoca_run.must_stop()) or len(times) < 4:
        begin = time.perf_counter()
        for piece in work:
            piece()
        times.append((time.perf_counter() - begin) * 1e3)
    with pydoca_measure("soak.round", unit="ms", stat="p50", better="lower") as rounds:
        rounds.extend(times)
    half = len(times) // 2
    quick = [sorted(part)[len(part) // 10] for part in (times[:half], times[half:])]
    pydoca_measure.record("soak.drift", quick[1] / quick[0], unit="1", better="lower", max=10)
    grown = resources.settled(before) - before
    pydoca_measure.record("soak.leak.descriptors", grown.descriptors, unit="1", max=0)
    pydoca_measure.record("soak.leak.mappings", grown.mappings, unit="1", max=0)
    pydoca_measure.record("soak.leak.threads", grown.threads, unit="1", max=0)


def _work(device: pydoca.Device, rng: random.Random) -> list[Callable[[], object]]:
    seeds, sizes = itertools.count(1), dma.fitting(device, [1, 100, 4096, 65537])

    def copies() -> None:
        for damage in dma.integrity(device, sizes, [(0, 0), (3, 7)], seed=next(seeds)):
            if damage:
                raise DeviceFault(str(damage))

    work: list[Callable[[], object]] = [
        copies,
        lambda: dma.ordering(device, 1000),
        lambda: graphs.run(device, dma.depth_for(device, 16), 4),
    ]
    if pydoca.Sha.is_supported(device.info):
        work.append(lambda: sha.pieces(device, 20, rng))
    if pydoca.SyncEvent.is_supported(device.info):
        work.append(lambda: events.operations(device, 1000, rng))
    return work


@pytest.mark.pydoca_case("SOAK-2", title="after a power cycle a run goes on, with the same inventory", levels=("soak",))
@pytest.mark.pydoca_needs("hardware")
def test_power_cycle() -> None:
    pytest.skip("an operator does this: switch the machine off during a run, then resume the run (--pydoca-resume)")
