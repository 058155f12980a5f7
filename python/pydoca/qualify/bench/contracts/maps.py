"""Promises of memory and its maps: their initial properties, refusals, and the independence of maps."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pydoca
from pydoca.qualify.bench.maps import REFUSALS, Copier
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.patterns import prbs31, view
from pydoca.qualify.bench.waiting import PATIENCE, DeviceFault, Stand, duty, refused, require_value
from pydoca.qualify.bench.zones import require_equal

_SIZE = 4096
_THREADS = 4


def memory(device: pydoca.Device) -> None:
    """New memory begins with a page, holds zeros, and outlives its object while a map has it."""
    for size in (1, _SIZE - 1, _SIZE, _SIZE + 1, 5 * _SIZE):
        with duty(f"{size} bytes"), pydoca.alloc(size) as taken:
            array = view(taken)
            if len(taken) != size or taken.addr % 4096 or taken.addr != array.ctypes.data or array.any():
                raise DeviceFault(f"memory of {size} bytes is not of that size, or not at a page, or not empty")
            array[:] = 0xFF  # the next memory must not have these bytes
    for size in (0, -1):
        with refused(f"memory of {size} bytes", pydoca.InvalidValueError):
            pydoca.alloc(size)
    with Stand() as stand, duty("a copy of memory whose object is closed"):
        taken, into = pydoca.alloc(_SIZE), pydoca.alloc(_SIZE)
        view(taken)[:] = data = prbs31(_SIZE, 5)
        source, target = (stand.enter_context(device.mmap(each)) for each in (taken, into))
        taken.close()
        taken.close()
        Copier(stand, device).copy(source, target, _SIZE)
        require_equal(view(into), data, "a copy of memory whose object is closed")


def _told(mmap: pydoca.Mmap) -> dict[str, object]:
    found: dict[str, object] = {"addr": mmap.addr, "len": mmap.len, "access": mmap.access, "bufs": mmap.num_bufs}
    found |= {"started": mmap.is_started, "exported": mmap.is_exported, "imported": mmap.is_from_export}
    return found | {"devices": mmap.devices, "most": mmap.max_num_devices, "safe": mmap.is_thread_safe}


def _require_refusals(
    mmap: pydoca.Mmap, state: str, calls: list[tuple[type[pydoca.DocaError], Callable[[], object]]]
) -> None:
    before = _told(mmap)
    for number, (error, call) in enumerate(calls):
        with refused(f"call {number} of a map that is {state}", error):
            call()
        require_told(f"a map that is {state}, after call {number} was refused,", _told(mmap), before)


def configured(device: pydoca.Device) -> None:
    """A map has its defaults, takes its settings in any order while it is stopped, and keeps them at a refusal."""
    taken = pydoca.alloc(_SIZE)
    with Stand() as stand:
        mmap = pydoca.Mmap()
        stand.callback(mmap.close)
        new: dict[str, object] = {"addr": 0, "len": 0, "access": pydoca.Access.LOCAL_READ_WRITE, "bufs": 0}
        new |= {"started": False, "exported": False, "imported": False, "devices": [], "most": 8, "safe": False}
        require_told("a new map", _told(mmap), new)
        invalid = pydoca.InvalidValueError
        _require_refusals(mmap, "empty", [(invalid, mmap.start), (invalid, lambda: mmap.set_memrange(b""))])
        with duty("a map that gets its range first"):
            mmap.set_memrange(taken)
            _require_refusals(mmap, "without device", [(invalid, mmap.start)])
            mmap.add_device(device)
            mmap.max_num_devices = 512
            mmap.max_num_devices = 1
        calls: list[tuple[type[pydoca.DocaError], Callable[[], object]]] = [
            (pydoca.NotPermittedError, lambda: mmap.set_memrange(bytearray(64))),
            (pydoca.AlreadyExistError, lambda: mmap.add_device(device)),
            (invalid, lambda: mmap.set_permissions("pci_read_only|pci_read_write")),
            (invalid, lambda: setattr(mmap, "max_num_devices", 0)),
            (invalid, lambda: setattr(mmap, "max_num_devices", 513)),
            (pydoca.NotPermittedError, mmap.export_pci),
        ]
        _require_refusals(mmap, "configured", calls)
        with duty("a map that loses its device and gets it again"):
            mmap.remove_device(device)
        _require_refusals(mmap, "without device", [(pydoca.NotFoundError, lambda: mmap.remove_device(device))])
        with duty("a map that is configured"):
            mmap.add_device(device)
            mmap.start()
        _started(mmap, device)


def read_only(device: pydoca.Device) -> None:
    """A map of memory that the program may not write cannot be written either."""
    fixed = pydoca.Mmap(bytes(64), devices=[device])
    with refused("writes of memory that is read-only", pydoca.InvalidValueError):
        fixed.set_permissions("local_read_write")
    require_told("read-only memory", {"access": fixed.access}, {"access": pydoca.Access.LOCAL_READ_ONLY})
    fixed.close()


def _started(mmap: pydoca.Mmap, device: pydoca.Device) -> None:
    bad, not_permitted = pydoca.BadStateError, pydoca.NotPermittedError
    calls: list[tuple[type[pydoca.DocaError], Callable[[], object]]] = [
        (bad, lambda: setattr(mmap, "user_data", 6)),
        (bad, lambda: setattr(mmap, "free_callback", print)),
        (bad, lambda: mmap.set_permissions("local_read_only")),
        (not_permitted, lambda: setattr(mmap, "max_num_devices", 3)),
        (not_permitted, mmap.enable_thread_safety),
        (not_permitted, lambda: mmap.remove_device(device)),
    ]
    _require_refusals(mmap, "started", calls)
    if mmap.user_data is not None or mmap.free_callback is not None:
        raise DeviceFault("a map that is started has taken user data or a callback that it refused")
    for _ in range(2):
        mmap.stop()
    again: tuple[type[pydoca.DocaError], Callable[[], object]]
    again = not_permitted, lambda: setattr(mmap, "max_num_devices", 3)
    _require_refusals(mmap, "stopped after a start", [again])
    for _ in range(2):
        mmap.close()
    with refused("the start of a map that is closed", bad):
        mmap.start()


def overlapping(device: pydoca.Device) -> None:
    """Maps of the same bytes have separate permissions, ranges and ends."""
    array = view(taken := pydoca.alloc(2 * _SIZE))
    with Stand() as stand:
        with duty("maps of the same memory"):
            spare = stand.enter_context(device.mmap(view(pydoca.alloc(_SIZE)).data))
            writable = stand.enter_context(device.mmap(taken))
            fixed = stand.enter_context(device.mmap(taken, access="local_read_only"))
            part = stand.enter_context(device.mmap(array[100 : 100 + _SIZE].data))
        copier, inventory = Copier(stand, device), stand.bufs(1)
        for number, mmap in enumerate((writable, part, writable)):
            view(spare)[:] = prbs31(_SIZE, number + 1)
            before = array.copy()
            before[mmap.addr - writable.addr :][:_SIZE] = view(spare)
            with duty("a copy to one of several maps of the same memory"):
                copier.copy(spare, mmap, _SIZE)
            require_equal(array, before, "memory with several maps")
            with refused("a copy to a read-only map of memory that another one lets be written", *REFUSALS):
                copier.copy(spare, fixed, 64)
            for addr, size in ((part.addr - 1, 1), (part.addr + _SIZE, 1), (part.addr, _SIZE + 1)):
                with refused("a buf of another map's bytes", pydoca.InvalidValueError):
                    inventory.get_by_addr(part, addr, size)
            require_equal(array, before, "memory with several maps, after refusals")
        part.close()
        with duty("a copy by one map after the end of another one"):
            copier.copy(writable, spare, _SIZE, from_=100)
        require_equal(view(spare), array[100 : 100 + _SIZE], "a copy by one map after the end of another one")


def released(device: pydoca.Device) -> None:
    """The callback of a map's end comes once, and never for a map that did not start."""
    given: list[object] = []
    with duty("the ends of maps"):
        pydoca.Mmap(bytearray(64), devices=[device], free_callback=given.append).close()
        mmap = pydoca.Mmap(memory := bytearray(64), devices=[device], free_callback=given.append)
        for _ in range(3):
            mmap.start()
            mmap.stop()
        if given:
            raise DeviceFault("a map that was stopped, or never started, has given its memory to its callback")
        mmap.close()
        mmap.close()
        del mmap
    if len(given) != 1 or given[0] is not memory:
        raise DeviceFault(f"the end of a map has called its callback {len(given)} times, or with other memory")


