"""Exports and imports of memory and sync events: the properties, permissions and end of both sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.maps import REFUSALS, Copier, is_refused
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.patterns import Bytes, numbers, prbs31, view
from pydoca.qualify.bench.rdma.pair import Pair
from pydoca.qualify.bench.sides import Sides
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, refused, require_value
from pydoca.qualify.bench.zones import require_equal

_LONGEST = 511  # bytes of a description
_SIZES = (1, 64, 4096, 5000)


def maps(sides: Sides) -> int:
    """Exports memory of several lengths over the PCIe link, for reading and for writing; returns how many."""
    for number, size in enumerate(_SIZES):
        for access in ("pci_read_only", "pci_read_write"):
            with Stand() as stand:
                lent = stand.enter_context(sides.host.mmap(pydoca.alloc(size), access=access))
                with refused("an export for a device that the map has not", pydoca.NotFoundError):
                    lent.export_pci(sides.dpu)
                with refused("an export without permission", pydoca.NotPermittedError, pydoca.NotSupportedError):
                    lent.export_rdma()
                imported = _import(stand, lent, lent.export_pci, sides.dpu)
                flags = pydoca.Access.PCI_READ_WRITE | pydoca.Access.PCI_READ_ONLY
                require_value(imported.access & flags, lent.access & flags, "what an import allows")
                _require_access(stand, sides.dpu, lent, imported, number)
    return 2 * len(_SIZES)


def _import(
    stand: Stand, lent: pydoca.Mmap, export: Callable[[], bytes], device: pydoca.Device, token: object = "mine"
) -> pydoca.Mmap:
    """Checks the properties of the owner's and the importer's map; an imported map refuses another configuration."""
    if lent.is_exported:
        raise DeviceFault("a map that was not exported since its start says that it was")
    with duty("export and import memory"):
        blob = export()
        imported = stand.enter_context(device.import_mmap(blob, user_data=token))
    if not lent.is_exported or not 0 < len(blob) <= _LONGEST:
        raise DeviceFault(f"a map was exported by {len(blob)} bytes, and says {lent.is_exported}")
    found: dict[str, object] = {"memory": imported.memory, "devices": imported.devices, "bufs": imported.num_bufs}
    found |= {name: getattr(imported, name) for name in ("addr", "len", "is_started", "is_exported", "is_from_export")}
    expected: dict[str, object] = {"memory": None, "devices": [device], "bufs": 0, "addr": lent.addr, "len": lent.len}
    expected |= {"is_started": True, "is_exported": False, "is_from_export": True, "user data": token}
    require_told("an imported map", {**found, "user data": imported.user_data}, expected)
    calls: dict[str, Callable[[], object]] = {
        "a device for": lambda: imported.add_device(device),
        "the start of": imported.start,
        "an export over PCIe of": imported.export_pci,
        "an export to the network of": imported.export_rdma,
        "permissions for": lambda: imported.set_permissions("local_read_write"),
        "memory for": lambda: imported.set_memrange(bytearray(8)),
    }
    for what, call in calls.items():
        with refused(f"{what} an imported map", pydoca.NotPermittedError, pydoca.NotSupportedError):
            call()
    with pydoca.BufInventory(1) as bufs:
        for addr, size in (
            (imported.addr - 1, 1),
            (imported.addr, imported.len + 1),
            (imported.addr + imported.len, 1),
        ):
            with refused(f"{size} bytes at {addr - lent.addr:+d} of imported memory of {lent.len}", *REFUSALS):
                bufs.get_by_addr(imported, addr, size).close()
    return imported


def _require_access(stand: Stand, device: pydoca.Device, lent: pydoca.Mmap, imported: pydoca.Mmap, number: int) -> None:
    """Checks that the importer reads the memory, and writes it if allowed; a refused write changes nothing."""
    size, copier = min(lent.len, pydoca.Dma.max_buf_size(device.info)), Copier(stand, device)
    here, theirs = stand.enter_context(device.mmap(pydoca.alloc(size))), view(lent.memory)[:size]
    theirs[:] = prbs31(size, number + 1)
    with duty("a copy of imported memory"):
        copier.copy(imported, here, size)
    require_equal(view(here.memory), theirs, "a copy of imported memory")
    may_write = pydoca.Access.PCI_READ_WRITE in lent.access
    expected: Bytes = prbs31(size, number + 7) if may_write else theirs.copy()
    view(here.memory)[:] = prbs31(size, number + 7)
    if is_refused(lambda: copier.copy(here, imported, size)) is may_write:
        raise DeviceFault(f"a write to memory of the other side that allows {lent.access.name}: it did the opposite")
    require_equal(theirs, expected, f"memory of the other side that allows {lent.access.name}")


def several(sides: Sides, count: int) -> int:
    """Many exports at once each lead to their own memory; the next start of a map does not revive an old export.

    Returns how many copies there were.
    """
    with Stand() as stand:
        whole = pydoca.alloc(4096 * count)
        pieces = [view(whole)[4096 * place :][: 64 + place] for place in range(count)]
        with duty(f"{count} exports at once"):
            lent = [stand.enter_context(sides.host.mmap(piece.data, access="pci_read_only")) for piece in pieces]
            blobs = [each.export_pci() for each in lent]
            made = [stand.enter_context(sides.dpu.import_mmap(blob)) for blob in reversed(blobs)][::-1]
        if len({*blobs}) != count:
            raise DeviceFault("two memories of one owner have the same description")
        here, copier = stand.enter_context(sides.dpu.mmap(pydoca.alloc(64 + count))), Copier(stand, sides.dpu)
        for place in range(count):
            pieces[place][:] = prbs31(64 + place, place + 1)
        for place in range(count):
            with duty(f"a copy of export {place} of {count}"):
                copier.copy(made[place], here, 64 + place)
            require_equal(view(here.memory)[: 64 + place], pieces[place], f"a copy of export {place} of {count}")
        with duty("a map that stops, and starts again"):
            lent[0].stop()
            lent[0].start()
        if lent[0].is_exported:
            raise DeviceFault("a map that has started again says that it was exported since")
        view(here.memory)[:] = 0
        with refused("a copy of an export before the last start of its map", *REFUSALS):
            copier.copy(made[0], here, 64)
        with refused("an import of an export before the last start of its map", pydoca.NotConnectedError):
            sides.dpu.import_mmap(blobs[0])
        if view(here.memory).any():
            raise DeviceFault("data of memory that its owner had withdrawn has arrived")
    return count


def events(sides: Sides) -> int:
    """Events between the two sides, each way: their properties, refusals, and their owner's end; returns how many."""
    for owner, user in ((sides.host, sides.dpu), (sides.dpu, sides.host)):
        can = pydoca.SyncEvent.is_export_to_remote_pci_supported(owner.info)
        if can and pydoca.SyncEvent.is_create_from_export_supported(user.info):
            with Stand() as stand:
                _refused_exports(stand, owner, user)
                own = pydoca.SyncEvent(owner, publisher="remote_pci", subscriber="cpu")
                stand.callback(own.close)
                with refused("an export of an event that is not started", pydoca.InvalidValueError):
                    own.export_to_remote_pci()
                with duty("export and import a sync event"):
                    own.start()
                    blob, other = own.export_to_remote_pci(), pydoca.SyncEvent(owner, publisher="remote_pci")
                    stand.enter_context(other)
                    far = user.import_sync_event(other.export_to_remote_pci())
                    there = user.import_sync_event(blob)
                for each in (far, there):
                    stand.callback(each.close)
                _one_import(own, there, user, len(blob))
                _operations(stand, own, there, user.import_sync_event(blob))
                with duty("another event"):
                    far.start()
                    require_value(other.get(), 0, "an event beside another one that was set")
                _owner_ends(own, there, user, blob)
                with duty("an event beside another one that has ended"):
                    require_value(far.update_add(3), 0, "the value of an event beside another one")
                    require_value(other.get(), 3, "an event beside another one that has ended")
    return 2


