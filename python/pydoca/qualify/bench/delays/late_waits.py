"""Waits of threads for sync events that end late, told apart from threads that this machine runs late."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import stats

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.delays.run_delay import run_delay
from pydoca.qualify.bench.waiting import Stand, duty

_LATE = 3.0  # milliseconds
_CHANCE = 1e-4  # the probability of a false alarm


def lateness(device: pydoca.Device, count: int = 50) -> float:
    """The median lateness of a wait in milliseconds, compared with a thread that waits for another thread.

    The value comes when the thread has waited for 2 ms. The result is at least 0.
    """
    waits, control = _long_waits(device, count)
    return max(0.0, float(np.median(waits) - np.median(control)))


def late_share(device: pydoca.Device, count: int, rounds: int) -> float:
    """The share of late waits, compared with threads; 0 if chance may explain it.

    If a round finds few late waits, the next one looks again.
    """
    late = own = seen = 0
    for _ in range(rounds):
        waits, control = _long_waits(device, count)
        seen += count
        late += sum(taken > _LATE for taken in waits)
        own += sum(taken > _LATE for taken in control)
        if not late:
            break
        if stats.binom.sf(late - 1, late + own, 0.5) < _CHANCE:
            return late / seen
    return 0.0


def engine_lateness(device: pydoca.Device, other: pydoca.Device, count: int) -> dict[str, float]:
    """The lateness of each way to wait for an engine that sleeps until the other side sets an event."""
    with Stand() as stand:
        event = pydoca.SyncEvent(device, publisher="remote_pci", subscriber="cpu")
        stand.callback(event.close)
        pe = stand.engine()
        with duty("a sync event of the other side"):
            context = stand.enter_context(event.as_context(pe, num_tasks=1))
            setter = stand.enter_context(other.import_sync_event(event.export_to_remote_pci()))
        values = itertools.count(1)
        ways = {"wait": _wait, "run_until": _run_until, "task_wait": _wait_for_task}
        taken: dict[str, list[float]] = {name: [] for name in (*ways, "control")}
        for _ in range(count):
            for name, way in ways.items():
                task = context.wait_eq(value := next(values))
                with duty(f"a sleeping engine's {name}"):
                    taken[name].append(_end_of(partial(way, pe, task), partial(setter.update_set, value)))
                task.free()
            taken["control"].append(_sleeping_thread())
    usual = np.median(taken.pop("control"))
    return {name: max(0.0, float(np.median(times) - usual)) for name, times in taken.items()}


def _wait(pe: pydoca.ProgressEngine, task: pydoca.Task) -> None:
    end = time.monotonic() + waiting.PATIENCE
    while not task.done and time.monotonic() < end:
        pe.wait(waiting.PATIENCE)
        pe.drain()


def _run_until(pe: pydoca.ProgressEngine, task: pydoca.Task) -> None:
    pe.run_until(lambda: task.done, timeout=waiting.PATIENCE)


def _wait_for_task(_: pydoca.ProgressEngine, task: pydoca.Task) -> None:
    task.wait(timeout=waiting.PATIENCE)


def _long_waits(device: pydoca.Device, count: int) -> tuple[list[float], list[float]]:
    """Times of waits for an event and of waits for a thread, in turn."""
    waits, control = list[float](), list[float]()
    with duty("long waits"), pydoca.SyncEvent(device) as event:
        for number in range(1, count + 1):
            waits.append(_long_wait(event, number))
            control.append(_sleeping_thread())
    return waits, control


def _long_wait(event: pydoca.SyncEvent, value: int) -> float:
    wait = (event.wait_eq_yield, event.wait_eq, event.wait_gt_yield, event.wait_gt)[value % 4]
    operand = value if value % 4 < 2 else value - 1
    return _end_of(lambda: wait(operand, timeout=waiting.PATIENCE), lambda: event.update_set(value))


def _sleeping_thread() -> float:
    flag = threading.Event()
    return _end_of(lambda: flag.wait(waiting.PATIENCE), flag.set)


def _end_of(wait: Callable[[], object], end: Callable[[], object]) -> float:
    """Milliseconds from end(), in another thread, to the return of wait().

    The time in which either thread was ready but had no processor does not count.
    """
    waiter = threading.get_native_id()
    begin = delayed = 0.0

    def end_later() -> None:
        nonlocal begin, delayed
        time.sleep(0.002)
        before = run_delay(waiter) + run_delay(own := threading.get_native_id())
        begin = time.perf_counter()
        end()
        delayed = run_delay(own) - before

    thread = threading.Thread(target=end_later)
    thread.start()
    wait()
    taken = time.perf_counter() - begin
    delay = run_delay(waiter)
    thread.join()
    return max(0.0, (taken - delay - delayed) * 1e3)
