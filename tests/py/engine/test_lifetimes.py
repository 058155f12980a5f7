"""Objects may be dropped in any order: memory stays while an object shows it, and is freed afterwards."""

import contextlib
import copy
import gc
import inspect
import itertools
import subprocess
import sys
import weakref

import numpy as np
import pytest

import pydoca
from pydoca import _core


class Array(np.ndarray):
    """An array that can be watched."""


def make_array(size=64):
    return np.arange(size, dtype=np.uint8).view(Array)


@pytest.fixture(autouse=True)
def eager_collector():
    before = gc.get_threshold()
    gc.set_threshold(1)
    yield
    gc.set_threshold(*before)
    gc.collect()


@pytest.fixture
def device():
    with pydoca.open_device("p0") as device:
        yield device


OWNERS = ["array", "device", "mmap", "inventory", "buf", "view"]


def make_owners():
    """Each object of OWNERS needs those before it."""
    names = {}
    names["array"] = make_array()
    names["device"] = pydoca.open_device("p0")
    names["mmap"] = names["device"].mmap(names["array"])
    names["inventory"] = pydoca.BufInventory(2)
    names["buf"] = names["inventory"].get_by_data(names["mmap"])
    names["view"] = memoryview(names["buf"])
    return names


@pytest.mark.parametrize("first", OWNERS)
def test_dropped_in_any_order(first):
    for rest in itertools.permutations(set(OWNERS) - {first}):
        drop_in_order((first, *rest))


def drop_in_order(order):
    names = make_owners()
    watched = weakref.ref(names["array"])
    for step, name in enumerate(order):
        del names[name]
        if set(names) & {"array", "mmap", "buf", "view"}:
            assert watched() is not None, f"gone after {order[: step + 1]}"
        if "view" in names:
            assert names["view"][63] == 63
        if "buf" in names:
            assert bytes(names["buf"])[63] == 63
    assert watched() is None, f"left after {order}"


def test_an_array_in_a_map_has_its_references_back(device):
    array = make_array()
    before = sys.getrefcount(array)
    mmap = device.mmap(array)
    assert sys.getrefcount(array) > before
    views = [
        memoryview(mmap),
        np.asarray(mmap),
        np.from_dlpack(mmap),
        mmap.__dlpack__(),
        mmap.__dlpack__(max_version=(1, 0)),
    ]
    mmap.close()
    assert sys.getrefcount(array) > before
    assert views[1][63] == 63
    del mmap
    del views
    assert sys.getrefcount(array) == before


@pytest.mark.parametrize("make_view", [memoryview, np.asarray, np.from_dlpack, lambda buf: buf.__dlpack__()])
def test_a_view_of_a_buf_keeps_the_memory_and_not_the_descriptor(device, make_view):
    array = make_array()
    watched = weakref.ref(array)
    inventory = pydoca.BufInventory(1)
    mmap = device.mmap(array)
    buf = inventory.get_by_data(mmap)
    view = make_view(buf)
    del array
    buf.close()
    mmap.close()
    inventory.close()
    del buf, mmap, inventory
    assert watched() is not None
    if not isinstance(view, memoryview | np.ndarray):
        assert "dltensor" in repr(view)
    else:
        assert view[63] == 63
    del view
    assert watched() is None


def test_python_objects_have_their_references_back(device):
    inventory = pydoca.BufInventory(4)
    mmap = device.mmap(bytearray(64))
    before = [sys.getrefcount(thing) for thing in (inventory, mmap, device)]
    head = inventory.get_by_data(mmap)
    head.chain(inventory.get_by_data(mmap))
    copy = inventory.dup(head)
    tail = head.next
    head.unchain(tail)
    assert sys.getrefcount(inventory) > before[0]
    del head, copy, tail
    assert [sys.getrefcount(thing) for thing in (inventory, mmap, device)] == before
    assert (inventory.num_free_elements, mmap.num_bufs) == (4, 0)


def test_lists_come_apart_in_any_order(device):
    for order in itertools.permutations(range(4)):
        inventory = pydoca.BufInventory(4)
        mmap = device.mmap(bytearray(64))
        bufs = {i: inventory.get_by_data(mmap, mmap.addr + 16 * i, 16) for i in range(4)}
        for i in (1, 2, 3):
            bufs[0].chain(bufs[i])
        bufs[0].unchain(bufs[2])
        for i in order:
            del bufs[i]
            assert all(buf.data_len == 16 for buf in bufs.values())
        assert inventory.num_free_elements == 4
        inventory.close()
        mmap.close()


def test_a_map_in_a_cycle_is_collected(device):
    array = make_array()
    watched = weakref.ref(array)
    mmap = device.mmap(array)
    mmap.stop()
    mmap.user_data = [mmap]
    del mmap, array
    gc.collect()
    assert watched() is None


def test_a_free_callback_that_refers_to_its_map_is_no_leak(device):
    array = make_array()
    watched = weakref.ref(array)

    def make(memory):
        mmap = device.mmap(memory, free_callback=lambda given: mmap)

    make(array)
    del array
    gc.collect()
    assert watched() is None


