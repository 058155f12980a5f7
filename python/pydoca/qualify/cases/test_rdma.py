"""RDMA: writes, reads, messages and atomics, of two contexts of the device; perftest's programs for comparison."""

from __future__ import annotations

import itertools
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench import dma, rdma, remote, waiting
from pydoca.qualify.bench.delays import tail
from pydoca.qualify.bench.rdma import addresses, lists, order
from pydoca.qualify.bench.rdma.pair import ACCESS
from pydoca.qualify.bench.rules import deaths
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty
from pydoca.qualify.bench.zones import Zoned
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    import random

    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun
    from pydoca.qualify.session.pair import Pair

pytestmark: pytest.MarkDecorator = pytest.mark.pydoca_needs("rdma")
ALL = ("smoke", "quick", "full")
QUICK = ("quick", "full")


@pytest.mark.pydoca_case("RDMA-1", title="writes and reads of every size and pattern arrive", levels=ALL)
def test_integrity(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    sizes = dma.sizes_up_to(at(pydoca_run, smoke=4096, quick=1 << 16, full=1 << 20))
    seed, moved = pydoca_run.seed_of("patterns"), 0
    work = [rdma.integrity(pydoca_device, pydoca_device, sizes, seed)]
    if pydoca_run.level != "smoke":
        lengths = dma.lengths(max(sizes), seed)
        work.append(rdma.integrity(pydoca_device, pydoca_device, lengths, seed, ["prbs31"], [(0, 0), (5, 3), (63, 1)]))
        every = range(1, at(pydoca_run, quick=2048, full=10_000) + 1)
        work.append(rdma.integrity(pydoca_device, pydoca_device, every, seed, ["prbs31"]))
    for damage in itertools.chain.from_iterable(work):
        moved += 1
        if damage:
            raise DeviceFault(str(damage))
    pydoca_measure.record("rdma.transfers", moved, unit="1", min=2 * len(sizes))


@pytest.mark.pydoca_case("RDMA-2", title="messages arrive once, in order, with their length and number", levels=ALL)
def test_messages(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    longest = at(pydoca_run, smoke=256, quick=4096, full=20_000)
    large = dma.sizes_up_to(at(pydoca_run, smoke=4096, quick=1 << 18, full=1 << 20))
    lengths = [*range(1, longest + 1), *(size for size in large if size > longest)]
    count = rdma.messages(pydoca_device, pydoca_device, lengths)
    pydoca_measure.record("rdma.messages", count, unit="1", min=longest)


@pytest.mark.pydoca_case("RDMA-3", title="atomics are exact", levels=ALL)
@pytest.mark.pydoca_needs("rdma_atomics")
def test_atomics(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random) -> None:
    rdma.atomics(pydoca_device, pydoca_device, at(pydoca_run, smoke=1000, quick=20_000, full=200_000), pydoca_random)


@pytest.mark.pydoca_case(
    "RDMA-4", title="a peer may do what both memory and context allow, and nothing else", levels=QUICK
)
def test_permissions(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    cells = list(rdma.cells(pydoca_device, is_complete=pydoca_run.level != "quick"))
    wrong = [f"{name} is {'refused' if allowed else 'allowed'}" for name, allowed, done in cells if allowed != done]
    pydoca_measure.record("rdma.permissions.cells", len(cells), unit="1", min=48)
    if wrong:
        raise DeviceFault(f"{len(wrong)} of {len(cells)} cells are wrong: {'; '.join(wrong[:5])}")


@pytest.mark.pydoca_case(
    "RDMA-5", title="each of several peers, and each that comes later, gets what is for it", levels=ALL
)
def test_several_peers(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    limits = pydoca_device.info.capabilities.rdma
    assert limits is not None
    peers, rounds = min(8, limits.max_num_connections), at(pydoca_run, smoke=5, quick=100, full=1000)
    moved = rdma.several(pydoca_device, peers, rounds)
    pydoca_measure.record("rdma.peers.transfers", moved, unit="1", min=3 * rounds)
    if peers > 1:
        followed = rdma.successors(pydoca_device, rounds)
        pydoca_measure.record("rdma.peers.successors", followed, unit="1", min=rounds)


@pytest.mark.pydoca_case("RDMA-6", title="sync events of a network peer are exact", levels=ALL)
@pytest.mark.pydoca_needs("sync_event_export_to_remote_net", "sync_event_remote_net_create_from_export")
def test_remote_events(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    pydoca_measure.record("rdma.events", rdma.events(pydoca_device), unit="1", min=100)


@pytest.mark.pydoca_case(
    "RDMA-7", title="connections by address: requests, answers and ends are told to both, once", levels=ALL
)
def test_addresses(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    info = pydoca_device.info
    if not pydoca.Rdma.is_connection_manager_supported(info) or info.to_dict()["ipv4_addr"] is None:
        pytest.skip(f"{pydoca_device.name} has no connection manager, or no address")
    rounds = at(pydoca_run, smoke=4, quick=40, full=400)
    pydoca_measure.record("rdma.connected", addresses.connected(pydoca_device, rounds), unit="1", min=rounds)
    addresses.rejected(pydoca_device)
    pydoca_measure.record("rdma.unanswered", addresses.unanswered(pydoca_device), unit="s", min=0.36, max=10)


@pytest.mark.pydoca_case("RDMA-8", title="messages wait for receives that are posted late", levels=ALL)
def test_late_receives(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    count = at(pydoca_run, smoke=2, quick=10)
    pydoca_measure.record("rdma.late_receives", addresses.late_receives(pydoca_device, count), unit="1", min=count)


@pytest.mark.pydoca_case(
    "RDMA-9", title="operations of a connection that are in flight together take effect in their order", levels=ALL
)
def test_order(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    rounds = at(pydoca_run, smoke=50, quick=1000, full=10_000)
    pydoca_measure.record("rdma.ordered", order.check(pydoca_device, rounds), unit="1", min=rounds)


@pytest.mark.pydoca_case("RDMA-10", title="lists of bufs are sent, written and filled in their order", levels=ALL)
def test_lists(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random, pydoca_measure: Measure
) -> None:
    rounds = at(pydoca_run, smoke=50, quick=1000, full=10_000)
    pydoca_measure.record("rdma.lists", lists.check(pydoca_device, rounds, pydoca_random), unit="1", min=rounds)


@pytest.mark.pydoca_case(
    "RDMA-11", title="each access of memory fails once the process at the other end has died", levels=QUICK
)
@pytest.mark.pydoca_needs("pair", "sim")
def test_dead_peer(pydoca_device: pydoca.Device, pydoca_pair: Pair, pydoca_measure: Measure) -> None:
    other = pydoca_pair.host if pydoca_device.side == pydoca.Side.DPU else pydoca_pair.dpu
    with Stand() as stand:
        details, blob = other.call(remote.lend_rdma, other.device, other.side, 256)
        here = Zoned(stand, pydoca_device, 256, ACCESS)
        with duty("connect to another process"):
            rdma = stand.enter_context(pydoca.Rdma(stand.engine(), pydoca_device))
            link = rdma.export()
            call = other.start(remote.connect_rdma, link.details)
            link.connect(details)
            link.established().wait(timeout=waiting.PATIENCE)
            call.result()
            there = stand.enter_context(pydoca_device.import_mmap(blob))
        run = deaths.of_rdma(link, here, there, 256, stand)
        seconds = deaths.check(run, other.kill, "RDMA memory", pydoca.ConnectionResetError, pydoca.NotConnectedError)
    pydoca_measure.record("rdma.peer_death", seconds, unit="s", better="lower", max=10)


@pytest.mark.pydoca_case("RDMA-LAT", title="latency of a write with nothing else in flight", levels=QUICK)
def test_latency(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    with pydoca_measure("rdma.write.lat.64", unit="us", stat="p50", better="lower", n_min=1000) as latency:
        for values in rdma.write_latency(pydoca_device, pydoca_device, 64, latency.has_enough):
            latency.extend(values)
    late = rdma.late_share(pydoca_device, pydoca_device, 64, at(pydoca_run, quick=10_000, full=100_000))
    pydoca_measure.record("rdma.late.64", late, unit="1", better="lower", max=tail.limit_of(pydoca_device))


@pytest.mark.pydoca_case("RDMA-BW", title="bandwidth of writes", levels=QUICK)
def test_bandwidth(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    with pydoca_measure("rdma.write.bw.65536", unit="GB/s", stat="p50", better="higher", n_min=10) as bandwidth:
        for value in rdma.bandwidth(pydoca_device, pydoca_device, 65536, bandwidth.has_enough):
            bandwidth.add(value)


@pytest.mark.pydoca_case("RDMA-PT", title="perftest's bandwidth on the same device, for comparison", levels=QUICK)
@pytest.mark.pydoca_needs("hardware", "program:ib_write_bw")
def test_perftest(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    line = ["ib_write_bw", "-d", pydoca_device.info.ibdev_name, "-s", "65536", "-n", "1000", "--report_gbits", "-F"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            client = subprocess.run([*line, "127.0.0.1"], capture_output=True, text=True, timeout=60)
        finally:
            server.kill()
    found = re.search(r"^\s*65536\s+\d+\s+[\d.]+\s+([\d.]+)", client.stdout, re.MULTILINE)
    if found is None:
        pytest.skip(f"ib_write_bw gave no result: {(client.stderr or client.stdout).strip()[-200:]}")
    pydoca_measure.record("rdma.perftest.bw.65536", float(found[1]) / 8, unit="GB/s", better="higher")
