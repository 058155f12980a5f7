from typing import Any

class DmaCapabilities:
    """The limits of a DMA engine: bytes per task, elements of a list (1: no lists), tasks of a context."""
    @property
    def max_buf_size(self) -> int:
        """The most bytes that one task can copy."""
    @property
    def max_buf_list_len(self) -> int:
        """The most elements of a list of bufs; 1: no lists."""
    @property
    def max_num_tasks(self) -> int:
        """The most tasks that a context can have."""
    def to_dict(self) -> dict[str, Any]:
        """The fields as plain Python, fit for JSON."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> DmaCapabilities: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> DmaCapabilities: ...
    def __reduce__(self) -> Any: ...

class ShaCapabilities:
    """The algorithms and limits of a SHA engine: bytes per task, elements of a source, tasks of a context."""
    @property
    def sha1(self) -> bool:
        """Whether it computes SHA-1."""
    @property
    def sha256(self) -> bool:
        """Whether it computes SHA-256."""
    @property
    def sha512(self) -> bool:
        """Whether it computes SHA-512."""
    @property
    def max_src_buf_size(self) -> int:
        """Bytes that one task can hash."""
    @property
    def max_list_buf_num_elem(self) -> int:
        """Elements of a source; 1: no lists."""
    @property
    def max_num_tasks(self) -> int:
        """Tasks that a context can have."""
    def to_dict(self) -> dict[str, Any]:
        """The fields as plain Python, fit for JSON."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> ShaCapabilities: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> ShaCapabilities: ...
    def __reduce__(self) -> Any: ...

class MmapAdviseCapabilities:
    """The limits of the invalidation of a cache: bytes per task, tasks of a context."""
    @property
    def max_buf_size(self) -> int:
        """The most bytes of which one task can invalidate the cache."""
    @property
    def max_num_tasks(self) -> int:
        """The most tasks that a context can have."""
    def to_dict(self) -> dict[str, Any]:
        """The fields as plain Python, fit for JSON."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> MmapAdviseCapabilities: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> MmapAdviseCapabilities: ...
    def __reduce__(self) -> Any: ...

class DpaCapabilities:
    """The limits of a DPA: threads that run kernels at a time."""
    @property
    def max_num_threads(self) -> int:
        """The most threads that run kernels at a time."""
    def to_dict(self) -> dict[str, Any]:
        """The fields as plain Python, fit for JSON."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> DpaCapabilities: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> DpaCapabilities: ...
    def __reduce__(self) -> Any: ...

class ClockCapabilities:
    """The clocks of a device, and the frequency of its counter in Hz."""
    @property
    def nic_free_running(self) -> bool:
        """Whether it has a counter of cycles."""
    @property
    def nic_real_time(self) -> bool:
        """Whether it has a clock of the time of day."""
    @property
    def nic_dpa_timer(self) -> bool:
        """Whether it has a timer of the DPA."""
    @property
    def free_running_frequency(self) -> int:
        """Cycles per second of the counter."""
    def to_dict(self) -> dict[str, Any]:
        """The fields as plain Python, fit for JSON."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> ClockCapabilities: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> ClockCapabilities: ...
    def __reduce__(self) -> Any: ...

class ComchCapabilities:
    """Whether a function can be a comch server or a client, and the limits: lengths in bytes (the name's
    with its NUL), queues and clients in numbers.
    """
    @property
    def server(self) -> bool:
        """Whether the function can be a server."""
    @property
    def client(self) -> bool:
        """Whether the function can be a client."""
    @property
    def max_name_len(self) -> int:
        """The most bytes of a server's name, with the NUL that ends it."""
    @property
    def max_msg_size(self) -> int:
        """The most bytes of a message."""
    @property
    def max_recv_queue_size(self) -> int:
        """The most messages that can wait to be received, on one connection."""
    @property
    def max_clients(self) -> int:
        """The most clients that one server can have."""
    @property
    def max_send_tasks(self) -> int:
        """The most send tasks that a server or a client can have."""
    def to_dict(self) -> dict[str, Any]:
        """The fields as plain Python, fit for JSON."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> ComchCapabilities: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> ComchCapabilities: ...
    def __reduce__(self) -> Any: ...

class SyncEventCapabilities:
    """The places to which a function's sync events can be exported and from which they can be imported,
    whether it has wait tasks, and how many tasks of each kind a context may have.
    """
    @property
    def export_to_remote_pci(self) -> bool:
        """Whether its events can be exported to the other side of its PCIe link."""
    @property
    def create_from_export(self) -> bool:
        """Whether it can import events of the other side."""
    @property
    def export_to_remote_net(self) -> bool:
        """Whether its events can be exported to network peers."""
    @property
    def remote_net_create_from_export(self) -> bool:
        """Whether it can import events of network peers."""
    @property
    def export_to_dpa(self) -> bool:
        """Whether its events can be given to its DPA."""
    @property
    def async_wait(self) -> bool:
        """Whether a context can have wait tasks."""
    @property
    def max_num_tasks(self) -> int:
        """The most tasks of each kind that a context can have."""
    def to_dict(self) -> dict[str, Any]:
        """The fields as plain Python, fit for JSON."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> SyncEventCapabilities: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> SyncEventCapabilities: ...
    def __reduce__(self) -> Any: ...

