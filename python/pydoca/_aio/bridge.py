"""Brings progress engines into event loops: a completion that an engine delivers completes futures.

A `Bridge` binds one engine to the loop that awaits it first. It watches the engine's notification handle, and after
a wake-up looks at the engine once per turn of the loop for a short time before it arms the handle again. Progress
needs no timer, no thread and none of the loop's thread-safe calls.

asyncio keeps the CancelledError that it throws into a coroutine until the coroutine suspends again, and an error keeps
the frames that it came through. A function that may raise therefore deletes its names of tasks and events first: a task
that lived as long as the error would keep its slot.
"""

from __future__ import annotations

import asyncio
import inspect
import selectors
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import suppress
from opcode import opmap  # noqa: F401  read by the extension
from types import coroutine
from typing import Any, Protocol

from pydoca._aio.anyio_scope import shielded_from_scopes
from pydoca._aio.signal_pipe import SIGNAL_PIPE
from pydoca._callbacks import require_plain_function
from pydoca._core import (
    Awaitable,
    ProgressEngine,
    RdmaConnection,
    SyncEventContext,
    Task,
    TaskState,
    begin_wait,
    end_wait,
    virtual_time_is_on,
)
from pydoca._errors import BadStateError, ConnectionResetError, NotSupportedError, TimeOutError

_SHUTDOWN_TIMEOUT = 1.0  # seconds that the end of a loop waits for tasks in flight


def parts_of_stock_loop() -> tuple[Any, ...]:
    """The parts by which the extension recognises asyncio's own loop: its types, and the code that runs a coroutine.

    Libraries replace and remove some: gevent's monkey patching removes EpollSelector. A None equals no part of a loop,
    so that no loop counts as asyncio's own.
    """
    run_handle = getattr(asyncio.Handle, "_run", None)
    run_once = getattr(getattr(asyncio, "BaseEventLoop", None), "_run_once", None)
    return (
        getattr(asyncio, "SelectorEventLoop", None),
        getattr(selectors, "EpollSelector", None),
        getattr(run_handle, "__code__", None),
        getattr(run_once, "__code__", None),
    )


class Waitable(Protocol):
    """An object that keeps a list of futures, and sets all of them when its event happens."""

    def _add_waiter(self, future: asyncio.Future[Any]) -> None: ...
    def _discard_waiter(self, future: asyncio.Future[Any]) -> None: ...


class Lender(Waitable, Protocol):
    """A waitable during which a device may use the program's memory."""

    @property
    def _lends_memory(self) -> bool: ...
    def _quarantine(self) -> bool: ...


class Completion(Lender, Protocol):
    """A waitable that counts its completions; each of them sets its futures."""

    @property
    def _completions(self) -> int: ...
    @property
    def done(self) -> bool: ...
    def _abandon(self) -> None: ...


@coroutine
def next_turn() -> Generator[None]:
    yield


def expire(future: asyncio.Future[Any]) -> None:
    if not future.done():
        future.set_result(None)


def running_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio._get_running_loop()
    if loop is None:
        raise NotSupportedError(
            "await: no asyncio event loop runs in this thread, and pydoca's awaits need one, not trio's or curio's; "
            "without asyncio there are wait() and pe.run_until()"
        )
    return loop


def give_up_memory(lender: Lender) -> str:
    """Puts what the device still uses in quarantine, warns of it, and returns the text for the CancelledError."""
    text = f"cancelled while the device uses memory, which it keeps until it completes the task: {lender!r}"
    if lender._quarantine():
        text += "; its context is faulted: stop it, progress until it is IDLE, and start it again"
    running_loop().call_soon(warnings.warn, text, ResourceWarning)
    return text