def in_threads(device: pydoca.Device, rounds: int) -> None:
    """Threads take bufs of one map, each from its own inventory, and all are counted."""
    wrong: list[object] = []
    with duty("a map of several threads"), Stand() as stand:
        mmap = stand.enter_context(pydoca.Mmap(pydoca.alloc(_SIZE), devices=[device], thread_safety=True))
        all_there = threading.Barrier(_THREADS, timeout=PATIENCE)
        threads = [threading.Thread(target=_take, args=(mmap, rounds, all_there, wrong)) for _ in range(_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if wrong:
            raise DeviceFault(f"{_THREADS} threads that take two bufs each of one map: {wrong}")
        require_value(mmap.num_bufs, 0, "the bufs of a map whose threads have ended")


def _take(mmap: pydoca.Mmap, rounds: int, all_there: threading.Barrier, wrong: list[object]) -> None:
    try:
        with pydoca.BufInventory(2) as inventory:
            for _ in range(rounds):
                inventory.get_by_addr(mmap).close()
            with inventory.get_by_addr(mmap), inventory.get_by_addr(mmap):
                all_there.wait()
                wrong.extend(count for count in [mmap.num_bufs] if count != 2 * _THREADS)
                all_there.wait()
    except Exception as error:
        wrong.append(error)
        all_there.abort()
