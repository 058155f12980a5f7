"""Virtual time for simulated devices: event loops and threads whose time moves only when all of them wait."""

from __future__ import annotations

import _thread
import asyncio
import selectors
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import cache
from types import BuiltinFunctionType, TracebackType
from typing import Any, TypeAlias

from pydoca import _core
from pydoca._callbacks import require_plain_function
from pydoca._core import Wake
from pydoca._errors import BadStateError, DeadlockError, InvalidValueError, NotSupportedError

_Events: TypeAlias = "list[tuple[selectors.SelectorKey, int]]"

_TURN = 1000  # nanoseconds that a turn of an event loop takes
_SECOND = 1_000_000_000


class VirtualTime:
    """Virtual time of this process, from the beginning of its `with` block to the end.

    Time stands still while a thread runs. When all threads that take part wait - in pydoca's calls, in the event loops
    of `run`, in `sleep` - time moves at once to the next moment at which something is due: an hour takes no longer than
    what happens in it. One thread runs at a time; where several could, the seed decides which. So a run depends on the
    program and on the seed alone, and `digest` is the same for equal runs.

    Devices, engines and loops of virtual time are made within the block, and end before it does. The threads of a
    `pydoca.Dpa` that is made within it take part. Other processes, `time.sleep()` and executors have real time. So does
    a process that is forked within the block: there, calls of this object raise BadStateError, and a virtual time of
    its own can begin.

    seed: an integer from 0 to 2**64 - 1. outside: the seconds of real time in which something that does not take part
    may let a thread go on; when all wait and nothing is due, a DeadlockError comes after that time.
    """

    def __init__(self, *, seed: int = 0, outside: float = 0.0) -> None:
        if not 0 <= seed < 1 << 64:
            raise InvalidValueError(f"virtual_time: seed is an integer from 0 to 2**64 - 1, not {seed!r}")
        if not 0 <= outside < 1e9:
            raise InvalidValueError(f"virtual_time: outside is a time in seconds, 0 or more, not {outside!r}")
        self.seed = seed
        self.outside = outside
        self._begin: int | None = None

    def __enter__(self) -> VirtualTime:
        _core.virtual_time_begin(self.seed, self.outside)
        self._begin = _core.virtual_time_now()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._begin = None
        _core.virtual_time_end()

    def __repr__(self) -> str:
        is_in_force = self._begin is not None and _core.virtual_time_is_on()
        state = f"at {self.now:.9f} s" if is_in_force else "not in force"
        return f"<pydoca.sim.VirtualTime, seed {self.seed}, {state}>"

    @property
    def now(self) -> float:
        """The time in seconds since the beginning."""
        return (_core.virtual_time_now() - self._since("now")) / _SECOND

    @property
    def digest(self) -> str:
        """All decisions and moments so far, as 16 hexadecimal digits. Equal runs have equal ones."""
        self._since("digest")
        return f"{_core.virtual_time_digest():016x}"

    def sleep(self, seconds: float) -> None:
        """Has this thread wait in virtual time. In a coroutine there is asyncio.sleep()."""
        self._since("sleep")
        if not seconds >= 0:
            raise InvalidValueError(f"sleep: a time in seconds is needed, 0 or more, not {seconds!r}")
        end = _core.virtual_time_now() + round(seconds * _SECOND)
        while _core.virtual_time_wait(-1, end) is Wake.INTERRUPTED:
            pass  # the signals' handlers have run, and none has raised

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        """A loop whose time is virtual: asyncio.Runner(loop_factory=...) takes this method."""
        self._since("new_event_loop")
        return VirtualEventLoop()

    def run(self, *coroutines: Coroutine[Any, Any, Any]) -> Any:
        """Runs each coroutine in an event loop of its own, and returns what it returns; a list, if there are several.

        One coroutine runs in this thread, unless a loop runs here already; several run in threads, such as a host and a
        DPU. When one of them raises, the others are cancelled, and its exception comes out: an ExceptionGroup, if there
        are several.
        """
        self._since("run")
        if len(coroutines) == 1 and asyncio._get_running_loop() is None:
            return self._run_here(coroutines[0])
        results = _Threads([self._run_of(coroutine) for coroutine in coroutines]).run()
        return results[0] if len(coroutines) == 1 else results

    def run_threads(self, *functions: Callable[[], Any]) -> list[Any]:
        """Runs each function in a thread that takes part, and returns what they return. Raises what `run` raises."""
        self._since("run_threads")
        for function in functions:
            require_plain_function("run_threads", function)
        return _Threads([_Body(function) for function in functions]).run()

    def _run_here(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=VirtualEventLoop) as runner:
            return runner.run(coroutine)

    def _run_of(self, coroutine: Coroutine[Any, Any, Any]) -> _Body:
        return _LoopBody(coroutine)

    def _since(self, what: str) -> int:
        if self._begin is None:
            raise BadStateError(f"{what}: this virtual time is not in force; use it within its with block")
        if not _core.virtual_time_is_on():
            raise BadStateError(
                f"{what}: this process was forked within virtual time, and has real time; begin its own"
            )
        return self._begin


