"""Waits for a device, and faults of a device that does not answer as it should."""

from __future__ import annotations

import contextlib
import select
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Literal

import pydoca

_LONGEST = 30.0  # seconds; enough for operations of some seconds, even on a busy machine
PATIENCE = 20.0  # seconds; an operation takes far less, even on a busy machine


class DeviceFault(AssertionError):
    """A fault of the device, described in one sentence."""


@contextlib.contextmanager
def duty(what: str) -> Iterator[None]:
    """Turns errors inside into faults of the device: the bench only asks for what the device says that it can do."""
    try:
        yield
    except pydoca.TimeOutError as error:
        raise DeviceFault(f"{what}: no answer within {PATIENCE:g} s") from error
    except pydoca.DocaError as error:
        raise DeviceFault(f"{what}: {error}") from error


def finish(task: pydoca.Task, what: str) -> Any:
    """Waits for the task, and gives its result."""
    with duty(what):
        return task.wait(timeout=PATIENCE)


def finish_all(pe: pydoca.ProgressEngine, tasks: Iterable[pydoca.Task], what: str) -> None:
    """Waits for all of these tasks."""
    with duty(what):
        pe.run_until(tasks, timeout=PATIENCE)


def until_true(pe: pydoca.ProgressEngine, condition: Callable[[], object], what: str) -> None:
    """Progresses until the condition is true."""
    with duty(what):
        pe.run_until(condition, timeout=PATIENCE)


def poll(pe: pydoca.ProgressEngine, condition: Callable[[], object], what: str) -> None:
    """Progresses until the condition is true, and never sleeps; for measurements that every delay would spoil."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if not pe.progress() and time.monotonic() > end:
            raise DeviceFault(f"{what}: no answer within {PATIENCE:g} s")


def time_of(task: pydoca.Task, what: str) -> int:
    """Nanoseconds from submission to completion; wait() may sleep for a part of them."""
    with duty(what):
        begin = time.perf_counter_ns()
        task.submit()
        task.wait(PATIENCE)
        return time.perf_counter_ns() - begin


def paced(count: int) -> Iterator[int]:
    """The numbers below count, or fewer if they take half a minute.

    A case thus ends on a device that is far too slow, and the cases that judge times report the fault.
    """
    end = time.monotonic() + _LONGEST
    for number in range(count):
        yield number
        if time.monotonic() > end:
            return


Wait = Callable[[pydoca.ProgressEngine, Callable[[], object], str], None]  # it waits until the condition is true


def time_by(wait: Wait, pe: pydoca.ProgressEngine, task: pydoca.Task, what: str) -> int:
    """Does the same as time_of() with another wait: when it polls, a delay of this thread does not delay a wake-up."""
    with duty(what):
        begin = time.perf_counter_ns()
        task.submit()
        wait(pe, lambda: task.done, what)
        taken = time.perf_counter_ns() - begin
        task.result()
        return taken


def require_value(found: int, expected: int, what: str) -> None:
    """Raises DeviceFault unless both numbers are the same."""
    if found != expected:
        raise DeviceFault(f"{what} is {found:#x}; it must be {expected:#x}")


def is_woken(pe: pydoca.ProgressEngine, seconds: float) -> bool:
    """Sleeps on the descriptor of an armed engine, and tells whether something came."""
    poll = select.poll()
    poll.register(pe, select.POLLIN)
    return bool(poll.poll(1000 * seconds))


def sleep_until(pe: pydoca.ProgressEngine, condition: Callable[[], object], what: str) -> None:
    """Arms the engine and sleeps on its descriptor alone, which shows a lost notification."""
    end = time.monotonic() + PATIENCE
    while not condition():
        pe.request_notification()
        if not is_woken(pe, max(0.0, end - time.monotonic())):
            raise DeviceFault(f"{what}: a sleeping engine was not woken within {PATIENCE:g} s")
        pe.clear_notification()
        pe.drain()


@contextlib.contextmanager
def refused(what: str, *expected: type[pydoca.DocaError]) -> Iterator[None]:
    """Checks that the call inside raises one of these errors."""
    names = " or ".join(each.__name__ for each in expected)
    try:
        yield
    except expected:
        return
    except pydoca.DocaError as error:
        raise DeviceFault(f"{what}: refused with {type(error).__name__} ({error}), not {names}") from error
    raise DeviceFault(f"{what}: accepted; it must be refused with {names}")


class Stand(contextlib.ExitStack):
    """Objects of one bench, closed in reverse order. The error of a bench that fails hides the errors of closing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        try:
            super().__exit__(kind, error, trace)
        except (pydoca.DocaError, ExceptionGroup) as closing:
            if error is None:
                raise DeviceFault(f"after the test, closing: {closing}") from closing
        return False

    def engine(self) -> pydoca.ProgressEngine:
        """A progress engine that ends with the stand."""
        return self.enter_context(pydoca.ProgressEngine())

    def bufs(self, count: int) -> pydoca.BufInventory:
        """An inventory of count bufs that ends with the stand."""
        return self.enter_context(pydoca.BufInventory(count))

    def keep(self, buf: pydoca.Buf) -> pydoca.Buf:
        """Releases the buf at the end."""
        return self.enter_context(buf)
