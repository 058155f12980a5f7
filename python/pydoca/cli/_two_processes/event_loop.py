"""Runs the work of a command in an event loop; a signal ends it."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Coroutine
from typing import Any, Generic, NoReturn, TypeVar

from pydoca.cli._errors import CommandError, Interrupted

_T = TypeVar("_T")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def together(*works: Coroutine[Any, Any, Any]) -> list[Any]:
    """Runs all works and returns their results. When one fails, cancels the others, waits for them, and raises."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def run(work: Coroutine[Any, Any, _T], front_end: socket.socket | None = None) -> _T:
    """Runs the work in an event loop; a signal, or the end of the front end's socket, cancels it. Once in a process."""
    return asyncio.run(_run(work, front_end))


async def _run(work: Coroutine[Any, Any, _T], front_end: socket.socket | None) -> _T:
    loop = asyncio.get_running_loop()
    end = _End(asyncio.create_task(work))
    for number in _SIGNALS:
        loop.add_signal_handler(number, end.because_of, Interrupted(number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)  # a front end starts its halves with both signals blocked
    if front_end is not None:
        loop.add_reader(front_end, end.because_of, CommandError("the front end has ended"))
    try:
        await asyncio.wait({end.task})
    finally:
        # The result is final and not yet reported: a late Ctrl-C must not cause a second message.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        if front_end is not None:
            loop.remove_reader(front_end)
    return end.result()


class _End(Generic[_T]):
    """Ends a task from outside. The first reason counts; later ones do not disturb the task's cleanup."""

    def __init__(self, task: asyncio.Task[_T]) -> None:
        self.task = task
        self._reason: CommandError | None = None

    def because_of(self, reason: CommandError) -> None:
        if self._reason is None:
            self._reason = reason
            self.task.cancel()

    def result(self) -> _T:
        if self.task.cancelled():
            self._raise_reason()
        return self.task.result()

    def _raise_reason(self) -> NoReturn:
        raise self._reason or CommandError("the work was cancelled")