class Bridge:
    """One engine in an event loop, whose turns for it are the extension's (`_turn`, `_ready`)."""

    def __init__(self, engine: ProgressEngine) -> None:
        self._engine = engine
        self._loop: asyncio.AbstractEventLoop | None = None
        self._fd = -1
        self._shutdown: Any = None
        # asyncio has weak references to its tasks only: the collector would take one that waits for an event, and that
        # the program does not name.
        self.kept: set[asyncio.Future[Any]] = set()

    def bind(self) -> asyncio.AbstractEventLoop:
        """Returns the running loop, to which the engine belongs from now on."""
        loop = running_loop()
        if self._loop is not loop:
            self._bind(loop)
        self._engine._entered_loop(loop)
        return loop

    def _bind(self, loop: asyncio.AbstractEventLoop) -> None:
        self._engine._require_open("await")
        if self._loop is not None and not self._loop.is_closed():
            raise BadStateError(
                f"await: the progress engine belongs to another event loop, {self._loop!r}; close that loop, or call "
                "release_thread() when no task is in flight, or make one progress engine per loop"
            )
        if getattr(loop, "has_virtual_time", False) != virtual_time_is_on():
            raise BadStateError(f"await: {loop!r} has real time and the process virtual time: use VirtualTime.run()")
        self.forget()
        self._fd = self._engine.fileno()
        loop.add_reader(self._fd, self._engine._ready)
        self._loop = loop
        SIGNAL_PIPE.enter(self, loop)
        self._watch_shutdown()
        self._engine._entered_loop(loop)
        self._engine._kick()

    def unbind(self) -> None:
        """Leaves the loop, which may be closed already."""
        # A forked child shares the loop's epoll set with its parent, whose engine must stay in it.
        if self._loop is not None and not self._loop.is_closed() and not self._engine._is_forked():
            self._loop.remove_reader(self._fd)
        self.forget()

    def forget(self) -> None:
        self._loop = None
        self.kept.clear()
        SIGNAL_PIPE.leave(self)
        self._engine._left_loop()
        shutdown, self._shutdown = self._shutdown, None
        if shutdown is not None:
            self._step(shutdown.aclose())

    # A loop that shuts down closes the asynchronous generators that began in it. So the bridge learns of the shutdown
    # while it can still leave the loop.

    def _watch_shutdown(self) -> None:
        self._shutdown = self._until_shutdown()
        with warnings.catch_warnings():
            # A loop that is already shutting down warns of a new generator; there is nothing left to watch.
            warnings.simplefilter("ignore", ResourceWarning)
            self._step(self._shutdown.__anext__())

    @staticmethod
    def _step(awaitable: Any) -> None:
        with suppress(StopIteration):
            awaitable.send(None)

    async def _until_shutdown(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            if self._shutdown is not None:
                self._shutdown = None
                self._leave_loop()

    def _leave_loop(self) -> None:
        engine = self._engine
        try:
            if engine.num_inflight_tasks:
                engine.run_until(lambda: engine.num_inflight_tasks == 0, _SHUTDOWN_TIMEOUT)
        except TimeOutError as error:
            text = f"an event loop is closed with {engine.num_inflight_tasks} task(s) in flight: {error}"
            warnings.warn(text, ResourceWarning, stacklevel=2, source=engine)
        finally:
            self.unbind()

    # Progress.

    def look(self) -> None:
        """Delivers what can be delivered now, as a turn of the loop would."""
        self._engine._look()

    def budget(self) -> int:
        """The time in ns that is left for completing awaits at once; the loop's next turn renews it."""
        return self._engine._budget()

    def report(self, error: BaseException, source: object) -> bool:
        """Passes the exception of a user's callback to the loop's handler; False when there is no loop."""
        if self._loop is None or self._loop.is_closed():
            return False
        key = "task" if isinstance(source, Task) else "context"
        self._loop.call_exception_handler({"message": "A callback of pydoca raised", "exception": error, key: source})
        return True

    # Waiting.

    def waiter(self, waitable: Waitable) -> asyncio.Future[Any]:
        """A future for one waiter: its cancellation does not reach other waiters."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        waitable._add_waiter(future)
        return future

    async def completion(self, task: Completion) -> Any:
        """The result of the next completion. Raises a cancellation only after the device has released the memory."""
        before = task._completions
        future = self.waiter(task)
        try:
            return await future
        except asyncio.CancelledError as cancelled:
            task._discard_waiter(future)
            await self._give_up(task, before, cancelled)
            raise
        finally:
            task._discard_waiter(future)
            del task, future

    async def _give_up(self, task: Completion, before: int, cancelled: BaseException) -> None:
        if task._completions != before or task.done:
            # The completion came before the cancellation. The outcome stays in the task; its slot is free.
            if task.done:
                task._abandon()
        elif task._lends_memory:
            await self.drain(task, lambda: task._completions != before, cancelled)
            if task.done:
                task._abandon()
        else:
            task._abandon()
            self.look()  # its slot is free for the next wait at once

    async def drain(self, lender: Lender, is_over: Callable[[], bool], cancelled: BaseException) -> None:
        """Waits until the device has released the lender's memory; after a time, or a second cancellation, gives up."""
        with suppress(BadStateError):  # the engine belongs to another loop, which alone can progress it
            await self._until_released(lender)
        if not is_over():
            cancelled.add_note(give_up_memory(lender))

    async def _until_released(self, lender: Lender) -> None:
        loop = self.bind()
        future = self.waiter(lender)
        timer = loop.call_later(self._engine.drain_timeout, expire, future)
        try:
            with shielded_from_scopes():
                await future
        except asyncio.CancelledError:
            pass  # the second cancellation
        finally:
            timer.cancel()
            lender._discard_waiter(future)

    async def settle(self, settled: Awaitable, timeout: float) -> asyncio.CancelledError | None:
        """Waits until settled is ready, at most timeout seconds.

        Returns a cancellation that came meanwhile, for the caller to raise; a second one ends the wait.
        """
        loop = self.bind()
        end = loop.time() + timeout
        cancelled = None
        while not settled._ready() and loop.time() < end:
            future = self.waiter(settled)
            timer = loop.call_at(end, expire, future)
            try:
                with shielded_from_scopes():
                    await future
            except asyncio.CancelledError as error:
                if cancelled is not None:
                    break
                cancelled = error
            finally:
                timer.cancel()
                settled._discard_waiter(future)
        return cancelled


async def await_task(task: Task, tried: bool) -> Any:
    """The awaiter of a task calls this unless the task was done at once; tried: it polled within the turn's budget."""
    bridge: Bridge = task._engine._bridge
    error = None
    try:
        if not tried:
            task._require_submitted("await")
            if task.done and asyncio._get_running_loop() is None:
                return task.result()
            bridge.bind()
        if task.done or (not tried and task._engine._progress_until(task)):
            error, value = task._outcome(), task._value
            if bridge.budget() <= 0:
                await next_turn()
        else:
            status, value = await bridge.completion(task)
            error = task._exception_of(status)
        raise_if_any(error)
        return value
    finally:
        del error, task


async def give_up(task: Task, before: int, error: BaseException) -> None:
    """The awaiter of a task calls this when an error ends its wait before the completion."""
    try:
        if isinstance(error, asyncio.CancelledError):
            bridge: Bridge = task._engine._bridge
            await bridge._give_up(task, before, error)
        raise error
    finally:
        del error, task


def raise_if_any(error: BaseException | None) -> None:
    if error is not None:
        try:
            raise error
        finally:
            del error  # the error refers to this frame


async def take_event(event: Awaitable) -> Any:
    bridge: Bridge = event._engine._bridge
    bridge.bind()
    traced = begin_wait()
    try:
        if not event._ready():
            bridge.look()
        if event._ready() and bridge.budget() <= 0:
            await next_turn()
        while not event._ready():
            future = bridge.waiter(event)
            bridge.kept.add(future)
            try:
                await future
            except asyncio.CancelledError as cancelled:
                event._discard_waiter(future)
                if event._lends_memory:
                    event._curtail()
                    await bridge.drain(event, event._ready, cancelled)
                event._abandon()
                raise
            finally:
                bridge.kept.discard(future)
                event._discard_waiter(future)
        return event._take()
    finally:
        if traced is not None:
            end_wait(*traced)
        event._give_up()
        del event


async def give_up_event(event: Awaitable, error: BaseException) -> None:
    """The awaiter of an event that lends memory calls this when an error comes before its first step."""
    try:
        if isinstance(error, asyncio.CancelledError):
            bridge: Bridge = event._engine._bridge
            event._curtail()
            await bridge.drain(event, event._ready, error)
            event._abandon()
        raise error
    finally:
        event._give_up()
        del error, event


async def while_connected(connection: RdmaConnection, task: Task) -> Any:
    if not isinstance(task, Task):
        raise TypeError(f"while_connected: a task is needed, not {type(task).__name__}")
    if task.state is not TaskState.SUBMITTED:
        return await task  # the task has its outcome, or was never submitted
    completed = running_loop().create_future()

    def tell(_: Task) -> None:
        if not completed.done():
            completed.set_result(None)

    task.add_done_callback(tell)
    ended = asyncio.ensure_future(connection.ended())
    try:
        await asyncio.wait((completed, ended), return_when=asyncio.FIRST_COMPLETED)
    finally:
        task.remove_done_callback(tell)
        ended.cancel()
    if task.done:
        return task.result()
    raise ConnectionResetError(
        f"{connection!r} has ended, and the task has not completed: {connection.failure.name.lower()}"
    )


def poll_until(
    context: SyncEventContext, predicate: Callable[[int], object], interval: float
) -> Coroutine[Any, Any, int]:
    require_plain_function("poll_until", predicate)
    return _poll_until(context, predicate, interval)


async def _poll_until(context: SyncEventContext, predicate: Callable[[int], object], interval: float) -> int:
    task = context.get(submit=False)
    try:
        while True:
            task.try_submit()
            value: int = await task
            met = predicate(value)
            if inspect.iscoroutine(met):  # a coroutine is true, whatever it would return
                met.close()
                raise TypeError(
                    f"poll_until: {predicate!r} returns a coroutine: the predicate must be a plain function"
                )
            if met:
                return value
            if interval > 0:
                await asyncio.sleep(interval)
            else:
                await next_turn()
    finally:
        del task
