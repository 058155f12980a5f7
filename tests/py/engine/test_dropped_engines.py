"""An engine that nothing can reach is released with all that it has, also with tasks in flight."""

import gc
import os
from array import array
from concurrent.futures import ThreadPoolExecutor

import pytest

import pydoca

SIZE = 2 << 20  # goes to the device's workers


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def receive(device, pe, called):
    rdma = pydoca.Rdma(pe, device, on_completion=called, on_error=called, on_state_changed=called)
    rdma.start()
    called.clear()
    rdma.receive(pydoca.BufInventory(1).get_by_addr(device.mmap(bytearray(64))))


def copy(device, pe, called):
    dma = pydoca.Dma(pe, device, on_completion=called, on_error=called, on_state_changed=called)
    dma.start()
    called.clear()
    inventory = pydoca.BufInventory(2)
    source, target = device.mmap(pydoca.alloc(SIZE)), device.mmap(pydoca.alloc(SIZE))
    dma.memcpy(inventory.get_by_data(source), inventory.get_by_addr(target))


def wait_for_event(device, pe, called):
    events = pydoca.SyncEvent(device, publisher="cpu", subscriber="cpu").as_context(pe)
    events.start()
    events.wait_gt(3).add_done_callback(called)


def run_graph(device, pe, called):
    dma = pydoca.Dma(pe, device)
    dma.start()
    graph = pydoca.Graph(pe, num_instances=1, on_completion=called, on_error=called)
    node = graph.node(dma)
    graph.start()
    inventory = pydoca.BufInventory(2)
    source, target = device.mmap(pydoca.alloc(SIZE)), device.mmap(pydoca.alloc(SIZE))
    task = dma.memcpy(inventory.get_by_data(source), inventory.get_by_addr(target), submit=False)
    graph.run({node: task})


def begin_batch(device, pe, called):
    """Begins more copies than there are tasks."""
    dma = pydoca.Dma(pe, device, num_tasks=1)
    dma.start()
    source, target = device.mmap(pydoca.alloc(SIZE)), device.mmap(pydoca.alloc(SIZE))
    words = array("Q", [source.addr, target.addr, SIZE, 0] * 3)
    dma.memcpy_many(source, target, memoryview(words).cast("B").cast("Q", (3, 4)))


def run_function(device, pe, called):
    """Runs a graph whose function has not run yet: the engine has an instance, but not a task in flight."""
    dma = pydoca.Dma(pe, device)
    dma.start()
    graph = pydoca.Graph(pe, num_instances=1, on_completion=called, on_error=called)
    function = graph.node(called)
    node = graph.node(dma, after=[function])
    graph.start()
    inventory = pydoca.BufInventory(2)
    memory = device.mmap(pydoca.alloc(64))
    task = dma.memcpy(inventory.get_by_data(memory), inventory.get_by_addr(memory), submit=False)
    graph.run({node: task})


class Called(list):
    def __call__(self, *arguments):
        self.append(arguments)


@pytest.mark.parametrize("begin", [receive, copy, wait_for_event, run_graph, run_function, begin_batch])
@pytest.mark.filterwarnings("ignore:a progress engine was dropped:ResourceWarning")
def test_all_is_given_back(begin):
    def drop():
        called = Called()
        device = pydoca.open_device("p0", side="dpu")
        begin(device, pydoca.ProgressEngine(), called)
        del device
        gc.collect()
        gc.collect()
        return called

    drop()
    before = descriptors()
    for _ in range(3):
        assert drop() == []
    assert descriptors() == before


@pytest.mark.parametrize("begin", [receive, copy, wait_for_event, run_graph, run_function, begin_batch])
@pytest.mark.filterwarnings("ignore:a progress engine was dropped:ResourceWarning")
def test_all_is_given_back_when_the_collector_runs_in_another_thread(begin):
    def drop():
        called = Called()
        begin(pydoca.open_device("p0", side="dpu"), pydoca.ProgressEngine(), called)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(gc.collect).result()
            pool.submit(gc.collect).result()
        return called

    gc.disable()
    try:
        drop()
        before = descriptors()
        for _ in range(3):
            assert drop() == []
        assert descriptors() == before
    finally:
        gc.enable()


def test_a_warning_tells_of_it():
    device = pydoca.open_device("p0", side="dpu")
    receive(device, pydoca.ProgressEngine(), Called())
    with pytest.warns(
        ResourceWarning, match=r"dropped with 1 task\(s\) and 0 graph instance\(s\) or batch\(es\) in flight"
    ):
        gc.collect()
    device.close()


@pytest.mark.parametrize("begin", [copy, run_graph])
def test_an_engine_that_lives_completes_what_was_dropped(begin):
    called = Called()
    device = pydoca.open_device("p0", side="dpu")
    pe = pydoca.ProgressEngine()
    begin(device, pe, called)
    gc.collect()
    pe.run_until(lambda: len(called) == 1, 30)
    called.clear()  # this drops the task or instance, which refers to the context
    gc.collect()
    pe.close()
    device.close()
