from collections.abc import Callable, Coroutine
from enum import IntEnum
from types import TracebackType
from typing import Any, Literal, Self, SupportsIndex, TypeAlias

from typing_extensions import Buffer

from pydoca._core.buf import Buf
from pydoca._core.context import Context, ContextState
from pydoca._core.device import Device, DeviceInfo
from pydoca._core.dpa import DpaEngine, DpaSyncEvent
from pydoca._core.progress_engine import ProgressEngine
from pydoca._core.task import Task

class SyncEventLocation(IntEnum):
    """A place from which a sync event is updated, or where it is waited for. NONE: the location of an
    imported event, which only its owner knows.
    """

    NONE = 0
    CPU = 1
    REMOTE_PCI = 2
    REMOTE_NET = 3
    DPA = 4
    GPU = 5

_Location: TypeAlias = SyncEventLocation | Literal["cpu", "remote_pci", "remote_net", "dpa", "gpu"]
_EventOperation: TypeAlias = Literal["get", "notify_set", "notify_add", "wait_gt", "wait_eq", "wait_neq"]

class SyncEvent:
    """A 64-bit counter on which processes, or the two sides of a PCIe link, wait for one another. Use it
    in a with block, or as a context with tasks (as_context).
    """
    def __init__(
        self,
        dev: Device,
        *,
        publisher: _Location | DpaEngine = ...,
        subscriber: _Location | DpaEngine = ...,
        memory: Buffer | None = ...,
        buf: Buf | None = ...,
        outlives_importers: bool = ...,
    ) -> None:
        """An event that is configured and not started. publisher, subscriber: cpu, remote_pci, remote_net
        (publisher only) or a Dpa; gpu raises NotSupportedError. memory: 8 writable, aligned bytes for the
        value; the event begins with their present value. buf: a Buf with 8 bytes of data, likewise. Without
        memory and buf the event has memory of its own, and begins at 0. outlives_importers: waits for an
        event with a remote publisher go on after the last process that had imported it has gone, for the
        next one to come; otherwise they raise NotConnectedError. Raises InvalidValueError,
        NotPermittedError (permissions of the buf's map).
        """
    def start(self) -> None:
        """Starts the event for the synchronous operations. This mode is fixed for life. Raises
        InvalidValueError when it was started, BadStateError when it has a context (doca_sync_event_start).
        """
    def stop(self) -> None:
        """Ends exports and waits. Then only close() is allowed. Raises InvalidValueError unless started,
        BadStateError when it has a context, AgainError while a peer's access has not ended
        (doca_sync_event_stop).
        """
    def close(self) -> None:
        """Stops the event, and closes it for good; idempotent. Raises InUseError while another thread waits on
        it, or its context is not IDLE.
        """
    def __enter__(self) -> Self: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    def get(self) -> int:
        """Returns the value. Raises BadStateError unless started by start(); NotConnectedError when its owner has
        stopped it, ConnectionResetError when its owner is gone (doca_sync_event_get).
        """
    def update_set(self, value: SupportsIndex) -> None:
        """Stores value, 0..2**64-1 (InvalidValueError). Raises the errors of get()
        (doca_sync_event_update_set).
        """
    def update_add(self, value: SupportsIndex) -> int:
        """Adds value atomically, modulo 2**64, and returns the value before. Raises the errors of get()
        (doca_sync_event_update_add).
        """
    def wait_gt(self, value: SupportsIndex, mask: SupportsIndex = ..., *, timeout: float | None = ...) -> None:
        """Waits until (the event's value & mask) > value. It spins: use it for short waits. timeout in
        seconds, None for no limit (TimeOutError). Ctrl-C ends it. Raises the errors of get(), and
        ConnectionResetError when a process that has imported the event is gone, once for each process;
        NotConnectedError while the publisher is remote and every process that had imported the event has
        gone, unless outlives_importers (doca_sync_event_wait_gt).
        """
    def wait_eq(self, value: SupportsIndex, mask: SupportsIndex = ..., *, timeout: float | None = ...) -> None:
        """Waits as wait_gt() does, until (the event's value & mask) == value (doca_sync_event_wait_eq)."""
    def wait_neq(self, value: SupportsIndex, mask: SupportsIndex = ..., *, timeout: float | None = ...) -> None:
        """Waits as wait_gt() does, until (the event's value & mask) != value (doca_sync_event_wait_neq)."""
    def wait_gt_yield(self, value: SupportsIndex, mask: SupportsIndex = ..., *, timeout: float | None = ...) -> None:
        """Waits as wait_gt() does, but yields its core between checks (doca_sync_event_wait_gt_yield)."""
    def wait_eq_yield(self, value: SupportsIndex, mask: SupportsIndex = ..., *, timeout: float | None = ...) -> None:
        """Waits as wait_eq() does, but yields its core between checks (doca_sync_event_wait_eq_yield)."""
    def wait_neq_yield(self, value: SupportsIndex, mask: SupportsIndex = ..., *, timeout: float | None = ...) -> None:
        """Waits as wait_neq() does, but yields its core between checks (doca_sync_event_wait_neq_yield)."""
    def export_to_remote_pci(self, dev: Device | None = ...) -> bytes:
        """Exports the event, for the other side of the device's PCIe link: a description of less than 512
        bytes, for import_sync_event. Raises InvalidValueError (not started, imported, no remote_pci
        location, another device than its own), NotSupportedError (the device cannot, or another process
        cannot map the memory: give the event pydoca.alloc(8)).
        """
    def export_to_remote_net(self) -> bytes:
        """Exports the event, for a network peer: a description of less than 512 bytes, for
        import_sync_event_remote_net. The publisher must be remote_net. Raises the errors of
        export_to_remote_pci().
        """
    def as_context(
        self,
        pe: ProgressEngine | None = ...,
        num_tasks: int | dict[_EventOperation, int] | None = ...,
        *,
        on_completion: Callable[[SyncEventTask, Any, Any], object] | None = ...,
        on_error: Callable[[SyncEventTask, Any, Any], object] | None = ...,
        on_state_changed: Callable[[Any, SyncEventContext, ContextState, ContextState], object] | None = ...,
        user_data: Any = ...,
    ) -> SyncEventContext:
        """The event in its asynchronous mode, which is fixed for life. The same object at every call; arguments
        are for the first one. pe=None: ProgressEngine.connect() connects it. num_tasks: the number of tasks
        of every kind that the device has, or a dict for some kinds, such as {"wait_eq": 100}; None: 32 of
        every kind. Raises BadStateError after start(), NotPermittedError for arguments at a later call,
        NotSupportedError for kinds that the device lacks (doca_sync_event_as_ctx).
        """
    def dpa_handle(self, dpa: DpaEngine) -> DpaSyncEvent:
        """The event for kernels of the Dpa that is one of its locations, a DpaSyncEvent. Raises
        InvalidValueError (not started, imported, or another Dpa) (doca_sync_event_get_dpa_handle).
        """
    @property
    def device(self) -> Device:
        """The Device whose CPU has the event, or on which it was imported."""
    @property
    def publisher(self) -> SyncEventLocation:
        """The location from which it is signalled."""
    @property
    def subscriber(self) -> SyncEventLocation:
        """The location where it is waited for."""
    @property
    def outlives_importers(self) -> bool:
        """Whether waits go on when the last process that had imported it has gone."""
    @property
    def is_started(self) -> bool:
        """Whether it is started, for the synchronous operations."""
    @property
    def is_from_export(self) -> bool:
        """Whether another process owns it."""
    @property
    def closed(self) -> bool:
        """Whether it is closed for good."""
    def _snapshot(self) -> tuple[str, int]: ...
    @staticmethod
    def is_supported(info: DeviceInfo) -> bool:
        """Whether the device has sync events."""
    @staticmethod
    def is_export_to_remote_pci_supported(info: DeviceInfo) -> bool:
        """Whether the device exports sync events over PCIe."""
    @staticmethod
    def is_create_from_export_supported(info: DeviceInfo) -> bool:
        """Whether the device imports sync events over PCIe."""
    @staticmethod
    def is_export_to_remote_net_supported(info: DeviceInfo) -> bool:
        """Whether the device exports sync events to network peers."""
    @staticmethod
    def is_remote_net_create_from_export_supported(info: DeviceInfo) -> bool:
        """Whether the device imports sync events of network peers."""
    @staticmethod
    def is_export_to_dpa_supported(info: DeviceInfo) -> bool:
        """Whether the device's DPA can use its sync events."""
    @staticmethod
    def is_export_to_gpu_supported(info: DeviceInfo) -> bool:
        """Always False: pydoca does not support this."""

