"""Waiting for several tasks with one future: for all of them, or for each as it completes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from pydoca._aio.bridge import Bridge, expire, next_turn, raise_if_any
from pydoca._blocking import first_failure
from pydoca._core import ProgressEngine, Task, begin_wait, end_wait
from pydoca._errors import InvalidValueError
from pydoca._progress import Meter, Progress


class _Signal:
    """An event of several tasks, which can happen repeatedly."""

    def __init__(self, text: str, tasks: list[Task] | None = None) -> None:
        self._text = text
        self._tasks = tasks or []
        self._completions = 0
        self._waiters: list[asyncio.Future[Any]] = []

    def __repr__(self) -> str:
        return self._text

    def _quarantine(self) -> bool:
        # A sum, because any() would stop at the first.
        return sum(task._quarantine() for task in self._tasks) != 0

    @property
    def done(self) -> bool:
        return all(task.done for task in self._tasks)

    @property
    def _lends_memory(self) -> bool:
        return any(task._lends_memory for task in self._tasks if not task.done)

    def _abandon(self) -> None:
        for task in self._tasks:
            task._abandon()

    def fire(self) -> None:
        self._completions += 1
        waiters, self._waiters = self._waiters, []
        for future in waiters:
            expire(future)

    def _add_waiter(self, future: asyncio.Future[Any]) -> None:
        self._waiters.append(future)

    def _discard_waiter(self, future: asyncio.Future[Any]) -> None:
        if future in self._waiters:
            self._waiters.remove(future)


class _Countdown:
    """Counts the completions of tasks: calls each with every task that completes, and fires after the last one."""

    def __init__(self, tasks: list[Task], each: Callable[[Task], object] | None) -> None:
        self.all_done = _Signal(f"{len(tasks)} tasks", tasks)
        self.left = len(tasks)
        self._tasks = tasks
        self._each = each
        for task in tasks:
            task.add_done_callback(self._one_done)

    def _one_done(self, task: Task) -> None:
        self.left -= 1
        try:
            if self._each is not None:
                self._each(task)
        finally:
            if self.left == 0:
                self.all_done.fire()

    def cancel(self) -> None:
        for task in self._tasks:
            task.remove_done_callback(self._one_done)


def _checked(engine: ProgressEngine, tasks: Iterable[Task], what: str) -> list[Task]:
    checked = list(tasks)
    for task in checked:
        if not isinstance(task, Task):
            raise TypeError(f"{what} takes an iterable of Tasks, and one item is of type {type(task).__name__}")
        task._require_submitted(what)
        if task._engine is not engine:
            raise InvalidValueError(f"{what}: {task!r} belongs to another progress engine")
    return checked


async def gather(engine: ProgressEngine, tasks: Iterable[Task], progress: Progress) -> list[Task]:
    bridge: Bridge = engine._bridge
    bridge.bind()
    gathered = _checked(engine, tasks, "gather")
    meter = Meter(progress, len(gathered)) if progress else None
    left, countdown = gathered, None
    del tasks
    traced = begin_wait()
    try:
        left = _left_after_a_look(bridge, gathered)
        if meter is not None:
            for _ in range(len(gathered) - len(left)):
                meter.advance()
        if left:
            countdown = _Countdown(left, meter.advance if meter else None)
            await bridge.completion(countdown.all_done)
        elif bridge.budget() <= 0:
            await next_turn()
        raise_if_any(first_failure(gathered))
        if meter is not None:
            meter.require_no_failure()
        return gathered
    finally:
        if traced is not None:
            end_wait(*traced)
        if countdown is not None:
            countdown.cancel()
        if meter is not None:
            meter.close()
        del gathered, left, countdown, meter


def _left_after_a_look(bridge: Bridge, tasks: list[Task]) -> list[Task]:
    """Those that do not complete within the time that an await may use: most gathers need no callback and no future."""
    pending = [(task, task._completions) for task in tasks]
    try:
        while True:
            while pending and _has_completed(*pending[-1]):
                pending.pop()
            if not pending or bridge.budget() <= 0:
                return [task for task, before in pending if not _has_completed(task, before)]
            bridge.look()
    finally:
        del pending, tasks


def _has_completed(task: Task, before: int) -> bool:
    """Since its completions were counted; a callback may have submitted it again."""
    return task.done or task._completions != before


async def as_completed(engine: ProgressEngine, tasks: Iterable[Task]) -> AsyncIterator[Task]:
    bridge: Bridge = engine._bridge
    bridge.bind()
    arrived: deque[Task] = deque()
    arrival = _Signal("a task's completion")

    def arrive(task: Task) -> None:
        arrived.append(task)
        arrival.fire()

    countdown = _Countdown(_checked(engine, tasks, "as_completed"), arrive)
    try:
        while countdown.left or arrived:
            if not arrived:
                bridge.look()
            if not arrived:
                await _next_arrival(bridge, arrival, countdown)
            elif bridge.budget() <= 0:
                await next_turn()
            yield arrived.popleft()
    finally:
        countdown.cancel()
        arrived.clear()
        del tasks, countdown


async def _next_arrival(bridge: Bridge, arrival: _Signal, countdown: _Countdown) -> None:
    future = bridge.waiter(arrival)
    try:
        await future
    except asyncio.CancelledError as cancelled:
        if countdown.left:
            await bridge._give_up(countdown.all_done, 0, cancelled)
        raise
    finally:
        arrival._discard_waiter(future)
        del countdown
