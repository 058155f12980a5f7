from collections.abc import Callable
from typing import Any

from typing_extensions import Buffer

from pydoca._core.batch import DmaMemcpyBatch
from pydoca._core.buf import Buf
from pydoca._core.context import Context, ContextState
from pydoca._core.device import Device, DeviceInfo
from pydoca._core.mmap import Mmap
from pydoca._core.progress_engine import ProgressEngine
from pydoca._core.task import LibraryTask

class DmaMemcpyTask(LibraryTask):
    src: Any  # a Buf, memory, or None
    dst: Any

class Dma(Context):
    def __init__(
        self,
        pe: ProgressEngine | None,
        dev: Device,
        *,
        num_tasks: int = ...,
        on_completion: Callable[[DmaMemcpyTask, Any, Any], object] | None = ...,
        on_error: Callable[[DmaMemcpyTask, Any, Any], object] | None = ...,
        on_state_changed: Callable[[Any, Dma, ContextState, ContextState], object] | None = ...,
        user_data: Any = ...,
    ) -> None: ...
    def set_memcpy_conf(
        self,
        on_completion: Callable[[DmaMemcpyTask, Any, Any], object] | None = ...,
        on_error: Callable[[DmaMemcpyTask, Any, Any], object] | None = ...,
        num_tasks: int = ...,
    ) -> None: ...
    @property
    def num_tasks(self) -> int: ...
    @property
    def ordered_completions(self) -> bool: ...
    @ordered_completions.setter
    def ordered_completions(self, value: bool) -> None: ...
    def memcpy(
        self, src: Buf | Buffer | None, dst: Buf | Buffer | None, *, user_data: Any = None, submit: bool = True
    ) -> DmaMemcpyTask: ...
    def memcpy_many(self, src: Mmap, dst: Mmap, descriptors: Buffer) -> DmaMemcpyBatch: ...
    @staticmethod
    def is_supported(info: DeviceInfo) -> bool: ...
    @staticmethod
    def max_buf_size(info: DeviceInfo) -> int: ...
    @staticmethod
    def max_buf_list_len(info: DeviceInfo) -> int: ...
    @staticmethod
    def max_num_tasks(info: DeviceInfo) -> int: ...
