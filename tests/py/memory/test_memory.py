"""pydoca.alloc and its memory."""

import gc
import os

import numpy as np
import pytest

import pydoca

PAGE = os.sysconf("SC_PAGESIZE")


def open_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("size", [1, PAGE - 1, PAGE, PAGE + 1, 1 << 20])
def test_memory_is_zero_writable_and_page_aligned(size):
    memory = pydoca.alloc(size)
    assert len(memory) == size
    assert memory.addr % PAGE == 0
    assert bytes(memory) == bytes(size)
    view = memoryview(memory)
    assert not view.readonly
    view[size - 1] = 7
    assert bytes(memory)[-1] == 7
    assert f"{size} bytes at {memory.addr:#x}" in repr(memory)


@pytest.mark.parametrize("size", [0, -1, 1 << 63, 1 << 100])
def test_impossible_sizes_are_refused(size):
    with pytest.raises(pydoca.InvalidValueError, match=str(size)):
        pydoca.alloc(size)


@pytest.mark.parametrize("size", [1.5, "4096", None])
def test_sizes_are_whole_numbers(size):
    with pytest.raises(TypeError):
        pydoca.alloc(size)


def test_what_stands_for_a_whole_number_is_one():
    assert len(pydoca.alloc(np.int64(5))) == 5


def test_more_than_there_is_is_refused():
    with pytest.raises(pydoca.NoMemoryError, match=r"has \d+ left"):
        pydoca.alloc(1 << 50)


def test_huge_pages_come_or_are_refused_with_a_reason():
    try:
        memory = pydoca.alloc(100, huge_pages=True)
    except pydoca.NoMemoryError as error:
        assert "nr_hugepages" in str(error)  # noqa: PT017 - either is right, as the system decides
    else:
        assert memory.addr % (2 << 20) == 0


def test_memory_comes_back():
    gc.collect()  # devices that other tests have left
    before = open_files()
    memory = pydoca.alloc(PAGE)
    assert open_files() == before + 1
    del memory
    gc.collect()
    assert open_files() == before


def test_closing_is_idempotent_and_leaves_views_alone():
    before = open_files()
    with pydoca.alloc(PAGE) as memory:
        view = memoryview(memory)
    memory.close()
    view[0] = 1
    assert view[0] == 1
    for use in (lambda: len(memory), lambda: memory.addr, lambda: memoryview(memory), memory.__enter__):
        with pytest.raises(pydoca.BadStateError, match="closed"):
            use()
    assert "closed" in repr(memory)
    view.release()
    assert open_files() == before


def test_a_map_keeps_closed_memory():
    with pydoca.open_device("p0") as device:
        memory = pydoca.alloc(PAGE)
        with device.mmap(memory) as mmap:
            memoryview(memory)[0] = 9
            memory.close()
            assert bytes(mmap)[:2] == b"\t\0"
