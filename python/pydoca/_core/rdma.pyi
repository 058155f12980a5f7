from collections.abc import Callable, Coroutine, Generator, Iterable
from enum import IntEnum
from typing import Any, Literal, Self, SupportsIndex, TypeAlias

from typing_extensions import Buffer

from pydoca._core.awaitable import Awaitable, Import, QueuedEvent
from pydoca._core.buf import Buf
from pydoca._core.context import Context, ContextState
from pydoca._core.device import Device, DeviceInfo
from pydoca._core.progress_engine import ProgressEngine
from pydoca._core.sync_event import SyncEventRemoteNet
from pydoca._core.task import LibraryTask
from pydoca._core.types import Access
from pydoca._errors import Status
from pydoca._rdma.names import ConnectionByName
from pydoca._rdma.receives import Receives

class RdmaTransport(IntEnum):
    """The transport of connections: reliable (RC) or dynamic (DC)."""

    RC = 0
    DC = 1

class RdmaOpcode(IntEnum):
    """The operation that sent a received message."""

    RECV_SEND = 0
    RECV_SEND_WITH_IMM = 1
    RECV_WRITE_WITH_IMM = 2

class RdmaConnectionState(IntEnum):
    """The state of a connection: what it waits for, or that it takes tasks."""

    EXPORTED = 0
    REQUESTED = 1
    CONNECTING = 2
    ESTABLISHED = 3
    CLOSING = 4
    CLOSED = 5

_RdmaKind: TypeAlias = Literal[
    "receive",
    "send",
    "send_imm",
    "read",
    "write",
    "write_imm",
    "atomic_cmp_swp",
    "atomic_fetch_add",
    "remote_net_sync_event_get",
    "remote_net_sync_event_notify_set",
    "remote_net_sync_event_notify_add",
]
_RdmaTransport: TypeAlias = RdmaTransport | Literal["rc", "dc"]

class RdmaTask(LibraryTask):
    """One operation of an Rdma context. The result is the length (receive, read), the old or present value
    (atomics, sync events) or None. A failure in the device ends the connection and, except for a
    receive, stops the context. When the peer is gone (ConnectionResetError), only the connection ends.
    """

    result_buf: Buf | None
    """The Buf to which an atomic, or remote_net_sync_event_notify_add, appends the old value. None for
    other tasks, and once the task is freed. Setting it raises InUseError in flight.
    """
    sync_event: SyncEventRemoteNet | None
    """The peer's SyncEventRemoteNet of a remote_net_sync_event task. None for other tasks, and once the task
    is freed. Setting it raises InUseError in flight.
    """
    @property
    def cmp_data(self) -> int:
        """The value that atomic_cmp_swp compares with."""
    @cmp_data.setter
    def cmp_data(self, value: SupportsIndex) -> None: ...
    @property
    def swap_data(self) -> int:
        """The value that atomic_cmp_swp writes when the comparison is equal."""
    @swap_data.setter
    def swap_data(self, value: SupportsIndex) -> None: ...
    @property
    def add_data(self) -> int:
        """The number that atomic_fetch_add, or remote_net_sync_event_notify_add, adds."""
    @add_data.setter
    def add_data(self, value: SupportsIndex) -> None: ...
    @property
    def immediate_data(self) -> int:
        """The number that send_imm or write_imm sends: 0..2**32-1."""
    @immediate_data.setter
    def immediate_data(self, value: SupportsIndex) -> None: ...
    @property
    def kind(self) -> _RdmaKind:
        """The name of its kind in num_tasks: receive, send, ..."""
    @property
    def connection(self) -> RdmaConnection | None:
        """The connection that the task uses, or, after a receive, that the message came over; None before
        that. Setting it, for another submission, raises InUseError in flight, InvalidValueError for a
        receive and for a connection of another context.
        """
    @connection.setter
    def connection(self, value: RdmaConnection) -> None: ...
    @property
    def result_len(self) -> int | None:
        """The number of bytes that a receive or a read has brought."""
    @property
    def result_opcode(self) -> RdmaOpcode | None:
        """The operation that sent the received message."""
    @property
    def result_immediate_data(self) -> int | None:
        """The immediate data that came with the message, or None."""

