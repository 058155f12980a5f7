from collections.abc import Callable, Coroutine, Generator
from typing import Any, Self

from typing_extensions import Buffer

from pydoca._core.awaitable import QueuedEvent
from pydoca._core.context import Context, ContextState
from pydoca._core.device import Device, DeviceInfo
from pydoca._core.progress_engine import ProgressEngine
from pydoca._core.representor import Representor
from pydoca._core.task import Task

class ReceivedMessage(QueuedEvent):
    """The next message of a connection, as bytes."""
    def __await__(self) -> Generator[Any, None, bytes]: ...
    def wait(self, timeout: float | None = ...) -> bytes:
        """Progresses until it is there, and returns it. timeout in seconds, None for no limit; raises
        TimeOutError.
        """

class AcceptedConnection(QueuedEvent):
    """The next connection of a server."""
    def __await__(self) -> Generator[Any, None, Connection]: ...
    def wait(self, timeout: float | None = ...) -> Connection:
        """Progresses until it is there, and returns it. timeout in seconds, None for no limit; raises
        TimeOutError.
        """

class SendTask(Task):
    """Sends one message. It is in flight while the receiver's queue is full. It completes when the message
    is on its way, not when the receiver has it. Fails with ConnectionResetError when the other side is
    gone, ShutdownError when this side has closed.
    """
    @property
    def connection(self) -> Connection:
        """The Connection of the message."""
    @property
    def message(self) -> bytes | None:
        """The bytes of the message; None once the task is freed. Setting it, for another submission, raises
        InUseError in flight and InvalidValueError for a message that is too long.
        """
    @message.setter
    def message(self, value: Buffer) -> None: ...

class Connection:
    """A link between a server and one client: reliable messages, in order, both ways."""
    def send(self, data: Buffer, *, user_data: Any = ..., submit: bool = ...) -> SendTask:
        """Allocates a task that sends data, and submits it unless submit is false. data is any object with the
        buffer protocol; it may change as soon as this returns. Raises NoMemoryError when all num_send_tasks
        are allocated, InvalidValueError above max_msg_size, ConnectionResetError when the other side is
        gone, NotConnectedError when this side has closed.
        """
    def recv(self) -> ReceivedMessage:
        """An awaitable, with wait(timeout), of the next message, as bytes. Waiters get messages in order; a
        wait that is given up takes no message. When the connection has ended, raises ConnectionResetError
        after the last message that arrived was received. Raises BadStateError when messages go to
        on_message.
        """
    def _next(self) -> ReceivedMessage: ...
    def _snapshot(self) -> tuple[str, int]: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Coroutine[Any, Any, bytes]: ...
    def close(self) -> None:
        """Disconnects, and stops the context of a client; idempotent. Tasks in flight fail with ShutdownError.
        Messages that have arrived can still be received.
        """
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> None: ...
    @property
    def is_connected(self) -> bool:
        """Whether messages can be sent."""
    @property
    def max_msg_size(self) -> int:
        """The most bytes of a message: the smaller limit of the two sides."""
    @property
    def server(self) -> Server | None:
        """The Server of the connection. None on a client, and once on_disconnect was called."""
    @property
    def client(self) -> Client | None:
        """The Client of the connection. None on a server, and once on_disconnect was called."""
    @property
    def sent_messages(self) -> int:
        """The number of messages that this side has sent."""
    @property
    def sent_bytes(self) -> int:
        """The number of bytes in the messages sent."""
    @property
    def recv_messages(self) -> int:
        """The number of messages that have arrived, whether received or not."""
    @property
    def recv_bytes(self) -> int:
        """The number of bytes in the messages that have arrived."""
    @property
    def user_data(self) -> Any:
        """Anything."""
    @user_data.setter
    def user_data(self, value: Any) -> None: ...

class Endpoint(Context):
    """The common base of comch servers and clients."""
    @property
    def name(self) -> str:
        """The server's name."""
    @property
    def max_msg_size(self) -> int:
        """Bytes. Setting it raises BadStateError unless IDLE, InvalidValueError."""
    @max_msg_size.setter
    def max_msg_size(self, value: int) -> None: ...
    @property
    def recv_queue_size(self) -> int:
        """The most messages that may wait here, per connection. When they are that many, the sender waits. Setting
        it raises BadStateError unless IDLE, InvalidValueError.
        """
    @recv_queue_size.setter
    def recv_queue_size(self, value: int) -> None: ...
    @property
    def num_send_tasks(self) -> int:
        """The most sends in flight, on all connections together."""
    def set_send_conf(
        self,
        on_completion: Callable[[SendTask, Any, Any], object] | None = ...,
        on_error: Callable[[SendTask, Any, Any], object] | None = ...,
        num_tasks: int = ...,
    ) -> None:
        """The number of send tasks, and their callbacks, as the constructor's keywords have them; what is left out
        is the constructor's default. Raises BadStateError unless IDLE, InvalidValueError
        (doca_comch_server_task_send_set_conf, doca_comch_client_task_send_set_conf).
        """
    @property
    def on_message(self) -> Callable[[Connection, bytes, Any], object] | None:
        """Gets (connection, bytes, user_data) instead of recv(), or None. Setting it raises BadStateError
        unless IDLE.
        """
    @on_message.setter
    def on_message(self, value: Callable[[Connection, bytes, Any], object] | None) -> None: ...
    @property
    def on_disconnect(self) -> Callable[[Connection, bool, Any], object] | None:
        """Gets (connection, successful, user_data), or None. Setting it raises BadStateError unless IDLE."""
    @on_disconnect.setter
    def on_disconnect(self, value: Callable[[Connection, bool, Any], object] | None) -> None: ...

