"""A scene of the cancellation suite begins one await, ends it and examines it."""

import asyncio
import functools
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pydoca

MARK = 0xA5  # bytes that the program writes to memory that it has back


class Scene(ABC):
    """One await of an operation on an engine."""

    def __init__(self, pe: pydoca.ProgressEngine) -> None:
        self.pe = pe

    @abstractmethod
    def begin(self) -> Any:
        """Makes a new object to await; its operation does not end by itself."""

    @abstractmethod
    def complete(self) -> None:
        """Lets the operation complete. The second call does nothing."""

    async def go_on(self) -> None:
        """Lets the operation go on until it completes, when no await has begun."""
        self.complete()

    def returned(self, results: list[Any]) -> None:  # noqa: B027  most awaits lend no memory
        """Uses the memory again, once the await is over. results holds what the await gave, if it gave something."""

    @abstractmethod
    async def check(self, results: list[Any]) -> None:
        """Asserts, once the await is over, that nothing is lost and that the engine can be used."""


Maker = Callable[[], AbstractAsyncContextManager[Scene]]
SCENES: dict[str, Maker] = {}


def scene(*names: str) -> Callable[[Callable[..., AsyncIterator[Scene]]], Callable[..., AsyncIterator[Scene]]]:
    """Registers a function as the maker of the scene of these calls; it gets each call's name without its class."""

    def add(function: Callable[..., AsyncIterator[Scene]]) -> Callable[..., AsyncIterator[Scene]]:
        make = asynccontextmanager(function)
        for name in names:
            SCENES[name] = functools.partial(make, name.rpartition(".")[2])
        return function

    return add


async def until(condition: Callable[[], object], what: str) -> None:
    """Waits for the condition. The wait is bounded, since a scene that waits for ever says nothing."""
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError(f"{what} did not come")


async def soon(awaitable: Awaitable[Any]) -> Any:
    return await asyncio.wait_for(awaitable, 20)


class TaskScene(Scene):
    """A task of a context; the device does not see the task before it is flushed."""

    num_tasks = 3

    def __init__(self, context: Any, make: Callable[[], Any], memory: Any = None) -> None:
        super().__init__(context.progress_engine)
        self.context = context
        self.memory = memory  # the operation writes to it
        self.task: Any = None
        self.marked = False
        self._make = make

    def begin(self) -> Any:
        self.task = self._submitted()
        return self.task

    def _submitted(self) -> Any:
        task = self._make()
        task.submit(pydoca.SubmitFlags.NONE)
        return task

    def complete(self) -> None:
        self.context.flush_tasks()

    async def go_on(self) -> None:
        """Lets the operation go on until it completes, when no await has begun."""
        self.complete()

    def returned(self, results: list[Any]) -> None:
        if not self.task._lends_memory:
            return
        in_flight = self.task.state is pydoca.TaskState.SUBMITTED
        assert not in_flight or self.pe.num_quarantined_tasks, "the device has memory that the program has back"
        if self.memory is not None and not in_flight:
            memoryview(self.memory)[:] = bytes([MARK]) * len(self.memory)
            self.marked = True

    async def check(self, results: list[Any]) -> None:
        self.complete()
        await until(lambda: self.pe.num_inflight_tasks == 0, "the end of what is in flight")
        await asyncio.sleep(0.002)
        assert not self.marked or set(bytes(self.memory)) == {MARK}, (
            "the device has written to memory that it gave back"
        )
        assert self.pe.num_quarantined_tasks == 0
        self.task = None
        results.clear()
        if self.context.faulted:  # a second cancellation has given up the task
            await self.restart()
        await self.use_every_slot()

    async def restart(self) -> None:
        self.context.stop()
        await until(lambda: self.context.state is pydoca.ContextState.IDLE, "the stop of a faulted context")
        self.context.start()

    async def use_every_slot(self) -> None:
        tasks = [self._submitted() for _ in range(self.num_tasks)]
        self.complete()
        for task in tasks:
            await soon(task)
