"""A callback drops the last reference to an object: its own, the engine's, or any other. tests/cpp has the same."""

import gc
import itertools
import weakref

import pytest

import pydoca
from pydoca.faults import FaultRule, inject

SIZE = 64


class World(dict):
    """Objects by name. drop() is what a callback calls; only the first call drops."""

    dropped = False

    def drop(self, name):
        if not self.dropped:
            self.dropped = True
            self.clear() if name == "all" else self.pop(name)

    def add_memory(self):
        self["device"] = pydoca.open_device("p0")
        self["pe"] = pydoca.ProgressEngine()
        self["map"] = self["device"].mmap(bytearray(2 * SIZE))
        self["inventory"] = pydoca.BufInventory(8)

    def copy(self, **given):
        inventory, mmap = self["inventory"], self["map"]
        src = inventory.get_by_data(mmap, mmap.addr, SIZE)
        return self["dma"].memcpy(src, inventory.get_by_addr(mmap, mmap.addr + SIZE, SIZE), **given)


def completion(world, name):
    world.add_memory()
    world["dma"] = pydoca.Dma(world["pe"], world["device"], on_completion=lambda *_: world.drop(name))
    world["dma"].start()
    world["tasks"] = [world.copy(), world.copy()]


def error(world, name):
    with inject(FaultRule("fail", "dma.memcpy")):
        world.add_memory()
        world["dma"] = pydoca.Dma(world["pe"], world["device"], on_error=lambda *_: world.drop(name))
        world["dma"].start()
        world["tasks"] = [world.copy(), world.copy()]


def done(world, name):
    completion(world, name)
    for task in world["tasks"]:
        task.add_done_callback(lambda _: world.drop(name))


def started(world, name):
    world.add_memory()
    world["dma"] = pydoca.Dma(world["pe"], world["device"], on_state_changed=lambda *_: world.drop(name))
    world["dma"].start()


def stopped(world, name):
    world.add_memory()
    world["dma"] = pydoca.Dma(world["pe"], world["device"])
    world["dma"].start()
    world["dma"].on_state_changed = lambda *_: world.drop(name)
    world["tasks"] = [world.copy(), world.copy()]
    world["dma"].stop()


def graph(world, name, *, in_node):
    world.add_memory()
    world["dma"] = pydoca.Dma(world["pe"], world["device"])
    world["dma"].start()
    world["graph"] = pydoca.Graph(world["pe"], num_instances=2, on_completion=lambda *_: world.drop(name))
    node = world["graph"].node(world["dma"])
    last = world["graph"].node(lambda _: world.drop(name) if in_node else None, after=[node])
    world["graph"].start()
    world["tasks"] = [world.copy(submit=False), world.copy(submit=False)]
    world["instances"] = [world["graph"].run({node: task, last: 0}) for task in world["tasks"]]


def comch(world, name, *, event):
    world.add_memory()

    def called(which):
        return lambda *_: world.drop(name) if which == event else None

    def connected(connection, *_):
        world["connection"] = connection
        connection.send(b"hello")
        called("connect")()

    device, pe = world["device"], world["pe"]
    world["server"] = pydoca.comch.Server(
        pe,
        device,
        device.open_representor("0b:00.0"),
        "dropped",
        on_connect=connected,
        on_disconnect=called("disconnect"),
        on_message=called("server message"),
    )
    world["client"] = pydoca.comch.Client(
        pe, pydoca.open_device("pf0"), "dropped", on_message=called("client message"), on_disconnect=called("lost")
    )
    world["server"].start()
    world["client"].start()
    client = weakref.ref(world["client"])
    pe.run_until(lambda: world.dropped or (client().state is pydoca.ContextState.RUNNING and "connection" in world), 10)
    if world.dropped:
        return
    world["client"].connection.send(b"hello")
    if event in ("disconnect", "lost"):
        (world["connection"] if event == "lost" else world["client"].connection).close()


def freed(world, name):
    world.add_memory()
    world["map"].close()
    world["map"] = world["device"].mmap(bytearray(SIZE), free_callback=lambda _: world.drop(name))
    world["map"].close()


SCENES = {
    "completion": completion,
    "error": error,
    "done": done,
    "start": started,
    "stop": stopped,
    "graph": lambda world, name: graph(world, name, in_node=False),
    "function of a graph": lambda world, name: graph(world, name, in_node=True),
    "map freed": freed,
    **{
        event: lambda world, name, event=event: comch(world, name, event=event)
        for event in ("connect", "client message", "server message", "disconnect", "lost")
    },
}
OF_SCENES = {
    "completion": ("dma", "tasks"),
    "error": ("dma", "tasks"),
    "done": ("dma", "tasks"),
    "start": ("dma",),
    "stop": ("dma", "tasks"),
    "graph": ("dma", "tasks", "graph", "instances"),
    "function of a graph": ("dma", "tasks", "graph", "instances"),
    "map freed": (),
}
CASES = [
    (scene, name)
    for scene in SCENES
    for name in ("all", "pe", "device", "map", "inventory", *OF_SCENES.get(scene, ("server", "client")))
]


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # an engine that is dropped with tasks in flight warns
@pytest.mark.parametrize(("scene", "name"), CASES)
def test_an_object_is_there_until_its_callback_returns(scene, name):
    world = World()
    SCENES[scene](world, name)
    watched = weakref.ref(world["dma"]) if "dma" in world else None
    for _ in itertools.takewhile(lambda _: not world.dropped, range(100_000)):
        world["pe"].progress()
    assert world.dropped
    for _ in range(16):
        if "pe" in world:
            world["pe"].progress()
    world.clear()
    gc.collect()
    assert watched is None or watched() is None
