from collections.abc import Callable
from typing import Any

from pydoca._core.buf import Buf
from pydoca._core.context import Context, ContextState
from pydoca._core.device import Device, DeviceInfo
from pydoca._core.progress_engine import ProgressEngine
from pydoca._core.task import Task

class MmapAdviseInvalidateCacheTask(Task):
    """Drops the data of buf from the caches of the DPU, so that the next access reads memory. What the caches
    have changed is written back first.
    """

    buf: Buf | None
    """The Buf, None once the task is freed. Setting it raises InUseError in flight."""

class MmapAdvise(Context):
    """Advice about the memory of a DPU: its caches may be invalidated."""
    def __init__(
        self,
        pe: ProgressEngine | None,
        dev: Device,
        *,
        num_tasks: int = ...,
        on_completion: Callable[[MmapAdviseInvalidateCacheTask, Any, Any], object] | None = ...,
        on_error: Callable[[MmapAdviseInvalidateCacheTask, Any, Any], object] | None = ...,
        on_state_changed: Callable[[Any, MmapAdvise, ContextState, ContextState], object] | None = ...,
        user_data: Any = ...,
    ) -> None: ...
    def set_invalidate_cache_conf(
        self,
        on_completion: Callable[[MmapAdviseInvalidateCacheTask, Any, Any], object] | None = ...,
        on_error: Callable[[MmapAdviseInvalidateCacheTask, Any, Any], object] | None = ...,
        num_tasks: int = ...,
    ) -> None:
        """The number of tasks, in 1..max_num_tasks, and their callbacks, as the constructor's keywords have them;
        what is left out is the constructor's default. Raises NotPermittedError unless IDLE, InvalidValueError
        (doca_mmap_advise_task_invalidate_cache_set_conf).
        """
    @property
    def num_tasks(self) -> int:
        """How many tasks may be allocated at a time."""
    def invalidate_cache(
        self, buf: Buf | None, *, user_data: Any = ..., submit: bool = ...
    ) -> MmapAdviseInvalidateCacheTask:
        """Allocates a task that drops the data of buf from the caches of the DPU, and submits it unless submit
        is false. Raises NoMemoryError when all num_tasks are allocated, BadStateError unless the context runs,
        InvalidValueError for a list, a buf without data or in memory of another process, AgainError when the
        queue is full (doca_mmap_advise_task_invalidate_cache).
        """
    @staticmethod
    def is_supported(info: DeviceInfo) -> bool:
        """Whether the device invalidates its cache."""
    @staticmethod
    def max_buf_size(info: DeviceInfo) -> int:
        """The most bytes per task."""
    @staticmethod
    def max_num_tasks(info: DeviceInfo) -> int:
        """The largest num_tasks."""
