"""Scenes of comch: messages, clients that come, contexts that start and stop."""

import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from scene import Scene, TaskScene, scene, soon, until

import pydoca
from pydoca import comch


class Sides:
    """A server and clients of it, on one engine."""

    def __init__(self, stack: AsyncExitStack, pe: pydoca.ProgressEngine) -> None:
        self.pe = pe
        self.host = stack.enter_context(pydoca.open_device("0b:00.0", side="host"))
        self.dpu = stack.enter_context(pydoca.open_device("03:00.0", side="dpu"))
        self.rep = stack.enter_context(self.dpu.open_representor("0b:00.0"))
        self.name = f"cancel-{secrets.token_hex(6)}"

    def server(self) -> Any:
        return comch.Server(self.pe, self.dpu, self.rep, self.name)

    def client(self, **options: Any) -> Any:
        return comch.Client(self.pe, self.host, self.name, **options)


@asynccontextmanager
async def sides() -> AsyncIterator[tuple[AsyncExitStack, Sides]]:
    async with AsyncExitStack() as stack:
        pe = pydoca.ProgressEngine()
        made = Sides(stack, pe)
        await stack.enter_async_context(pe)
        yield stack, made


class SendScene(TaskScene):
    """Messages that wait for room at the peer, which has no room before it receives."""

    def __init__(self, link: Any, peer: Any, client: Any) -> None:
        super().__init__(client, lambda: link.send(b"one", submit=False))
        self._peer = peer

    async def check(self, results: list[Any]) -> None:
        self.complete()
        assert await soon(self._peer.recv()) == b"one", "a message that was submitted is lost"
        await until(lambda: self.pe.num_inflight_tasks == 0, "the end of the send")
        self.task = None
        await self.use_every_slot()
        assert [await soon(self._peer.recv()) for _ in range(self.num_tasks)] == [b"one"] * self.num_tasks


@scene("Connection.send")
async def send(_call: str) -> AsyncIterator[Scene]:
    async with sides() as (stack, made):
        server = await stack.enter_async_context(made.server())
        client = made.client(num_send_tasks=TaskScene.num_tasks)
        link = await stack.enter_async_context(client)
        yield SendScene(link, await soon(server.accept()), client)


class MessageScene(Scene):
    def __init__(self, link: Any, peer: Any, call: str) -> None:
        super().__init__(link.client.progress_engine)
        self._link, self._peer, self._call = link, peer, call
        self._sent: Any = None

    def begin(self) -> Any:
        return self._peer.recv() if self._call == "recv" else anext(self._peer)

    def complete(self) -> None:
        if self._sent is None:
            self._sent = self._link.send(b"one")

    async def check(self, results: list[Any]) -> None:
        self.complete()
        await soon(self._sent)
        if not results:
            results.append(await soon(self.begin()))
        assert results == [b"one"], "a message is lost"
        await soon(self._link.send(b"two"))
        assert await soon(self.begin()) == b"two"


@scene("Connection.recv", "Connection.__anext__")
async def message(call: str) -> AsyncIterator[Scene]:
    async with sides() as (stack, made):
        server = await stack.enter_async_context(made.server())
        link = await stack.enter_async_context(made.client())
        yield MessageScene(link, await soon(server.accept()), call)


class ArrivalScene(Scene):
    """A client that comes to a server."""

    def __init__(self, server: Any, client: Any, call: str) -> None:
        super().__init__(server.progress_engine)
        self._server, self._client, self._call = server, client, call

    def begin(self) -> Any:
        return self._server.accept() if self._call == "accept" else anext(self._server)

    def complete(self) -> None:
        if self._client.state is pydoca.ContextState.IDLE:
            self._client.start()

    async def check(self, results: list[Any]) -> None:
        self.complete()
        await until(lambda: self._client.state is pydoca.ContextState.RUNNING, "the connection")
        (connection,) = results or [await soon(self.begin())]
        await soon(connection.send(b"served"))
        assert await soon(self._client.connection.recv()) == b"served"


@scene("Server.accept", "Server.__anext__")
async def arrival(call: str) -> AsyncIterator[Scene]:
    async with sides() as (stack, made):
        server = await stack.enter_async_context(made.server())
        client = made.client()
        yield ArrivalScene(server, client, call)


class BeginningScene(Scene):
    """The beginning of a client's block, whose server starts late."""

    def __init__(self, made: Sides) -> None:
        super().__init__(made.pe)
        self._made = made
        self._server: Any = None
        self._client: Any = None

    def begin(self) -> Any:
        self._client = self._made.client()
        return self._client.__aenter__()

    def complete(self) -> None:
        if self._server is None:
            self._server = self._made.server()
            self._server.start()

    async def check(self, results: list[Any]) -> None:
        self.complete()
        if results:
            await soon(self._client.__aexit__(None, None, None))
        # A block that did not begin has no end: its context must be IDLE.
        assert self._client.state is pydoca.ContextState.IDLE
        async with self._made.client() as link:
            await soon(link.send(b"usable"))
        self._server.stop()


@scene("Client.__aenter__", "Context.__aenter__")
async def beginning(_call: str) -> AsyncIterator[Scene]:
    async with sides() as (_, made):
        yield BeginningScene(made)


class EndScene(Scene):
    """The end of a block, while a task is with the device."""

    def __init__(self, made: Sides, call: str) -> None:
        super().__init__(pydoca.ProgressEngine() if call == "engine" else made.pe)
        self._made = made
        self._inventory = pydoca.BufInventory(2)
        self._memory = made.dpu.mmap(bytes(64))
        self._room = made.dpu.mmap(pydoca.alloc(64))
        self._dma = self._new_dma()
        self._task: Any = None

    def _new_dma(self) -> Any:
        return pydoca.Dma(self.pe, self._made.dpu, num_tasks=1)

    def begin(self) -> Any:
        self._dma.start()
        src, dst = self._inventory.get_by_data(self._memory), self._inventory.get_by_addr(self._room)
        self._task = self._dma.memcpy(src, dst, submit=False)
        self._task.submit(pydoca.SubmitFlags.NONE)
        return self._dma.__aexit__(None, None, None)

    def complete(self) -> None:
        if not self._dma.closed:
            self._dma.flush_tasks()

    async def check(self, results: list[Any]) -> None:
        self.complete()
        self._task = None
        if not self._dma.closed:
            await soon(self._dma.__aexit__(None, None, None))
        self._memory.close()
        self._room.close()
        async with self._new_dma():
            pass


@scene("Context.__aexit__")
async def end(call: str) -> AsyncIterator[Scene]:
    async with sides() as (_, made):
        yield EndScene(made, call)


class EnginesEndScene(EndScene):
    """The end of an engine's block, which ends those of its contexts."""

    def begin(self) -> Any:
        super().begin().close()
        return self.pe.__aexit__(None, None, None)

    async def check(self, results: list[Any]) -> None:
        self.complete()
        self._task = None
        if not self.pe.closed:
            await soon(self.pe.__aexit__(None, None, None))
        assert self._dma.closed
        self._memory.close()
        self._room.close()


@scene("ProgressEngine.__aexit__")
async def engines_end(_call: str) -> AsyncIterator[Scene]:
    async with sides() as (_, made):
        yield EnginesEndScene(made, "engine")
