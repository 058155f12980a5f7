"""Waits for what does not come: the thread sleeps, and takes no time of a processor."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.dma import Copies, local
from pydoca.qualify.bench.events import with_tasks
from pydoca.qualify.bench.waiting import DeviceFault, Stand

Wait = Callable[[float], object]


def shares(device: pydoca.Device, seconds: float) -> dict[str, float]:
    """The part of a core that this process takes, 0 to 1, in so many seconds of each kind of wait."""
    with Stand() as stand:
        return {name: _share(name, wait, seconds) for name, wait in _waits(stand, device).items()}


def _share(name: str, wait: Wait, seconds: float) -> float:
    begin, cpu = time.monotonic(), time.process_time()
    with contextlib.suppress(TimeoutError, asyncio.TimeoutError):  # both, before Python 3.11
        if wait(seconds):
            raise DeviceFault(f"an idle engine was woken: {name}")
    used, taken = time.process_time() - cpu, time.monotonic() - begin
    if taken < 0.9 * seconds:
        raise DeviceFault(f"an idle engine was woken: {name} of {seconds:g} s has ended after {taken:.3f} s")
    return used / taken


def _waits(stand: Stand, device: pydoca.Device) -> dict[str, Wait]:
    """Ways to wait for an engine whose context is running and has nothing in flight, or a wait that nothing ends."""
    copies = Copies(stand, device, local(stand, device, 64), 64, 1)
    copies.run()
    pe = copies.pe
    waits: dict[str, Wait] = {
        "armed": lambda seconds: _armed(pe, seconds),
        "wait": pe.wait,
        "run_until": lambda seconds: pe.run_until(lambda: False, timeout=seconds),
    }
    if device.info.supports("async_sync_event_wait"):
        _, context = with_tasks(stand, device, 2)
        task = context.wait_eq(77)
        stand.callback(_end, context, task)
        waits["task"] = task.wait
        waits["await"] = lambda seconds: asyncio.run(_await(context, seconds))
    return waits


def _armed(pe: pydoca.ProgressEngine, seconds: float) -> bool:
    pe.request_notification()
    is_woken = waiting.is_woken(pe, seconds)
    pe.clear_notification()
    return is_woken


async def _await(context: pydoca.SyncEventContext, seconds: float) -> None:
    await asyncio.wait_for(context.wait_eq(78), seconds)


def _end(context: pydoca.SyncEventContext, task: pydoca.SyncEventTask) -> None:
    waiting.finish(context.notify_set(77), "setting an event")
    waiting.finish(task, "a wait that had timed out")
    task.free()
