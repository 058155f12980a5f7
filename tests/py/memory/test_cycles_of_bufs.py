"""The cycle collector sees the references that lead through a buf: to its map, and to the object that gave it."""

import gc
import weakref

import pytest

import pydoca

WARNING = "ignore:a progress engine was dropped:ResourceWarning"


class Root:
    """The object that the program drops; a weak reference tells whether the collector has found it."""


class Inventory(pydoca.BufInventory):
    """An inventory that takes attributes and weak references."""


def user_data_of_inventory(device, root):
    mmap, inventory = device.mmap(bytearray(64)), pydoca.BufInventory(2, user_data=root)
    return inventory.get_by_data(mmap), inventory.get_by_addr(mmap)


def attribute_of_inventory(device, root):
    mmap, inventory = device.mmap(bytearray(64)), Inventory(2)
    inventory.root = root
    return inventory.get_by_data(mmap), inventory.get_by_addr(mmap)


def user_data_of_pool(device, root):
    pool = pydoca.BufPool(2, 32, device.mmap(bytearray(64)), user_data=root)
    src, dst = pool.alloc(), pool.alloc()
    src.data_len = src.len
    return src, dst


def user_data_of_map(device, root):
    mmap, inventory = device.mmap(bytearray(64), user_data=root), pydoca.BufInventory(2)
    return inventory.get_by_data(mmap), inventory.get_by_addr(mmap)


def free_callback_of_map(device, root):
    root.freed = []
    mmap = device.mmap(bytearray(64), free_callback=lambda memory: root.freed.append(memory))
    inventory = pydoca.BufInventory(2)
    return inventory.get_by_data(mmap), inventory.get_by_addr(mmap)


def list_of_bufs(device, root):
    src, dst = user_data_of_inventory(device, root)
    more, _ = user_data_of_pool(device, root)
    dst.chain(more)
    del more
    return src, dst


WAYS = [
    user_data_of_inventory,
    attribute_of_inventory,
    user_data_of_pool,
    user_data_of_map,
    free_callback_of_map,
    list_of_bufs,
]


@pytest.fixture
def device():
    with pydoca.open_device("p0", side="dpu") as device:
        yield device


@pytest.mark.parametrize("make", WAYS)
def test_a_buf_in_a_cycle_is_collected(device, make):
    root = Root()
    root.bufs = make(device, root)
    gone = weakref.ref(root)
    del root
    gc.collect()
    assert gone() is None
    device.close()  # no object uses the device


@pytest.mark.parametrize("make", WAYS)
@pytest.mark.filterwarnings(WARNING)
def test_an_engine_in_a_cycle_through_a_buf_in_flight_is_collected(device, make):
    root = Root()
    root.pe = pydoca.ProgressEngine()
    dma = pydoca.Dma(root.pe, device)
    dma.start()
    dma.memcpy(*make(device, root), submit=False).submit()  # the task is not flushed: it stays in flight
    gone = weakref.ref(root)
    del root, dma
    gc.collect()
    assert gone() is None
    device.close()


@pytest.mark.parametrize("make", WAYS)
def test_bufs_that_the_program_has_keep_all_behind_them(device, make):
    root = Root()
    bufs = make(device, root)
    kept = weakref.ref(root)
    del root
    gc.collect()
    gc.collect()
    assert kept() is not None
    assert [bool(buf.mmap.is_started) for buf in bufs] == [True, True]
    bufs[0].data_len  # noqa: B018 - it is not released
    del bufs
    gc.collect()
    assert kept() is None


def test_an_element_that_the_program_has_keeps_its_list(device):
    """Each element of a list keeps the whole list: the collector must not take one element for the only one."""
    root = Root()
    mmap, inventory = device.mmap(bytearray(64)), pydoca.BufInventory(2, user_data=root)
    root.head, element = inventory.get_by_data(mmap), inventory.get_by_data(mmap)
    root.head.chain(element)
    kept = weakref.ref(root)
    del root, mmap, inventory
    gc.collect()
    gc.collect()
    assert kept() is not None
    assert element.mmap.is_started
    assert bytes(element) == bytes(64)


def test_the_free_callback_of_a_map_in_a_cycle_with_its_buf_runs(device):
    freed = []
    memory = bytearray(64)
    root = Root()
    mmap = device.mmap(memory, user_data=root, free_callback=freed.append)
    root.buf = pydoca.BufInventory(1).get_by_data(mmap)
    del mmap, root
    gc.collect()
    assert [one is memory for one in freed] == [True]
