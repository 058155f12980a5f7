"""Waiting for several tasks where the extension does not do it: with a bar, and after a cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from pydoca._aio.bridge import Bridge, expire
from pydoca._core import ProgressEngine, Task
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
    """Counts the completions of tasks, and fires after the last one."""

    def __init__(self, tasks: list[Task]) -> None:
        self.all_done = _Signal(f"{len(tasks)} tasks", tasks)
        self._left = len(tasks)
        self._tasks = tasks
        for task in tasks:
            task.add_done_callback(self._one_done)

    def _one_done(self, _: Task) -> None:
        self._left -= 1
        if self._left == 0:
            self.all_done.fire()

    def cancel(self) -> None:
        for task in self._tasks:
            task.remove_done_callback(self._one_done)


async def gather(engine: ProgressEngine, tasks: Iterable[Task], progress: Progress) -> list[Task]:
    gathered = list(tasks)
    meter = Meter(progress, len(gathered))
    told: list[Task] = []
    try:
        awaited = engine.gather(gathered)
        for task in gathered:
            task.add_done_callback(meter.advance)
            told.append(task)
        await awaited
        meter.require_no_failure()
        return gathered
    finally:
        while told:
            told.pop().remove_done_callback(meter.advance)
        meter.close()
        awaited = task = None  # type: ignore[assignment]
        del gathered, tasks


async def give_up(tasks: list[Task], error: BaseException | None) -> None:
    """The awaiter of several tasks calls this when an error ends its wait; tasks: those that it has waited for."""
    countdown = _Countdown(tasks)
    try:
        if tasks and isinstance(error, asyncio.CancelledError):
            bridge: Bridge = tasks[0]._engine._bridge
            await bridge._give_up(countdown.all_done, 0, error)
        if error is not None:
            raise error
    finally:
        countdown.cancel()
        del tasks, countdown, error
