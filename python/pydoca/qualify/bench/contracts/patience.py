"""Waits with enough time last until every event that they wait for has come, however late."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pydoca
from pydoca import comch
from pydoca.qualify.bench import dma, waiting
from pydoca.qualify.bench.events import with_tasks
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.sides import Sides, fresh_name
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused

_LATE = 0.3  # seconds until the event of a wait comes
_SIZE = 64
_COUNTS = (1, 2, 5, 17, 33, 64)


def crowds(device: pydoca.Device) -> None:
    """run_until() and gather() end when all of their copies have ended: first ones, last ones, and any number."""
    depth = dma.depth_for(device, max(_COUNTS))
    with Stand() as stand:
        copies = dma.Copies(stand, device, dma.local(stand, device, _SIZE * depth), _SIZE, depth)
        ways: dict[str, Callable[[list[pydoca.Task]], object]] = {
            "run_until() of a list": lambda tasks: copies.pe.run_until(tasks, waiting.PATIENCE),
            "run_until() of a generator": lambda tasks: copies.pe.run_until((task for task in tasks), waiting.PATIENCE),
            "the tasks' wait()": lambda tasks: [task.wait(waiting.PATIENCE) for task in tasks],
        }
        for name, way in ways.items():
            for count in {min(count, depth) for count in _COUNTS}:
                tasks: list[pydoca.Task] = list(copies.tasks[:count])
                copies.prepare()
                with duty(name):
                    for task in tasks:
                        task.submit()
                    way(tasks)
                require_told(name, {"done": [task.done for task in tasks]}, {"done": [True] * count})


def stragglers(device: pydoca.Device) -> None:
    """run_until() of many tasks does not end before each of them has ended, at any place."""
    with Stand() as stand:
        pe, context = with_tasks(stand, device, max(_COUNTS))
        for count in _COUNTS:
            for late in {0, count // 2, count - 1}:
                waiting.finish(context.notify_set(0), "setting an event")
                tasks: list[pydoca.Task] = [context.wait_eq(2 if place == late else 0) for place in range(count)]
                with refused(f"run_until() of {count} tasks of which task {late} does not end", pydoca.TimeOutError):
                    pe.run_until(tasks, 0.002)
                waiting.finish(context.notify_set(2), "setting an event")
                waiting.finish_all(pe, tasks, "waits of which one ended late")
                for task in tasks:
                    task.free()


def late_ends(device: pydoca.Device) -> int:
    """Waits for a sync event that changes late, in threads and on an engine; returns how many there were."""
    with duty("a sync event"), pydoca.SyncEvent(device) as event:
        calls: dict[str, Callable[[], object]] = {
            name: (lambda n=name, o=operand: getattr(event, n)(o, timeout=waiting.PATIENCE))  # type: ignore[misc]
            for name, operand in (("wait_eq", 1), ("wait_gt", 0), ("wait_neq", 0), ("wait_gt_yield", 0))
        }
        if device.info.supports("async_sync_event_wait"):
            calls["a wait task's wait()"] = lambda: _wait_as_task(device)
        _require_late(calls, lambda: event.update_set(1))
    return len(calls)


def _wait_as_task(device: pydoca.Device) -> None:
    """Waits for an event that another thread cannot change: its context sets it after that time."""
    with Stand() as stand:
        pe, context = with_tasks(stand, device, 2)
        task = context.wait_eq(1)
        try:
            pe.run_until(lambda: False, timeout=1.5 * _LATE)
        except pydoca.TimeOutError:
            context.notify_set(1)
        task.wait(waiting.PATIENCE)


def late_peers(sides: Sides) -> int:
    """A client whose server starts late, and accept() before a late client; returns how many there were."""
    names = fresh_name(), fresh_name()
    calls: dict[str, Callable[[], object]] = {
        "a client's start": lambda: _connect(sides, names[0]),
        "accept() of a server": lambda: _accept(sides, names[1]),
    }
    with Stand() as stand:
        pe = stand.engine()

        def come() -> None:
            with duty("a server and a client that come late"):
                stand.enter_context(comch.Server(pe, sides.dpu, sides.representor, names[0], num_send_tasks=1))
                client = comch.Client(pe, sides.host, names[1], timeout=waiting.PATIENCE, num_send_tasks=1)
                stand.push(client)  # it may still be starting when its server has accepted it
                client.start()

        _require_late(calls, come, pe)
    return len(calls)


def _connect(sides: Sides, name: str) -> None:
    with Stand() as stand:
        stand.enter_context(comch.Client(stand.engine(), sides.host, name, timeout=waiting.PATIENCE, num_send_tasks=1))


def _accept(sides: Sides, name: str) -> None:
    with Stand() as stand:
        server = comch.Server(stand.engine(), sides.dpu, sides.representor, name, num_send_tasks=1)
        stand.enter_context(server).accept().wait(waiting.PATIENCE)


def _require_late(
    calls: dict[str, Callable[[], object]], come: Callable[[], object], pe: pydoca.ProgressEngine | None = None
) -> None:
    """Checks that each call, in its own thread, succeeds, and not before come() was called."""
    ends: dict[str, tuple[bool, BaseException | None]] = {}
    came = threading.Event()

    def run(name: str, call: Callable[[], object]) -> None:
        try:
            call()
            ends[name] = came.is_set(), None
        except BaseException as error:
            ends[name] = came.is_set(), error

    threads = [threading.Thread(target=run, args=each, daemon=True) for each in calls.items()]
    for thread in threads:
        thread.start()
    time.sleep(_LATE)
    came.set()
    come()
    end = time.monotonic() + 2 * waiting.PATIENCE
    while any(thread.is_alive() for thread in threads) and time.monotonic() < end:
        if pe is not None:
            pe.drain()
        time.sleep(0.001)
    for name in calls:
        if name not in ends:
            raise DeviceFault(f"{name} has not ended after what it waits for has come")
        was_late, error = ends[name]
        if error is not None or not was_late:
            raise DeviceFault(
                f"{name}, for what comes after {_LATE} s, has ended {'with' if error else 'early'} {error or ''}"
            )
