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
    """Any object. It can be set while the map is stopped."""
    free_callback: Callable[[Any], object] | None
    """The function that gets the memory when a map that was started since is released, or None. It
    can be set while the map is stopped (BadStateError).
    """
    max_num_devices: int
    """The largest number of devices. Setting it raises NotPermittedError after the first start,
    InvalidValueError for a number below the number of devices, or above 512.
    """
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
    ) -> None:
        """A map that is configured and not started. free_callback(memory) runs at the end of a map that was
        started at least once, when no task or buf refers to the memory any more; views keep the memory beyond
        that. thread_safety: as enable_thread_safety() says.
        """
    def add_device(self, device: Device) -> None:
        """Adds a device. Raises AlreadyExistError, NoMemoryError (above max_num_devices), NotPermittedError
        (started, imported).
        """
    def remove_device(self, device: Device) -> None:
        """Removes a device. Raises NotFoundError, and the errors of add_device()."""
    def set_memrange(self, memory: Buffer) -> None:
        """Sets the memory: any object with the buffer protocol, C-contiguous. It can be set once
        (NotPermittedError). The memory stays until map and views have gone. Raises BadStateError when started,
        InvalidValueError for an empty object.
        """
    def set_permissions(self, access: Access | str) -> None:
        """Sets the permissions. Raises InvalidValueError for pci_read_only with pci_read_write, and for write
        permission on read-only memory; BadStateError when started.
        """
    def set_dmabuf_memrange(self, dmabuf_fd: int, addr: int, offset: int, len: int) -> None:
        """Would set memory of another driver, such as a GPU's. Raises NotSupportedError: no device takes it, as
        the capability mmap_dmabuf says. Raises InvalidValueError for a bad descriptor or range, BadStateError
        and NotPermittedError as set_memrange() does (doca_mmap_set_dmabuf_memrange).
        """
    def enable_thread_safety(self) -> None:
        """Lets several threads take bufs of the map, each with an inventory of its own, and lets close() succeed
        while bufs are out: what it releases is then released when the bufs and the map have gone. Raises
        NotPermittedError when started (doca_mmap_enable_thread_safety).
        """
    @staticmethod
    def is_dmabuf_supported(info: DeviceInfo) -> bool:
        """Always False: no device takes memory of another driver."""
    def start(self) -> None:
        """Registers the range on every device. Raises InvalidValueError without range or device,
        NotPermittedError when started or imported.
        """
    def stop(self) -> None:
        """Withdraws exports and waits for peers' accesses, for a second at most. Raises NotPermittedError
        while bufs point into the map, AgainError while a peer's access has not ended. Does nothing for a
        stopped map.
        """
    def close(self) -> None:
        """Stops the map, and releases the memory; idempotent. Raises the errors of stop()."""
    def export_pci(self, device: Device | None = None) -> bytes:
        """Exports the range, for the other side of device's PCIe link: a description of less than 512 bytes.
        device may be omitted when the map has only one. Raises NotPermittedError (not started, no PCI
        permission, imported), NotFoundError (device not added), NotSupportedError.
        """
    def export_rdma(self, device: Device | None = None) -> bytes:
        """Exports the range, for peers on device's network: a description of less than 512 bytes. device may
        be omitted when the map has only one. Peers may do what both the map's RDMA permissions and an Rdma
        context's permissions allow. Raises NotPermittedError (not started, no RDMA permission, imported),
        NotFoundError, NotSupportedError (doca_mmap_export_rdma).
        """
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
    def is_thread_safe(self) -> bool:
        """Whether enable_thread_safety() was called."""
    @property
    def devices(self) -> list[Device]:
        """The devices that were added."""
    @property
    def memory(self) -> Any:
        """The object with the memory, as given to set_memrange(); None for an imported map."""
    def __bool__(self) -> bool: ...
    def _snapshot(self, limit: int) -> tuple[str, list[tuple[str, str]], list[tuple[int, int, int, int, bool]]]: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
