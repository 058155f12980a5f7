from asyncio import AbstractEventLoop
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from enum import IntEnum
from typing import Any, Literal, Self

from typing_extensions import Buffer

from pydoca._core.awaitable import Import
from pydoca._core.context import Context, _Snapshot
from pydoca._core.device import Device
from pydoca._core.mmap import Mmap
from pydoca._core.sync_event import SyncEvent, SyncEventRemoteNet
from pydoca._core.task import Task
from pydoca._progress import Progress
from pydoca._stats import EngineStats

class EventMode(IntEnum):
    """How to use the notification handle."""

    PROGRESS_SELECTIVE = 0
    PROGRESS_ALL = 1

class ProgressEngine:
    """Delivers the completions and events of its contexts, only within calls of its own methods. It
    belongs to the one thread that uses it, or, from the first await on, to that event loop.
    """
    def __init__(
        self, *, drain_timeout: float = ..., latency: Literal["low", "balanced", "power"] | None = ...
    ) -> None:
        """drain_timeout: seconds that a cancelled await waits for the device to release memory, before its
        task is given up.
        latency: what an event loop trades for speed. "balanced" polls the engine before it sleeps, for as
        long as polling has paid lately, at most 200 us. "low" always polls that long, and an await polls
        for up to 2 ms while the loop has nothing else to do. "power" sleeps at once. None: the
        environment's PYDOCA_LATENCY, else balanced.
        """
    @property
    def latency(self) -> Literal["low", "balanced", "power"]:
        """What an event loop trades for speed: "low", "balanced" or "power"."""
    @property
    def drain_timeout(self) -> float:
        """Seconds, 0 or more, that a cancelled await waits for the device before its task is given up."""
    @drain_timeout.setter
    def drain_timeout(self, value: float) -> None: ...
    @property
    def num_quarantined_tasks(self) -> int:
        """The number of tasks that were given up in flight and are still with the device. Their memory may not
        be used.
        """
    def progress(self) -> bool:
        """Delivers at most one completion or event, and calls its callbacks. Returns whether there was one.
        Never blocks.
        """
    def drain(self, max: int = ...) -> int:
        """Delivers up to max completions and events, and returns how many."""
    def run_until(
        self,
        what: Task | Iterable[Task] | Callable[[], object],
        timeout: float | None = ...,
        *,
        progress: Progress = ...,
    ) -> None:
        """Progresses until a task, or every task of an iterable, has completed, or until a predicate is true.

        When all have completed, raises the first failed task's error. timeout in seconds, None for no limit
        (TimeOutError). progress, of an iterable's tasks: as for gather().
        """
    def wait(self, timeout: float | None = ...) -> int:
        """Sleeps until something can be progressed, progresses it, and returns how many completions and events
        it delivered (1 or more). timeout in seconds, None for no limit; raises TimeOutError.
        """
    def submit_threadsafe(self, task: Task) -> None:
        """Queues a task from any thread. Make the task with submit=False. The engine wakes, and its own next
        progress submits the task as try_submit does. A submission that fails becomes the task's failed
        completion. Raises BadStateError for a task in flight or freed, InvalidValueError for a task of
        another engine.
        """
    def gather(self, tasks: Iterable[Task], *, progress: Progress = ...) -> Coroutine[Any, Any, list[Task]]:
        """Awaits all tasks and returns them as a list; raises the first failed one's error, when all have completed.

        progress: True shows tqdm's bar, in a terminal or a notebook; or a class like tqdm's; or a function
        (done, total).
        """
    def as_completed(self, tasks: Iterable[Task]) -> AsyncIterator[Task]:
        """Iterates (async for) over the tasks in the order of their completion."""
    def fileno(self) -> int:
        """The descriptor for select, epoll and event loops: readable once it is armed and something is
        pending.
        """
    @property
    def notification_handle(self) -> int:
        """The descriptor that fileno() gives (doca_pe_get_notification_handle)."""
    def request_notification(self) -> None:
        """Arms the handle. When something is pending, it is readable at once."""
    def clear_notification(self) -> None:
        """Disarms the handle and makes it unreadable."""
    @property
    def event_mode(self) -> EventMode:
        """The EventMode of fileno(). Setting it raises BadStateError in a callback."""
    @event_mode.setter
    def event_mode(self, value: EventMode) -> None: ...
    @property
    def num_inflight_tasks(self) -> int:
        """The number of tasks that are submitted and not completed."""
    @property
    def may_advance_elsewhere(self) -> bool:
        """Whether awaits and waits look for completions before they sleep, as far as the CPUs decide it: something
        that the engine waits for may advance on another CPU than this thread's. False in a thread that may run on
        one CPU only while all of it comes from that CPU. Found out anew before each sleep.
        """
    @property
    def num_contexts(self) -> int:
        """The number of contexts that are connected to it."""
    def connect(self, context: Context) -> None:
        """Connects a context that was made without an engine (pe=None), for life. Raises BadStateError unless it is
        IDLE, NotPermittedError when it has an engine (doca_pe_connect_ctx).
        """
    def import_mmap(self, device: Device, blob: Buffer, *, user_data: Any = None) -> Import[Mmap]:
        """Begins what device.import_mmap(blob) does, for an event loop: that call waits for the exporting
        process, up to two seconds for one that does not run. Await the result for the Mmap. Raises the same
        errors; those that need the exporting process when awaited.
        """
    def import_sync_event(self, device: Device, blob: Buffer) -> Import[SyncEvent]:
        """Begins what device.import_sync_event(blob) does, as import_mmap() begins the import of a map."""
    def import_sync_event_remote_net(self, device: Device, blob: Buffer) -> Import[SyncEventRemoteNet]:
        """Begins what device.import_sync_event_remote_net(blob) does, as import_mmap() begins the import of a
        map.
        """
    def stats(self) -> EngineStats:
        """What the engine did since it was made: tasks of its contexts, sleeps, looks in vain. The numbers only
        grow.
        """
    def release_thread(self) -> None:
        """Releases the engine from its thread and event loop, so that another can use it. Raises InUseError
        with tasks in flight.
        """
    def close(self) -> None:
        """Closes the engine for good; idempotent. Raises InUseError while contexts are open."""
    @property
    def closed(self) -> bool:
        """Whether it is closed for good."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *args: object) -> None: ...
    def _counts(self) -> tuple[int, int, int, int, int, int, int]: ...
    @property
    def _bridge(self) -> Any: ...
    def _contexts(self) -> list[Context]: ...
    def _snapshot(self, max_contexts: int, max_tasks: int) -> list[_Snapshot]: ...
    def _require_open(self, what: str) -> None: ...
    def _block_until(self, done: Callable[[], object], timeout: float | None, what: str) -> None: ...
    def _is_forked(self) -> bool: ...
    def _look(self) -> int: ...
    def _turn(self) -> None: ...
    def _ready(self) -> None: ...
    def _kick(self) -> None: ...
    def _progress_until(self, task: Task) -> bool: ...
    def _entered_loop(self, loop: AbstractEventLoop) -> None: ...
    def _left_loop(self) -> None: ...
    def _budget(self) -> int: ...

def end_all_engines() -> None: ...
