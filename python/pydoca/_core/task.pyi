from asyncio import Future
from collections.abc import Callable, Coroutine, Generator
from enum import IntEnum
from typing import Any

from pydoca._core.buf import Buf
from pydoca._core.context import Context
from pydoca._core.progress_engine import ProgressEngine
from pydoca._core.types import SubmitFlags
from pydoca._errors import DocaError, Status

class TaskState(IntEnum):
    """The state of a task: whether the program or the device has it."""

    FREE = 0
    IDLE = 1
    SUBMITTED = 2

class Task(Coroutine[Any, Any, Any]):
    """A unit of work for a device: await it, or wait() without an event loop; then submit it again. The
    task and its bufs live as long as the device has it, even when the program drops every reference.
    await returns the completion's value, or raises the task's error. A cancelled await raises
    CancelledError once the device has released the memory. After the engine's drain_timeout, or at a
    second cancellation, the task is given up instead: its memory stays in quarantine (BufferInUseError)
    and its context is faulted.
    """
    def submit(self, flags: SubmitFlags = ...) -> None:
        """Submits the task without checking its fields: an error in them fails the task later, and stops its
        context. Raises BadStateError unless the context runs and the task is idle, AgainError when the
        queue is full.
        """
    def try_submit(self, flags: SubmitFlags = ...) -> None:
        """Submits the task as submit() does, after checking its fields: raises InvalidValueError for an error
        that would fail in the device.
        """
    def free(self) -> None:
        """Gives the slot back to the context. In flight, while the context is STOPPING, this takes effect at
        completion, without a callback. Raises InUseError in flight otherwise, BadStateError when freed already
        (doca_task_free).
        """
    def wait(self, timeout: float | None = ...) -> Any:
        """Progresses until the task has completed, and returns the value of result(). timeout in seconds, None
        for no limit. Raises TimeOutError, the task's own error, and the exceptions that callbacks raised
        meanwhile (an ExceptionGroup).
        """
    def result(self) -> Any:
        """The value of the last completion (None for most tasks). Raises the error of a failed one, BadStateError
        before the first submission, and InProgressError until its completion.
        """
    def __await__(self) -> Generator[Any, None, Any]: ...
    def send(self, value: Any) -> Any:
        """For asyncio.create_task(): the next step of the asyncio task that it made of this object."""
    def throw(self, *error: Any) -> Any:
        """For asyncio.create_task(): the next step with an error, a cancellation say."""
    def close(self) -> None:
        """For asyncio, which calls it for a coroutine that it does not take: does nothing, as this object goes on."""
    def add_done_callback(self, fn: Callable[[Task], object]) -> None:
        """Calls fn(task) once: at the next completion, or at once when the task is done."""
    def remove_done_callback(self, fn: Callable[[Task], object]) -> int:
        """Removes fn from the callbacks; returns how many times it was there."""
    @property
    def status(self) -> Status:
        """The status of the last completion; IN_PROGRESS while in flight."""
    @property
    def state(self) -> TaskState:
        """The TaskState; FREE once it is freed, or its context has stopped."""
    @property
    def done(self) -> bool:
        """Whether it has completed, and is not in flight again."""
    @property
    def user_data(self) -> Any:
        """Any object; the callbacks get it as an argument."""
    @user_data.setter
    def user_data(self, value: Any) -> None: ...
    @property
    def context(self) -> Context:
        """The Context that the task belongs to."""
    @property
    def _engine(self) -> ProgressEngine: ...
    @property
    def _completions(self) -> int: ...
    @property
    def _value(self) -> Any: ...
    @property
    def _lends_memory(self) -> bool: ...
    def _abandon(self) -> None: ...
    def _add_driver(self) -> None: ...
    def _remove_driver(self) -> None: ...
    def _outcome(self) -> DocaError | None: ...
    def _exception_of(self, status: int) -> DocaError | None: ...
    def _quarantine(self) -> bool: ...
    def _require_submitted(self, what: str) -> None: ...
    def _snapshot(self) -> tuple[str, str, Status, str, int, bool]: ...
    def _add_waiter(self, future: Future[Any]) -> None: ...
    def _discard_waiter(self, future: Future[Any]) -> None: ...

class LibraryTask(Task):
    """A task that works on bufs."""

    src: Buf | None
    """The Buf with the data. None when tasks of this kind have no src, and once the task is freed. Setting
    it raises InUseError in flight.
    """
    dst: Buf | None
    """The Buf to which the task appends, or that an atomic changes. None when tasks of this kind have no
    dst, and once the task is freed. Setting it raises InUseError in flight.
    """
