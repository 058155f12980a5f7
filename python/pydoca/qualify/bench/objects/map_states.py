"""Memory maps: repeatedly configured, started, exported and stopped; their devices, and their thread safety."""

from __future__ import annotations

import contextlib
from typing import Any

import pydoca
from pydoca.qualify.bench.maps import REFUSALS, Copier
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.patterns import Bytes, prbs31, view
from pydoca.qualify.bench.sides import Sides
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused
from pydoca.qualify.bench.zones import require_equal

_SIZE = 4096
_WRITABLE = pydoca.Access.LOCAL_READ_WRITE
_READ_ONLY = pydoca.Access.LOCAL_READ_ONLY


def states(device: pydoca.Device, cycles: int) -> int:
    """A map starts and stops with other permissions each time; returns how often."""
    memory, token, released = pydoca.alloc(_SIZE), object(), list[object]()
    with Stand() as stand:
        spare = stand.enter_context(device.mmap(pydoca.alloc(_SIZE)))
        copier = Copier(stand, device)
        with duty("a memory map"):
            mmap = pydoca.Mmap(memory, devices=[device], user_data=token, free_callback=released.append)
        stand.callback(mmap.close)
        for number in range(cycles):
            access = _READ_ONLY if number % 3 == 2 else _WRITABLE
            _one_start(mmap, spare, copier, access, token, number)
        mmap.close()
        if len(released) != 1 or released[0] is not memory:
            raise DeviceFault(f"the end of a map has given {released} to its callback, and not its memory")
    return cycles


def _one_start(
    mmap: pydoca.Mmap, spare: pydoca.Mmap, copier: Copier, access: pydoca.Access, token: object, number: int
) -> None:
    what = f"start {number} of a map, for {access.name}"
    with duty(what):
        mmap.set_permissions(access)
        mmap.start()
    told: dict[str, object] = {
        "is_started": mmap.is_started,
        "access": mmap.access,
        "len": mmap.len,
        "addr": mmap.addr,
        "user_data": mmap.user_data,
        "devices": mmap.devices,
        "num_bufs": mmap.num_bufs,
        "is_from_export": mmap.is_from_export,
    }
    address = view(mmap.memory).ctypes.data
    expected = {"is_started": True, "access": access, "len": _SIZE, "addr": address, "user_data": token}
    require_told(what, told, {**expected, "devices": [copier.device], "num_bufs": 0, "is_from_export": False})
    with refused(f"{what}: a second start", pydoca.NotPermittedError, pydoca.BadStateError):
        mmap.start()
    _copy_both_ways(mmap, spare, copier, access, number, what)
    with pydoca.BufInventory(1) as inventory, inventory.get_by_addr(mmap):
        if mmap.num_bufs != 1:
            raise DeviceFault(f"{what}: one buf points into it, and it tells {mmap.num_bufs}")
        with refused(f"{what}: stop it while a buf points into it", pydoca.NotPermittedError, pydoca.InUseError):
            mmap.stop()
    with duty(f"{what}, and its stop"):
        mmap.stop()
    if mmap.is_started:
        raise DeviceFault(f"{what}: it has stopped, and says that it is started")


def _copy_both_ways(
    mmap: pydoca.Mmap, spare: pydoca.Mmap, copier: Copier, access: pydoca.Access, number: int, what: str
) -> None:
    own, other = view(mmap.memory), view(spare.memory)
    own[:] = prbs31(_SIZE, 2 * number + 1)
    with duty(what):
        copier.copy(mmap, spare, _SIZE)
    require_equal(other, own, f"{what}: a copy from it")
    other[:] = prbs31(_SIZE, 2 * number + 2)
    if access is _READ_ONLY:
        with refused(f"{what}: a copy to it", *REFUSALS):
            copier.copy(spare, mmap, _SIZE)
        return
    with duty(what):
        copier.copy(spare, mmap, _SIZE)
    require_equal(own, other, f"{what}: a copy to it")