class VirtualEventLoop(asyncio.SelectorEventLoop):
    """asyncio's loop, whose time is the virtual one."""

    has_virtual_time = True

    def __new__(cls) -> VirtualEventLoop:
        _selector_type()  # a loop that was refused later would be an unclosed one
        return super().__new__(cls)

    def __init__(self) -> None:
        super().__init__(_selector_type()())

    def time(self) -> float:
        return _core.virtual_time_now() / _SECOND


@cache
def _selector_type() -> type[selectors.EpollSelector]:
    """The selector's class, made for the first loop: gevent's monkey patching removes EpollSelector."""
    epoll_selector = getattr(selectors, "EpollSelector", None)
    if epoll_selector is None:
        raise NotSupportedError(
            "virtual_time: its event loops need selectors.EpollSelector, which is not there: gevent.monkey has removed "
            "it; make the loop in a process without monkey patching, or use asyncio in real time"
        )

    class Selector(epoll_selector):  # type: ignore[misc, valid-type]
        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            return _select(self, super().select, timeout)

    return Selector


def _select(
    selector: selectors.EpollSelector, look: Callable[[float | None], _Events], timeout: float | None
) -> _Events:
    ready = look(0)
    if not _core.virtual_time_is_on():
        return ready or look(timeout)
    if ready or (timeout is not None and timeout <= 0):
        # A turn of the loop takes some time, in which others may run.
        _core.virtual_time_wait(-1, _core.virtual_time_now() + _TURN)
        return ready or look(0)
    until = None if timeout is None else _core.virtual_time_now() + max(1, round(timeout * _SECOND))
    if _core.virtual_time_wait(selector.fileno(), until) is Wake.STUCK:
        raise DeadlockError(_stuck())
    return look(0)


def _stuck() -> str:
    """The message for threads that all wait for ever: what the coroutines of this thread wait for."""
    loop = asyncio._get_running_loop()
    waits = []
    for task in asyncio.all_tasks(loop) if loop is not None else ():
        frames = task.get_stack(limit=1)
        place = f", {frames[-1].f_code.co_filename}:{frames[-1].f_lineno}" if frames else ""
        waits.append(f"{task.get_name()} ({getattr(task.get_coro(), '__qualname__', '?')}{place})")
    listed = "; ".join(sorted(waits)) or "no coroutine"
    return f"in virtual time nothing can happen any more; there wait: {listed}"


class _Body:
    """The work of one thread."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function

    def run(self) -> Any:
        return self._function()

    def cancel(self) -> None:
        """Has no effect on a plain function, which ends by itself or by a DeadlockError."""


class _LoopBody(_Body):
    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None

    def run(self) -> Any:
        with asyncio.Runner(loop_factory=VirtualEventLoop) as runner:
            self._loop = runner.get_loop()
            self._task = self._loop.create_task(self._coroutine)
            return self._loop.run_until_complete(self._task)

    def cancel(self) -> None:
        if self._loop is not None and self._task is not None:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                self._loop.call_soon_threadsafe(self._task.cancel)


def _require_threads() -> None:
    """Raises when gevent or eventlet have replaced the functions of the system's threads."""
    if not isinstance(_thread.start_new_thread, BuiltinFunctionType):
        raise NotSupportedError(
            "virtual_time: several coroutines, and functions, run in threads of the system, and "
            f"{_thread.start_new_thread.__module__} has replaced these by its own: monkey patch without threads"
        )


class _Threads:
    """Threads that begin together: each takes its place in their order, and none runs before the last one has."""

    def __init__(self, bodies: Sequence[_Body]) -> None:
        _require_threads()
        self._bodies = bodies
        self._results: list[Any] = [None] * len(bodies)
        self._errors: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._run_one, args=(place,), name=f"pydoca virtual {place}", daemon=True)
            for place in range(len(bodies))
        ]

    def run(self) -> list[Any]:
        _core.virtual_time_join()
        for thread in self._threads:
            before = _core.virtual_time_num_threads()
            thread.start()
            while thread.is_alive() and _core.virtual_time_num_threads() == before:
                thread.join(0.0001)
        _core.virtual_time_leave()
        try:
            self._wait()
        finally:
            _core.virtual_time_join()
        return self._outcome()

    def _wait(self) -> None:
        try:
            for thread in self._threads:
                thread.join()
        except BaseException:
            self._cancel_all()
            for thread in self._threads:
                thread.join(5)
            raise

    def _run_one(self, place: int) -> None:
        _core.virtual_time_join()
        try:
            self._results[place] = self._bodies[place].run()
        except BaseException as error:
            self._errors.append(error)
            if len(self._errors) == 1:
                self._cancel_all()
        finally:
            _core.virtual_time_leave()

    def _cancel_all(self) -> None:
        for body in self._bodies:
            body.cancel()

    def _outcome(self) -> list[Any]:
        """The results in order. After the first error the other threads end by a cancellation."""
        if not self._errors:
            return self._results
        first, *others = self._errors
        others = [error for error in others if not isinstance(error, asyncio.CancelledError)]
        if others:
            raise BaseExceptionGroup("several threads of a virtual time", [first, *others])
        raise first