def _refused_exports(stand: Stand, owner: pydoca.Device, user: pydoca.Device) -> None:
    with duty("an event of one side"):
        local = stand.enter_context(pydoca.SyncEvent(owner))
        remote = stand.enter_context(pydoca.SyncEvent(owner, publisher="cpu", subscriber="remote_pci"))
    calls: dict[str, Callable[[], object]] = {
        "an event without a remote location": local.export_to_remote_pci,
        "an event for another device than its own": lambda: remote.export_to_remote_pci(user),
        "an event for the network that is for the other side": remote.export_to_remote_net,
    }
    for what, call in calls.items():
        with refused(f"an export of {what}", pydoca.InvalidValueError, pydoca.NotSupportedError):
            call()
    with duty("an export that names its own device"):
        remote.export_to_remote_pci(owner)


def _one_import(own: pydoca.SyncEvent, there: pydoca.SyncEvent, user: pydoca.Device, length: int) -> None:
    nowhere = pydoca.SyncEventLocation.NONE
    found = {"publisher": there.publisher, "subscriber": there.subscriber, "device": there.device}
    found |= {"started": there.is_started, "from export": there.is_from_export, "owner's": own.is_from_export}
    expected: dict[str, object] = {"publisher": nowhere, "subscriber": nowhere, "device": user, "started": False}
    require_told("an imported event", found, {**expected, "from export": True, "owner's": False})
    if not 0 < length <= _LONGEST:
        raise DeviceFault(f"the description of an event has {length} bytes")
    with refused("a read of an imported event that is not started", pydoca.BadStateError):
        there.get()
    with duty("start an imported event"):
        there.start()
    with refused("an export of an imported event", pydoca.InvalidValueError):
        there.export_to_remote_pci()
    with refused("a second start of an imported event", pydoca.InvalidValueError, pydoca.BadStateError):
        there.start()


