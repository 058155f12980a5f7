from collections.abc import Callable
from typing import Any

from pydoca._core.buf import Buf
from pydoca._core.context import Context, ContextState
from pydoca._core.device import Device, DeviceInfo
from pydoca._core.progress_engine import ProgressEngine
from pydoca._core.task import LibraryTask

class DmaMemcpyTask(LibraryTask):
    """Copies src's data, in list order, to dst's tailrooms. On success dst's data_len grows by the copied
    length. On failure part of dst may have been written.
    """

class Dma(Context):
    """The copy engine of a device."""
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
    ) -> None:
        """The number of tasks, in 1..max_num_tasks, and their callbacks, as the constructor's keywords have them;
        what is left out is the constructor's default. Raises BadStateError unless IDLE, InvalidValueError
        (doca_dma_task_memcpy_set_conf).
        """
    @property
    def num_tasks(self) -> int:
        """How many tasks may be allocated at a time."""
    @property
    def ordered_completions(self) -> bool:
        """Whether tasks complete in the order in which they were submitted; False at first, when a small copy may
        overtake a large one. Setting it raises BadStateError unless IDLE (doca_dma_set_ordered_completions).
        """
    @ordered_completions.setter
    def ordered_completions(self, value: bool) -> None: ...
    def memcpy(self, src: Buf | None, dst: Buf | None, *, user_data: Any = ..., submit: bool = ...) -> DmaMemcpyTask:
        """Allocates a task that copies src to dst, and submits it unless submit is false. Raises NoMemoryError
        when all num_tasks are allocated, BadStateError unless the context runs, InvalidValueError for bufs
        that cannot be copied, AgainError when the queue is full (doca_dma_task_memcpy).
        """
    @staticmethod
    def is_supported(info: DeviceInfo) -> bool:
        """Whether the device has a copy engine."""
    @staticmethod
    def max_buf_size(info: DeviceInfo) -> int:
        """The most bytes per task."""
    @staticmethod
    def max_buf_list_len(info: DeviceInfo) -> int:
        """The most elements of a list; 1: no lists."""
    @staticmethod
    def max_num_tasks(info: DeviceInfo) -> int:
        """The largest num_tasks."""
