"""Scenes of the libraries' tasks, of awaits of several tasks, and of graphs."""

import asyncio
from array import array
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from scene import MARK, Scene, TaskScene, scene, soon, until

import pydoca
from pydoca import sim

SIZE = 64
_DEFLATE = b"\x01\x20\x00\xdf\xff" + bytes(range(32))  # one stored block


class Memory:
    """A device with memory to read from and to write to."""

    def __init__(self, address: str = "03:00.0", source: bytes = bytes(range(SIZE))) -> None:
        self.device = pydoca.open_device(address, side="dpu")
        self.inventory = pydoca.BufInventory(64)
        self.source = self.device.mmap(source)
        self.target = pydoca.alloc(SIZE)
        self.room = self.device.mmap(self.target)

    def src(self) -> pydoca.Buf:
        return self.inventory.get_by_data(self.source)

    def dst(self) -> pydoca.Buf:
        return self.inventory.get_by_addr(self.room)

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()
        self.room.close()
        self.device.close()


@asynccontextmanager
async def running(
    library: Any, num_tasks: int = TaskScene.num_tasks, source: bytes = bytes(range(SIZE))
) -> AsyncIterator[tuple[Memory, Any]]:
    """A context of the library with its own engine, and memory for its tasks."""
    with Memory(source=source) as memory:
        async with pydoca.ProgressEngine() as pe, library(pe, memory.device, num_tasks=num_tasks) as context:
            yield memory, context


@scene("Dma.memcpy")
async def memcpy(_call: str) -> AsyncIterator[Scene]:
    async with running(pydoca.Dma) as (memory, dma):
        yield TaskScene(dma, lambda: dma.memcpy(memory.src(), memory.dst(), submit=False), memory.target)


@scene("Dma.memcpy between maps")
async def memcpy_between_maps(_call: str) -> AsyncIterator[Scene]:
    async with running(pydoca.Dma) as (memory, dma):
        yield TaskScene(dma, lambda: dma.memcpy(memory.source, memory.room, submit=False), memory.target)


@scene("Sha.hash", "Sha.partial_hash")
async def digest(call: str) -> AsyncIterator[Scene]:
    before = sim.topology()
    sim.load_topology(sim.default_topology("bluefield2"))  # later cards have no SHA engine
    async with running(pydoca.Sha) as (memory, sha):
        begin = getattr(sha, call)
        yield TaskScene(sha, lambda: begin(memory.src(), memory.dst(), submit=False), memory.target)
    sim.load_topology(before)


@scene("Compress.decompress_deflate")
async def expansion(_call: str) -> AsyncIterator[Scene]:
    async with running(pydoca.Compress, source=_DEFLATE) as (memory, compress):
        yield TaskScene(
            compress, lambda: compress.decompress_deflate(memory.src(), memory.dst(), submit=False), memory.target
        )


@scene("MmapAdvise.invalidate_cache")
async def advice(_call: str) -> AsyncIterator[Scene]:
    async with running(pydoca.MmapAdvise) as (memory, advise):
        yield TaskScene(advise, lambda: advise.invalidate_cache(memory.src(), submit=False))


class Event:
    """An event of the host, whose context waits for it, and the DPU's import of it, which changes it."""

    def __init__(self, host: Any, dpu: Any) -> None:
        self.owner = pydoca.SyncEvent(host, publisher="remote_pci")
        self._dpu = dpu
        self._imported: Any = None

    def set(self, value: int) -> None:
        """Sets the event from the DPU, once the owner's context runs."""
        if self._imported is None:
            self._imported = self._dpu.import_sync_event(self.owner.export_to_remote_pci())
            self._imported.start()
        self._imported.update_set(value)

    def close(self) -> None:
        if self._imported:
            self._imported.close()
        self.owner.close()


@asynccontextmanager
async def events(num_tasks: Any = None) -> AsyncIterator[tuple[Event, Any]]:
    with pydoca.open_device("0b:00.0", side="host") as host, pydoca.open_device("03:00.0", side="dpu") as dpu:
        event = Event(host, dpu)
        async with pydoca.ProgressEngine() as pe, event.owner.as_context(pe, num_tasks) as context:
            yield event, context
        event.close()


