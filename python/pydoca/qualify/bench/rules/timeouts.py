"""Waits without an event end at their time: not earlier, and not much later."""

from __future__ import annotations

import time
from collections.abc import Callable

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.events import with_tasks
from pydoca.qualify.bench.waiting import DeviceFault, Stand

_SECONDS = 0.03
_LATE = 5.0  # seconds; a busy machine may keep this thread waiting


def check(device: pydoca.Device) -> int:
    """Checks each wait of an engine and of a task; returns how many there were."""
    with Stand() as stand:
        pe = stand.engine()
        waits: dict[str, Callable[[], object]] = {
            "run_until()": lambda: pe.run_until(lambda: False, timeout=_SECONDS),
        }
        if device.info.supports("async_sync_event_wait"):
            _, context = with_tasks(stand, device, 2)
            task = context.wait_eq(77)
            waits["a task's wait()"] = lambda: task.wait(timeout=_SECONDS)
        for name, wait in waits.items():
            _require_time_out(name, wait)
        if device.info.supports("async_sync_event_wait"):
            waiting.finish(context.notify_set(77), "setting an event")
            waiting.finish(task, "a wait that had timed out")
    return len(waits)


def _require_time_out(name: str, wait: Callable[[], object]) -> None:
    begin = time.monotonic()
    try:
        wait()
    except pydoca.TimeOutError:
        taken = time.monotonic() - begin
        if not _SECONDS * 0.99 <= taken < _SECONDS + _LATE:
            raise DeviceFault(f"{name} of {_SECONDS} s has timed out after {taken:.3f} s") from None
        return
    raise DeviceFault(f"{name} has ended, and nothing has come")
