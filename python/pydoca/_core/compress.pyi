from collections.abc import Callable
from typing import Any

from pydoca._core.buf import Buf
from pydoca._core.context import Context, ContextState
from pydoca._core.device import Device, DeviceInfo
from pydoca._core.progress_engine import ProgressEngine
from pydoca._core.task import LibraryTask

class CompressDecompressDeflateTask(LibraryTask):
    @property
    def crc_cs(self) -> int: ...
    @property
    def adler_cs(self) -> int: ...

class Compress(Context):
    def __init__(
        self,
        pe: ProgressEngine | None,
        dev: Device,
        *,
        num_tasks: int = ...,
        on_completion: Callable[[CompressDecompressDeflateTask, Any, Any], object] | None = ...,
        on_error: Callable[[CompressDecompressDeflateTask, Any, Any], object] | None = ...,
        on_state_changed: Callable[[Any, Compress, ContextState, ContextState], object] | None = ...,
        user_data: Any = ...,
    ) -> None: ...
    def set_decompress_deflate_conf(
        self,
        on_completion: Callable[[CompressDecompressDeflateTask, Any, Any], object] | None = ...,
        on_error: Callable[[CompressDecompressDeflateTask, Any, Any], object] | None = ...,
        num_tasks: int = ...,
    ) -> None: ...
    @property
    def num_tasks(self) -> int: ...
    def decompress_deflate(
        self,
        src: Buf | None,
        dst: Buf | None,
        *,
        user_data: Any = None,
        submit: bool = True,
    ) -> CompressDecompressDeflateTask: ...
    @staticmethod
    def is_supported(info: DeviceInfo) -> bool: ...
    @staticmethod
    def is_decompress_deflate_supported(info: DeviceInfo) -> bool: ...
    @staticmethod
    def max_decompress_deflate_buf_size(info: DeviceInfo) -> int: ...
    @staticmethod
    def max_decompress_deflate_buf_list_len(info: DeviceInfo) -> int: ...
    @staticmethod
    def max_num_tasks(info: DeviceInfo) -> int: ...
