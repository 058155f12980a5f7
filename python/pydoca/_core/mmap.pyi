from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

from typing_extensions import Buffer

from pydoca._core.device import Device, DeviceInfo
from pydoca._core.memory import _Bytes
from pydoca._core.types import Access

class Mmap(_Bytes):
    """A range of memory that devices may reach. It has the buffer protocol, unless it is imported. One
    thread at a time: a call during another thread's start, stop or close raises InUseError.
    """

    user_data: Any
    free_callback: Callable[[Any], object] | None
    max_num_devices: int
    def __init__(
        self,
        memory: Buffer | None = None,
        *,
        devices: Iterable[Device] = (),
        access: Access | str | None = None,
        user_data: Any = None,
        free_callback: Callable[[Any], object] | None = None,
        max_num_devices: int | None = None,
        thread_safety: bool = False,
    ) -> None: ...
    def add_device(self, device: Device) -> None: ...
    def remove_device(self, device: Device) -> None: ...
    def set_memrange(self, memory: Buffer) -> None: ...
    def set_permissions(self, access: Access | str) -> None: ...
    def set_dmabuf_memrange(self, dmabuf_fd: int, addr: int, offset: int, len: int) -> None: ...
    def enable_thread_safety(self) -> None: ...
    @staticmethod
    def is_dmabuf_supported(info: DeviceInfo) -> bool: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...
    def export_pci(self, device: Device | None = None) -> bytes: ...
    def export_rdma(self, device: Device | None = None) -> bytes: ...
    @property
    def addr(self) -> int:
        """The address of the range in its owner's address space; 0 without a range."""
    @property
    def len(self) -> int:
        """The length of the range in bytes."""
    @property
    def access(self) -> Access:
        """The Access of devices and peers."""
    @property
    def is_started(self) -> bool:
        """Whether the map is started, and devices reach it."""
    @property
    def is_exported(self) -> bool:
        """Whether it was exported since it was started."""
    @property
    def is_from_export(self) -> bool:
        """Whether it maps the memory of a peer."""
    @property
    def num_bufs(self) -> int:
        """The number of bufs that point into the map now."""
    @property
    def is_thread_safe(self) -> bool: ...
    @property
    def devices(self) -> list[Device]:
        """The devices that were added."""
    @property
    def memory(self) -> Any:
        """The object with the memory, as given to set_memrange(); None for an imported map."""
    def __bool__(self) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
