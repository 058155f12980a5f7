"""The methods by which asyncio drives a coroutine, for tasks and awaitable events.

asyncio.create_task() and TaskGroup.create_task() take coroutines only, and take for one what has these methods. Each
asyncio task has an await of its own, so several may wait for one object. An await by the program does not come here.

An error keeps the frames that it came through. The methods therefore delete their names of the object: a task that
lived as long as the error would keep its slot.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)


class _Drive:
    """The await that belongs to an asyncio task, which keeps it as an attribute for as long as it lives."""

    __slots__ = ("awaiter", "driven")

    def __init__(self, driven: Any) -> None:
        self.driven = driven
        self.awaiter = driven.__await__()


@cache
def load_current_task() -> Callable[[], Any]:
    from asyncio import current_task

    return current_task


def _drive_of(driven: Any) -> Any:
    """The drive of the asyncio task that runs now, begun at its first step."""
    try:
        driver = load_current_task()()
    except RuntimeError:  # no event loop runs
        driver = None
    drive = getattr(driver, "_pydoca_drive", None)
    if drive is None or drive.driven is not driven:
        if driver is None or driver.get_coro() is not driven:
            raise TypeError(f"only asyncio.create_task() drives {driven!r} step by step; await it instead")
        drive = driver._pydoca_drive = _Drive(driven)
    return drive


def driven_by_asyncio(owner: _Class) -> _Class:
    """Gives an awaitable class the methods of a coroutine.

    A class of the extension has a C++ function that finds the drive, and that takes the usual steps without Python.
    """
    drive_of = getattr(owner, "_drive", _drive_of)

    def send(self: Any, value: Any) -> Any:
        """The next step of the asyncio task that asyncio.create_task() made of this object."""
        drive = drive_of(self)
        del self
        try:
            return drive.awaiter.send(value)
        except BaseException:
            drive.awaiter = None  # it is over
            raise
        finally:
            del drive

    def throw(self: Any, *error: Any) -> Any:
        """The next step with an error, such as a cancellation."""
        drive = drive_of(self)
        del self
        try:
            return drive.awaiter.throw(*error)
        except BaseException:
            drive.awaiter = None
            raise
        finally:
            del drive, error  # the error also refers to this frame

    def close(self: Any) -> None:
        """Does nothing, because the object goes on: asyncio calls it for a coroutine that it does not take."""
        if hasattr(self, "_use"):
            self._use()  # the caller has decided to do without: no warning

    for method in (send, throw, close):
        method.__module__, method.__qualname__ = owner.__module__, f"{owner.__name__}.{method.__name__}"
        setattr(owner, method.__name__, method)
    return owner