class EstablishedConnection(Awaitable):
    """The awaitable of a connection, until it is established."""
    def __await__(self) -> Generator[Any, None, RdmaConnection]: ...
    def wait(self, timeout: float | None = ...) -> RdmaConnection:
        """Progresses until it is there, and returns it. timeout in seconds, None for no limit; raises
        TimeOutError.
        """
    @property
    def connection(self) -> RdmaConnection:
        """The connection, also before it is established."""

class EndedConnection(Awaitable):
    """The awaitable of the end of a connection."""
    def __await__(self) -> Generator[Any]: ...
    def wait(self, timeout: float | None = ...) -> None:
        """Progresses until it is there, and returns it. timeout in seconds, None for no limit; raises
        TimeOutError.
        """

class RequestedConnection(QueuedEvent):
    """The awaitable of the next connection request."""
    def __await__(self) -> Generator[Any, None, RdmaConnection]: ...
    def wait(self, timeout: float | None = ...) -> RdmaConnection:
        """Progresses until it is there, and returns it. timeout in seconds, None for no limit; raises
        TimeOutError.
        """

class RdmaConnection:
    """A connection of an Rdma context to one peer."""
    def connect(self, details: Buffer) -> None:
        """Connects a connection of Rdma.export() to the peer's; details is what the peer exported. When this
        returns, tasks may be submitted. Raises InvalidValueError and UnsupportedVersionError for details
        that are damaged or of something else, BadStateError when it is connected, ConnectionAbortedError
        when the peer is gone or connected to another (doca_rdma_connect).
        """
    def begin_connect(self, details: Buffer) -> Import[RdmaConnection]:
        """Begins what connect() does, for an event loop: that call waits for the peer, up to two seconds for
        one that does not run. Await the result for the connection. Raises the same errors; those that need
        the peer when awaited.
        """
    def accept(self, private_data: Buffer = ...) -> EstablishedConnection:
        """Accepts a connection request. private_data: up to 196 bytes that the peer gets with the answer.
        Returns an awaitable of the connection, once established. Raises BadStateError unless this is a
        request, ConnectionAbortedError when the peer is gone, InvalidValueError for more private data
        (doca_rdma_connection_accept).
        """
    def reject(self) -> None:
        """Rejects a connection request (doca_rdma_connection_reject)."""
    def disconnect(self) -> EndedConnection:
        """Ends the connection; idempotent. Its tasks fail with ShutdownError. Returns an awaitable of the end,
        which the caller may drop. A connection that was exported and not connected is given up at once
        (doca_rdma_connection_disconnect).
        """
    def established(self) -> EstablishedConnection:
        """The awaitable of the connection, once it is established. It raises the reason when the connection
        could not be established.
        """
    def ended(self) -> EndedConnection:
        """The awaitable of the connection's end, whichever side ends it."""
    async def while_connected(self, task: RdmaTask) -> Any:
        """Awaits task, a receive say, as long as there is this connection, and gives what the task gives.

        Raises ConnectionResetError, with what ended it, once there is none; the task stays in flight, as a
        receive is for every connection of its context.
        """
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> None: ...
    def send(self, src: Buf | None, *, user_data: Any = ..., submit: bool = ...) -> RdmaTask:
        """Allocates a task that sends src's data (None: no bytes) to a receive of the peer, and submits it
        unless submit is false. Raises NoMemoryError when all tasks of the kind are allocated,
        NotConnectedError, InvalidValueError for bufs that do not fit, AgainError when the queue is full
        (doca_rdma_task_send).
        """
    def send_imm(
        self, src: Buf | None, immediate_data: SupportsIndex, *, user_data: Any = ..., submit: bool = ...
    ) -> RdmaTask:
        """Sends src's data as send() does. The peer's receive also gets immediate_data, 0..2**32-1
        (doca_rdma_task_send_imm).
        """
    def read(self, src: Buf | None, dst: Buf | None, *, user_data: Any = ..., submit: bool = ...) -> RdmaTask:
        """Allocates a task that appends src's data, in the peer's memory, to dst; its result is the length.
        Submits and raises as send() does (doca_rdma_task_read).
        """
    def write(self, src: Buf | None, dst: Buf | None, *, user_data: Any = ..., submit: bool = ...) -> RdmaTask:
        """Allocates a task that writes src's data to dst's tailroom, in the peer's memory; the data section of
        dst does not change. Submits and raises as send() does (doca_rdma_task_write).
        """
    def write_imm(
        self,
        src: Buf | None,
        dst: Buf | None,
        immediate_data: SupportsIndex,
        *,
        user_data: Any = ...,
        submit: bool = ...,
    ) -> RdmaTask:
        """Writes as write() does. After that a receive of the peer gets immediate_data, 0..2**32-1
        (doca_rdma_task_write_imm).
        """
    def atomic_cmp_swp(
        self,
        dst: Buf,
        result: Buf,
        cmp_data: SupportsIndex,
        swap_data: SupportsIndex,
        *,
        user_data: Any = ...,
        submit: bool = ...,
    ) -> RdmaTask:
        """Allocates a task that compares the eight bytes at dst's data, in the peer's memory, with cmp_data,
        and sets them to swap_data when they are equal. The result is the old value, which is also appended
        to the buf result. Submits and raises as send() does (doca_rdma_task_atomic_cmp_swp).
        """
    def atomic_fetch_add(
        self, dst: Buf, result: Buf, add_data: SupportsIndex, *, user_data: Any = ..., submit: bool = ...
    ) -> RdmaTask:
        """Allocates a task that adds add_data to the eight bytes at dst's data, in the peer's memory, modulo
        2**64. The result is the old value, which is also appended to the buf result. Submits and raises as
        send() does (doca_rdma_task_atomic_fetch_add).
        """
    def remote_net_sync_event_get(
        self, event: SyncEventRemoteNet, dst: Buf, *, user_data: Any = ..., submit: bool = ...
    ) -> RdmaTask:
        """Allocates a task that reads the value of the peer's event, eight bytes. The result is the value,
        which is also appended to dst. Submits and raises as send() does
        (doca_rdma_task_remote_net_sync_event_get).
        """
    def remote_net_sync_event_notify_set(
        self, event: SyncEventRemoteNet, src: Buf, *, user_data: Any = ..., submit: bool = ...
    ) -> RdmaTask:
        """Allocates a task that sets the peer's event to src's data, eight bytes. Submits and raises as send()
        does (doca_rdma_task_remote_net_sync_event_notify_set).
        """
    def remote_net_sync_event_notify_add(
        self,
        event: SyncEventRemoteNet,
        result: Buf,
        add_data: SupportsIndex,
        *,
        user_data: Any = ...,
        submit: bool = ...,
    ) -> RdmaTask:
        """Allocates a task that adds add_data to the peer's event. The result is the old value, which is also
        appended to the buf result. Submits and raises as send() does
        (doca_rdma_task_remote_net_sync_event_notify_add).
        """
    @property
    def id(self) -> int:
        """The number of the connection, unique within the context."""
    @property
    def state(self) -> RdmaConnectionState:
        """The state: what it waits for, or that it takes tasks."""
    @property
    def is_connected(self) -> bool:
        """Whether it takes tasks."""
    @property
    def failure(self) -> Status:
        """The reason why the connection could not be made, or has ended: for example the status of the task
        that broke it. SUCCESS before that, and when this side ended it by disconnect() or stop().
        """
    @property
    def details(self) -> bytes:
        """The details for the peer's connect(), less than 512 bytes. Empty unless made by Rdma.export()."""
    @property
    def private_data(self) -> bytes:
        """The private data of the peer's request or acceptance."""
    @property
    def address(self) -> tuple[str, int]:
        """The peer's address and port. Raises InvalidValueError unless the connection was made by an address."""
    @property
    def rdma(self) -> Rdma | None:
        """The Rdma of the connection; None once its end was reported."""
    @property
    def user_data(self) -> Any:
        """Any object; the callbacks get it as an argument."""
    @user_data.setter
    def user_data(self, value: Any) -> None: ...

