"""Scenes of RDMA: connections that come and go, and the tasks of a connection."""

import asyncio
import gc
import itertools
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any

from scene import Scene, TaskScene, scene, soon, until

import pydoca

SIZE = 64
# Ports that the tests of another process do not use.
PORTS = itertools.cycle(range(10_000 + os.getpid() % 5_000 * 10, 10_010 + os.getpid() % 5_000 * 10))
MAX_CONNECTIONS = 4
ACCESS = "local_read_write|rdma_read|rdma_write|rdma_atomic"


class Ends:
    """Two contexts on two devices, on one engine."""

    def __init__(self, stack: AsyncExitStack, pe: pydoca.ProgressEngine, peer: str) -> None:
        self.pe = pe
        self.host = stack.enter_context(pydoca.open_device("pf0", side="host"))
        self.dpu = stack.enter_context(pydoca.open_device(peer, side="host" if peer == "pf1" else "dpu"))
        self.inventory = pydoca.BufInventory(64)
        self.lent: list[Any] = []

    def rdma(self, device: Any) -> Any:
        return pydoca.Rdma(
            self.pe,
            device,
            permissions="rdma_read|rdma_write|rdma_atomic",
            max_num_connections=MAX_CONNECTIONS,
            **self._tasks(),
        )

    @staticmethod
    def _tasks() -> dict[str, Any]:
        return {"num_tasks": TaskScene.num_tasks}

    def mmap(self, device: Any, memory: Any) -> Any:
        self.lent.append(device.mmap(memory, access=ACCESS))
        return self.lent[-1]

    def data(self, device: Any, size: int = SIZE) -> Any:
        return self.inventory.get_by_data(self.mmap(device, bytearray(size)))

    @contextmanager
    def event(self) -> Iterator[Any]:
        """The DPU's event, as the host's connections use it."""
        with (
            pydoca.SyncEvent(self.dpu, publisher="remote_net") as event,
            self.host.import_sync_event_remote_net(event.export_to_remote_net()) as imported,
        ):
            yield imported


@asynccontextmanager
async def ends(peer: str = "p1") -> AsyncIterator[tuple[AsyncExitStack, Ends, Any, Any]]:
    async with AsyncExitStack() as stack:
        pe = pydoca.ProgressEngine()
        made = Ends(stack, pe, peer)
        await stack.enter_async_context(pe)
        a = await stack.enter_async_context(made.rdma(made.host))
        b = await stack.enter_async_context(made.rdma(made.dpu))
        yield stack, made, a, b