class Server(Endpoint):
    """Serves clients by name on the function that rep represents, from a device of the DPU. Starting it
    raises AlreadyExistError when that function has a server of this name. Stopping it disconnects every
    client. on_connect and on_disconnect get (connection, successful, user_data). on_message gets
    (connection, bytes, user_data); with on_message, recv() gets no messages. on_completion and on_error
    are for send tasks.
    """
    def __init__(
        self,
        pe: ProgressEngine | None,
        dev: Device,
        rep: Representor,
        name: str,
        *,
        max_msg_size: int | None = ...,
        recv_queue_size: int | None = ...,
        num_send_tasks: int = ...,
        on_connect: Callable[[Connection, bool, Any], object] | None = ...,
        on_disconnect: Callable[[Connection, bool, Any], object] | None = ...,
        on_message: Callable[[Connection, bytes, Any], object] | None = ...,
        on_completion: Callable[[SendTask, Any, Any], object] | None = ...,
        on_error: Callable[[SendTask, Any, Any], object] | None = ...,
        on_state_changed: Callable[[Any, Server, ContextState, ContextState], object] | None = ...,
        user_data: Any = ...,
    ) -> None: ...
    def accept(self) -> AcceptedConnection:
        """An awaitable, with wait(timeout), of the next connection that is not accepted yet. Waiters get
        connections in order. Raises BadStateError unless running, ShutdownError when the server stops
        meanwhile.
        """
    def _next(self) -> AcceptedConnection: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Coroutine[Any, Any, Connection]: ...
    @property
    def connections(self) -> list[Connection]:
        """The connected clients' connections, whether accepted or not."""
    @property
    def representor(self) -> Representor:
        """The Representor of the clients' side."""
    @property
    def on_connect(self) -> Callable[[Connection, bool, Any], object] | None:
        """Gets (connection, successful, user_data), or None. Setting it raises BadStateError unless IDLE."""
    @on_connect.setter
    def on_connect(self, value: Callable[[Connection, bool, Any], object] | None) -> None: ...
    @staticmethod
    def is_supported(info: DeviceInfo) -> bool:
        """Whether the device can be a server."""

class Client(Endpoint):
    """Connects a function of the host to the server of this name, for which it waits at most timeout seconds, None
    for no limit; after a second it logs that it waits. with and async with give the Connection. When the
    connection ends, the context stops by itself. on_disconnect gets (connection, True, user_data). on_message
    gets (connection, bytes, user_data); with on_message, recv() gets no messages. on_completion and on_error are
    for send tasks.
    """
    def __init__(
        self,
        pe: ProgressEngine | None,
        dev: Device,
        name: str,
        *,
        timeout: float | None = ...,
        max_msg_size: int | None = ...,
        recv_queue_size: int | None = ...,
        num_send_tasks: int = ...,
        on_disconnect: Callable[[Connection, bool, Any], object] | None = ...,
        on_message: Callable[[Connection, bytes, Any], object] | None = ...,
        on_completion: Callable[[SendTask, Any, Any], object] | None = ...,
        on_error: Callable[[SendTask, Any, Any], object] | None = ...,
        on_state_changed: Callable[[Any, Client, ContextState, ContextState], object] | None = ...,
        user_data: Any = ...,
    ) -> None: ...
    # Its with gives the connection, not the context.
    def __enter__(self) -> Connection: ...  # type: ignore[override]
    async def __aenter__(self) -> Connection: ...  # type: ignore[override]
    @property
    def timeout(self) -> float | None:
        """The most seconds from start to connection, then TimeOutError; None for no limit."""
    @property
    def connection(self) -> Connection:
        """The Connection to the server. Raises BadStateError unless running."""
    @staticmethod
    def is_supported(info: DeviceInfo) -> bool:
        """Whether the device can be a client."""
