"""Sync events: the place of their value, their properties, and the end of their waits."""

from __future__ import annotations

import asyncio

import numpy as np

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.events import with_tasks
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.patterns import numbers, view
from pydoca.qualify.bench.rdma.pair import ACCESS
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, refused, require_value


def in_memory(device: pydoca.Device) -> None:
    """Events in memory of the program or of a buf begin with the value there, and write their value there."""
    for value in numbers()[::9]:
        memory = pydoca.alloc(64)
        word = view(memory)[8:16].view(np.uint64)
        word[0] = value
        with duty(f"an event in memory that has {value:#x}"), Stand() as stand:
            if value % 2:
                event = pydoca.SyncEvent(device, memory=memoryview(memory)[8:16])
            else:
                mmap = stand.enter_context(device.mmap(memory, access=ACCESS))
                buf = stand.bufs(1).get_by_args(mmap, mmap.addr, 16, mmap.addr + 8, 8)  # the buf has headroom
                event = pydoca.SyncEvent(device, buf=stand.keep(buf))
            stand.enter_context(event)
            require_value(event.get(), value, "the first value of an event in memory of the program")
            event.update_set(value ^ 0xFF00FF)
            require_value(int(word[0]), value ^ 0xFF00FF, "memory of the program after its event was set")
            event.update_add(1)
            require_value(int(word[0]), ((value ^ 0xFF00FF) + 1) % 2**64, "memory of the program after an addition")


def told(device: pydoca.Device) -> None:
    """The locations, the states, and the end of an event."""
    with duty("a sync event"):
        event = pydoca.SyncEvent(device)
        cpu = pydoca.SyncEventLocation.CPU
        found: dict[str, object] = {"publisher": event.publisher, "subscriber": event.subscriber}
        found |= {"device": event.device, "started": event.is_started, "closed": event.closed}
        expected: dict[str, object] = {"publisher": cpu, "subscriber": cpu, "device": device}
        require_told("a sync event", found, {**expected, "started": False, "closed": False})
        event.start()
        event.update_set(7)
    if not event.is_started:
        raise DeviceFault("a sync event was started, and says that it was not")
    with refused("a second start of an event", pydoca.InvalidValueError, pydoca.BadStateError):
        event.start()
    with duty("the stop of a sync event"):
        event.stop()
    with refused("a read of an event that was stopped", pydoca.BadStateError):
        event.get()
    event.close()
    if not event.closed:
        raise DeviceFault("a sync event was closed, and says that it was not")


def operands(device: pydoca.Device) -> None:
    """Waits compare unsigned numbers, and tasks have their operation and operand; a cancelled wait ends."""
    high = 1 << 63
    with duty("comparisons of large numbers"), pydoca.SyncEvent(device) as event:
        event.update_set(high)
        event.wait_gt(5, timeout=waiting.PATIENCE)
        event.wait_gt_yield(high - 1, timeout=waiting.PATIENCE)
        event.update_set(5)
        for wait in (event.wait_gt, event.wait_gt_yield):
            for operand in (high, 2**64 - 1, 5):
                with refused(f"a wait for more than {operand:#x} while the value is 5", pydoca.TimeOutError):
                    wait(operand, timeout=0)
    with Stand() as stand:
        pe, context = with_tasks(stand, device, 4)
        with duty("tasks of a sync event"):
            if pydoca.SyncEventContext.is_supported(device.info, "wait_gt"):
                _wait_tasks(pe, context)
            finish(context.notify_set(high), "setting a large number")
        value = asyncio.run(context.poll_until(lambda value: value >= high))
        require_value(value, high, "what poll_until() gives")


def _wait_tasks(pe: pydoca.ProgressEngine, context: pydoca.SyncEventContext) -> None:
    finish(context.notify_set(200), "setting 200")
    require_value(finish(context.wait_gt(5), "a wait"), 200, "the value that ended a wait for more than 5")
    waits = context.wait_gt(200, 0xFF)
    found: dict[str, object] = {"operation": waits.operation, "operand": waits.operand, "mask": waits.mask}
    require_told("a wait task", found, {"operation": "wait_gt", "operand": 200, "mask": 0xFF})
    pe.drain(100)
    if waits.done:
        raise DeviceFault("a wait for more than the value has ended")
    waits.cancel()
    with refused("a wait that was cancelled", pydoca.ShutdownError):
        waits.wait(timeout=waiting.PATIENCE)
    waits.free()
