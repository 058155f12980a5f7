"""Memory of one origin as the source and the destination of every task that moves data."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial

import pydoca
from pydoca.qualify.bench import dma, rdma, sha
from pydoca.qualify.bench.sides import Sides
from pydoca.qualify.bench.waiting import Stand
from pydoca.qualify.bench.zones import Damage, Zoned

_OTHER = "pydoca.alloc"


def transfers(device: pydoca.Device, origin: str, sizes: list[int], seed: int) -> Iterator[Damage]:
    """Copies from such memory to pydoca's, back, and within it; RDMA and digests, if the device has them."""
    for from_, to, offsets in ((origin, _OTHER, (0, 0)), (_OTHER, origin, (0, 0)), (origin, origin, (5, 3))):
        memory = partial(_ends, device, from_, to)
        yield from dma.integrity(device, sizes, [offsets], ["prbs31"], seed, memory)
    if device.info.supports("rdma"):
        yield from rdma.integrity(device, device, sizes, seed, ["prbs31"], [(3, 5)], origin)
    if device.info.supports("sha"):
        sha.known_answers(device, random.Random(seed).sample(sizes, len(sizes) // 4), seed, origin)


def _ends(device: pydoca.Device, from_: str, to: str, stand: Stand, capacity: int) -> tuple[Zoned, Zoned]:
    return Zoned(stand, device, capacity, origin=from_), Zoned(stand, device, capacity, origin=to)


def across(
    sides: Sides, origin: str, sizes: Sequence[int], seed: int, offsets: Sequence[tuple[int, int]] = ((5, 3),)
) -> Iterator[Damage]:
    """Copies by the DPU from such memory of the host, and to it."""
    for is_read in (True, False):

        def memory(stand: Stand, capacity: int, is_read: bool = is_read) -> tuple[Zoned, Zoned]:
            theirs = Zoned.lent(stand, sides.host, sides.dpu, capacity, origin)
            here = Zoned(stand, sides.dpu, capacity)
            return (theirs, here) if is_read else (here, theirs)

        yield from dma.integrity(sides.dpu, sizes, offsets, ["prbs31"], seed, memory)
