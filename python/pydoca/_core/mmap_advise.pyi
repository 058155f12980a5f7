from collections.abc import Callable
from typing import Any

from pydoca._core.buf import Buf
from pydoca._core.context import Context, ContextState
from pydoca._core.device import Device, DeviceInfo
from pydoca._core.progress_engine import ProgressEngine
from pydoca._core.task import Task

class MmapAdviseInvalidateCacheTask(Task):
    buf: Buf | None

class MmapAdvise(Context):
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
    ) -> None: ...
    @property
    def num_tasks(self) -> int: ...
    def invalidate_cache(
        self, buf: Buf | None, *, user_data: Any = None, submit: bool = True
    ) -> MmapAdviseInvalidateCacheTask: ...
    @staticmethod
    def is_supported(info: DeviceInfo) -> bool: ...
    @staticmethod
    def max_buf_size(info: DeviceInfo) -> int: ...
    @staticmethod
    def max_num_tasks(info: DeviceInfo) -> int: ...