class RdmaListener:
    """A port on which an Rdma listens until the listener is closed or dropped, or the context stops. It is
    an iterator of connection requests.
    """
    def request(self) -> RequestedConnection:
        """An awaitable, with wait(timeout), of the next connection request; accept or reject it. With several
        ports it is the next request of any port. Raises ShutdownError when the port is closed meanwhile.
        """
    def _next(self) -> RequestedConnection: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Coroutine[Any, Any, RdmaConnection]: ...
    def close(self) -> None:
        """Stops listening; connections stay. Idempotent (doca_rdma_stop_listen_to_port)."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> None: ...
    @property
    def port(self) -> int:
        """1..65535."""
    @property
    def closed(self) -> bool:
        """Whether it has ended, by close() or with its context."""

class Rdma(Context):
    """Moves data between this process and peers on the network: messages, and memory that peers have
    exported with Mmap.export_rdma(). num_tasks: the number of tasks of every kind that the device has,
    or a dict for some kinds, such as {"write": 64}. Settings have DOCA's names: max_num_connections,
    permissions (what peers may do here: rdma_read|rdma_write|rdma_atomic), send_queue_size,
    max_send_buf_list_len, receive_dst_buf_list_len, transport_type, mtu (bytes), grh_enabled,
    gid_index, sl, connection_request_timeout (ms), rnr_retry_count. They can be read, and set while it is
    IDLE (BadStateError, InvalidValueError, NotSupportedError). on_request gets (connection,
    user_data). on_established, on_failure and on_disconnect get (connection, connection.user_data,
    user_data).
    """
    def __init__(
        self,
        pe: ProgressEngine | None,
        dev: Device,
        *,
        num_tasks: int | dict[_RdmaKind, int] = ...,
        max_num_connections: int | None = ...,
        permissions: Access | str | None = ...,
        send_queue_size: int | None = ...,
        recv_queue_size: int | None = ...,
        max_send_buf_list_len: int | None = ...,
        receive_dst_buf_list_len: int | None = ...,
        transport_type: _RdmaTransport | None = ...,
        mtu: int | None = ...,
        grh_enabled: bool | None = ...,
        gid_index: int | None = ...,
        sl: int | None = ...,
        connection_request_timeout: int | None = ...,
        rnr_retry_count: int | None = ...,
        on_request: Callable[[RdmaConnection, Any], object] | None = ...,
        on_established: Callable[[RdmaConnection, Any, Any], object] | None = ...,
        on_failure: Callable[[RdmaConnection, Any, Any], object] | None = ...,
        on_disconnect: Callable[[RdmaConnection, Any, Any], object] | None = ...,
        on_completion: Callable[[RdmaTask, Any, Any], object] | None = ...,
        on_error: Callable[[RdmaTask, Any, Any], object] | None = ...,
        on_state_changed: Callable[[Any, Rdma, ContextState, ContextState], object] | None = ...,
        user_data: Any = ...,
    ) -> None: ...
    def receive(self, dst: Buf | None, *, user_data: Any = ..., submit: bool = ...) -> RdmaTask:
        """Allocates a task that waits for a message of any connection, and submits it unless submit is false.
        The message is appended to dst, a Buf, or None for empty messages. The result is the length;
        result_immediate_data, result_opcode and connection describe the message. Giving up its await takes
        effect at once, and leaves the receive posted. Raises NoMemoryError when all tasks of the kind are
        allocated, BadStateError unless the context runs, AgainError when the queue is full
        (doca_rdma_task_receive).
        """
    def receives(self, bufs: Iterable[Buf]) -> Receives:
        """Posts a receive into each, and gives an iterator of them, in the order in which messages fill them.

        async for task in rdma.receives(bufs) posts each again, emptied, when the next one is asked for. Raises
        InvalidValueError without a buf, InUseError for one that is given twice, NoMemoryError when there are more
        than tasks; nothing is posted then.
        """
    def export(self) -> RdmaConnection:
        """A connection whose details this side and the peer exchange, by any means. Raises FullError at
        max_num_connections (doca_rdma_export).
        """
    def connect(
        self,
        address: str,
        port: SupportsIndex,
        *,
        address_type: Literal["ipv4", "ipv6", "gid"] | None = ...,
        private_data: Buffer = ...,
        user_data: Any = ...,
    ) -> EstablishedConnection | ConnectionByName:
        """Awaitable: a connection to the peer that listens there (RDMA-CM).

        address: in digits, or a host's name, which is looked up when awaited, and whose addresses are tried in
        turn, IPv4 first; localhost stands for those devices of this machine that are of the same backend and
        side. address_type: ipv4, ipv6 or gid; None: as address looks. private_data: up to 56 bytes, which the
        peer sees with the request. Giving up its await ends the attempt. Raises NotFoundError (no peer listens,
        unknown name), ConnectionAbortedError (rejected), ConnectionResetError (the peer was gone before it
        answered), TimeOutError, NotSupportedError, InvalidValueError (doca_rdma_connect_to_addr).
        """
    def _connect(
        self, address: str, port: SupportsIndex, address_type: str | None, private_data: Buffer, user_data: Any
    ) -> EstablishedConnection: ...
    def listen(self, port: SupportsIndex) -> RdmaListener:
        """Listens on a port (RDMA-CM). async for connection in rdma.listen(port) gives connection requests;
        accept or reject each. With on_request the callback gets them. Raises ConnectionAbortedError when
        another context listens to the port, NotSupportedError, BadStateError when this context listens to it,
        and unless the context runs (doca_rdma_start_listen_to_port).
        """
    @property
    def connections(self) -> list[RdmaConnection]:
        """The connections that have not ended."""
    @property
    def send_queue_size(self) -> int:
        """The most tasks, other than receives, in flight on one connection."""
    @send_queue_size.setter
    def send_queue_size(self, value: int) -> None: ...
    @property
    def recv_queue_size(self) -> int:
        """The most receives in flight; 0 until the context has started."""
    @recv_queue_size.setter
    def recv_queue_size(self, value: int) -> None: ...
    @property
    def max_send_buf_list_len(self) -> int:
        """The most elements of a buf list that a task sends or writes."""
    @max_send_buf_list_len.setter
    def max_send_buf_list_len(self, value: int) -> None: ...
    @property
    def receive_dst_buf_list_len(self) -> int:
        """The most elements of a buf list that a receive fills."""
    @receive_dst_buf_list_len.setter
    def receive_dst_buf_list_len(self, value: int) -> None: ...
    @property
    def transport_type(self) -> RdmaTransport:
        """The transport of its connections."""
    @transport_type.setter
    def transport_type(self, value: _RdmaTransport) -> None: ...
    @property
    def mtu(self) -> int:
        """Bytes."""
    @mtu.setter
    def mtu(self, value: int) -> None: ...
    @property
    def permissions(self) -> Access:
        """What peers may do to memory that is exported to them here."""
    @permissions.setter
    def permissions(self, value: Access | str) -> None: ...
    @property
    def grh_enabled(self) -> bool:
        """Whether packets have a global routing header."""
    @grh_enabled.setter
    def grh_enabled(self, value: bool) -> None: ...
    @property
    def gid_index(self) -> int:
        """The index of the entry in the device's GID table that packets use."""
    @gid_index.setter
    def gid_index(self, value: int) -> None: ...
    @property
    def sl(self) -> int:
        """The service level, 0..15."""
    @sl.setter
    def sl(self, value: int) -> None: ...
    @property
    def connection_request_timeout(self) -> int:
        """The time in milliseconds for which connect() waits for the peer's answer."""
    @connection_request_timeout.setter
    def connection_request_timeout(self, value: int) -> None: ...
    @property
    def max_num_connections(self) -> int:
        """The most connections at a time."""
    @max_num_connections.setter
    def max_num_connections(self, value: int) -> None: ...
    @property
    def rnr_retry_count(self) -> int:
        """How often the device offers a message to a peer without a posted receive: 0..7, where 7 means
        without a limit.
        """
    @rnr_retry_count.setter
    def rnr_retry_count(self, value: int) -> None: ...
    def num_tasks(self, kind: _RdmaKind) -> int:
        """The number of its tasks of this kind (receive, send, ...)."""
    def set_conf(
        self,
        kind: _RdmaKind,
        on_completion: Callable[[RdmaTask, Any, Any], object] | None = ...,
        on_error: Callable[[RdmaTask, Any, Any], object] | None = ...,
        num_tasks: int = ...,
    ) -> None:
        """The number of tasks of this kind, and their callbacks, as the constructor's keywords have them for all
        kinds; what is left out is the constructor's default. Raises BadStateError unless IDLE,
        NotSupportedError for a kind that the device lacks, InvalidValueError (doca_rdma_task_send_set_conf and
        its like).
        """
    @property
    def on_request(self) -> Callable[[RdmaConnection, Any], object] | None:
        """Gets (connection, user_data) for each request instead of listen(), or None. Setting it raises
        BadStateError unless IDLE.
        """
    @on_request.setter
    def on_request(self, value: Callable[[RdmaConnection, Any], object] | None) -> None: ...
    @property
    def on_established(self) -> Callable[[RdmaConnection, Any, Any], object] | None:
        """Gets (connection, connection.user_data, user_data), or None. Setting it raises BadStateError unless IDLE."""
    @on_established.setter
    def on_established(self, value: Callable[[RdmaConnection, Any, Any], object] | None) -> None: ...
    @property
    def on_failure(self) -> Callable[[RdmaConnection, Any, Any], object] | None:
        """Gets what on_established does, for a connection that could not be made, or None."""
    @on_failure.setter
    def on_failure(self, value: Callable[[RdmaConnection, Any, Any], object] | None) -> None: ...
    @property
    def on_disconnect(self) -> Callable[[RdmaConnection, Any, Any], object] | None:
        """Gets what on_established does, for a connection that has ended, or None."""
    @on_disconnect.setter
    def on_disconnect(self, value: Callable[[RdmaConnection, Any, Any], object] | None) -> None: ...
    @staticmethod
    def is_supported(info: DeviceInfo) -> bool:
        """Whether the device has RDMA."""
    @staticmethod
    def is_task_supported(info: DeviceInfo, kind: _RdmaKind) -> bool:
        """Whether the device has tasks of this kind (receive, send, ...)."""
    @staticmethod
    def is_transport_type_supported(info: DeviceInfo, transport: _RdmaTransport) -> bool:
        """Whether the device has this transport: rc or dc."""
    @staticmethod
    def is_connection_manager_supported(info: DeviceInfo) -> bool:
        """Whether the device can listen, and connect to addresses."""
    @staticmethod
    def max_send_queue_size(info: DeviceInfo) -> int:
        """The largest send_queue_size."""
    @staticmethod
    def max_recv_queue_size(info: DeviceInfo) -> int:
        """The most receives of a context."""
    @staticmethod
    def max_receive_dst_buf_list_len(info: DeviceInfo, transport: _RdmaTransport = ...) -> int:
        """The largest receive_dst_buf_list_len."""
    @staticmethod
    def max_message_size(info: DeviceInfo) -> int:
        """Bytes."""
    @staticmethod
    def gid_table_size(info: DeviceInfo) -> int:
        """The number of entries in the device's GID table."""
    @staticmethod
    def gids(info: DeviceInfo, start: int = ..., count: int | None = ...) -> list[str]:
        """The entries of the GID table, written as IPv6 addresses."""

def require_port(port: SupportsIndex) -> int: ...
