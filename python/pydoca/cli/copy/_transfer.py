"""The copy itself: reads the other half's memory into a ring of slots, and writes them in order to the destination.

Three things happen at a time: the device fills slots, a thread hashes and writes full ones, the next windows arrive.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

import pydoca
from pydoca.cli._errors import CommandError
from pydoca.cli._two_processes.event_loop import together
from pydoca.cli._two_processes.messages import Returned, Window
from pydoca.cli._two_processes.peer import Peer
from pydoca.cli.copy._destination import Destination

# Measured: 4 MiB stay in the cache until they are hashed and written; the largest pieces take a third more time.
DEFAULT_PIECE_SIZE = 512 << 10
DEFAULT_IN_FLIGHT = 8
_MAX_RING = 1 << 30


Read = Callable[[pydoca.Buf, pydoca.Buf], pydoca.Task]


class Reader(Protocol):
    """Reads the other half's memory."""

    def reading(self, num_tasks: int) -> AbstractAsyncContextManager[Read]: ...


class DmaReader:
    def __init__(self, engine: pydoca.ProgressEngine, device: pydoca.Device) -> None:
        self._engine = engine
        self._device = device

    @asynccontextmanager
    async def reading(self, num_tasks: int) -> AsyncIterator[Read]:
        async with pydoca.Dma(self._engine, self._device, num_tasks=num_tasks) as dma:
            yield dma.memcpy


class RdmaReader:
    """Reads over a connection whose context has at least num_tasks tasks."""

    def __init__(self, connection: pydoca.RdmaConnection) -> None:
        self._connection = connection

    @asynccontextmanager
    async def reading(self, num_tasks: int) -> AsyncIterator[Read]:
        yield self._connection.read


