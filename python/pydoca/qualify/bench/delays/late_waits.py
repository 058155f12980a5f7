"""Waits of threads for sync events that end late, told apart from threads that this machine runs late."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
from scipy import stats

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.delays.run_delay import run_delay
from pydoca.qualify.bench.waiting import duty

_LATE = 3.0  # milliseconds
_CHANCE = 1e-4  # of a false alarm


def lateness(device: pydoca.Device, count: int = 50) -> float:
    """How many milliseconds later than a thread of this machine, which waits for another one, a wait ends: the median.

    The value comes when the thread has waited for 2 ms. Not below 0.
    """
    waits, control = _long_waits(device, count)
    return max(0.0, float(np.median(waits) - np.median(control)))


def late_share(device: pydoca.Device, count: int, rounds: int) -> float:
    """The share of such waits that are late where threads are not: 0 where chance explains it.

    Some late ones are looked for again, in so many rounds at most.
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


def _long_waits(device: pydoca.Device, count: int) -> tuple[list[float], list[float]]:
    """Waits for an event, and a thread's for another one, in turn."""
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
    """Milliseconds from end(), in another thread, to the return of wait(), without those that either of the threads was
    ready and had no processor.
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
