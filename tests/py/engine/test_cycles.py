"""An object that refers to a context, a graph, a connection or a buf shows that to the cycle collector."""

import gc
import weakref

import pytest

import pydoca

ACCESS = "local_read_write|rdma_read|rdma_write|rdma_atomic"


class Root:
    """The object that the program drops; the object under test leads back to it."""


def node_of_graph(device, root):
    pe = pydoca.ProgressEngine()
    graph = pydoca.Graph(pe, num_instances=1, user_data=root)
    return graph.node(pydoca.Dma(pe, device))


def state_of_context(device, root):
    return pydoca.Dma(pydoca.ProgressEngine(), device, user_data=root)._settled()


def connection(device, root):
    rdma = pydoca.Rdma(pydoca.ProgressEngine(), device)
    rdma.start()
    connection = rdma.export()
    connection.user_data = root
    return connection


def start_of_connection(device, root):
    return connection(device, root).established()


def end_of_connection(device, root):
    return connection(device, root).disconnect()


def event_in_a_buf(device, root):
    inventory = pydoca.BufInventory(1, user_data=root)
    mmap = device.mmap(pydoca.alloc(8), access=ACCESS)
    return pydoca.SyncEvent(device, publisher="cpu", subscriber="cpu", buf=inventory.get_by_data(mmap))


WAYS = [node_of_graph, state_of_context, start_of_connection, end_of_connection, event_in_a_buf]


@pytest.mark.parametrize("make", WAYS)
def test_an_object_in_a_cycle_is_collected(make):
    device = pydoca.open_device("p0", side="dpu")
    root = Root()
    root.thing = make(device, root)
    gone = weakref.ref(root)
    del root
    gc.collect()
    gc.collect()
    assert gone() is None
    device.close()  # no object uses the device


@pytest.mark.parametrize("make", WAYS)
def test_an_object_that_the_program_has_keeps_all_behind_it(make):
    with pydoca.open_device("p0", side="dpu") as device:
        root = Root()
        root.thing = thing = make(device, root)
        kept = weakref.ref(root)
        del root
        gc.collect()
        gc.collect()
        assert kept() is not None
        del thing
        gc.collect()
        gc.collect()
        assert kept() is None
