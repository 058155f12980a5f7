"""The completions of a stream, compared with the submitted tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.waiting import DeviceFault, duty


class Library(Protocol):
    """The maker of a stream's tasks; its context has Completions as its callbacks and as its user data."""

    context: pydoca.Context
    window: int  # tasks in flight

    def begin(self, number: int, submit: bool) -> pydoca.Task:
        """Makes a task whose user data is its number, submitted or not."""

    def check(self, number: int, task: pydoca.Task) -> None:
        """Raises DeviceFault if a successful task has a wrong result."""


class Completions:
    """The tasks that have not ended. Its callbacks keep the first fault."""

    def __init__(self) -> None:
        self.check: Callable[[int, pydoca.Task], None] = lambda *_: None
        self.go_on: Callable[[], None] = lambda: None  # the callback calls it after the end of a task
        self.callbacks: dict[str, Any] = {"on_completion": self.ended, "on_error": self.ended, "user_data": self}
        self._pending: dict[int, pydoca.Task] = {}
        self._fault: DeviceFault | None = None
        self._num_begun = self._num_ended = 0

    def add(self, number: int, task: pydoca.Task) -> None:
        """Adds a task that was made."""
        self._num_begun += 1
        self._pending[number] = task

    def ended(self, task: Any, number: Any, owner: object) -> None:
        """Takes a completion, with success or without; both callbacks are this method."""
        try:
            self._take(task, number, owner)
        except DeviceFault as fault:
            self._fault = self._fault or fault

    def _take(self, task: pydoca.Task, number: Any, owner: object) -> None:
        expected = self._pending.pop(number, None)
        if expected is None:
            raise DeviceFault(f"a completion has the user data {number!r}, which no task in flight has")
        if expected is not task or owner is not self:
            raise DeviceFault(f"task {number} has completed with the user data of another task or context")
        self._num_ended += 1
        if task.status is not pydoca.Status.SUCCESS:
            raise DeviceFault(f"task {number} has failed with {task.status.name}")
        self.check(number, task)
        task.free()
        self.go_on()

    def fail(self, fault: DeviceFault) -> None:
        """Keeps a fault of something that arrives apart from completions."""
        self._fault = self._fault or fault

    def progress(self, library: Library, most: int, what: str) -> None:
        """Progresses until at most most tasks are pending."""
        if len(self._pending) > most:
            pe = library.context.progress_engine
            assert pe is not None
            with duty(what):
                pe.run_until(lambda: len(self._pending) <= most or self._fault, timeout=waiting.PATIENCE)
        if self._fault:
            raise DeviceFault(f"{what}: {self._fault}")

    def require_all(self, library: Library, count: int, what: str) -> None:
        """Raises DeviceFault unless each task has ended once, and the context has counted `count`."""
        if self._fault or self._num_ended != self._num_begun:
            raise DeviceFault(f"{what}: {self._fault or f'{self._num_ended} of {self._num_begun} tasks completed'}")
        counted, left = library.context.stats(), library.context.num_inflight_tasks
        if (counted.submitted, counted.completed, counted.failed, left) != (count, count, 0, 0):
            raise DeviceFault(f"{what}: {count} tasks have succeeded; its context counts {counted}, {left} in flight")
