"""MEM: maps, permissions, bounds, exports, origins of memory."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench import dma, maps, origins, remote, resources
from pydoca.qualify.bench.patterns import prbs31, view
from pydoca.qualify.bench.rules import deaths, independence
from pydoca.qualify.bench.sides import Sides
from pydoca.qualify.bench.tasks import far, memory
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun
    from pydoca.qualify.session.pair import Pair

pytestmark: pytest.MarkDecorator = pytest.mark.pydoca_needs("dma")
ALL = ("smoke", "quick", "full")
QUICK = ("quick", "full")


@pytest.mark.pydoca_case("MEM-1", title="memory of every size and alignment is mapped and released", levels=QUICK)
@pytest.mark.usefixtures("no_leak")
def test_registration(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    largest = at(pydoca_run, quick=26, full=28)
    for power in range(12, largest + 1, 2):
        with pydoca_measure(f"mem.map.{1 << power}", unit="ms/GiB", stat="p50", better="lower") as cost:
            for _ in range(5):
                cost.add(maps.registrations(pydoca_device, 1 << power))
    for size in (64, 4096, 65536 + 1):
        maps.registrations(pydoca_device, size, unaligned=True)


@pytest.mark.pydoca_case(
    "MEM-2", title="each combination of permissions allows what it says, and nothing else", levels=QUICK
)
@pytest.mark.pydoca_needs("pair", "sim")
def test_permissions(sides: Sides, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    cells = list(maps.cells(sides))
    wrong = [f"{name} is {'refused' if allowed else 'allowed'}" for name, allowed, done in cells if allowed != done]
    pydoca_measure.record("mem.permissions.cells", len(cells), unit="1", min=200)
    if wrong:
        raise DeviceFault(f"{len(wrong)} of {len(cells)} cells are wrong: {'; '.join(wrong[:5])}")
    moved = list(memory.permitted(sides, pydoca_run.seed_of("permitted")))
    pydoca_measure.record("mem.permissions.transfers", len(moved), unit="1", min=100)
    for damage in filter(None, moved):
        raise DeviceFault(str(damage))


@pytest.mark.pydoca_case("MEM-3", title="bufs outside of their map are refused", levels=ALL)
def test_bounds(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    pydoca_measure.record("mem.bounds.refused", maps.bounds(pydoca_device), unit="1", min=10)


@pytest.mark.pydoca_case("MEM-4", title="memory of the host's process reaches the DPU's process unchanged", levels=ALL)
@pytest.mark.pydoca_needs("pair", "sim")
def test_export_between_processes(
    pydoca_device: pydoca.Device, pydoca_pair: Pair, pydoca_run: CaseRun, pydoca_measure: Measure
) -> None:
    size, seed = dma.fitting(pydoca_device, (4096, 1 << 16))[-1], pydoca_run.seed_of("pattern")
    with pydoca_measure("mem.import", unit="ms", stat="p50", better="lower") as importing:
        importing.extend(_both_ways(pydoca_pair, size, seed, "pydoca.alloc", 20))
    others = [each for each in origins.of_this_machine() if each != "pydoca.alloc"]
    more = sum(len(_both_ways(pydoca_pair, size, seed, origin, 5)) for origin in others)
    pydoca_measure.record("mem.digests.equal", len(importing) + more, unit="1", min=20 + 5 * len(others))


def _both_ways(pair: Pair, size: int, seed: int, origin: str, count: int) -> list[float]:
    """Milliseconds of each import; the DPU reads the host's memory repeatedly, and writes it at the end."""
    blob, digest = pair.host.call(remote.lend, pair.host.device, size, seed, origin)
    times = []
    with Stand() as stand, pydoca.open_device(pair.dpu.device, side="dpu") as dpu:
        into = stand.enter_context(pydoca.alloc(size))
        here = stand.enter_context(dpu.mmap(into))
        copier = maps.Copier(stand, dpu)
        for number in range(count):
            with duty("import memory of the host"):
                begin = time.perf_counter_ns()
                imported = dpu.import_mmap(blob)
                times.append((time.perf_counter_ns() - begin) / 1e6)
            with imported, duty("copy memory of the host"):
                view(into)[:] = 0
                copier.copy(imported, here, size)
                if hashlib.sha256(into).hexdigest() != digest:
                    raise DeviceFault(f"memory of the host ({origin}) has another digest at the DPU")
                if number == count - 1:
                    view(into)[:] = prbs31(size, seed + 1)
                    copier.copy(here, imported, size)
        if pair.host.call(remote.digest_of_lent) != hashlib.sha256(into).hexdigest():
            raise DeviceFault(f"what the DPU wrote to memory of the host ({origin}) has another digest there")
    pair.host.call(remote.give_back)
    return times


