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

class ShaPartialHashTask(LibraryTask):
    """Hashes a message piece by piece: submit the first piece, then set src to the next and submit again.
    Before the last one call set_is_final_buf(): it appends the digest to dst. All others must be multiples of
    Sha.partial_hash_block_size() bytes. dst and algorithm are fixed from the first piece on until reset().
    """
    @property
    def algorithm(self) -> _Algorithm:
        """ "sha1", "sha256" or "sha512". Setting raises InUseError in flight, BadStateError when the
        message has begun.
        """
    @algorithm.setter
    def algorithm(self, value: _Algorithm, /) -> None: ...
    def reset(self) -> None:
        """Forgets the pieces: the next one begins another message. Raises InUseError in flight
        (doca_sha_task_partial_hash_reset).
        """
    def set_is_final_buf(self) -> None:
        """The next piece is the last. Raises InUseError in flight, BadStateError before a first piece is done and
        when the message has ended (doca_sha_task_partial_hash_set_is_final_buf).
        """
    @property
    def is_final(self) -> bool:
        """Whether set_is_final_buf() was called for this message."""
    @property
    def has_result(self) -> bool:
        """Whether dst has the digest: the last piece is done."""

class Sha(Context):
    """The SHA engine of a device."""
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
    ) -> None:
        """The number of tasks, in 1..max_num_tasks, and their callbacks, as the constructor's keywords have them;
        what is left out is the constructor's default. Raises BadStateError unless IDLE, InvalidValueError
        (doca_sha_task_hash_set_conf).
        """
    @property
    def num_tasks(self) -> int:
        """How many tasks may be allocated at a time."""
    def set_partial_hash_conf(
        self,
        on_completion: Callable[[ShaPartialHashTask, Any, Any], object] | None = ...,
        on_error: Callable[[ShaPartialHashTask, Any, Any], object] | None = ...,
        num_tasks: int = ...,
    ) -> None:
        """The number of tasks, in 1..max_num_tasks, and their callbacks, as the constructor's keywords have them;
        what is left out is the constructor's default. Raises BadStateError unless IDLE, InvalidValueError
        (doca_sha_task_partial_hash_set_conf).
        """
    @property
    def num_partial_hash_tasks(self) -> int:
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
    def partial_hash(
        self,
        src: Buf | None,
        dst: Buf | None,
        algorithm: _Algorithm = ...,
        *,
        user_data: Any = ...,
        submit: bool = ...,
    ) -> ShaPartialHashTask:
        """Allocates a task that hashes a message piece by piece, and submits it with the first piece, src, unless
        submit is false. dst gets the digest with the last piece. Raises what hash() raises, and InvalidValueError
        for a piece that is not a multiple of partial_hash_block_size() (doca_sha_task_partial_hash).
        """
    @staticmethod
    def is_supported(info: DeviceInfo) -> bool:
        """Whether the device has a SHA engine."""
    @staticmethod
    def is_algorithm_supported(info: DeviceInfo, algorithm: _Algorithm) -> bool:
        """Whether the device computes this algorithm, at once and piece by piece."""
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
    @staticmethod
    def partial_hash_block_size(info: DeviceInfo, algorithm: _Algorithm) -> int:
        """Of what every piece of a message but the last has a multiple, in bytes."""
