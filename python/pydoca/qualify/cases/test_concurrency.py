"""CON: threads and processes that use the device at the same time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench import dma, remote
from pydoca.qualify.bench.waiting import DeviceFault
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun
    from pydoca.qualify.session.pair import Pair

pytestmark: pytest.MarkDecorator = pytest.mark.pydoca_needs("dma")


@pytest.mark.pydoca_case("CON-1", title="threads make, use and end contexts at once", levels=("quick", "full"))
@pytest.mark.parametrize("threads", [2, 8])
def test_threads(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure, threads: int) -> None:
    rounds = at(pydoca_run, quick=5, full=50)
    sizes = dma.fitting(pydoca_device, [1, 64, 4096, 65536])
    failures: list[BaseException] = []
    copies = [0] * threads

    def work(number: int) -> None:
        try:
            for turn in range(rounds):
                for damage in dma.integrity(pydoca_device, sizes, seed=number * 1000 + turn):
                    copies[number] += 1
                    if damage:
                        raise DeviceFault(f"in thread {number}: {damage}")
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    pydoca_measure.record(f"concurrency.copies.{threads}", sum(copies), unit="1", min=threads)
    if failures:
        raise failures[0]


@pytest.mark.pydoca_case("CON-2", title="two processes use the device at once", levels=("quick", "full"))
@pytest.mark.pydoca_needs("pair", "sim")
def test_processes(
    pydoca_device: pydoca.Device, pydoca_pair: Pair, pydoca_run: CaseRun, pydoca_measure: Measure
) -> None:
    """The two processes are this one and the process of the same side."""
    same = pydoca_pair.dpu if pydoca_device.side == pydoca.Side.DPU else pydoca_pair.host
    call = same.start(remote.copy_much, same.device, 1000, float(at(pydoca_run, quick=1, full=10)))
    copies, damaged = remote.copy_much(pydoca_device.name, 5000, float(at(pydoca_run, quick=1, full=10)))
    more, damaged_there = call.result()
    pydoca_measure.record("concurrency.processes.copies", min(copies, more), unit="1", min=1)
    if damaged or damaged_there:
        raise DeviceFault(f"{damaged + damaged_there} of {copies + more} copies of two processes were damaged")