class WaitScene(TaskScene):
    """A wait for a sync event: it lends no memory, and its await ends at once."""

    def __init__(self, context: Any, event: Event, call: str) -> None:
        operand = {"wait_eq": 9, "wait_gt": 8, "wait_neq": 0}[call]
        super().__init__(context, lambda: getattr(context, call)(operand, submit=False))
        self._event = event

    def complete(self) -> None:
        self._event.set(9)

    async def go_on(self) -> None:
        self.complete()
        await until(lambda: self.pe.num_inflight_tasks == 0, "the end of the wait")

    async def check(self, results: list[Any]) -> None:
        assert results in ([], [9])
        self._event.set(0)
        self.task = None
        await until(lambda: self.pe.num_inflight_tasks == 0, "the end of a wait that was given up")
        waits = [self._submitted() for _ in range(self.num_tasks)]
        self.complete()
        for wait in waits:
            assert await soon(wait) == 9


@scene("SyncEventContext.wait_eq", "SyncEventContext.wait_gt", "SyncEventContext.wait_neq")
async def event_wait(call: str) -> AsyncIterator[Scene]:
    async with events({call: TaskScene.num_tasks}) as (event, context):
        yield WaitScene(context, event, call)


@scene("SyncEventContext.get", "SyncEventContext.notify_set", "SyncEventContext.notify_add")
async def event_operation(call: str) -> AsyncIterator[Scene]:
    async with events({call: TaskScene.num_tasks}) as (_, context):
        operands = [] if call == "get" else [1]
        yield TaskScene(context, lambda: getattr(context, call)(*operands, submit=False))


class PollScene(Scene):
    """A condition that get tasks look at, one after the other."""

    def __init__(self, context: Any, event: Event) -> None:
        super().__init__(context.progress_engine)
        self._context, self._event = context, event

    def begin(self) -> Any:
        return self._context.poll_until(lambda value: value == 9)

    def complete(self) -> None:
        self._event.set(9)

    async def check(self, results: list[Any]) -> None:
        assert results in ([], [9])
        self.complete()
        assert await soon(self.begin()) == 9
        await until(lambda: self.pe.num_inflight_tasks == 0, "the end of the get task")


@scene("SyncEventContext.poll_until")
async def poll(_call: str) -> AsyncIterator[Scene]:
    async with events({"get": 1}) as (event, context):
        yield PollScene(context, event)


class SeveralScene(TaskScene):
    """One await of several tasks."""

    num_tasks = 4

    def __init__(self, context: Any, memory: Memory, call: str) -> None:
        super().__init__(context, lambda: context.memcpy(memory.src(), memory.dst(), submit=False), memory.target)
        self._call = call

    def begin(self) -> Any:
        tasks = [self._submitted() for _ in range(3)]
        self.task = tasks[-1]
        if self._call == "as_completed":
            return anext(self.pe.as_completed(tasks))
        return self.pe.gather(tasks, progress=self._count if self._call != "gather" else None)

    @staticmethod
    def _count(done: int, total: int) -> None:
        assert done <= total

    def returned(self, results: list[Any]) -> None:
        if self._call != "as_completed" or not results:  # as_completed() gives one task while others are in flight
            super().returned(results)


@scene("ProgressEngine.gather", "ProgressEngine.gather with progress", "ProgressEngine.as_completed")
async def several(call: str) -> AsyncIterator[Scene]:
    async with running(pydoca.Dma, SeveralScene.num_tasks) as (memory, dma):
        yield SeveralScene(dma, memory, call)


class SubmittedScene(SeveralScene):
    """A gather of tasks that one call has submitted."""

    def begin(self) -> Any:
        tasks = [self._make() for _ in range(3)]
        self.task = tasks[-1]
        assert set(self.pe.submit_many(tasks, pydoca.SubmitFlags.NONE)) == {pydoca.Status.SUCCESS}
        return self.pe.gather(tasks)


@scene("ProgressEngine.gather after submit_many")
async def submitted(_call: str) -> AsyncIterator[Scene]:
    async with running(pydoca.Dma, SubmittedScene.num_tasks) as (memory, dma):
        yield SubmittedScene(dma, memory, "gather")