@dataclass(frozen=True)
class Plan:
    """How a copy is divided. piece_size is in bytes, in_flight counts tasks."""

    piece_size: int
    in_flight: int

    @classmethod
    def of(cls, info: pydoca.DeviceInfo, piece_size: int | None, in_flight: int | None) -> Plan:
        """The given values, or else what suits the device; raises CommandError when the device cannot do that."""
        return cls._of(info, piece_size, in_flight, pydoca.Dma.max_buf_size(info), pydoca.Dma.max_num_tasks(info))

    @classmethod
    def of_rdma(cls, info: pydoca.DeviceInfo, piece_size: int | None, in_flight: int | None) -> Plan:
        """The same for reads over RDMA."""
        limit, most = pydoca.Rdma.max_message_size(info), pydoca.Rdma.max_send_queue_size(info)
        return cls._of(info, piece_size, in_flight, limit, most)

    @classmethod
    def _of(cls, info: pydoca.DeviceInfo, piece_size: int | None, in_flight: int | None, limit: int, most: int) -> Plan:
        piece_size = min(limit, DEFAULT_PIECE_SIZE) if piece_size is None else piece_size
        in_flight = DEFAULT_IN_FLIGHT if in_flight is None else in_flight
        if piece_size > limit:
            raise CommandError(f"--piece-size {piece_size}: {info.name} copies at most {limit} bytes in one task")
        if in_flight > most:
            raise CommandError(f"--in-flight {in_flight}: {info.name} takes at most {most} tasks at a time")
        if piece_size * in_flight > _MAX_RING:
            raise CommandError(
                f"--piece-size {piece_size} with --in-flight {in_flight} needs more than {_MAX_RING} bytes of memory: "
                "make one of them smaller"
            )
        return cls(piece_size, in_flight)

    def fitted(self, size: int) -> Plan:
        """The same plan, with no more memory than size bytes can use."""
        piece_size = min(self.piece_size, max(size, 1))
        return Plan(piece_size, min(self.in_flight, max(1, -(-size // piece_size))))


@dataclass(frozen=True)
class _Piece:
    remote: pydoca.Mmap
    address: int  # an address in the host's memory
    size: int
    window: Window
    is_last: bool  # whether the piece is the last of its window


@dataclass(frozen=True)
class _Started:
    piece: _Piece
    slot: int
    task: pydoca.Task


class Transfer:
    """Reads size bytes from the peer's windows and writes them to the destination. One use."""

    def __init__(self, peer: Peer, device: pydoca.Device, plan: Plan, size: int, destination: Destination) -> None:
        self._peer = peer
        self._device = device
        self._plan = plan
        self._size = size
        self._destination = destination
        self._sha256 = hashlib.sha256()
        self._memory = pydoca.alloc(plan.piece_size * plan.in_flight)
        self._free: asyncio.Queue[int] = asyncio.Queue()
        self._started: asyncio.Queue[_Started | None] = asyncio.Queue()
        self._windows: dict[int, pydoca.Mmap] = {}  # the imported windows, by offset
        self.pieces = 0
        self.bytes_done = 0

    @property
    def sha256(self) -> str:
        return self._sha256.hexdigest()

    async def run(self, reader: Reader, progress: Callable[[int], None]) -> None:
        for slot in range(self._plan.in_flight):
            self._free.put_nowait(slot)
        async with AsyncExitStack() as stack:
            stack.callback(self._close_windows)
            local = stack.enter_context(self._device.mmap(self._memory))
            inventory = stack.enter_context(pydoca.BufInventory(2 * self._plan.in_flight))
            read = await stack.enter_async_context(reader.reading(self._plan.in_flight))
            thread = stack.enter_context(ThreadPoolExecutor(1, "pydoca-writer"))
            stack.callback(self._destination.interrupt)  # lets the thread end after an error
            await together(self._start_tasks(read, inventory, local), self._finish_tasks(thread, progress))

    async def _start_tasks(self, read: Read, inventory: pydoca.BufInventory, local: pydoca.Mmap) -> None:
        async for piece in self._pieces():
            slot = await self._free.get()
            # The bufs have no names here, because a buf that lives on in this frame would keep its window open.
            task = read(
                inventory.get_by_data(piece.remote, piece.address, piece.size),
                inventory.get_by_addr(local, local.addr + slot * self._plan.piece_size, piece.size),
            )
            self._started.put_nowait(_Started(piece, slot, task))
        self._started.put_nowait(None)

    async def _finish_tasks(self, thread: ThreadPoolExecutor, progress: Callable[[int], None]) -> None:
        """Queues one piece after the one that is being written, so that the thread does not wait for this loop."""
        loop = asyncio.get_running_loop()
        writes: deque[tuple[asyncio.Future[None], _Started]] = deque()
        try:
            while (started := await self._started.get()) is not None:
                await self._finish(started)
                writes.append((loop.run_in_executor(thread, self._consume, started), started))
                if len(writes) == min(2, self._plan.in_flight):
                    await self._written(*writes.popleft(), progress)
            while writes:
                await self._written(*writes.popleft(), progress)
        finally:
            for write, _ in writes:  # writes are left only after an error, and would fail
                write.cancel()

    async def _finish(self, started: _Started) -> None:
        await started.task
        started.task.free()
        if started.piece.is_last:
            self._windows.pop(started.piece.window.offset).close()
            await self._peer.send(Returned(started.piece.window.offset))

    async def _written(self, write: asyncio.Future[None], started: _Started, progress: Callable[[int], None]) -> None:
        await write
        self._free.put_nowait(started.slot)
        self.pieces += 1
        self.bytes_done += started.piece.size
        progress(self.bytes_done)

    def _consume(self, started: _Started) -> None:
        """Runs in the writing thread."""
        begin = started.slot * self._plan.piece_size
        with memoryview(self._memory) as memory, memory[begin : begin + started.piece.size] as data:
            self._sha256.update(data)
            self._destination.write(data)

    async def _pieces(self) -> AsyncIterator[_Piece]:
        offset = 0
        while offset < self._size:
            window = await self._peer.receive(Window)
            remote = self._import(window, offset)
            for begin in range(0, window.size, self._plan.piece_size):
                size = min(self._plan.piece_size, window.size - begin)
                yield _Piece(remote, window.address + begin, size, window, begin + size == window.size)
            offset += window.size

    def _import(self, window: Window, offset: int) -> pydoca.Mmap:
        if window.offset != offset or window.size > self._size - offset:
            raise pydoca.InvalidValueError(
                f"the other half lends bytes {window.offset} to {window.offset + window.size} of its {self._size}, "
                f"where those from {offset} are expected"
            )
        remote = self._device.import_mmap(window.decoded_blob())
        self._windows[offset] = remote
        if (remote.addr, remote.len) != (window.address, window.size):
            raise pydoca.InvalidValueError(
                f"the other half lends {window.size} bytes at {window.address:#x}, but its blob is for {remote.len} "
                f"at {remote.addr:#x}"
            )
        return remote

    def _close_windows(self) -> None:
        for remote in self._windows.values():  # windows are left only after an error, which a second one must not hide
            with suppress(pydoca.DocaError):
                remote.close()
