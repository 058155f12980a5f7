"""Waiting for several tasks where the extension does not do it: with a bar, and after a cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from pydoca._aio.bridge import Bridge, expire
from pydoca._core import ProgressEngine, Task
from pydoca._progress import Meter, Progress, require_progress


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


class GatherWithProgress:
    """The await of gather() with a display, which begins with its first step and ends with its last."""

    def __init__(self, engine: ProgressEngine, tasks: Iterable[Task], progress: Progress) -> None:
        require_progress(progress)
        self._tasks = list(tasks)
        self._awaited = engine.gather(self._tasks)
        self._progress = progress
        self._meter: Meter | None = None

    def __await__(self) -> GatherWithProgress:
        return self

    def __iter__(self) -> GatherWithProgress:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        if self._meter is None:
            self._step(self._begin)
        return self._step(self._awaited.send, value)

    def throw(self, *error: Any) -> Any:
        try:
            return self._step(self._awaited.throw, *error)
        finally:
            del error  # it has this frame

    def close(self) -> None:
        self._end()
        self._awaited.close()

    def _begin(self) -> None:
        self._meter = Meter(self._progress, len(self._tasks))
        for task in self._tasks:
            task.add_done_callback(self._meter.advance)

    def _step(self, step: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return step(*arguments)
        except StopIteration:
            meter = self._end()
            if meter is not None:
                meter.require_no_failure()
            raise
        except BaseException:
            self._end()
            self._awaited.close()
            raise
        finally:
            del step, arguments

    def _end(self) -> Meter | None:
        meter, tasks = self._meter, self._tasks
        self._tasks = []
        if meter is not None:
            for task in tasks:
                task.remove_done_callback(meter.advance)
            meter.close()
        return meter


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