class SyncEventRemoteNet:
    """A network peer's sync event: an operand of RDMA tasks."""
    def close(self) -> None:
        """Releases the event; idempotent."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    @property
    def device(self) -> Device:
        """The Device on which it was imported."""
    @property
    def closed(self) -> bool:
        """Whether it is released."""

class SyncEventTask(Task):
    """One operation on a sync event in its asynchronous mode. The result is the value (get), the value
    before (notify_add), the value that ended the wait (wait_gt, wait_eq, wait_neq) or None (notify_set).
    """
    @property
    def operation(self) -> _EventOperation:
        """The name of its kind in num_tasks: get, notify_set, ..., wait_neq."""
    @property
    def operand(self) -> int:
        """The number to store, to add or to wait for. Setting it, for another submission, raises InUseError in
        flight.
        """
    @operand.setter
    def operand(self, value: SupportsIndex) -> None: ...
    @property
    def mask(self) -> int:
        """Of a wait: the bits to compare, 1, 2, 4 or 8 adjacent bytes of 0xFF, or 0 for all. Setting it raises
        InUseError in flight.
        """
    @mask.setter
    def mask(self, value: SupportsIndex) -> None: ...
    def cancel(self) -> None:
        """Ends a wait in flight: the engine's next progress completes it with SHUTDOWN. Raises BadStateError
        for any other task.
        """

class SyncEventContext(Context):
    """A sync event whose operations are tasks. A wait fails when a process at the other end is gone, or
    the owner has stopped the event; the context stays running.
    """
    def get(self, *, user_data: Any = ..., submit: bool = ...) -> SyncEventTask:
        """Allocates a task whose result is the value, and submits it unless submit is false. Raises
        NoMemoryError when all tasks of the kind are allocated, BadStateError unless the context runs
        (doca_sync_event_task_get).
        """
    def notify_set(self, value: SupportsIndex, *, user_data: Any = ..., submit: bool = ...) -> SyncEventTask:
        """Allocates a task that stores value, 0..2**64-1 (InvalidValueError); its result is None. Submits and
        raises as get() does (doca_sync_event_task_notify_set).
        """
    def notify_add(self, value: SupportsIndex, *, user_data: Any = ..., submit: bool = ...) -> SyncEventTask:
        """Allocates a task that adds value atomically, modulo 2**64; its result is the value before. Submits
        and raises as get() does (doca_sync_event_task_notify_add).
        """
    def wait_eq(
        self, value: SupportsIndex, mask: SupportsIndex = ..., *, user_data: Any = ..., submit: bool = ...
    ) -> SyncEventTask:
        """Allocates a task that completes when (the event's value & mask) == value; its result is the value
        that ended the wait. mask: 0, or 1, 2, 4 or 8 adjacent bytes of 0xFF (InvalidValueError). Cancelling
        its await takes effect at once. When no other await waits for the task, cancelling also ends it with
        ShutdownError. Submits and raises as get() does, and raises NotSupportedError on devices without
        wait tasks (doca_sync_event_task_wait_eq).
        """
    def wait_neq(
        self, value: SupportsIndex, mask: SupportsIndex = ..., *, user_data: Any = ..., submit: bool = ...
    ) -> SyncEventTask:
        """Waits as wait_eq() does, until (the event's value & mask) != value (doca_sync_event_task_wait_neq)."""
    def wait_gt(
        self, value: SupportsIndex, mask: SupportsIndex = ..., *, user_data: Any = ..., submit: bool = ...
    ) -> SyncEventTask:
        """Waits as wait_eq() does, until (the event's value & mask) > value. DOCA up to 2.6 has this wait, and
        limits it: value is 0..254 (InvalidValueError), and an event whose masked value is above 254 ends it
        with IoFailedError, which stops the context (doca_sync_event_task_wait_gt).
        """
    def set_conf(
        self,
        operation: _EventOperation,
        on_completion: Callable[[SyncEventTask, Any, Any], object] | None = ...,
        on_error: Callable[[SyncEventTask, Any, Any], object] | None = ...,
        num_tasks: int = ...,
    ) -> None:
        """The number of tasks of this kind, and their callbacks, as as_context() has them for all kinds; what is
        left out is its default. Raises NotPermittedError unless IDLE, NotSupportedError for a kind that the
        device lacks, InvalidValueError (doca_sync_event_task_get_set_conf and its like).
        """
    def num_tasks(self, operation: _EventOperation) -> int:
        """The number of its tasks of this kind (get, notify_set, ..., wait_neq)."""
    def poll_until(self, predicate: Callable[[int], object], *, interval: float = ...) -> Coroutine[Any, Any, int]:
        """Awaits until predicate(value) is true, and gives that value.

        For devices without wait tasks, and conditions that these do not have. Looks with one get task, with a
        turn of the loop between looks, or interval seconds.
        """
    @property
    def event(self) -> SyncEvent:
        """The SyncEvent of the context."""
    @staticmethod
    def is_supported(info: DeviceInfo, operation: _EventOperation) -> bool:
        """Whether the device has tasks of this kind (get, notify_set, ..., wait_neq)."""
    @staticmethod
    def max_num_tasks(info: DeviceInfo) -> int:
        """The largest num_tasks, of each kind."""