def test_an_iterator_over_a_list_outlives_its_head(device):
    inventory = pydoca.BufInventory(2)
    mmap = device.mmap(bytearray(64))
    head = inventory.get_by_data(mmap)
    head.chain(inventory.get_by_data(mmap))
    elements = iter(head)
    del head
    assert [element.data_len for element in elements] == [64, 64]


def test_failed_calls_hold_nothing(device):
    array = make_array()
    before = sys.getrefcount(array)
    for call in (
        lambda: device.mmap(array, access="pci"),
        lambda: device.mmap(array, access=48),
        lambda: device.mmap(array[::2]),
        lambda: pydoca.Mmap(array, devices=[None]),
        lambda: pydoca.Mmap(array, max_num_devices=9999),
    ):
        with pytest.raises((pydoca.InvalidValueError, TypeError)):
            call()
    assert sys.getrefcount(array) == before


@pytest.mark.parametrize(
    "state",
    [
        "",
        "m.stop()",
        "v = memoryview(m)",
        "b = i.get_by_data(m); v = memoryview(b)",
        "b = i.get_by_data(m); b.chain(i.get_by_data(m)); n = b.next",
        "import sys; sys.modules['kept'] = [d, m, i, i.get_by_data(m)]",
        "x = [m, d]; x.append(x)",
        "f = d.mmap(bytearray(8), free_callback=print)",
    ],
)
def test_the_interpreter_ends_in_any_state(state):
    program = f"""
import gc
gc.set_threshold(1)
import pydoca
d = pydoca.open_device("pf0")
m = d.mmap(bytearray(64), access="pci_read_only")
i = pydoca.BufInventory(4)
blob = m.export_pci()
o = pydoca.open_device("p0").import_mmap(blob)
{state}
"""
    result = subprocess.run([sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, timeout=150)
    assert (result.returncode, result.stderr) == (0, "")


def test_memory_of_a_map_that_lives_until_the_interpreter_ends_is_given_back():
    # A finalizer's globals must not lead to the map, or the map would be part of a cycle.
    program = """
import os, pydoca
names = {"write": os.write}
exec("class Memory(bytearray):\\n  def __del__(self): write(1, b'given back')", names)
mmap = pydoca.open_device("pf0").mmap(names["Memory"](64))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=150)
    assert (result.returncode, result.stdout, result.stderr) == (0, "given back", "")


# ---- objects whose constructor failed

CLASSES = sorted((cls for cls in vars(_core).values() if type(cls) is type(_core.Buf)), key=lambda cls: cls.__name__)
USES = [repr, hash, len, iter, memoryview, str, lambda made: made == made]


def uses_of(cls):
    """Uses of an object of the class: built-in functions, and each method without arguments."""
    yield from USES
    for name in dir(cls):
        if name not in dir(object):
            yield lambda made, name=name: getattr(made, name)()


@pytest.mark.parametrize("subclassed", [False, True], ids=["itself", "subclass"])
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_object_that_init_never_saw_is_refused_by_all_its_methods(cls, subclassed):
    made_of = type("Subclass", (cls,), {}) if subclassed else cls
    made = made_of.__new__(made_of)
    for use in uses_of(cls):
        with contextlib.suppress(TypeError):
            begun = use(made)
            if hasattr(begun, "send"):
                begun.send(None)  # the awaited object refuses at its start
    for name, attribute in inspect.getmembers_static(cls):
        if isinstance(attribute, property):
            with pytest.raises(TypeError, match=r"__init__\(\)"):
                getattr(made, name)
    del made


@pytest.mark.parametrize("name", ["Memory", "Buf", "Task", "Dma", "DmaMemcpyTask", "SyncEvent", "SyncEventTask"])
def test_a_half_made_object_is_no_argument_either(name):
    made = getattr(_core, name).__new__(getattr(_core, name))
    with pydoca.ProgressEngine() as pe, pydoca.open_device("p0") as device, pydoca.BufInventory(1) as inventory:
        for use in (device.mmap, inventory.dup, pe.run_until, pe.submit_threadsafe, copy.copy):
            with pytest.raises(TypeError):
                use(made)


RECEIVING = """
import gc
import pydoca
device = pydoca.open_device("p0")
for _ in range(2):  # the second round drops the objects of the first
    pe = pydoca.ProgressEngine()
    end, other = pydoca.Rdma(pe, device), pydoca.Rdma(pe, device)
    end.start()
    other.start()
    here, there = end.export(), other.export()
    here.connect(there.details)
    there.connect(here.details)
    task = end.receive(None)
"""
DROPPED = {
    "when the process ends": "",
    "by the collector": "del pe, end, other, here, there, task, device; gc.collect()",
    "in a callback": """
task.add_done_callback(lambda _: globals().pop("task"))
end.stop()
del end, other, here, there
while pe.num_inflight_tasks:
    pe.progress()
""",
}


@pytest.mark.parametrize("when", DROPPED)
def test_a_context_is_dropped_while_it_receives(when):
    """The engine uses the context again after the callback that dropped the last reference."""
    run = subprocess.run([sys.executable, "-c", RECEIVING + DROPPED[when]], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
