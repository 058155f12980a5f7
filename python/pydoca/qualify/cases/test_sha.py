"""SHA: known answers, messages in pieces, throughput."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench import dma, sha
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    import random

    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun

pytestmark: pytest.MarkDecorator = pytest.mark.pydoca_needs("sha")
ALL = ("smoke", "quick", "full")


@pytest.mark.pydoca_case("SHA-1", title="digests of all lengths are those of hashlib", levels=ALL)
def test_known_answers(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    longest = at(pydoca_run, smoke=512, quick=4096)
    right = sha.known_answers(pydoca_device, range(1, longest + 1), pydoca_run.seed_of("message"))
    pydoca_measure.record("sha.right", right, unit="1", min=longest)


@pytest.mark.pydoca_case("SHA-2", title="digests of messages in pieces are those of hashlib", levels=ALL)
def test_pieces(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random, pydoca_measure: Measure
) -> None:
    messages = at(pydoca_run, smoke=100, quick=2000, full=10_000)
    pieces = sha.pieces(pydoca_device, messages, pydoca_random)
    pydoca_measure.record("sha.pieces", pieces, unit="1", min=messages)
    rounds = at(pydoca_run, smoke=10, quick=100, full=1000)
    taken = sha.interleaved(pydoca_device, rounds, pydoca_random)
    pydoca_measure.record("sha.interleaved", taken, unit="1", min=rounds)


@pytest.mark.pydoca_case("SHA-3", title="digests of lists, and of large messages, are those of hashlib", levels=ALL)
def test_lists(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random, pydoca_measure: Measure
) -> None:
    messages = at(pydoca_run, smoke=50, quick=1000, full=10_000)
    if pydoca.Sha.max_list_buf_num_elem(pydoca_device.info) > 1:
        pieces = sha.lists(pydoca_device, messages, pydoca_random)
        pydoca_measure.record("sha.lists", pieces, unit="1", min=messages)
    largest = min(pydoca.Sha.max_src_buf_size(pydoca_device.info), at(pydoca_run, smoke=1 << 16, quick=1 << 21))
    sizes = [size for size in dma.sizes_up_to(largest) if size > 4096]
    right = sha.known_answers(pydoca_device, sizes, pydoca_run.seed_of("large"))
    pydoca_measure.record("sha.large", right, unit="1", min=len(sizes))


@pytest.mark.pydoca_case("SHA-BW", title="throughput of each algorithm", levels=("quick", "full"))
@pytest.mark.parametrize("algorithm", list(sha.ALGORITHMS))
def test_throughput(pydoca_device: pydoca.Device, pydoca_measure: Measure, algorithm: str) -> None:
    if algorithm not in sha.algorithms(pydoca_device):
        pytest.skip(f"{pydoca_device.name} does not compute {algorithm}")
    size = min(65536, pydoca.Sha.max_src_buf_size(pydoca_device.info))
    with pydoca_measure(f"sha.bw.{algorithm}.{size}", unit="GB/s", stat="p50", better="higher", n_min=10) as bandwidth:
        for value in sha.bandwidth(pydoca_device, algorithm, size, bandwidth.has_enough):
            bandwidth.add(value)
