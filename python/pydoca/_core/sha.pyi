from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from pydoca._core.buf import Buf
from pydoca._core.context import Context, ContextState
from pydoca._core.device import Device, DeviceInfo
from pydoca._core.progress_engine import ProgressEngine
from pydoca._core.task import LibraryTask

_Algorithm: TypeAlias = Literal["sha1", "sha256", "sha512"]

class ShaHashTask(LibraryTask):
    @property
    def algorithm(self) -> _Algorithm: ...
    @algorithm.setter
    def algorithm(self, value: _Algorithm, /) -> None: ...

class ShaPartialHashTask(LibraryTask):
    @property
    def algorithm(self) -> _Algorithm: ...
    @algorithm.setter
    def algorithm(self, value: _Algorithm, /) -> None: ...
    def reset(self) -> None: ...
    def set_is_final_buf(self) -> None: ...
    @property
    def is_final(self) -> bool: ...
    @property
    def has_result(self) -> bool: ...

class Sha(Context):
    def __init__(
        self,
        pe: ProgressEngine | None,
        dev: Device,
        *,
        num_tasks: int = ...,
        on_completion: Callable[[ShaHashTask | ShaPartialHashTask, Any, Any], object] | None = ...,
        on_error: Callable[[ShaHashTask | ShaPartialHashTask, Any, Any], object] | None = ...,
        on_state_changed: Callable[[Any, Sha, ContextState, ContextState], object] | None = ...,
        user_data: Any = ...,
    ) -> None: ...
    def set_hash_conf(
        self,
        on_completion: Callable[[ShaHashTask, Any, Any], object] | None = ...,
        on_error: Callable[[ShaHashTask, Any, Any], object] | None = ...,
        num_tasks: int = ...,
    ) -> None: ...
    @property
    def num_tasks(self) -> int: ...
    def set_partial_hash_conf(
        self,
        on_completion: Callable[[ShaPartialHashTask, Any, Any], object] | None = ...,
        on_error: Callable[[ShaPartialHashTask, Any, Any], object] | None = ...,
        num_tasks: int = ...,
    ) -> None: ...
    @property
    def num_partial_hash_tasks(self) -> int: ...
    def hash(
        self,
        src: Buf | None,
        dst: Buf | None,
        algorithm: _Algorithm = "sha256",
        *,
        user_data: Any = None,
        submit: bool = True,
    ) -> ShaHashTask: ...
    def partial_hash(
        self,
        src: Buf | None,
        dst: Buf | None,
        algorithm: _Algorithm = "sha256",
        *,
        user_data: Any = None,
        submit: bool = True,
    ) -> ShaPartialHashTask: ...
    @staticmethod
    def is_supported(info: DeviceInfo) -> bool: ...
    @staticmethod
    def is_algorithm_supported(info: DeviceInfo, algorithm: _Algorithm) -> bool: ...
    @staticmethod
    def max_src_buf_size(info: DeviceInfo) -> int: ...
    @staticmethod
    def max_list_buf_num_elem(info: DeviceInfo) -> int: ...
    @staticmethod
    def max_num_tasks(info: DeviceInfo) -> int: ...
    @staticmethod
    def min_dst_buf_size(info: DeviceInfo, algorithm: _Algorithm) -> int: ...
    @staticmethod
    def partial_hash_block_size(info: DeviceInfo, algorithm: _Algorithm) -> int: ...
