"""The time of large operations of each library that moves bytes, compared with smaller ones in the same seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.patterns import prbs31
from pydoca.qualify.bench.rdma.pair import Pair
from pydoca.qualify.bench.sides import has_link
from pydoca.qualify.bench.tasks import operations
from pydoca.qualify.bench.waiting import Stand, duty
from pydoca.qualify.bench.zones import require_equal

_SMALL = 1 << 16
_ROUNDS = 5  # the best of them is judged: a busy machine does not delay all
_START = 1e6  # nanoseconds that an operation of any size may take beside its bytes
_Run = Callable[[], int]  # one operation, verified; it returns its nanoseconds


def ratios(device: pydoca.Device, largest: int) -> dict[str, float]:
    """The time of each large operation over that of as many bytes in operations of 64 KiB; the best rounds of both.

    Sizes are 256 KiB to the largest, in bytes, or the largest that the device takes.
    """
    found: dict[str, float] = {}
    for name, (has, make, longest) in _MOVERS.items():
        if has(device):
            for size in _sizes(min(longest(device), largest)):
                with Stand() as stand:
                    small, large = make(stand, device, _SMALL), make(stand, device, size)
                    found[f"{name}.{size}"] = _ratio(small, large, max(1, size // _SMALL))
    return found


def _sizes(most: int) -> Iterator[int]:
    """Larger sizes in steps of four, and the largest one."""
    size = 4 * _SMALL
    while size < most:
        yield size
        size *= 4
    if most > _SMALL:
        yield most


def _ratio(small: _Run, large: _Run, pieces: int) -> float:
    """Both take about the same time, so that other processes delay both alike."""
    small(), large()
    plain = whole = math.inf
    for _ in range(_ROUNDS):
        plain = min(plain, sum(small() for _ in range(pieces)))
        whole = min(whole, large())
    return whole / (plain + _START)


def _polled(make: Callable[..., _Run], stand: Stand, device: pydoca.Device, size: int, **keys: bool) -> _Run:
    return make(stand, device, waiting.poll, size, **keys)


def _transfer(stand: Stand, device: pydoca.Device, size: int, *, read: bool) -> _Run:
    pair, what = Pair(stand, device, device, size), f"{'a read' if read else 'a write'} of {size} bytes"
    own, theirs = (pair.here.mmap, pair.here), (pair.there, pair.theirs)
    source, target = (theirs, own) if read else (own, theirs)
    source[1].data(0, size)[:] = prbs31(size, 1)
    with duty(what):
        dst = pair.room(target[0], target[1].address(0), size)
        src = pair.data(source[0], source[1].address(0), size)
        task = (pair.ab.read if read else pair.ab.write)(src, dst, submit=False)
    stand.callback(task.free)

    def run_one() -> int:
        dst.reset_data_len()
        taken = waiting.time_of(task, what)
        require_equal(target[1].data(0, size), source[1].data(0, size), what)
        return taken

    return run_one


def _copies_across_are_there(device: pydoca.Device) -> bool:
    return device.info.supports("dma") and has_link(device)


def _of_copies(device: pydoca.Device) -> int:
    return pydoca.Dma.max_buf_size(device.info)


def _of_rdma(device: pydoca.Device) -> int:
    return pydoca.Rdma.max_message_size(device.info)


_MOVERS: dict[
    str,
    tuple[
        Callable[[pydoca.Device], bool],
        Callable[[Stand, pydoca.Device, int], _Run],
        Callable[[pydoca.Device], int],  # the most bytes of one operation
    ],
] = {
    "copy": (lambda device: device.info.supports("dma"), partial(_polled, operations.copy), _of_copies),
    "copy.read": (_copies_across_are_there, partial(_polled, operations.copy_across, read=True), _of_copies),
    "copy.write": (_copies_across_are_there, partial(_polled, operations.copy_across, read=False), _of_copies),
    "digest": (
        lambda device: device.info.supports("sha"),
        partial(_polled, operations.digest),
        lambda device: pydoca.Sha.max_src_buf_size(device.info),
    ),
    "expansion": (
        lambda device: device.info.supports("compress"),
        partial(_polled, operations.expansion),
        lambda device: pydoca.Compress.max_decompress_deflate_buf_size(device.info),
    ),
    "rdma.read": (lambda device: device.info.supports("rdma"), partial(_transfer, read=True), _of_rdma),
    "rdma.write": (lambda device: device.info.supports("rdma"), partial(_transfer, read=False), _of_rdma),
}
