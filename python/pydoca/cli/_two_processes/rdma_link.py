"""How the two halves of a command meet over RDMA: by address and port, with messages of a few kilobytes."""

from __future__ import annotations

import asyncio
import ipaddress
import os
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pydoca
from pydoca._rdma.names import connect_in_turn, look_up
from pydoca.cli._errors import CommandError
from pydoca.cli._two_processes.report import Reporter

MAX_MESSAGE = 4096
_MESSAGES_AHEAD = 16
_RETRY = 0.05  # seconds between two attempts to connect


@dataclass(frozen=True)
class Place:
    """Where the two halves of a command meet: the listener's port and, for the half that connects, its address."""

    command: str  # the words after "pydoca"
    address: str | None
    port: int
    timeout: float  # seconds

    @property
    def greeting(self) -> bytes:
        """The first bytes of a connection request; other bytes come from another command or program."""
        return f"pydoca {self.command}".encode()

    def __str__(self) -> str:
        return f"port {self.port}" if self.address is None else f"{self.address} port {self.port}"


class RdmaLink:
    """One end of a connection, with send and recv of bytes, as comch's connections have them."""

    def __init__(self, rdma: pydoca.Rdma, device: pydoca.Device) -> None:
        self._rdma = rdma
        self._inventory = pydoca.BufInventory(_MESSAGES_AHEAD + 1)
        self._memory = pydoca.alloc(MAX_MESSAGE * (_MESSAGES_AHEAD + 1))
        self._mmap = device.mmap(self._memory)
        self._receives = rdma.receives([self._slot(index) for index in range(_MESSAGES_AHEAD)])
        self._sending = asyncio.Lock()
        self._next: asyncio.Task[bytes] | None = None
        self._ended: asyncio.Task[None] | None = None
        self.connection: pydoca.RdmaConnection | None = None

    def connected(self, connection: pydoca.RdmaConnection) -> None:
        self.connection = connection
        self._ended = asyncio.create_task(_wait_for_end(connection))

    async def send(self, data: bytes) -> None:
        if len(data) > MAX_MESSAGE:
            raise pydoca.InvalidValueError(f"a message of {len(data)} bytes; there is room for {MAX_MESSAGE}")
        assert self.connection is not None
        async with self._sending:
            begin = MAX_MESSAGE * _MESSAGES_AHEAD
            with memoryview(self._memory) as memory:
                memory[begin : begin + len(data)] = data
            await self.connection.send(self._inventory.get_by_data(self._mmap, self._mmap.addr + begin, len(data)))

    async def recv(self) -> bytes:
        """Returns all messages that arrived before it reports the end. A cancelled call loses nothing."""
        assert self._ended is not None
        if self._next is None:
            self._next = asyncio.create_task(self._receive())
        await asyncio.wait({self._next, self._ended}, return_when=asyncio.FIRST_COMPLETED)
        if not self._next.done():
            raise pydoca.ConnectionResetError("receive: the other side has closed the connection, or has ended")
        message, self._next = self._next, None
        return message.result()

    async def close(self) -> None:
        """Closes the connection and the context: the memory is free only after the context has stopped."""
        for task in (self._next, self._ended):
            if task is not None:
                task.cancel()
                await asyncio.wait({task})
        await self._rdma.__aexit__(None, None, None)
        self._receives.clear()
        self._mmap.close()

    async def _receive(self) -> bytes:
        async for task in self._receives:
            return bytes(task.dst or b"")
        raise pydoca.ConnectionResetError("receive: the context has stopped")

    def _slot(self, index: int) -> pydoca.Buf:
        return self._inventory.get_by_addr(self._mmap, self._mmap.addr + index * MAX_MESSAGE, MAX_MESSAGE)


async def _wait_for_end(connection: pydoca.RdmaConnection) -> None:
    await connection.ended()


def choose_backend(name: str | None) -> None:
    """Chooses the backend; to be called before the first look at the devices."""
    if name is not None:
        os.environ["PYDOCA_BACKEND"] = name


def open_rdma_device(selector: str | None) -> pydoca.Device:
    return pydoca.open_device(selector, capability="rdma_connection_manager")


async def accept(stack: AsyncExitStack, rdma: pydoca.Rdma, place: Place, other: str, reporter: Reporter) -> RdmaLink:
    """The listener's end of the connection. The stack ends it."""
    link = RdmaLink(rdma, rdma.device)
    stack.push_async_callback(link.close)
    link.connected(await take_first(rdma, place, other, reporter))
    return link


async def connect(stack: AsyncExitStack, rdma: pydoca.Rdma, place: Place, other: str, reporter: Reporter) -> RdmaLink:
    """The end that connects, once the other half listens. The stack ends it."""
    link = RdmaLink(rdma, rdma.device)
    stack.push_async_callback(link.close)
    link.connected(await reach(rdma, place, other, reporter))
    return link


async def take_first(rdma: pydoca.Rdma, place: Place, other: str, reporter: Reporter) -> pydoca.RdmaConnection:
    """The first connection that is from the other half of the command."""
    reporter.waiting(f"waiting for the other half at {rdma.device.info.ipv4_addr} {place}")
    try:
        async with asyncio.timeout(place.timeout):
            with rdma.listen(place.port) as listener:
                return await _take(listener, place.greeting, reporter)
    except TimeoutError:
        raise CommandError(
            f"no process connected to {place}, for {place.timeout:g} s: start `{other}`, or wait longer with --timeout"
        ) from None


async def _take(listener: pydoca.RdmaListener, greeting: bytes, reporter: Reporter) -> pydoca.RdmaConnection:
    while True:
        request = await listener.request()
        try:
            if request.private_data.startswith(greeting):
                return await request.accept()
            request.reject()
        except pydoca.DocaError as error:
            reporter.waiting(f"the process that connected has ended ({error}); waiting for the next one")


async def reach(
    rdma: pydoca.Rdma, place: Place, other: str, reporter: Reporter, said: bytes = b""
) -> pydoca.RdmaConnection:
    """A connection to the process that listens there, or will soon; said follows the greeting."""
    reporter.waiting(f"waiting for the other half at {place}")
    assert place.address is not None
    addresses = await asyncio.get_running_loop().run_in_executor(None, _addresses, rdma.device, place.address)
    attempts = _Attempts(rdma, place, addresses, place.greeting + said)
    try:
        async with asyncio.timeout(place.timeout):
            return await attempts.succeed()
    except TimeoutError:
        raise CommandError(
            f"{attempts.trouble} at {place}, for {place.timeout:g} s: start `{other}`, or wait longer with --timeout"
        ) from None


def _addresses(device: pydoca.Device, name: str) -> list[str]:
    """The addresses to try. Few devices have a loopback address, so it also means this machine's, as localhost does."""
    try:
        is_loopback = ipaddress.ip_address(name).is_loopback
    except ValueError:
        is_loopback = False
    return [name, *look_up(device, "localhost")] if is_loopback else look_up(device, name)


class _Attempts:
    def __init__(self, rdma: pydoca.Rdma, place: Place, addresses: list[str], said: bytes) -> None:
        self._rdma = rdma
        self._place = place
        self._addresses = addresses
        self._said = said
        self.trouble = "no process listens"

    async def succeed(self) -> pydoca.RdmaConnection:
        while True:
            try:
                return await connect_in_turn(self._rdma, self._addresses, self._place.port, private_data=self._said)
            except pydoca.ConnectionAbortedError:
                self.trouble = f"`pydoca {self._place.command}` is not the command that listens"
            except (pydoca.NotFoundError, pydoca.TimeOutError):
                pass  # a failure that was noted before tells more
            await asyncio.sleep(_RETRY)
