from pydoca._core.device import Device
from pydoca._core.mmap import Mmap

class DpaSyncEvent:
    """A sync event for kernels of the DPA, made by SyncEvent.dpa_handle(). Any thread may use it. Calls raise
    ShutdownError when the DPA has stopped, IoFailedError when it has failed, NotPermittedError for what the
    event's locations do not give to the DPA, BadStateError once the event has stopped.
    """
    def get(self) -> int:
        """The value (doca_dpa_dev_sync_event_get)."""
    def update_set(self, value: int) -> None:
        """Stores value (doca_dpa_dev_sync_event_update_set)."""
    def update_add(self, value: int) -> int:
        """Adds value atomically, modulo 2**64, and returns the value before
        (doca_dpa_dev_sync_event_update_add).
        """
    def wait_gt(self, value: int, mask: int = ..., *, timeout: float | None = ...) -> None:
        """Sleeps until (the event's value & mask) > value. timeout in seconds (TimeOutError)
        (doca_dpa_dev_sync_event_wait_gt).
        """
    def wait_eq(self, value: int, mask: int = ..., *, timeout: float | None = ...) -> None:
        """Sleeps until (the event's value & mask) == value."""
    def wait_neq(self, value: int, mask: int = ..., *, timeout: float | None = ...) -> None:
        """Sleeps until (the event's value & mask) != value (doca_dpa_dev_sync_event_wait_ne)."""

class DpaThread:
    """The thread of the DPA that runs a kernel: the kernel's first argument."""
    @property
    def rank(self) -> int:
        """Of the threads of one launch: 0 .. num_threads - 1."""
    @property
    def num_threads(self) -> int:
        """The threads of the launch."""
    @property
    def is_stopping(self) -> bool:
        """Whether the kernel should return: the DPA stops, or another kernel has failed."""
    def finish(self) -> None:
        """A thread that is woken again and again runs no more once this kernel has returned
        (doca_dpa_dev_thread_finish).
        """

class DpaLaunch:
    """One launch of a kernel, for pydoca.DpaRun."""
    def thread(self, rank: int) -> DpaThread: ...
    def next_turn(self, thread: DpaThread) -> bool: ...
    def fail(self, thread: DpaThread, why: str) -> None: ...
    def end(self, thread: DpaThread) -> None: ...
    def notify(self) -> None: ...
    @property
    def done(self) -> bool: ...
    def wait(self, timeout: float | None) -> None: ...

class DpaEngine:
    """The base of pydoca.Dpa."""
    def __init__(self, dev: Device) -> None: ...
    def _start(self) -> None: ...
    def _stop(self) -> None: ...
    def _close(self) -> None: ...
    def _prepare(
        self,
        kernel: str,
        num_threads: int,
        wait: tuple[DpaSyncEvent | None, int],
        done: tuple[DpaSyncEvent | None, int, bool],
        repeats: bool,
    ) -> DpaLaunch: ...
    def _memory(self, mmap: Mmap) -> memoryview: ...
    def _failure(self) -> str | None: ...
    def _num_threads(self) -> int: ...
    def _is_running(self) -> bool: ...
    def _is_closed(self) -> bool: ...
    def _device(self) -> Device: ...