@pytest.mark.pydoca_case(
    "MEM-5", title="memory that its owner withdrew, or whose owner died, gives an error", levels=QUICK
)
@pytest.mark.pydoca_needs("pair", "sim")
@pytest.mark.parametrize("how", ["stop", "close", "kill"])
def test_stale_imports(pydoca_run: CaseRun, pydoca_measure: Measure, how: str, request: pytest.FixtureRequest) -> None:
    if how == "kill":
        seconds = _after_death(request.getfixturevalue("pydoca_pair"))
    else:
        seconds = maps.withdrawn(request.getfixturevalue("sides"), how)
    pydoca_measure.record(f"mem.stale.{how}", seconds, unit="s", better="lower", max=10)


def _after_death(pair: Pair) -> float:
    """Seconds until copies of either direction fail, after the owner of imported memory was killed."""
    blob, _ = pair.host.call(remote.lend, pair.host.device, 4096, 1)
    with Stand() as stand, pydoca.open_device(pair.dpu.device, side="dpu") as dpu:
        copies = deaths.of_memory(stand, dpu, blob, 4096)
        return deaths.check(copies, pair.host.kill, "memory", pydoca.IoFailedError)


@pytest.mark.pydoca_case(
    "MEM-9", title="the end of one import or export leaves the others as they were", levels=("smoke", *QUICK)
)
@pytest.mark.pydoca_needs("pair", "sim")
def test_independent_imports(sides: Sides, pydoca_measure: Measure) -> None:
    pydoca_measure.record("mem.imports.independent", independence.imports(sides), unit="1", min=2)
    independence.withdrawals(sides)


@pytest.mark.pydoca_case("MEM-6", title="cycles of export and import leave nothing behind", levels=QUICK)
@pytest.mark.pydoca_needs("pair", "sim")
def test_export_cycles(sides: Sides, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    cycles = at(pydoca_run, quick=500, full=10_000)
    grown = resources.growth(lambda: maps.export_cycle(sides), cycles)
    pydoca_measure.record("mem.cycles.descriptors", grown.descriptors, unit="1", max=0)
    pydoca_measure.record("mem.cycles.mappings", grown.mappings, unit="1", max=0)
    pydoca_measure.record("mem.cycles.resident", grown.resident / 1024, unit="KiB", max=cycles * 4)


@pytest.mark.pydoca_case(
    "MEM-7", title="memory of every origin is source and destination of copies, digests and RDMA", levels=QUICK
)
@pytest.mark.parametrize("origin", origins.ORIGINS)
def test_origins(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure, origin: str) -> None:
    if origin not in origins.of_this_machine():
        pytest.skip("this machine has no free huge pages (sysctl vm.nr_hugepages)")
    seed = pydoca_run.seed_of("lengths")
    most = at(pydoca_run, quick=1 << 14, full=1 << 18)
    sizes = dma.lengths(min(most, pydoca.Dma.max_buf_size(pydoca_device.info)), seed)
    moved = 0
    for damage in memory.transfers(pydoca_device, origin, sizes, seed):
        moved += 1
        if damage:
            raise DeviceFault(f"{origin}: {damage}")
    pydoca_measure.record(f"mem.transfers.{origin.replace(' ', '_')}", moved, unit="1", min=2 * len(sizes))


@pytest.mark.pydoca_case(
    "MEM-8", title="memory that the program may not write is a source, and never a destination", levels=QUICK
)
def test_read_only_memory(pydoca_device: pydoca.Device) -> None:
    maps.read_only_source(pydoca_device)


@pytest.mark.pydoca_case("NEG-2", title="garbled descriptions of memory are refused", levels=QUICK)
@pytest.mark.pydoca_needs("pair", "sim")
def test_garbled_blobs(sides: Sides, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    count = at(pydoca_run, quick=1000, full=20_000)
    refusals = maps.garbled_blobs(sides, count, pydoca_run.seed_of("garble"))
    pydoca_measure.record("mem.garbled.refused", refusals / count, unit="1", min=0.5)
    with refused("an empty description", *maps.REFUSALS):
        sides.dpu.import_mmap(b"")


@pytest.mark.pydoca_case("MEM-10", title="each place of a large map is reached by each library", levels=QUICK)
def test_far_places(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    places = far.check(pydoca_device, at(pydoca_run, quick=1 << 26, full=1 << 28))
    pydoca_measure.record("mem.far", places, unit="1", min=10)
