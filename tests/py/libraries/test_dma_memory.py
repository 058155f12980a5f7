"""Copies between memory, without bufs by hand: Dma.memcpy() of maps, views and arrays."""

import asyncio
import gc
import threading

import numpy as np
import pytest

import pydoca
from pydoca import sim

SIZE = 256


class Areas:
    """A rig with a source and a destination that are NumPy's, each in a started map."""

    def __init__(self, rig):
        self.rig, self.dma, self.pe, self.device = rig, rig.dma, rig.pe, rig.device
        self.data = np.arange(SIZE, dtype=np.uint8)
        self.target = np.zeros(SIZE, np.uint8)
        self.src, self.dst = self.device.mmap(self.data), self.device.mmap(self.target)

    def require_idle(self):
        """No buf points into the maps, so both can stop."""
        assert (self.src.num_bufs, self.dst.num_bufs) == (0, 0)
        for mmap in (self.src, self.dst):
            mmap.stop()
            mmap.start()


@pytest.fixture
def areas(rig):
    return Areas(rig)


@pytest.fixture
def slow():
    """Copies take 3 ms."""
    sim.load_config({"dma": {"latency": "3ms"}})
    yield
    sim.load_config({})


# ---- what it copies


OPERANDS = {
    "maps": lambda areas: (areas.src, areas.dst, slice(0, SIZE)),
    "views of maps": lambda areas: (memoryview(areas.src)[16:48], memoryview(areas.dst)[16:48], slice(16, 48)),
    "arrays": lambda areas: (areas.data, areas.target, slice(0, SIZE)),
    "slices of arrays": lambda areas: (areas.data[100:200], areas.target[100:200], slice(100, 200)),
    "other items": lambda areas: (areas.data.view(np.uint32)[2:4], areas.target.view(np.uint32)[2:4], slice(8, 16)),
    "into more room": lambda areas: (areas.data[:10], areas.dst, slice(0, 10)),
    "a map into an array": lambda areas: (areas.src, areas.target, slice(0, SIZE)),
    "a buf into memory": lambda areas: (areas.rig.inventory.get_by_data(areas.src), areas.dst, slice(0, SIZE)),
    "memory into a buf": lambda areas: (areas.src, areas.rig.inventory.get_by_addr(areas.dst), slice(0, SIZE)),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_it_copies(areas, name):
    src, dst, copied = OPERANDS[name](areas)
    task = areas.dma.memcpy(src, dst)
    assert task.src is src
    assert task.dst is dst
    task.wait()
    expected = np.zeros(SIZE, np.uint8)
    expected[copied] = areas.data[copied]
    assert (areas.target == expected).all()
    del src, dst, task
    areas.require_idle()


def test_an_await_copies(areas):
    async def main():
        async with areas.pe, areas.dma:
            for value in range(3):
                areas.data[:] = value + 1
                await areas.dma.memcpy(areas.src, areas.dst)
                assert (areas.target == value + 1).all()

    areas.dma.stop()
    asyncio.run(main())


def test_memory_of_the_other_side(areas):
    with pydoca.open_device("0b:00.0", side="host") as host:
        memory = np.full(SIZE, 7, np.uint8)
        exported = host.mmap(memory, access="pci_read_write")
        with areas.device.import_mmap(exported.export_pci()) as remote:
            areas.dma.memcpy(remote, areas.dst).wait()
            assert (areas.target == 7).all()
            areas.dma.memcpy(areas.data, remote).wait()
            assert (memory == areas.data).all()
            assert remote.num_bufs == 0


def test_each_submission_copies_what_is_there(areas):
    task = areas.dma.memcpy(areas.src, areas.dst, submit=False)
    for value in (1, 2):
        areas.data[:] = value
        task.submit()
        task.wait()
        assert (areas.target == value).all()
    task.src = areas.data[:8]
    areas.data[:] = 3
    task.submit()
    task.wait()
    assert areas.target.tolist() == [3] * 8 + [2] * (SIZE - 8)
    areas.require_idle()


def test_more_copies_in_flight_than_bufs_at_first(slow, areas):
    tasks = [areas.dma.memcpy(areas.data[at : at + 1], areas.target[at : at + 1]) for at in range(SIZE)]
    assert areas.src.num_bufs == SIZE
    for task in tasks:
        task.wait()
    assert (areas.target == areas.data).all()
    areas.require_idle()


def test_another_thread_submits(areas):
    task = areas.dma.memcpy(areas.src, areas.dst, submit=False)
    thread = threading.Thread(target=areas.pe.submit_threadsafe, args=(task,))
    thread.start()
    thread.join()
    task.wait()
    assert (areas.target == areas.data).all()
    areas.require_idle()


def test_a_graph_copies(areas):
    half = SIZE // 2
    graph = pydoca.Graph(areas.pe)
    nodes = [graph.node(areas.dma) for _ in range(2)]
    graph.add_dependency(*nodes)
    graph.start()
    parts = ((areas.data[:half], areas.target[:half]), (areas.target[:half], areas.target[half:]))
    tasks = [areas.dma.memcpy(src, dst, submit=False) for src, dst in parts]
    graph.run(dict(zip(nodes, tasks, strict=True))).wait()
    assert (areas.target == np.tile(areas.data[:half], 2)).all()
    areas.require_idle()


# ---- whose bufs they are


def test_the_bufs_are_there_in_flight_only(areas):
    counts = []
    areas.dma.stop()
    areas.dma.set_memcpy_conf(on_completion=lambda *_: counts.append(areas.dst.num_bufs))
    areas.dma.start()
    task = areas.dma.memcpy(areas.src, areas.dst, submit=False)
    assert areas.dst.num_bufs == 0
    task.submit(pydoca.SubmitFlags.NONE)
    assert (areas.src.num_bufs, areas.dst.num_bufs) == (1, 1)
    with pytest.raises(pydoca.NotPermittedError, match="tasks in flight have them; wait for the tasks"):
        areas.dst.stop()
    areas.rig.release()
    task.wait()
    assert counts == [0]
    areas.require_idle()


def test_a_stop_gives_them_back(areas):
    areas.dma.memcpy(areas.src, areas.dst, submit=False).submit(pydoca.SubmitFlags.NONE)
    areas.dma.stop()
    areas.pe.run_until(lambda: areas.dma.state == pydoca.ContextState.IDLE, 10)
    areas.require_idle()


def test_a_cancelled_await_waits_for_the_device(areas):
    async def main():
        async with areas.pe, areas.dma:
            task = areas.dma.memcpy(areas.src, areas.dst, submit=False)
            task.submit(pydoca.SubmitFlags.NONE)
            waiting = asyncio.ensure_future(task)
            await areas.rig.turns()
            waiting.cancel()
            await areas.rig.turns()
            assert not waiting.done()
            assert areas.dst.num_bufs == 1
            areas.rig.release()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            areas.require_idle()

    areas.dma.stop()
    asyncio.run(main())


def test_a_dropped_task_keeps_the_memory(slow, areas):
    areas.dma.memcpy(areas.src, areas.dst)
    gc.collect()
    assert areas.dst.num_bufs == 1
    areas.pe.run_until(lambda: areas.dma.num_inflight_tasks == 0, 10)
    assert (areas.target == areas.data).all()
    areas.require_idle()


# ---- what it refuses


def stopped(areas):
    mmap = areas.device.mmap(bytearray(SIZE))
    mmap.stop()
    return mmap


def closed(areas):
    mmap = areas.device.mmap(bytearray(SIZE))
    mmap.close()
    return mmap


def of_another_device(_areas):
    array = np.zeros(SIZE, np.uint8)
    of_another_device.kept = pydoca.open_device("0b:00.0", side="host").mmap(array)
    return array


def released(areas):
    view = memoryview(areas.target)
    view.release()
    return view


REFUSED = {
    "text": (lambda areas: "memory", TypeError, "a pydoca.Buf, a pydoca.Mmap, or memory"),
    "a number": (lambda areas: 5, TypeError, "needed, not int"),
    "a map that is stopped": (stopped, pydoca.BadStateError, r"is not started; start it first"),
    "a map that is closed": (closed, pydoca.DocaError, "closed|not started"),
    "memory without a map": (lambda areas: bytearray(8), pydoca.InvalidValueError, "no started map of the device"),
    "memory of another device": (of_another_device, pydoca.InvalidValueError, "no started map of the device"),
    "an array with gaps": (lambda areas: areas.target[::2], pydoca.InvalidValueError, "contiguous"),
    "nothing": (lambda areas: areas.target[:0], pydoca.InvalidValueError, "0 bytes .* give at least 1 byte"),
    "a view that was released": (released, pydoca.InvalidValueError, "does not give its bytes: operation forbidden"),
}


def submit_with(task, place, operand):
    setattr(task, place, operand)
    task.submit()


@pytest.mark.parametrize("place", ["src", "dst"])
@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses(areas, name, place):
    make, error, message = REFUSED[name]
    operands = {"src": areas.src, "dst": areas.dst, place: make(areas)}
    with pytest.raises(error, match=message):
        areas.dma.memcpy(**operands)
    task = areas.dma.memcpy(areas.src, areas.dst, submit=False)
    with pytest.raises(error, match=message):
        submit_with(task, place, operands[place])
    operands.clear()
    of_another_device.kept = None
    areas.require_idle()


def test_it_does_not_write_to_a_read_only_view(areas):
    before = bytes(areas.target)
    with pytest.raises(pydoca.InvalidValueError, match="dst: this memoryview is read-only; give memory that may be"):
        areas.dma.memcpy(areas.src, memoryview(areas.target).toreadonly())
    assert bytes(areas.target) == before
    areas.dma.memcpy(memoryview(areas.target).toreadonly(), areas.dst).wait()
    areas.require_idle()


def test_it_refuses_too_little_room(areas):
    with pytest.raises(pydoca.InvalidValueError):
        areas.dma.memcpy(areas.src, areas.target[:8])
    areas.require_idle()


def test_a_full_queue_keeps_nothing(make_rig):
    areas = Areas(make_rig(num_tasks=1))
    task = areas.dma.memcpy(areas.src, areas.dst, submit=False)
    task.submit(pydoca.SubmitFlags.NONE)
    with pytest.raises(pydoca.DocaError):
        task.submit()
    assert areas.src.num_bufs == 1
    areas.rig.release()
    task.wait()
    areas.require_idle()


def test_other_libraries_take_bufs_only(areas):
    with (
        pydoca.MmapAdvise(areas.pe, areas.device) as advise,
        pytest.raises(TypeError, match=r"a pydoca\.Buf is needed"),
    ):
        advise.invalidate_cache(areas.src)