class Link:
    """A connection of two contexts, or the connection that follows it."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b
        self.ab: Any = None
        self.ba: Any = None

    async def connect(self) -> "Link":
        self.ab, self.ba = await link(self.a, self.b)
        return self


class LinkScene(TaskScene):
    """A task of a connection, which ends when its context stops."""

    def __init__(self, link: Link, make: Callable[[], Any], memory: Any = None) -> None:
        super().__init__(link.a, make, memory)
        self._link = link

    async def restart(self) -> None:
        await super().restart()
        await self._link.connect()


async def link(a: Any, b: Any) -> tuple[Any, Any]:
    ab, ba = a.export(), b.export()
    ab.connect(ba.details)
    ba.connect(ab.details)
    return await soon(ab.established()), await soon(ba.established())


OPERATIONS: dict[str, Callable[..., Any]] = {
    "write": lambda link, local, remote, _: link.write(local, remote, submit=False),
    "read": lambda link, local, remote, _: link.read(remote, local, submit=False),
    "atomic_cmp_swp": lambda link, local, remote, _: link.atomic_cmp_swp(remote, local, 0, 1, submit=False),
    "atomic_fetch_add": lambda link, local, remote, _: link.atomic_fetch_add(remote, local, 1, submit=False),
    "remote_net_sync_event_get": lambda link, local, _, event: link.remote_net_sync_event_get(
        event, local, submit=False
    ),
    "remote_net_sync_event_notify_set": lambda link, local, _, event: link.remote_net_sync_event_notify_set(
        event, local, submit=False
    ),
    "remote_net_sync_event_notify_add": lambda link, local, _, event: link.remote_net_sync_event_notify_add(
        event, local, 1, submit=False
    ),
}
_FILLS = ("read", "atomic_cmp_swp", "atomic_fetch_add", "remote_net_sync_event_get", "remote_net_sync_event_notify_add")


@scene(*(f"RdmaConnection.{name}" for name in OPERATIONS))
async def operation(call: str) -> AsyncIterator[Scene]:
    async with ends() as (stack, made, a, b):
        link = await Link(a, b).connect()
        length = SIZE if call in ("write", "read") else 8
        target = pydoca.alloc(length)
        local, exported = made.mmap(made.host, target), made.mmap(made.dpu, bytearray(length))
        remote = stack.enter_context(made.host.import_mmap(exported.export_rdma()))
        imported = stack.enter_context(made.event()) if "event" in call else None

        def make() -> Any:
            fills = call in _FILLS
            mine = made.inventory.get_by_addr(local) if fills else made.inventory.get_by_data(local)
            is_room = call == "write"
            theirs = made.inventory.get_by_addr(remote) if is_room else made.inventory.get_by_data(remote)
            return OPERATIONS[call](link.ab, mine, theirs, imported)

        yield LinkScene(link, make, target if call in _FILLS else None)


class SendScene(LinkScene):
    """A message to a peer that has posted receives for it and for each slot."""

    def __init__(self, made: Ends, link: Link, make: Callable[[], Any]) -> None:
        super().__init__(link, make)
        self._made, self._receiver = made, link.b
        self._received = [self._post() for _ in range(TaskScene.num_tasks)]

    def _post(self) -> Any:
        room = self._made.mmap(self._made.dpu, bytearray(SIZE))
        return self._receiver.receive(self._made.inventory.get_by_addr(room))

    async def check(self, results: list[Any]) -> None:
        self.complete()
        await soon(self._received.pop(0))  # the message is not lost
        await until(lambda: self.context.num_inflight_tasks == 0, "the end of the send")
        self.task = None
        if self.context.faulted:
            await self.restart()
        tasks = [self._submitted() for _ in range(len(self._received))]
        self.complete()
        for task in (*tasks, *self._received):
            await soon(task)


@scene("RdmaConnection.send", "RdmaConnection.send_imm", "RdmaConnection.write_imm")
async def message(call: str) -> AsyncIterator[Scene]:
    async with ends() as (stack, made, a, b):
        link = await Link(a, b).connect()
        exported = made.mmap(made.dpu, bytearray(SIZE))
        remote = stack.enter_context(made.host.import_mmap(exported.export_rdma()))

        def make() -> Any:
            data = made.data(made.host)
            if call == "send":
                return link.ab.send(data, submit=False)
            if call == "send_imm":
                return link.ab.send_imm(data, 7, submit=False)
            return link.ab.write_imm(data, made.inventory.get_by_addr(remote), 7, submit=False)

        yield SendScene(made, link, make)


class ReceiveScene(Scene):
    """A posted receive: it stays posted when its await is cancelled, and gets the message."""

    def __init__(self, made: Ends, a: Any, ab: Any, b: Any, ba: Any, call: str) -> None:
        super().__init__(made.pe)
        self._made, self._a, self._ab, self._b, self._ba, self._call = made, a, ab, b, ba, call
        self._rooms = [made.inventory.get_by_addr(made.mmap(made.host, bytearray(SIZE))) for _ in range(2)]
        self._task: Any = None
        self._receives: Any = None
        self._sent = False

    def begin(self) -> Any:
        if self._call == "__anext__":
            self._receives = self._receives or self._a.receives(self._rooms)
            return anext(self._receives)
        self._task = self._task or self._a.receive(self._rooms[0])
        return self._task if self._call == "receive" else self._ab.while_connected(self._task)

    def complete(self) -> None:
        if not self._sent:
            self._sent = True
            self._ba.send(self._made.data(self._made.dpu))

    async def check(self, results: list[Any]) -> None:
        self.complete()
        (result,) = results or [await soon(self.begin())]
        assert (result if self._call != "__anext__" else result.result_len) == SIZE, "a message is lost"
        assert not self._a.faulted


@scene("Rdma.receive", "RdmaConnection.while_connected", "Receives.__anext__")
async def receive(call: str) -> AsyncIterator[Scene]:
    async with ends() as (_, made, a, b):
        ab, ba = await link(a, b)
        yield ReceiveScene(made, a, ab, b, ba, call)
        ab.disconnect()


class RequestScene(Scene):
    """A peer that asks for a connection."""

    def __init__(self, made: Ends, a: Any, listener: Any, call: str) -> None:
        super().__init__(made.pe)
        self._a, self._listener, self._call = a, listener, call
        self._address = made.dpu.info.ipv4_addr
        self._attempt: Any = None

    def begin(self) -> Any:
        return self._listener.request() if self._call == "request" else anext(self._listener)

    def complete(self) -> None:
        if self._attempt is None:
            self._attempt = self._a.connect(self._address, self._listener.port)

    async def check(self, results: list[Any]) -> None:
        self.complete()
        (request,) = results or [await soon(self.begin())]
        accepted = request.accept()
        assert (await soon(self._attempt)).is_connected, "a request is lost"
        await soon(accepted)


@scene("RdmaListener.request", "RdmaListener.__anext__")
async def request(call: str) -> AsyncIterator[Scene]:
    async with ends() as (stack, made, a, b):
        yield RequestScene(made, a, stack.enter_context(b.listen(next(PORTS))), call)


class AttemptScene(Scene):
    """A connection that begins. Cancelling connect() ends the attempt; cancelling another await does not."""

    def __init__(self, made: Ends, a: Any, b: Any, call: str) -> None:
        super().__init__(made.pe)
        self._a, self._b, self._call = a, b, call
        self._listener = b.listen(next(PORTS))
        self._address = made.dpu.info.ipv4_addr
        self._name = "localhost" if call == "connect by name" else self._address
        self._requests: list[Any] = []
        self._attempt: Any = None

    def begin(self) -> Any:
        self._attempt = self._a.connect(self._name, self._listener.port)
        return self._attempt.connection.established() if self._call == "established" else self._attempt

    def complete(self) -> None:
        """Lets the server answer requests from now on."""
        if not self._requests:
            self._requests.append(asyncio.ensure_future(self._serve()))

    async def _serve(self) -> None:
        async for request in self._listener:
            with suppress(pydoca.ConnectionAbortedError, pydoca.ConnectionResetError):  # the peer has given up
                await request.accept()

    async def check(self, results: list[Any]) -> None:
        self.complete()
        results.clear()
        self._attempt = None
        gc.collect()
        # Each attempt that was given up has given back its connection.
        for _ in range(MAX_CONNECTIONS + 1):
            connection = await soon(self._a.connect(self._address, self._listener.port))
            assert connection.is_connected
            await soon(connection.disconnect())
        self._requests[0].cancel()
        self._listener.close()


@scene("Rdma.connect", "RdmaConnection.established", "Rdma.connect by name")
async def attempt(call: str) -> AsyncIterator[Scene]:
    # localhost means devices of the same side.
    async with ends("pf1" if call == "connect by name" else "p1") as (_, made, a, b):
        yield AttemptScene(made, a, b, call)


class AcceptScene(Scene):
    """A request that is accepted: its connection is established whether or not its await is cancelled."""

    def __init__(self, made: Ends, a: Any, b: Any) -> None:
        super().__init__(made.pe)
        self._listener = b.listen(next(PORTS))
        self._attempt = a.connect(made.dpu.info.ipv4_addr, self._listener.port)
        self._request: Any = None

    async def prepare(self) -> "AcceptScene":
        self._request = await soon(self._listener.request())
        return self

    def begin(self) -> Any:
        return self._request.accept()

    def complete(self) -> None:
        """The engine does that."""

    async def check(self, results: list[Any]) -> None:
        assert (await soon(self._attempt)).is_connected
        assert (await soon(self._request.established())) is self._request
        self._listener.close()


@scene("RdmaConnection.accept")
async def acceptance(_call: str) -> AsyncIterator[Scene]:
    async with ends() as (_, made, a, b):
        yield await AcceptScene(made, a, b).prepare()


class EndScene(Scene):
    """The end of a connection."""

    def __init__(self, link: Link, call: str) -> None:
        super().__init__(link.a.progress_engine)
        self._link, self._call = link, call

    def begin(self) -> Any:
        return self._link.ab.disconnect() if self._call == "disconnect" else self._link.ab.ended()

    def complete(self) -> None:
        self._link.ab.disconnect()

    async def check(self, results: list[Any]) -> None:
        self.complete()
        await soon(self._link.ab.ended())
        assert not self._link.ab.is_connected
        await self._link.connect()


@scene("RdmaConnection.ended", "RdmaConnection.disconnect")
async def end(call: str) -> AsyncIterator[Scene]:
    async with ends() as (_, _made, a, b):
        yield EndScene(await Link(a, b).connect(), call)
