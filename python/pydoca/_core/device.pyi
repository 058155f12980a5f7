from collections.abc import Callable
from enum import IntFlag
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from typing_extensions import Buffer

from pydoca._core.capabilities import Capabilities
from pydoca._core.mmap import Mmap
from pydoca._core.representor import Representor, RepresentorInfo
from pydoca._core.sync_event import SyncEvent, SyncEventRemoteNet
from pydoca._core.types import Access, PciFuncType, RepFilter, Side

_Capability: TypeAlias = Literal[
    "dma",
    "sha",
    "sync_event",
    "mmap_advise",
    "clock",
    "dpa",
    "comch_server",
    "comch_client",
    "mmap_export_pci",
    "mmap_create_from_export_pci",
    "mmap_export_rdma",
    "mmap_dmabuf",
    "rdma",
    "rdma_connection_manager",
    "rdma_atomics",
    "representors",
    "sync_event_export_to_remote_pci",
    "sync_event_create_from_export",
    "sync_event_export_to_remote_net",
    "sync_event_remote_net_create_from_export",
    "sync_event_export_to_dpa",
    "async_sync_event_wait",
]
CAPABILITIES: tuple[_Capability, ...]

_Side: TypeAlias = Side | Literal["host", "dpu"]

class DeviceInfo:
    """A function at the time of its enumeration. The object does not change when the function changes or
    disappears.
    """
    def __init__(self, selector: str, *, side: _Side | None = None, pci_addr: str | None = None) -> None:
        """The function that selector names: a PCI address, name, ibdev name or interface."""
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def name(self) -> str:
        """Unique on its side, such as "p0"."""
    @property
    def pci_addr(self) -> str:
        """In the long form, 0000:03:00.0; empty for a software device such as Soft-RoCE."""
    @property
    def func_type(self) -> PciFuncType:
        """The type of the function: PF, VF or SF."""
    @property
    def side(self) -> Side:
        """The side of the PCIe link on which the function is: HOST or DPU."""
    @property
    def backend(self) -> str:
        """The name of the backend: "sim" or "verbs"."""
    @property
    def profile(self) -> str:
        """The name of the card, such as "bluefield3"."""
    @property
    def iface_name(self) -> str:
        """The name of its network interface; empty when it has none."""
    @property
    def ibdev_name(self) -> str:
        """The name of its RDMA device; empty when it has none."""
    @property
    def vuid(self) -> str:
        """The unique identifier among all functions; may be empty."""
    @property
    def vhca_id(self) -> int:
        """The card's number for the function."""
    @property
    def active_rate(self) -> int:
        """The rate of its port in bit/s."""
    @property
    def capabilities(self) -> Capabilities:
        """The Capabilities of the function: its engines and their limits."""
    @property
    def mac_addr(self) -> str:
        """The MAC address of its port. Raises NotSupportedError on an InfiniBand port."""
    @property
    def ipv4_addr(self) -> str:
        """The IPv4 address of its interface. Raises NotFoundError when none is set."""
    @property
    def ipv6_addr(self) -> str:
        """The IPv6 address of its interface. Raises NotFoundError when none is set."""
    @property
    def lid(self) -> int:
        """The LID of its port. Raises NotSupportedError unless the port is InfiniBand."""
    @property
    def sf_index(self) -> int:
        """The index of the SF. Raises NotSupportedError unless the function is an SF."""
    def is_equal_pci_addr(self, addr: str) -> bool:
        """Compares with an address in the long or the short form; raises InvalidValueError for another form."""
    def supports(self, capability: _Capability) -> bool:
        """Whether the function has a capability, one of pydoca.CAPABILITIES."""
    def why_unsupported(self, capability: _Capability) -> str:
        """The reason why the function lacks a capability; empty when it has the capability."""
    def to_dict(self) -> dict[str, Any]:
        """All properties as plain Python, fit for JSON. A property without a value is None."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

class Device:
    """A local function that was opened. Two openings of one function give two objects that are equal;
    close each of them.
    """
    @property
    def info(self) -> DeviceInfo:
        """The DeviceInfo at the time of the opening."""
    @property
    def name(self) -> str:
        """Unique on its side, such as "p0"."""
    @property
    def pci_addr(self) -> str:
        """In the long form, 0000:03:00.0; empty for a software device such as Soft-RoCE."""
    @property
    def side(self) -> Side:
        """The side of the PCIe link on which the function is: HOST or DPU."""
    @property
    def is_open(self) -> bool:
        """False once this opening is closed."""
    @property
    def removed(self) -> bool:
        """Whether the function was removed; its operations then fail."""
    def close(self) -> None:
        """Closes this opening of the device; idempotent. Raises InUseError when it is the last opening and
        memory maps, contexts or representors use the device.
        """
    def accelerate_resource_reclaim(self) -> None:
        """Keeps costly resources for a quick restart of what uses them. Raises NotSupportedError without the
        capability accelerate_resource_reclaim, DriverError when the device was removed
        (doca_dev_accelerate_resource_reclaim).
        """
    def representors(self, filter: RepFilter | str = RepFilter.ALL) -> list[RepresentorInfo]:
        """A snapshot of the representors whose parent is this device. Raises NotSupportedError on the host,
        and for a filter that the device lacks.
        """
    def open_representor(self, selector: str | RepresentorInfo) -> Representor:
        """Opens the representor that selector names: the represented function's PCI address, the representor's
        name or interface, or a RepresentorInfo. Raises NotFoundError and InvalidValueError.
        """
    def mmap(
        self,
        memory: Buffer,
        *,
        access: Access | str | None = None,
        user_data: Any = None,
        free_callback: Callable[[Any], object] | None = None,
    ) -> Mmap:
        """A started memory map of any object with the buffer protocol. access defaults to local_read_write,
        and to local_read_only for read-only memory. Raises InvalidValueError.
        """
    def import_mmap(self, blob: Buffer, *, user_data: Any = None) -> Mmap:
        """A map of the memory that blob describes. export_pci() on the other side, or export_rdma() on the
        network, made the blob. The map has the exporter's addresses. Raises InvalidValueError and
        UnsupportedVersionError for a bad blob, NotPermittedError (the wrong device or side),
        NotConnectedError (the export was withdrawn, or the exporter is gone), NotSupportedError.
        """
    def import_sync_event(self, blob: Buffer) -> SyncEvent:
        """The event that blob describes; not started. SyncEvent.export_to_remote_pci() on the other side made
        the blob. Raises the errors of import_mmap() (doca_sync_event_create_from_export).
        """
    def import_sync_event_remote_net(self, blob: Buffer) -> SyncEventRemoteNet:
        """The event of a network peer that blob describes. SyncEvent.export_to_remote_net() made the blob.
        Raises the errors of import_mmap() (doca_sync_event_remote_net_create_from_export).
        """
    def __enter__(self) -> Self: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def devices(*, side: _Side | None = None) -> list[DeviceInfo]:
    """A snapshot of the functions that this process may see. Raises NotFoundError when there is none."""

def unavailable_backends() -> dict[str, str]:
    """The backends without devices on this machine, by name. The value is the reason, and what to do about
    it.
    """

def open_device(
    selector: str | DeviceInfo | Callable[[DeviceInfo], bool] | None = None,
    *,
    side: _Side | None = None,
    capability: _Capability | None = None,
) -> Device:
    """Opens the function that selector names, or the first one. selector is a PCI address, a name, ibdev
    name or interface, a DeviceInfo, or a predicate of DeviceInfo. side and capability limit the choice.
    Raises NotFoundError, NotSupportedError (the function lacks the capability) and InvalidValueError
    (selector fits several functions).
    """

class ClockType(IntFlag):
    """A clock of a device (NIC) or of this machine (HOST). NIC_FREE_RUNNING, NIC_DPA_TIMER and
    HOST_COUNTER_CYCLES count cycles, the REAL_TIME clocks nanoseconds since 1970, the MONOTONIC ones
    nanoseconds.
    """

    NIC_FREE_RUNNING = 1
    NIC_REAL_TIME = 2
    NIC_DPA_TIMER = 4
    HOST_COUNTER_CYCLES = 8
    HOST_REAL_TIME = 16
    HOST_MONOTONIC = 32
    HOST_MONOTONIC_RAW = 64

_NicClock: TypeAlias = ClockType | Literal["nic_free_running", "nic_real_time", "nic_dpa_timer"]
_HostClock: TypeAlias = (
    ClockType | Literal["host_counter_cycles", "host_real_time", "host_monotonic", "host_monotonic_raw"]
)

class CrossTimestamp:
    """Two clocks at one moment."""
    @property
    def host(self) -> int:
        """The clock of this machine."""
    @property
    def nic(self) -> int:
        """The clock of the device."""
    @property
    def accuracy(self) -> int:
        """The two were read at most so many nanoseconds apart."""
    def __copy__(self) -> CrossTimestamp: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> CrossTimestamp: ...
    def __reduce__(self) -> Any: ...

class Clock:
    """The clocks of a device and of this machine. A simulated device has an oscillator that deviates by up
    to 20 ppm, and a time of day that is up to 100 ms wrong when the machine starts, the same in each run.
    """
    def __init__(self, dev: Device) -> None:
        """Raises NotSupportedError when the device has no clock (doca_clock_create)."""
    def timestamp(self, type: _NicClock | _HostClock) -> int:
        """The time of one clock, a ClockType or its name: cycles or nanoseconds. Raises NotSupportedError for a
        clock that is not there, BadStateError once closed, DriverError when the device was removed
        (doca_clock_get_timestamp).
        """
    def crosstimestamp(self, host: _HostClock, nic: _NicClock) -> CrossTimestamp:
        """A clock of this machine and one of the device, read as close together as some tries allow. Raises
        the errors of timestamp(), and InvalidValueError unless they are one of each
        (doca_clock_get_crosstimestamp).
        """
    def close(self) -> None:
        """Gives the device back; idempotent (doca_clock_destroy)."""
    @property
    def device(self) -> Device:
        """The Device of the clock."""
    @property
    def closed(self) -> bool:
        """Whether it is closed for good."""
    @staticmethod
    def is_supported(info: DeviceInfo, type: _NicClock | _HostClock) -> bool:
        """Whether the device, or this machine, has that clock."""
    @staticmethod
    def free_running_frequency(info: DeviceInfo) -> int:
        """Cycles per second of nic_free_running. Raises NotSupportedError without that clock."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
