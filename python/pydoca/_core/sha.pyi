from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from pydoca._core.buf import Buf
from pydoca._core.context import Context, ContextState
from pydoca._core.device import Device, DeviceInfo
from pydoca._core.progress_engine import ProgressEngine
from pydoca._core.task import LibraryTask

_Algorithm: TypeAlias = Literal["sha1", "sha256", "sha512"]

class ShaHashTask(LibraryTask):
    """Hashes src's data, in list order, as one message, and appends the digest to dst: its
    data_len grows by 20, 32 or 64 bytes.
    """
    @property
    def algorithm(self) -> _Algorithm:
        """ "sha1", "sha256" or "sha512". Setting raises InUseError in flight."""
    @algorithm.setter
    def algorithm(self, value: _Algorithm, /) -> None: ...

class Sha(Context):
    """The SHA engine of a device."""
    def __init__(
        self,
        pe: ProgressEngine | None,
        dev: Device,
        *,
        num_tasks: int = ...,
        on_completion: Callable[[ShaHashTask, Any, Any], object] | None = ...,
        on_error: Callable[[ShaHashTask, Any, Any], object] | None = ...,
        on_state_changed: Callable[[Any, Sha, ContextState, ContextState], object] | None = ...,
        user_data: Any = ...,
    ) -> None: ...
    def set_hash_conf(
        self,
        on_completion: Callable[[ShaHashTask, Any, Any], object] | None = ...,
        on_error: Callable[[ShaHashTask, Any, Any], object] | None = ...,
        num_tasks: int = ...,
    ) -> None:
        """The number of tasks, in 1..max_num_tasks, and their callbacks, as the constructor's keywords have them;
        what is left out is the constructor's default. Raises BadStateError unless IDLE, InvalidValueError
        (doca_sha_task_hash_set_conf).
        """
    @property
    def num_tasks(self) -> int:
        """How many tasks may be allocated at a time."""
    def hash(
        self,
        src: Buf | None,
        dst: Buf | None,
        algorithm: _Algorithm = ...,
        *,
        user_data: Any = ...,
        submit: bool = ...,
    ) -> ShaHashTask:
        """Allocates a task that appends the digest of src to dst, and submits it unless submit is false. Raises
        NoMemoryError when all num_tasks are allocated, BadStateError unless the context runs, InvalidValueError
        for bufs or an algorithm that the device refuses, AgainError when the queue is full (doca_sha_task_hash).
        """
    @staticmethod
    def is_supported(info: DeviceInfo) -> bool:
        """Whether the device has a SHA engine."""
    @staticmethod
    def is_algorithm_supported(info: DeviceInfo, algorithm: _Algorithm) -> bool:
        """Whether the device computes this algorithm."""
    @staticmethod
    def max_src_buf_size(info: DeviceInfo) -> int:
        """Bytes per task."""
    @staticmethod
    def max_list_buf_num_elem(info: DeviceInfo) -> int:
        """Elements of a source; 1: no lists."""
    @staticmethod
    def max_num_tasks(info: DeviceInfo) -> int:
        """The largest num_tasks."""
    @staticmethod
    def min_dst_buf_size(info: DeviceInfo, algorithm: _Algorithm) -> int:
        """Bytes of tailroom that a digest needs."""
