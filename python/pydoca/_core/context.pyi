from collections.abc import Callable
from enum import IntEnum
from typing import Any, Self, TypeAlias

from pydoca._core.awaitable import SettledState
from pydoca._core.device import Device
from pydoca._core.progress_engine import ProgressEngine
from pydoca._errors import Status
from pydoca._stats import TaskStats

class ContextState(IntEnum):
    """The state of a context."""

    IDLE = 0
    STARTING = 1
    RUNNING = 2
    STOPPING = 3

# Kind, device, state, closed, faulted, failure, its reason, tasks in flight, allocated, counts, tasks in flight.
_Snapshot: TypeAlias = tuple[
    str, str, ContextState, bool, bool, Status, str, int, int, tuple[int, int, int, int], list[str]
]

class Context:
    """A library's object on a device: its constructor configures it; start it, use it, stop it. While it is IDLE,
    before the first start and after a stop, its setters configure it anew. With pe=None it has no engine until
    ProgressEngine.connect(). Belongs to the thread of its progress engine. Use it in a with or async with
    block.
    """
    def start(self) -> Status:
        """SUCCESS: it is RUNNING. IN_PROGRESS: progress until it is RUNNING, or IDLE when the start failed. Raises
        NotConnectedError without a progress engine, BadStateError unless IDLE, InvalidValueError when nothing is
        configured (doca_ctx_start).
        """
    def stop(self) -> Status:
        """SUCCESS: it is IDLE. IN_PROGRESS: it is STOPPING, because tasks are in flight or not freed; free them
        (free(), or drop every reference to them), and progress until it is IDLE. The end of a with block frees
        them (doca_ctx_stop).
        """
    def close(self) -> None:
        """Closes the context for good; idempotent. Raises InUseError unless IDLE; an Rdma raises BadStateError."""
    def flush_tasks(self) -> None:
        """Posts the tasks that were submitted without FLUSH."""
    def stats(self) -> TaskStats:
        """The numbers of its tasks since it was made; they only grow."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *args: object) -> None: ...
    @property
    def state(self) -> ContextState:
        """The state: IDLE, STARTING, RUNNING or STOPPING."""
    @property
    def failure(self) -> Status:
        """The reason why it last stopped by itself; SUCCESS when it did not."""
    @property
    def faulted(self) -> bool:
        """Whether a task was given up in flight while the device still used its memory. Submissions are then
        refused until the context was stopped and is IDLE.
        """
    @property
    def num_inflight_tasks(self) -> int:
        """The number of tasks that are submitted and not completed."""
    @property
    def on_state_changed(self) -> Callable[[Any, Any, ContextState, ContextState], object] | None:
        """Called with (user_data, context, previous, next) for each change of the state, or None. May be set
        in any state (doca_ctx_set_state_changed_cb).
        """
    @on_state_changed.setter
    def on_state_changed(self, value: Callable[[Any, Any, ContextState, ContextState], object] | None) -> None: ...
    @property
    def device(self) -> Device:
        """The Device of the context."""
    @property
    def progress_engine(self) -> ProgressEngine | None:
        """The ProgressEngine that completes its tasks; None until connected."""
    @property
    def closed(self) -> bool:
        """Whether it is closed for good."""
    @property
    def user_data(self) -> Any:
        """Any object; the callbacks get it as an argument."""
    @user_data.setter
    def user_data(self, value: Any) -> None: ...
    @property
    def _kind(self) -> str: ...
    def _counts(self) -> tuple[int, int, int, int]: ...
    def _snapshot(self, max_tasks: int) -> _Snapshot: ...
    def _begin_leaving(self) -> None: ...
    def _settled(self) -> SettledState: ...
