"""Pools of bufs: elements of equal size in one map."""

import gc
import weakref

import pytest

import pydoca


@pytest.fixture
def memory():
    return pydoca.alloc(1024)


@pytest.fixture
def mmap(rig, memory):
    return rig.device.mmap(memory)


@pytest.fixture
def pool(mmap):
    with pydoca.BufPool(4, 256, mmap) as pool:
        yield pool


def test_each_element_is_given_once(pool, mmap):
    bufs = [pool.alloc() for _ in range(4)]
    assert sorted(buf.head - mmap.addr for buf in bufs) == [0, 256, 512, 768]
    assert {(len(memoryview(buf)), buf.len, buf.data_len) for buf in bufs} == {(0, 256, 0)}
    assert (pool.num_elements, pool.num_free_elements, pool.element_size) == (4, 0, 256)
    with pytest.raises(pydoca.EmptyError, match="all 4 elements are out; release one"):
        pool.alloc()
    bufs.pop().close()
    assert pool.alloc().len == 256


def test_a_task_fills_an_element(rig, pool):
    src, _, _ = rig.bufs(64)
    dst = pool.alloc()
    task = rig.dma.memcpy(src, dst)
    task.wait()
    assert bytes(dst) == bytes(rig.data)


def test_an_element_that_no_name_holds_returns(pool):
    buf = pool.alloc()
    assert pool.num_free_elements == 3
    del buf
    gc.collect()
    assert pool.num_free_elements == 4


def test_elements_are_aligned(rig):
    memory = pydoca.alloc(1024)
    with rig.device.mmap(memory) as mmap, pydoca.BufPool(3, 100, mmap, element_alignment=128) as pool:
        assert pool.element_alignment == 128
        heads = [pool.alloc().head for _ in range(3)]
        assert [head % 128 for head in heads] == [0, 0, 0]


def test_the_alignment_changes_while_stopped(mmap):
    pool = pydoca.BufPool(2, 100, mmap, start=False)
    pool.set_element_alignment(256)
    with pool:
        with pytest.raises(pydoca.BadStateError, match="it is started; stop it first"):
            pool.set_element_alignment(1)
        assert pool.alloc().head % 256 == 0


def test_a_map_that_is_too_small_is_refused(mmap):
    with pytest.raises(pydoca.InitializationError, match=r"5 elements of 256 bytes.* do not fit"):
        pydoca.BufPool(5, 256, mmap)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((0, 16), {}, "num_elements"),
        ((2**32, 16), {}, "num_elements"),
        ((1, 0), {}, "elements of 0 bytes; give 1 or more"),
        ((1, 16), {"element_alignment": 24}, "element alignment 24 is not a power of 2"),
        ((1, 16), {"element_alignment": 0}, "element alignment 0 is not a power of 2"),
        ((1, -1), {}, "element_size"),
    ],
)
def test_other_numbers_are_refused(mmap, arguments, options, message):
    with pytest.raises(pydoca.InvalidValueError, match=message):
        pydoca.BufPool(*arguments, mmap, **options)


def test_a_pool_is_of_a_map_that_is_started(rig, memory):
    with pytest.raises(TypeError, match=r"a pydoca\.Mmap is needed, not memoryview"):
        pydoca.BufPool(1, 16, memoryview(memory))
    mmap = rig.device.mmap(memory)
    mmap.stop()
    with pytest.raises(pydoca.BadStateError, match=r"is not started; start that first"):
        pydoca.BufPool(1, 16, mmap)


def test_a_stopped_pool_gives_nothing_and_says_why(mmap):
    pool = pydoca.BufPool(1, 16, mmap, start=False)
    with pytest.raises(pydoca.BadStateError, match="the pool is stopped; start it first"):
        pool.alloc()
    pool.start()
    buf = pool.alloc()
    for end in (pool.stop, pool.close):
        with pytest.raises(pydoca.InUseError, match=r"1 of 1 buf\(s\) are out"):
            end()
    buf.close()
    pool.stop()
    pool.close()
    pool.close()
    with pytest.raises(pydoca.BadStateError, match="the pool is closed; make another"):
        pool.alloc()
    assert repr(pool) == "<pydoca.BufPool, 0 of 0 elements of 16 bytes free, closed>"


def test_the_end_of_the_block_takes_idle_elements_back(mmap):
    with pydoca.BufPool(2, 16, mmap) as pool:
        buf = pool.alloc()
    with pytest.raises(pydoca.BadStateError, match="the buf has been released"):
        buf.data_len  # noqa: B018
    assert pool.num_elements == 0


def test_a_map_does_not_end_before_its_elements(rig, memory):
    mmap = rig.device.mmap(memory)
    pool = pydoca.BufPool(3, 64, mmap)
    kept = pool.alloc()
    with pytest.raises(pydoca.NotPermittedError, match=r"64 bytes at .* of a BufPool of 3 elements;"):
        mmap.stop()
    kept.close()
    mmap.stop()
    with pytest.raises(pydoca.BadStateError, match="is not started; start it first"):
        pool.alloc()


def test_a_buf_keeps_pool_map_and_memory(rig):
    pool = pydoca.BufPool(1, 64, rig.device.mmap(pydoca.alloc(64)))
    buf = pool.alloc()
    gone = weakref.ref(pool)
    del pool
    buf.set_data(buf.head, 64)
    memoryview(buf)[:] = b"x" * 64
    assert bytes(buf) == b"x" * 64
    del buf
    gc.collect()
    assert gone() is None


def test_a_cycle_through_its_data_is_collected(mmap):
    pool = pydoca.BufPool(1, 64, mmap, start=False)
    pool.user_data = [pool]
    gone = weakref.ref(pool)
    del pool
    gc.collect()
    assert gone() is None
