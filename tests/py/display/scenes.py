"""Every object that has a display, in every state: for the tests, and for script/screenshots.

A scene is a function that makes an object; what the object needs is given back by the stack, after the display.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pydoca
from pydoca import comch, sim

SCENES: dict[str, Callable[[Stack], object]] = {}


class Stack(contextlib.ExitStack):
    """Makes what scenes have in common."""

    def dpu(self) -> pydoca.Device:
        return self.enter_context(pydoca.open_device("p0", side="dpu"))

    def host(self) -> pydoca.Device:
        return self.enter_context(pydoca.open_device("pf0", side="host"))

    def representor(self) -> pydoca.Representor:
        return self.enter_context(self.dpu().open_representor("0b:00.0"))

    def mmap(self, size: int = 65536, device: pydoca.Device | None = None, **options: Any) -> pydoca.Mmap:
        return self.enter_context((device or self.dpu()).mmap(pydoca.alloc(size), **options))

    def inventory(self, count: int = 64) -> pydoca.BufInventory:
        return self.enter_context(pydoca.BufInventory(count))

    def engine(self) -> pydoca.ProgressEngine:
        return self.enter_context(pydoca.ProgressEngine())

    def dma(self, engine: pydoca.ProgressEngine | None = None, **options: Any) -> pydoca.Dma:
        return self.enter_context(pydoca.Dma(engine or self.engine(), self.dpu(), **options))

    def copy(self, dma: pydoca.Dma, size: int = 4096, room: int | None = None) -> pydoca.DmaMemcpyTask:
        mmap, inventory = self.mmap(), self.inventory(2)
        src = inventory.get_by_data(mmap, mmap.addr, size)
        dst = inventory.get_by_addr(mmap, mmap.addr + 32768, size if room is None else room)
        return dma.memcpy(src, dst, submit=False)

    def held(self, dma: pydoca.Dma, count: int = 1) -> list[pydoca.DmaMemcpyTask]:
        """Tasks in flight until the end."""
        tasks = [self.copy(dma) for _ in range(count)]
        for task in tasks:
            task.submit(pydoca.SubmitFlags.NONE)
        self.callback(self._end, dma, tasks)
        return tasks

    @staticmethod
    def _end(dma: pydoca.Dma, tasks: list[pydoca.DmaMemcpyTask]) -> None:
        dma.flush_tasks()
        for task in tasks:
            with contextlib.suppress(pydoca.ShutdownError):
                task.wait(10)

    def failed(self, dma: pydoca.Dma) -> pydoca.DmaMemcpyTask:
        task = self.copy(dma, room=100)
        task.submit()
        with contextlib.suppress(pydoca.DocaError):
            task.wait(10)
        return task

    def linked(self) -> tuple[comch.Server, comch.Connection, comch.Connection]:
        engine, name = self.engine(), f"scene-{secrets.token_hex(4)}"
        server = self.enter_context(comch.Server(engine, self.dpu(), self.representor(), name))
        link = self.enter_context(comch.Client(engine, self.host(), name))
        return server, server.accept().wait(10), link

    def rdma(self, **options: Any) -> pydoca.Rdma:
        return self.enter_context(pydoca.Rdma(self.engine(), self.dpu(), **options))

    def connected(self) -> tuple[pydoca.RdmaConnection, pydoca.RdmaConnection]:
        engine, device = self.engine(), self.dpu()
        sides = [self.enter_context(pydoca.Rdma(engine, device, permissions="rdma_read")) for _ in range(2)]
        here, there = sides[0].export(), sides[1].export()
        here.connect(there.details)
        there.connect(here.details)
        return here, there

    def event(self, **options: Any) -> pydoca.SyncEvent:
        return self.enter_context(pydoca.SyncEvent(self.host(), **options))


def scene(function: Callable[[Stack], object]) -> Callable[[Stack], object]:
    SCENES[function.__name__] = function
    return function


@contextlib.contextmanager
def shown(name: str) -> Iterator[Any]:
    """The object of that scene."""
    with Stack() as stack:
        yield SCENES[name](stack)


# ---- the machine


@scene
def topology(stack: Stack) -> object:
    return sim.default_topology()


@scene
def topology_large(stack: Stack) -> object:
    ports = [{"name": "p0", "pci_addr": "0000:03:00.0", "side": "dpu", "func_type": "pf", "profile": "bluefield3"}]
    functions = [
        {**ports[0], "name": f"pf0vf{index}", "pci_addr": f"0000:0b:{index // 8:02x}.{index % 8}", "side": "host",
         "func_type": "vf", "parent": "p0", "representor": f"hpf0vf{index}"}
        for index in range(2, 200)
    ]  # fmt: skip
    return sim.Topology(function=[*ports, *functions])


@scene
def devices(stack: Stack) -> object:
    return pydoca.devices()


@scene
def device_info(stack: Stack) -> object:
    return pydoca.DeviceInfo("pf0", side="host")


@scene
def device_open(stack: Stack) -> object:
    return stack.dpu()


@scene
def device_closed(stack: Stack) -> object:
    with pydoca.open_device("p0s0") as device:
        return device


@scene
def device_removed(stack: Stack) -> object:
    device = stack.enter_context(pydoca.open_device("p1s0"))
    sim.remove_device("p1s0")
    stack.callback(sim.restore_device, "p1s0")
    return device


@scene
def representor_info(stack: Stack) -> object:
    return stack.dpu().representors()[1]


@scene
def representor_open(stack: Stack) -> object:
    return stack.representor()


@scene
def representor_closed(stack: Stack) -> object:
    with stack.representor() as representor:
        return representor


# ---- memory


@scene
def memory(stack: Stack) -> object:
    return pydoca.alloc(1 << 20)


@scene
def memory_closed(stack: Stack) -> object:
    with pydoca.alloc(64) as memory:
        return memory


@scene
def mmap_new(stack: Stack) -> object:
    return pydoca.Mmap()


@scene
def mmap_stopped(stack: Stack) -> object:
    return pydoca.Mmap(bytearray(4096), devices=[stack.dpu()])


@scene
def mmap_read_only(stack: Stack) -> object:
    return stack.enter_context(stack.dpu().mmap(bytes(100)))


@scene
def mmap_with_bufs(stack: Stack) -> object:
    mmap, inventory = stack.mmap(), stack.inventory()
    bufs = [
        inventory.get_by_args(mmap, mmap.addr + at, size, mmap.addr + at + ahead, data)
        for at, size, ahead, data in [(0, 8192, 128, 4000), (4096, 16384, 0, 16384), (40000, 9000, 1000, 2000)]
    ]
    stack.callback(bufs.clear)
    return mmap


@scene
def mmap_exported(stack: Stack) -> object:
    mmap = stack.mmap(device=stack.host(), access="local_read_write|pci_read_write|rdma_read|rdma_write")
    mmap.export_pci()
    mmap.export_rdma()
    return mmap


@scene
def mmap_imported(stack: Stack) -> object:
    exported = stack.mmap(device=stack.host(), access="pci_read_only")
    return stack.enter_context(stack.dpu().import_mmap(exported.export_pci()))


@scene
def mmap_of_a_dead_peer(stack: Stack) -> object:
    with stack.host().mmap(pydoca.alloc(4096), access="pci_read_write") as exported:
        return stack.enter_context(stack.dpu().import_mmap(exported.export_pci()))


@scene
def mmap_closed(stack: Stack) -> object:
    mmap = stack.mmap()
    mmap.close()
    return mmap


@scene
def mmap_many_bufs(stack: Stack) -> object:
    mmap, inventory = stack.mmap(1 << 20), stack.inventory(10_000)
    bufs = [inventory.get_by_addr(mmap, mmap.addr + 100 * index, 100) for index in range(10_000)]
    stack.callback(bufs.clear)
    return mmap


# ---- bufs


@scene
def buf(stack: Stack) -> object:
    mmap = stack.mmap()
    return stack.inventory().get_by_args(mmap, mmap.addr, 8192, mmap.addr + 512, 5000)


@scene
def buf_source(stack: Stack) -> object:
    return stack.inventory().get_by_data(stack.mmap())


@scene
def buf_destination(stack: Stack) -> object:
    return stack.inventory().get_by_addr(stack.mmap())


@scene
def buf_chain(stack: Stack) -> object:
    mmap, inventory = stack.mmap(), stack.inventory()
    head = inventory.get_by_args(mmap, mmap.addr, 4096, mmap.addr + 64, 4000)
    for index, size in enumerate((2048, 512), start=1):
        head.chain(inventory.get_by_args(mmap, mmap.addr + index * 8192, size, mmap.addr + index * 8192, size // index))
    return head


@scene
def buf_in_a_chain(stack: Stack) -> object:
    return buf_chain(stack).next  # type: ignore[attr-defined]


@scene
def buf_long_chain(stack: Stack) -> object:
    mmap, inventory = stack.mmap(1 << 20), stack.inventory(10_000)
    head = inventory.get_by_addr(mmap, mmap.addr, 10)
    for index in range(1, 1000):
        head.chain(inventory.get_by_data(mmap, mmap.addr + index * 100, 50))
    return head


@scene
def buf_in_flight(stack: Stack) -> object:
    return stack.held(stack.dma())[0].dst


@scene
def buf_released(stack: Stack) -> object:
    with stack.inventory().get_by_addr(stack.mmap()) as buf:
        return buf


@scene
def inventory(stack: Stack) -> object:
    inventory, mmap = stack.inventory(8), stack.mmap()
    bufs = [inventory.get_by_data(mmap, mmap.addr + 4096 * index, 1000 * (index + 1)) for index in range(3)]
    stack.callback(bufs.clear)
    return inventory


@scene
def inventory_large(stack: Stack) -> object:
    inventory, mmap = stack.inventory(16_384), stack.mmap()
    bufs = [inventory.get_by_addr(mmap, mmap.addr, 8) for _ in range(10_000)]
    stack.callback(bufs.clear)
    return inventory


@scene
def inventory_stopped(stack: Stack) -> object:
    return stack.enter_context(contextlib.closing(pydoca.BufInventory(4, start=False)))


@scene
def inventory_closed(stack: Stack) -> object:
    with pydoca.BufInventory(4) as inventory:
        return inventory


@scene
def pool(stack: Stack) -> object:
    pool = stack.enter_context(pydoca.BufPool(8, 1000, stack.mmap(), element_alignment=64))
    bufs = [pool.alloc() for _ in range(3)]
    stack.callback(bufs.clear)
    return pool


# ---- engines, contexts and tasks


@scene
def engine(stack: Stack) -> object:
    return stack.engine()


@scene
def engine_in_flight(stack: Stack) -> object:
    engine = stack.engine()
    stack.enter_context(pydoca.Rdma(engine, stack.dpu()))
    idle = pydoca.Dma(engine, stack.dpu())
    stack.callback(idle.close)
    stack.held(stack.dma(engine), 3)
    return engine


@scene
def engine_large(stack: Stack) -> object:
    engine, device = stack.engine(), stack.dpu()
    contexts = [pydoca.Dma(engine, device, num_tasks=1) for _ in range(300)]
    stack.callback(contexts.clear)
    return engine


@scene
def engine_closed(stack: Stack) -> object:
    with pydoca.ProgressEngine() as engine:
        return engine


@scene
def dma_idle(stack: Stack) -> object:
    return pydoca.Dma(None, stack.dpu())


@scene
def dma_in_flight(stack: Stack) -> object:
    dma = stack.dma()
    done = stack.copy(dma)
    done.submit()
    done.wait(10)
    stack.held(dma, 20)
    return dma


@scene
def dma_stopping(stack: Stack) -> object:
    dma = stack.dma()
    stack.held(dma, 2)
    dma.stop()
    return dma


@scene
def dma_failed(stack: Stack) -> object:
    dma = stack.dma()
    stack.failed(dma)
    return dma


@scene
def dma_faulted(stack: Stack) -> object:
    dma = stack.dma()
    stack.held(dma)[0]._quarantine()
    return dma


@scene
def dma_closed(stack: Stack) -> object:
    dma = pydoca.Dma(stack.engine(), stack.dpu())
    dma.close()
    return dma


@scene
def sha(stack: Stack) -> object:
    stack.callback(sim.load_topology, sim.topology())
    sim.load_topology(sim.default_topology("bluefield2"))
    return stack.enter_context(pydoca.Sha(stack.engine(), stack.dpu()))


@scene
def mmap_advise(stack: Stack) -> object:
    return stack.enter_context(pydoca.MmapAdvise(stack.engine(), stack.dpu()))


@scene
def task_new(stack: Stack) -> object:
    return stack.copy(stack.dma())


@scene
def task_in_flight(stack: Stack) -> object:
    return stack.held(stack.dma())[0]


@scene
def task_done(stack: Stack) -> object:
    task = stack.copy(stack.dma())
    task.submit()
    task.wait(10)
    return task


@scene
def task_failed(stack: Stack) -> object:
    return stack.failed(stack.dma())


@scene
def task_freed(stack: Stack) -> object:
    task = stack.copy(stack.dma())
    task.free()
    return task


# ---- sync events


@scene
def event_new(stack: Stack) -> object:
    return pydoca.SyncEvent(stack.host())


@scene
def event_started(stack: Stack) -> object:
    event = stack.event(subscriber="remote_pci")
    event.update_set(0x1234567890)
    return event


@scene
def event_imported(stack: Stack) -> object:
    blob = stack.event(publisher="remote_pci").export_to_remote_pci()
    return stack.enter_context(stack.dpu().import_sync_event(blob))


@scene
def event_of_a_dead_peer(stack: Stack) -> object:
    with pydoca.SyncEvent(stack.host(), publisher="remote_pci") as event:
        return stack.enter_context(stack.dpu().import_sync_event(event.export_to_remote_pci()))


@scene
def event_asynchronous(stack: Stack) -> object:
    event = pydoca.SyncEvent(stack.host())
    stack.enter_context(event.as_context(stack.engine()))
    return event


@scene
def event_stopped(stack: Stack) -> object:
    event = pydoca.SyncEvent(stack.host())
    event.start()
    event.stop()
    return event


@scene
def event_closed(stack: Stack) -> object:
    with pydoca.SyncEvent(stack.host()) as event:
        return event


@scene
def event_context(stack: Stack) -> object:
    context = stack.enter_context(pydoca.SyncEvent(stack.host()).as_context(stack.engine(), {"get": 4, "wait_eq": 100}))
    waits = [context.wait_eq(index + 1) for index in range(3)]
    stack.callback(_cancel, waits)
    return context


def _cancel(waits: list[pydoca.SyncEventTask]) -> None:
    for wait in waits:
        wait.cancel()
        with contextlib.suppress(pydoca.ShutdownError):
            wait.wait(10)


@scene
def event_task(stack: Stack) -> object:
    context = stack.enter_context(pydoca.SyncEvent(stack.host()).as_context(stack.engine()))
    task = context.wait_eq(0xFF00, 0xFF00)
    stack.callback(_cancel, [task])
    return task


@scene
def event_of_a_network_peer(stack: Stack) -> object:
    event = stack.enter_context(pydoca.SyncEvent(stack.host(), publisher="remote_net"))
    return stack.enter_context(stack.dpu().import_sync_event_remote_net(event.export_to_remote_net()))


# ---- comch and RDMA


@scene
def comch_server(stack: Stack) -> object:
    return stack.linked()[0]


@scene
def comch_client(stack: Stack) -> object:
    return stack.linked()[2].client


@scene
def comch_connection(stack: Stack) -> object:
    _, there, here = stack.linked()
    for message in (b"one", b"two", b"three"):
        there.send(message).wait(10)
    here.recv().wait(10)
    return here


@scene
def comch_connection_ended(stack: Stack) -> object:
    _, there, here = stack.linked()
    there.close()
    with contextlib.suppress(pydoca.ConnectionResetError):
        here.recv().wait(10)
    return here


@scene
def rdma(stack: Stack) -> object:
    return stack.connected()[0].rdma


@scene
def rdma_connection(stack: Stack) -> object:
    return stack.connected()[0]


@scene
def rdma_connection_exported(stack: Stack) -> object:
    return stack.rdma().export()


@scene
def rdma_connection_ended(stack: Stack) -> object:
    here, there = stack.connected()
    there.disconnect()
    here.ended().wait(10)
    return here


@scene
def rdma_listener(stack: Stack) -> object:
    return stack.enter_context(stack.rdma().listen(20_000 + secrets.randbelow(40_000)))


@scene
def rdma_task(stack: Stack) -> object:
    return stack.connected()[0].send(stack.inventory().get_by_data(stack.mmap(), None, 100), submit=False)


# ---- graphs


def _graph(stack: Stack, **options: Any) -> tuple[pydoca.Graph, pydoca.Dma]:
    engine = stack.engine()
    dma = stack.dma(engine)
    graph = pydoca.Graph(engine, **options)
    copies = [graph.node(dma), graph.node(dma)]
    graph.node(check, after=copies)
    return graph, dma


def check(cookie: object) -> None:
    """A step of a graph."""
    if cookie == "wrong":
        raise ValueError("the copies differ")


@scene
def graph_new(stack: Stack) -> object:
    return _graph(stack)[0]


@scene
def graph_large(stack: Stack) -> object:
    graph = pydoca.Graph(stack.engine())
    nodes: list[pydoca.GraphNode] = []
    for index in range(401):
        nodes.append(graph.node(check, after=nodes[index - 16 : index - 14] if index >= 16 else []))
    return graph


def _instance(stack: Stack, cookie: str) -> pydoca.GraphInstance:
    graph, dma = _graph(stack, timing=True)
    stack.enter_context(graph)
    first, second, last = graph.nodes
    return graph.create_instance({first: stack.copy(dma), second: stack.copy(dma), last: cookie})


@scene
def graph_instance_new(stack: Stack) -> object:
    return _instance(stack, "right")


@scene
def graph_instance_running(stack: Stack) -> object:
    instance = _instance(stack, "right")
    instance.submit()
    stack.callback(instance.wait, 10)
    return instance


@scene
def graph_instance_done(stack: Stack) -> object:
    instance = _instance(stack, "right")
    instance.submit()
    instance.wait(10)
    return instance


@scene
def graph_instance_failed(stack: Stack) -> object:
    instance = _instance(stack, "wrong")
    instance.submit()
    with contextlib.suppress(Exception, ExceptionGroup):
        instance.wait(10)
    return instance


# ---- errors


@scene
def error(stack: Stack) -> object:
    try:
        pydoca.BufInventory(0)
    except pydoca.DocaError as error:
        return error


@scene
def error_with_task(stack: Stack) -> object:
    task = stack.failed(stack.dma())
    try:
        task.result()
    except pydoca.DocaError as error:
        stack.callback(error.__setattr__, "task", None)
        return error


@scene
def error_with_cause(stack: Stack) -> object:
    try:
        try:
            open("/nowhere/<script>alert(1)</script>").close()
        except OSError as error:
            raise pydoca.NotFoundError("load the file: it is not there; <script>alert(1)</script> make it") from error
    except pydoca.DocaError as error:
        return error