def exports(sides: Sides, cycles: int) -> int:
    """A map is exported after each start: the new description leads to it, and the previous one no longer does."""
    memory, into, before = pydoca.alloc(_SIZE), pydoca.alloc(_SIZE), b""
    with Stand() as stand:
        here, copier = stand.enter_context(sides.dpu.mmap(into)), Copier(stand, sides.dpu)
        with duty("a memory map of the host"):
            lent = stand.enter_context(pydoca.Mmap(memory, devices=[sides.host], access="pci_read_only"))
        for number in range(cycles):
            what = f"export {number} of a map"
            with duty(what):
                lent.start() if not lent.is_started else None
                blob = lent.export_pci()
            if not lent.is_exported:
                raise DeviceFault(f"{what}: it says that it was not exported")
            if before:
                with refused(f"{what}: the description before it", *REFUSALS, pydoca.NotFoundError):
                    sides.dpu.import_mmap(before)
            view(memory)[:] = prbs31(_SIZE, number + 1)
            with duty(what), sides.dpu.import_mmap(blob) as imported:
                require_told(what, {"len": imported.len, "far": imported.is_from_export}, {"len": _SIZE, "far": True})
                copier.copy(imported, here, _SIZE)
            require_equal(view(into), view(memory), f"{what}: a copy of the other side")
            with duty(what):
                lent.stop()
            before = blob
    return cycles


def part_of_a_page(sides: Sides) -> int:
    """Exports memory with any begin and length: imports have each byte at its place; returns how many."""
    memory, into = pydoca.alloc(4 * _SIZE), pydoca.alloc(4 * _SIZE)
    whole: Bytes = view(memory)
    whole[:] = prbs31(4 * _SIZE, 9)
    places = [(0, 64), (1, 100), (8, 4096), (4095, 2), (100, 8000), (4096, 4096), (5000, 3000), (63, 65)]
    with Stand() as stand:
        here, copier = stand.enter_context(sides.dpu.mmap(into)), Copier(stand, sides.dpu)
        for begin, size in places:
            what = f"memory of {size} bytes that begins {begin} bytes behind a page"
            part = whole[begin : begin + size]
            with (
                duty(what),
                sides.host.mmap(part.data, access="local_read_write|pci_read_write") as lent,
                sides.dpu.import_mmap(lent.export_pci()) as imported,
            ):
                copier.copy(imported, here, size)
                require_equal(view(into)[:size], part, f"a copy from {what}")
                before = whole.copy()
                view(into)[:size] = before[begin : begin + size] = prbs31(size, begin + size)
                copier.copy(here, imported, size)
                require_equal(whole, before, f"a copy to {what}")
    return len(places)


def shared(device: pydoca.Device, other: pydoca.Device) -> None:
    """A device is added, added twice and removed; both devices reach a map that has both."""
    memory, into = pydoca.alloc(_SIZE), pydoca.alloc(_SIZE)
    with Stand() as stand:
        with duty("a memory map of two devices"):
            mmap = pydoca.Mmap(memory, devices=[device], max_num_devices=2)
            stand.callback(mmap.close)
            mmap.add_device(other)
        with refused("a device that a map has", pydoca.AlreadyExistError):
            mmap.add_device(other)
        with duty("a memory map of two devices"):
            mmap.start()
        if mmap.devices != [device, other]:
            raise DeviceFault(f"a map of two devices has {mmap.devices}")
        for number, each in enumerate((device, other)):
            copier, here = Copier(stand, each), stand.enter_context(each.mmap(into))
            view(memory)[:] = prbs31(_SIZE, number + 1)
            with duty(f"copies by {each.name}"):
                copier.copy(mmap, here, _SIZE)
                require_equal(view(into), view(memory), f"a copy from a map of two devices by {each.name}")
                view(into)[:] = prbs31(_SIZE, number + 11)
                copier.copy(here, mmap, _SIZE)
            require_equal(view(memory), view(into), f"a copy to a map of two devices by {each.name}")
        with duty("a map that loses a device"):
            mmap.stop()
            mmap.remove_device(other)
            mmap.start()
        lone: Any = Copier(stand, other)
        with refused("a copy by a device that a map has lost", *REFUSALS), contextlib.ExitStack() as maps:
            lone.copy(mmap, maps.enter_context(other.mmap(into)), _SIZE)


def thread_safe(device: pydoca.Device) -> None:
    """A map with thread safety closes while a buf is out, and releases its memory when both are gone."""
    released: list[object] = []
    with Stand() as stand, duty("a map with thread safety"):
        mmap = pydoca.Mmap(pydoca.alloc(_SIZE), devices=[device], thread_safety=True, free_callback=released.append)
        mmap.start()
        buf = stand.bufs(1).get_by_data(mmap)
        mmap.close()
        if released:
            raise DeviceFault("a map whose buf is out has released its memory")
        buf.dec_refcount()
        del mmap, buf
        if len(released) != 1:
            raise DeviceFault(f"a map without bufs that was closed has released its memory {len(released)} times")