def _operations(stand: Stand, own: pydoca.SyncEvent, there: pydoca.SyncEvent, tasks: pydoca.SyncEvent) -> None:
    """Checks that the owner, the importer, and tasks of a second import see the same value."""
    stand.callback(tasks.close)
    with Stand() as running, duty("an event of the other side"):
        context = running.enter_context(tasks.as_context(running.engine(), 1))
        with refused("a start of an event that is a context", pydoca.BadStateError):
            tasks.start()
        for number in numbers()[::17]:
            own.update_set(number)
            require_value(there.get(), number, "the value at the importer")
            require_value(_done(context.get()), number, "the value in a task at the importer")
            require_value(_done(context.notify_add(1)), number, "the value before an addition of a task")
            require_value(there.update_add(1), (number + 1) % 2**64, "the value before an addition of the importer")
            there.wait_eq((number + 2) % 2**64, timeout=waiting.PATIENCE)
            own.wait_eq_yield((number + 2) % 2**64, timeout=waiting.PATIENCE)
            _done(context.notify_set(number ^ 1))
            require_value(own.get(), number ^ 1, "the value that a task at the importer has set")
        with refused("a wait of the importer for what does not come", pydoca.TimeOutError):
            there.wait_gt(2**64 - 1, timeout=0.001)
        with refused("a synchronous read of an event with tasks", pydoca.BadStateError):
            tasks.get()


def _done(task: pydoca.SyncEventTask) -> Any:
    value = finish(task, "a task of an imported event")
    task.free()
    return value


