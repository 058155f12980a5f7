"""The limit of the tasks of a sync event: each kind has as many; the tasks of two kinds are taken."""

from __future__ import annotations

import pydoca
from pydoca.qualify.bench.capabilities.taking import IN_FLIGHT, refuse_more, run, take
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty

_KINDS = ("notify_add", "wait_eq")


def tasks(device: pydoca.Device, most: int) -> None:
    """Reaches max_num_tasks of sync events."""
    for kind in _KINDS:
        if pydoca.SyncEventContext.is_supported(device.info, kind):  # type: ignore[arg-type]
            _tasks_of(device, kind, most)
    refuse_more(most, lambda number: pydoca.SyncEvent(device).as_context(None, number), "tasks of a sync event")


def _tasks_of(device: pydoca.Device, kind: str, most: int) -> None:
    """Has many additions in flight at a time: the values before them show how many there were."""
    with Stand() as stand:
        event = pydoca.SyncEvent(device)
        stand.callback(event.close)
        pe = stand.engine()
        with duty(f"start a sync event with {most} tasks of the kind {kind}"):
            context = stand.enter_context(event.as_context(pe, num_tasks={kind: most}))  # type: ignore[dict-item]
        allocate = getattr(context, kind)
        with Stand() as taken:
            found = take(taken, most, lambda _: allocate(1, submit=False), f"tasks of the kind {kind}")
            if kind == "notify_add":
                run(context, flight := found[:IN_FLIGHT], "additions")
                if sorted(task.result() for task in flight) != list(range(len(flight))):
                    raise DeviceFault(f"{len(flight)} additions at a time: each has another value before it")