class RdmaCapabilities:
    """The limits of a device's RDMA: queues and lists in numbers, messages and packets (max_mtu) in bytes."""
    @property
    def max_send_queue_size(self) -> int:
        """The most tasks in flight on one connection."""
    @property
    def max_recv_queue_size(self) -> int:
        """The most receives that a context can have posted."""
    @property
    def max_send_buf_list_len(self) -> int:
        """The most elements of a list that a task sends or reads into."""
    @property
    def max_recv_buf_list_len(self) -> int:
        """The most elements of a list that a task receives into."""
    @property
    def max_message_size(self) -> int:
        """The most bytes of a message, a read or a write."""
    @property
    def max_num_connections(self) -> int:
        """The most connections that a context can have."""
    @property
    def max_mtu(self) -> int:
        """The most bytes of a packet: 256, 512, 1024, 2048 or 4096."""
    @property
    def default_gid_index(self) -> int:
        """The default index in the GID table: the entry that reaches most peers."""
    def to_dict(self) -> dict[str, Any]:
        """The fields as plain Python, fit for JSON."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> RdmaCapabilities: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> RdmaCapabilities: ...
    def __reduce__(self) -> Any: ...

class Capabilities:
    """The capabilities of a function. The field of an engine that the function lacks is None."""
    def __copy__(self) -> Capabilities: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> Capabilities: ...
    def __reduce__(self) -> Any: ...
    @property
    def dma(self) -> DmaCapabilities | None:
        """The limits of its DMA engine (DmaCapabilities), or None."""
    @property
    def sha(self) -> ShaCapabilities | None:
        """The limits of its SHA engine (ShaCapabilities), or None."""
    @property
    def comch(self) -> ComchCapabilities | None:
        """The limits of its comch (ComchCapabilities), or None."""
    @property
    def sync_event(self) -> SyncEventCapabilities | None:
        """The limits of its sync events (SyncEventCapabilities), or None."""
    @property
    def rdma(self) -> RdmaCapabilities | None:
        """The limits of its RDMA (RdmaCapabilities), or None."""
    @property
    def mmap_advise(self) -> MmapAdviseCapabilities | None:
        """The limits of the invalidation of its cache (MmapAdviseCapabilities), or None."""
    @property
    def clock(self) -> ClockCapabilities | None:
        """Its clocks (ClockCapabilities), or None."""
    @property
    def dpa(self) -> DpaCapabilities | None:
        """The limits of its DPA (DpaCapabilities), or None."""
    @property
    def mmap_export_pci(self) -> bool:
        """Whether its memory maps can be exported to the other side of its PCIe link."""
    @property
    def mmap_create_from_export_pci(self) -> bool:
        """Whether it can import memory maps of the other side."""
    @property
    def mmap_export_rdma(self) -> bool:
        """Whether its memory maps can be exported to network peers."""
    @property
    def rep_filter_all(self) -> bool:
        """Whether it can list representors of every kind."""
    @property
    def rep_filter_net(self) -> bool:
        """Whether it can list representors of network functions."""
    @property
    def rep_filter_emulated(self) -> bool:
        """Whether it can list representors of emulated functions."""
    @property
    def hotplug_manager(self) -> bool:
        """Whether it can plug in emulated functions."""
    @property
    def notification_moderation(self) -> bool:
        """Whether it can gather notifications before it interrupts."""
    @property
    def accelerate_resource_reclaim(self) -> bool:
        """Whether it can keep costly resources for a quick restart."""
    def to_dict(self) -> dict[str, Any]:
        """The fields as plain Python, fit for JSON."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