def _owner_ends(own: pydoca.SyncEvent, there: pydoca.SyncEvent, user: pydoca.Device, blob: bytes) -> None:
    """Checks that every operation of the importer reports the owner's end, and does not wait."""
    with duty("the stop of an exported event"):
        own.stop()
    calls: dict[str, Callable[[], object]] = {
        "a read": there.get,
        "a set": lambda: there.update_set(1),
        "an addition": lambda: there.update_add(1),
        "a wait": lambda: there.wait_neq(0, timeout=waiting.PATIENCE),
        "a wait that yields": lambda: there.wait_gt_yield(2**64 - 1, timeout=waiting.PATIENCE),
        "an import": lambda: user.import_sync_event(blob),
    }
    for what, call in calls.items():
        with refused(f"{what} of an event whose owner has stopped it", pydoca.NotConnectedError):
            call()
    with refused("an export of an event that was stopped", pydoca.InvalidValueError):
        own.export_to_remote_pci()
    if own.is_started or own.closed or there.closed:
        raise DeviceFault("an event that was stopped says that it is started, or closed")


def network(device: pydoca.Device) -> int:
    """Memory and an event for peers of the network: their properties and their end; returns how many."""
    with Stand() as stand:
        pair = Pair(stand, device, device, 64, access="local_read_write|rdma_write", num_tasks=4)
        lent = stand.enter_context(device.mmap(pydoca.alloc(100), access="local_read_write|rdma_read|rdma_write"))
        with refused("an export without permission", pydoca.NotPermittedError, pydoca.NotSupportedError):
            lent.export_pci()
        imported = _import(stand, lent, lent.export_rdma, device)
        flags = pydoca.Access.RDMA_READ | pydoca.Access.RDMA_WRITE | pydoca.Access.RDMA_ATOMIC
        require_value(imported.access & flags, lent.access & flags, "what an import allows")
        blob, theirs = lent.export_rdma(), view(lent.memory)
        pair.here.data(0, 64)[:] = prbs31(64, 3)
        write = [pair.data(pair.here.mmap, pair.here.address(0), 64), pair.room(imported, imported.addr + 36, 64)]
        with duty("a write to memory of a peer"):
            pair.ab.write(*write).wait(waiting.PATIENCE)
        require_equal(theirs[36:], pair.here.data(0, 64), "memory of a peer that was written up to its end")
        if theirs[:36].any():
            raise DeviceFault("a write to the end of memory of a peer has changed its begin")
        theirs[:] = 9
        with duty("withdraw memory of a peer"):
            lent.stop()
        if device.info.backend == "sim":  # only the simulator can ask the owner of a description
            for call in (lent.stop, lent.start):
                call()
                with refused("an import of memory that its owner withdrew", pydoca.NotConnectedError):
                    device.import_mmap(blob)
        write[1].reset_data_len()
        with refused("a write to memory that its owner withdrew", *REFUSALS):
            pair.ab.write(*write).wait(waiting.PATIENCE)
        if (theirs != 9).any():
            raise DeviceFault("a peer has written memory that its owner had withdrawn")
    return 1


def network_events(device: pydoca.Device) -> int:
    """Checks an event for peers of the network; returns how many."""
    with Stand() as stand:
        own = pydoca.SyncEvent(device, publisher="remote_net", subscriber="cpu")
        stand.callback(own.close)
        with refused("an export of an event that is not started", pydoca.InvalidValueError):
            own.export_to_remote_net()
        with duty("export and import an event for the network"):
            own.start()
            blob = own.export_to_remote_net()
            there = device.import_sync_event_remote_net(blob)
        if there.device != device or there.closed or not 0 < len(blob) <= _LONGEST:
            raise DeviceFault(f"an imported event tells {there.device} and {there.closed}; it has {len(blob)} bytes")
        there.close()
        there.close()
        if not there.closed or not own.is_started:
            raise DeviceFault("the end of an imported event has not ended it, or has ended its owner's")
        with refused("an event for the network as one of the other side", *REFUSALS, pydoca.NotSupportedError):
            device.import_sync_event(blob)
        with duty("stop an event for the network"):
            own.stop()
        if device.info.backend == "sim":  # only the simulator can ask the owner of a description
            with refused("an import of an event whose owner has stopped it", pydoca.NotConnectedError):
                device.import_sync_event_remote_net(blob)
    return 1
