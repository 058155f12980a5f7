"""A context that stops while its tasks wait for a peer or for a value: each ends once, with an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pydoca
from pydoca import comch
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.events import with_tasks
from pydoca.qualify.bench.rdma.pair import Pair
from pydoca.qualify.bench.sides import both_sides, fresh_name, has_link
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty

_COUNT = 16
_QUEUE = 4  # messages that a reader takes without reading


class Waiting(NamedTuple):
    """A context, and its tasks that nothing ends."""

    context: pydoca.Context
    tasks: list[pydoca.Task]
    starts_again: bool


class Calls:
    """The arguments of a context's callbacks."""

    def __init__(self) -> None:
        self.completed: list[int] = []
        self.failed: list[int] = []
        self.callbacks: dict[str, Any] = {
            "on_completion": lambda _, number, __: self.completed.append(number),
            "on_error": lambda _, number, __: self.failed.append(number),
        }


def check(device: pydoca.Device, name: str) -> int:
    """Stops the context of one of LIBRARIES; returns how many tasks were flushed."""
    what = f"{name} in flight when their context stops"
    with Stand() as stand:
        calls = Calls()
        context, tasks, starts_again = LIBRARIES[name][1](stand, device, calls)
        pe = context.progress_engine
        assert pe is not None
        pe.drain(100)
        waits = [number for number, task in enumerate(tasks) if not task.done]
        if not waits or calls.failed:
            raise DeviceFault(f"{what}: before that, {len(tasks) - len(waits)} of {len(tasks)} tasks have ended")
        with duty(what):
            context.stop()
        waiting.until_true(pe, lambda: all(task.done for task in tasks), what)
        pe.drain(100)
        if sorted(calls.failed) != waits or sorted(calls.failed + calls.completed) != list(range(len(tasks))):
            raise DeviceFault(f"{what}: of the tasks {waits}, {sorted(calls.failed)} were told to have failed")
        for number in waits:
            if tasks[number].status is not pydoca.Status.SHUTDOWN:
                raise DeviceFault(f"{what}: task {number} has ended with {tasks[number].status.name}, not SHUTDOWN")
        for task in tasks:
            task.free()
        waiting.until_true(pe, lambda: context.state is pydoca.ContextState.IDLE, f"{what}: the context's end")
        if starts_again:
            with duty(f"{what}: the context starts again"):
                context.start()
                context.stop()
    return len(waits)


def _waits(stand: Stand, device: pydoca.Device, calls: Calls) -> Waiting:
    _, context = with_tasks(stand, device, _COUNT, **calls.callbacks)
    return Waiting(context, [context.wait_eq(7, user_data=number) for number in range(_COUNT)], False)


def _receives(stand: Stand, device: pydoca.Device, calls: Calls) -> Waiting:
    pair = Pair(stand, device, device, 64, num_tasks=_COUNT, **calls.callbacks)
    return Waiting(pair.b, [pair.b.receive(None, user_data=number) for number in range(_COUNT)], True)


def _sends(stand: Stand, device: pydoca.Device, calls: Calls) -> Waiting:
    """Messages to a reader that does not read."""
    sides, pe, name = stand.enter_context(both_sides(device)), stand.engine(), fresh_name()
    with duty("connect a comch client to its server"):
        stand.enter_context(comch.Server(pe, sides.dpu, sides.representor, name, recv_queue_size=_QUEUE))
        most = 32 * _COUNT
        client = comch.Client(pe, sides.host, name, timeout=waiting.PATIENCE, num_send_tasks=most, **calls.callbacks)
        link = stand.enter_context(client)
        tasks: list[pydoca.Task] = [link.send(b"not read", user_data=number) for number in range(most)]
    return Waiting(client, tasks, False)


def _has_waits(device: pydoca.Device) -> bool:
    return device.info.supports("sync_event") and device.info.supports("async_sync_event_wait")


LIBRARIES: dict[str, tuple[Callable[[pydoca.Device], bool], Callable[[Stand, pydoca.Device, Calls], Waiting]]] = {
    "waits": (_has_waits, _waits),
    "receives": (lambda device: device.info.supports("rdma"), _receives),
    "messages": (has_link, _sends),
}
