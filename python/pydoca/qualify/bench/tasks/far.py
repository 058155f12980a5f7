"""Data at both ends of large memory maps, for each library: a device that cuts addresses meets other data."""

from __future__ import annotations

import hashlib

import pydoca
from pydoca.qualify.bench.maps import Copier
from pydoca.qualify.bench.patterns import Bytes, prbs31, view
from pydoca.qualify.bench.rdma.pair import Pair
from pydoca.qualify.bench.sides import both_sides, has_link
from pydoca.qualify.bench.waiting import Stand, duty, finish
from pydoca.qualify.bench.zones import require_equal

_PIECE = 4096


def check(device: pydoca.Device, size: int) -> int:
    """Runs copies, digests and transfers between places of a map of size bytes; returns how many there were."""
    count = 0
    if device.info.supports("dma"):
        count += _copies(device, size)
    if device.info.supports("sha"):
        count += _digests(device, size)
    if device.info.supports("rdma"):
        count += _transfers(device, size)
    return count


def _places(size: int) -> list[int]:
    """Places in a map: the beginning, each power of two behind it, and the end."""
    powers = [1 << power for power in range(13, size.bit_length()) if (1 << power) + _PIECE < size - _PIECE]
    return [0, *powers, size - _PIECE]


def _stamp(array: Bytes) -> None:
    """Writes different data to each place."""
    for number, place in enumerate(_places(len(array))):
        array[place : place + _PIECE] = prbs31(_PIECE, number + 1)


def _copies(device: pydoca.Device, size: int) -> int:
    with Stand() as stand:
        far, near = stand.enter_context(pydoca.alloc(size)), stand.enter_context(pydoca.alloc(_PIECE))
        _stamp(view(far))
        maps = [stand.enter_context(device.mmap(each)) for each in (far, near)]
        _between(stand, device, maps[0], maps[1], view(far), view(near))
        if has_link(device):
            _across(stand, device, size)
    return 2 * len(_places(size))


def _between(
    stand: Stand, device: pydoca.Device, far: pydoca.Mmap, near: pydoca.Mmap, large: Bytes, small: Bytes
) -> None:
    """Copies from each place and to each place."""
    copier = Copier(stand, device)
    for place in _places(len(large)):
        what = f"4,096 bytes at {place:#x} of a map of {len(large):#x}"
        with duty(f"copy {what}"):
            copier.copy(far, near, _PIECE, from_=place)
        require_equal(small, large[place : place + _PIECE], f"a copy from {what}")
    for number, place in enumerate(_places(len(large))):
        what = f"4,096 bytes at {place:#x} of a map of {len(large):#x}"
        before = {each: large[each : each + _PIECE].copy() for each in _places(len(large)) if each != place}
        small[:] = prbs31(_PIECE, 1000 + number)
        with duty(f"copy to {what}"):
            copier.copy(near, far, _PIECE, to=place)
        require_equal(large[place : place + _PIECE], small, f"a copy to {what}")
        for each, data in before.items():
            require_equal(large[each : each + _PIECE], data, f"data at {each:#x} after a copy to {what}")


def _across(stand: Stand, device: pydoca.Device, size: int) -> None:
    sides = stand.enter_context(both_sides(device))
    far, near = stand.enter_context(pydoca.alloc(size)), stand.enter_context(pydoca.alloc(_PIECE))
    _stamp(view(far))
    lent = stand.enter_context(sides.host.mmap(far, access="local_read_write|pci_read_write"))
    with duty("import memory of the other side"):
        imported = stand.enter_context(sides.dpu.import_mmap(lent.export_pci()))
    here = stand.enter_context(sides.dpu.mmap(near))
    _between(stand, sides.dpu, imported, here, view(far), view(near))


def _digests(device: pydoca.Device, size: int) -> int:
    with Stand() as stand:
        far, digest = stand.enter_context(pydoca.alloc(size)), stand.enter_context(pydoca.alloc(32))
        _stamp(view(far))
        large, small = (stand.enter_context(device.mmap(each)) for each in (far, digest))
        pe, inventory = stand.engine(), stand.bufs(2)
        with duty("start the SHA engine"):
            sha = stand.enter_context(pydoca.Sha(pe, device, num_tasks=1))
        for place in _places(size):
            what = f"a digest of 4,096 bytes at {place:#x} of a map of {size:#x}"
            with (
                inventory.get_by_data(large, large.addr + place, _PIECE) as src,
                inventory.get_by_addr(small) as dst,
                duty(what),
            ):
                task = sha.hash(src, dst, "sha256")
                finish(task, what)
                task.free()
            expected = hashlib.sha256(view(far)[place : place + _PIECE].tobytes()).digest()
            require_equal(view(digest), view(expected), what)
    return len(_places(size))


def _transfers(device: pydoca.Device, size: int) -> int:
    with Stand() as stand:
        pair = Pair(stand, device, device, size)
        here, theirs = (zoned.data(0, size) for zoned in (pair.here, pair.theirs))
        _stamp(here)
        places = _places(size)
        for place, there in zip(places, places[::-1], strict=True):
            what = f"4,096 bytes at {place:#x} to {there:#x} of the peer"
            with duty(f"write {what}"):
                src = pair.data(pair.here.mmap, pair.here.address(place), _PIECE)
                task = pair.ab.write(src, pair.room(pair.there, pair.theirs.address(there), _PIECE))
            finish(task, f"write {what}")
            task.free()
            require_equal(theirs[there : there + _PIECE], here[place : place + _PIECE], f"a write of {what}")
            pair.bufs.close()
        for place, there in zip(places, places[::-1], strict=True):
            require_equal(
                theirs[there : there + _PIECE], here[place : place + _PIECE], f"data at {there:#x} of the peer"
            )
    return len(places)
