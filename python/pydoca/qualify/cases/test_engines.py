"""SHA, CMP: digests, and expanded DEFLATE streams with their checksums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench import compress, dma, sha
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    import random

    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun

ALL = ("smoke", "quick", "full")


@pytest.mark.pydoca_case("SHA-1", title="digests of all lengths are those of hashlib", levels=ALL)
@pytest.mark.pydoca_needs("sha")
def test_known_answers(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    longest = at(pydoca_run, smoke=512, quick=4096)
    right = sha.known_answers(pydoca_device, range(1, longest + 1), pydoca_run.seed_of("message"))
    pydoca_measure.record("sha.right", right, unit="1", min=longest)


@pytest.mark.pydoca_case("SHA-2", title="digests of messages in pieces are those of hashlib", levels=ALL)
@pytest.mark.pydoca_needs("sha")
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
@pytest.mark.pydoca_needs("sha")
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
@pytest.mark.pydoca_needs("sha")
def test_throughput(pydoca_device: pydoca.Device, pydoca_measure: Measure, algorithm: str) -> None:
    if algorithm not in sha.algorithms(pydoca_device):
        pytest.skip(f"{pydoca_device.name} does not compute {algorithm}")
    size = min(65536, pydoca.Sha.max_src_buf_size(pydoca_device.info))
    with pydoca_measure(f"sha.bw.{algorithm}.{size}", unit="GB/s", stat="p50", better="higher", n_min=10) as bandwidth:
        for value in sha.bandwidth(pydoca_device, algorithm, size, bandwidth.has_enough):
            bandwidth.add(value)


@pytest.mark.pydoca_case("CMP-1", title="streams of every kind of block become zlib's data and checksums", levels=ALL)
@pytest.mark.pydoca_needs("compress")
def test_streams(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random, pydoca_measure: Measure
) -> None:
    count = at(pydoca_run, smoke=20, quick=300, full=3000)
    expanded = compress.streams(pydoca_device, count, pydoca_random)
    pydoca_measure.record("compress.streams", expanded, unit="1", min=count)
    size = min(pydoca.Compress.max_decompress_deflate_buf_size(pydoca_device.info) // 2, 1 << 20)
    pydoca_measure.record("compress.large", compress.large(pydoca_device, size, pydoca_random), unit="1", min=1)


@pytest.mark.pydoca_case("CMP-2", title="streams that are cut, wrong or too long fail, and harm no others", levels=ALL)
@pytest.mark.pydoca_needs("compress")
def test_damaged(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random, pydoca_measure: Measure
) -> None:
    rounds = at(pydoca_run, smoke=4, quick=60, full=600)
    refused = compress.damaged(pydoca_device, rounds, pydoca_random)
    pydoca_measure.record("compress.refused", refused, unit="1", min=rounds)


@pytest.mark.pydoca_case("CMP-BW", title="throughput of plain data", levels=("quick", "full"))
@pytest.mark.pydoca_needs("compress")
def test_expanding_throughput(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    size = 1 << 16
    with pydoca_measure(f"compress.bw.{size}", unit="GB/s", stat="p50", better="higher", n_min=10) as bandwidth:
        for value in compress.bandwidth(pydoca_device, size, bandwidth.has_enough):
            bandwidth.add(value)
