"""Memory of one origin as the source and the destination of every task that moves data."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import pydoca
from pydoca.qualify.bench import dma, rdma, sha
from pydoca.qualify.bench.sides import Sides
from pydoca.qualify.bench.waiting import Stand
from pydoca.qualify.bench.zones import Damage, Zoned

_OTHER = "pydoca.alloc"
_Two = tuple[Zoned, Zoned]


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
    """Copies by the DPU from such memory of the host, to it, and from some of it to other."""
    for from_host, to_host in ((True, False), (False, True), (True, True)):

        def memory(
            stand: Stand, capacity: int, from_host: bool = from_host, to_host: bool = to_host
        ) -> tuple[Zoned, Zoned]:
            src, dst = (
                Zoned.lent(stand, sides.host, sides.dpu, capacity, origin)
                if is_host
                else Zoned(stand, sides.dpu, capacity)
                for is_host in (from_host, to_host)
            )
            return src, dst

        yield from dma.integrity(sides.dpu, sizes, offsets, ["prbs31"], seed, memory)


_PCI = ("pci_read_only", "pci_read_write")
_MORE = ("", "|pci_relaxed_ordering", "|rdma_read", "|rdma_write|rdma_atomic|pci_relaxed_ordering")
_PERMITTED_SIZES = (1, 63, 64, 127, 128, 129, 192, 1000, 4096, 65535)


def permitted(sides: Sides, seed: int) -> Iterator[Damage]:
    """Data of several sizes to and from memory whose permissions differ: what they add must change nothing."""
    sizes = dma.fitting(sides.dpu, _PERMITTED_SIZES)
    for pci, more in itertools.product(_PCI, _MORE):
        for is_read in (True, False) if pci == "pci_read_write" else (True,):

            def memory(stand: Stand, capacity: int, pci: str = pci, more: str = more, is_read: bool = is_read) -> _Two:
                access = f"local_read_write|{pci}{more}"
                theirs = Zoned.lent(stand, sides.host, sides.dpu, capacity, access=access)
                here = Zoned(stand, sides.dpu, capacity, "local_read_write|pci_relaxed_ordering" if more else None)
                return (theirs, here) if is_read else (here, theirs)

            for damage in dma.integrity(sides.dpu, sizes, [(0, 0), (5, 3)], ["prbs31"], seed, memory):
                yield replace(damage, what=f"{damage.what}, of the host's memory with {pci}{more}")
    for device in (sides.dpu, sides.host):
        if device.info.supports("rdma"):
            for more in ("", "|pci_relaxed_ordering", "|rdma_atomic"):
                access = f"local_read_write|rdma_read|rdma_write{more}"
                for damage in rdma.integrity(device, device, sizes, seed, ["prbs31"], access=access):
                    yield replace(damage, what=f"{damage.what}, of a peer's memory with {access}")