class FutureScene(SeveralScene):
    """Futures of asyncio's kind: one, or several in asyncio.gather()."""

    def __init__(self, context: Any, memory: Memory, call: str) -> None:
        super().__init__(context, memory, call)
        self._future: Any = None

    def begin(self) -> Any:
        tasks = [self._submitted() for _ in range(3 if self._call == "gathered" else 1)]
        self.task = tasks[-1]
        futures = [task.as_future() for task in tasks]
        self._future = asyncio.gather(*futures) if self._call == "gathered" else futures[0]
        return self._future

    def returned(self, results: list[Any]) -> None:
        # A coroutine that asyncio cancels before its first step has not begun to wait: the future goes on.
        if self._future.done():
            super().returned(results)

    async def check(self, results: list[Any]) -> None:
        self._future = None
        await super().check(results)


@scene("Task.as_future", "Task.as_future in asyncio.gather")
async def future(call: str) -> AsyncIterator[Scene]:
    async with running(pydoca.Dma, FutureScene.num_tasks) as (memory, dma):
        yield FutureScene(dma, memory, "gathered" if call.endswith("gather") else "one")


class BatchScene(TaskScene):
    """Two copies at a time of three, of a device that takes its time; the third one is begun while others wait."""

    num_tasks = 2

    def __init__(self, context: Any, memory: Memory) -> None:
        super().__init__(context, lambda: context.memcpy(memory.src(), memory.dst(), submit=False), memory.target)
        self._memory = memory
        self._batch: Any = None

    def begin(self) -> Any:
        src, dst = self._memory.source, self._memory.room
        parts = ((0, 16), (16, 16), (32, 32))
        words = array("Q", [word for at, size in parts for word in (src.addr + at, dst.addr + at, size, at)])
        self._batch = self.context.memcpy_many(src, dst, memoryview(words).cast("B").cast("Q", (3, 4)))
        return self._batch

    def returned(self, results: list[Any]) -> None:
        self.task = self._batch
        over = self._batch.num_done == 3
        assert over or self.pe.num_quarantined_tasks, "the batch still writes"
        if over:
            memoryview(self.memory)[:] = bytes([MARK]) * len(self.memory)
            self.marked = True

    async def check(self, results: list[Any]) -> None:
        await until(lambda: self._batch.num_done == 3, "the end of the batch")
        assert set(self._batch.statuses) <= {pydoca.Status.SUCCESS, pydoca.Status.SHUTDOWN}
        assert not results or results == [self._batch]
        self._batch = None
        await super().check(results)
        assert len(await soon(self.begin())) == 3


@scene("Dma.memcpy_many")
async def batch(_call: str) -> AsyncIterator[Scene]:
    sim.load_config({"dma": {"latency": "3ms"}})
    try:
        async with running(pydoca.Dma, BatchScene.num_tasks) as (memory, dma):
            yield BatchScene(dma, memory)
    finally:
        sim.load_config({})


class GraphScene(TaskScene):
    """A graph of two copies, one after the other, whose device takes its time."""

    def __init__(self, graph: Any, context: Any, memory: Memory, call: str) -> None:
        super().__init__(context, lambda: context.memcpy(memory.src(), memory.dst(), submit=False), memory.target)
        self._graph, self._call = graph, call
        self._instance: Any = None

    def begin(self) -> Any:
        tasks = [self._make() for _ in range(2)]
        self.task = tasks[-1]
        data = dict(zip(self._graph.nodes, tasks, strict=True))
        if self._call == "run":
            self._instance = self._graph.run(data)
        else:
            self._instance = self._graph.create_instance(data)
            self._instance.submit()
        return self._instance

    def returned(self, results: list[Any]) -> None:
        assert not self._instance.is_running or self.pe.num_quarantined_tasks, "the graph still writes"
        if not self._instance.is_running:
            super().returned(results)

    async def check(self, results: list[Any]) -> None:
        await until(lambda: not self._instance.is_running, "the end of the graph")
        self._instance = None
        await super().check(results)
        await soon(self.begin())  # only one instance may exist


@scene("Graph.run", "Graph.create_instance")
async def graph(call: str) -> AsyncIterator[Scene]:
    sim.load_config({"dma": {"latency": "3ms"}})
    try:
        async with running(pydoca.Dma) as (memory, dma):
            copies = pydoca.Graph(dma.progress_engine, num_instances=1)
            copies.node(dma, after=[copies.node(dma)])
            with copies:
                yield GraphScene(copies, dma, memory, call)
    finally:
        sim.load_config({})
