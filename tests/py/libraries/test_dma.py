"""Copies by the DMA engine."""

import pytest

import pydoca
from pydoca import Status


@pytest.fixture
def info(rig):
    return rig.device.info


def test_a_copy_appends_to_the_destination(rig):
    src, dst, target = rig.bufs()
    rig.dma.memcpy(src, dst).wait(5)
    assert bytes(target) == bytes(rig.data)
    assert dst.data_len == 64
    dst.set_data(dst.head, 0)
    assert dst.data_len == 0


@pytest.mark.parametrize("size", [1, 4096, 64 << 10, (64 << 10) + 1, 1 << 20, 2 << 20])
def test_copies_of_every_size(make_rig, size):
    rig = make_rig(size=size)
    src, dst, target = rig.bufs()
    rig.dma.memcpy(src, dst).wait(10)
    assert bytes(target) == bytes(rig.data)


def test_many_copies_at_once(make_rig):
    rig = make_rig(size=200_000)
    pairs = [rig.bufs() for _ in range(64)]
    tasks = [rig.dma.memcpy(src, dst) for src, dst, _ in pairs]
    rig.pe.run_until(tasks, 20)
    assert all(bytes(target) == bytes(rig.data) for _, _, target in pairs)


def test_lists_on_both_sides(rig):
    mmap = rig.device.mmap(b"Hello world of lists")
    src = rig.inventory.get_by_data(mmap, mmap.addr, 6)
    src.chain(rig.inventory.get_by_data(mmap, mmap.addr + 6, 14))
    target = bytearray(32)
    out = rig.device.mmap(target)
    dst = rig.inventory.get_by_addr(out, out.addr, 16)
    dst.chain(rig.inventory.get_by_addr(out, out.addr + 16, 16))
    rig.dma.memcpy(src, dst).wait(5)
    assert bytes(target[:20]) == b"Hello world of lists"
    assert [element.data_len for element in dst] == [16, 4]


def test_numpy_arrays(rig):
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    source = numpy.arange(1000, dtype="f8")
    target = numpy.zeros_like(source)
    src = rig.inventory.get_by_data(rig.device.mmap(source))
    dst = rig.inventory.get_by_addr(rig.device.mmap(target))
    rig.dma.memcpy(src, dst).wait(5)
    assert (source == target).all()


def test_what_a_task_copies_can_be_looked_at_and_changed(rig):
    src, dst, _ = rig.bufs()
    task = rig.dma.memcpy(src, dst, user_data="mine", submit=False)
    assert (task.src, task.dst, task.user_data, task.context) == (src, dst, "mine", rig.dma)
    other, _, _ = rig.bufs(16)
    task.src = other
    task.submit()
    task.wait(5)
    assert dst.data_len == 16


def test_a_task_in_flight_keeps_its_bufs(rig):
    task = rig.held()
    src, dst = task.src, task.dst
    for name in ("src", "dst"):
        with pytest.raises(pydoca.InUseError, match="in flight"):
            setattr(task, name, None)
    with pytest.raises(pydoca.InUseError):
        src.set_data(src.head, 1)
    rig.release()
    task.wait(5)
    task.free()
    assert (task.src, task.dst) == (None, None)
    assert dst.data_len == 64


def test_a_released_buf_is_noticed_at_submission(rig):
    src, dst, _ = rig.bufs()
    task = rig.dma.memcpy(src, dst, submit=False)
    src.dec_refcount()
    with pytest.raises(pydoca.BadStateError):
        task.try_submit()
    with pytest.raises(pydoca.BadStateError):
        rig.dma.memcpy(src, dst)
    assert task.state is pydoca.TaskState.IDLE


@pytest.mark.parametrize(("src", "dst"), [("text", None), (None, 1)])
def test_only_bufs_and_memory_are_copied(rig, src, dst):
    with pytest.raises(TypeError, match="Buf"):
        rig.dma.memcpy(src, dst)
    assert rig.dma.num_inflight_tasks == 0


def test_try_submit_refuses_what_would_fail(rig, info):
    src, dst, _ = rig.bufs()
    empty, _, _ = rig.bufs()
    empty.reset_data_len()
    _, small, _ = rig.bufs(8)
    for wrong in [(empty, dst), (src, small), (None, dst), (src, None)]:
        with pytest.raises(pydoca.InvalidValueError):
            rig.dma.memcpy(*wrong)
    with pytest.raises(pydoca.InvalidValueError, match=r"src has \d+ bytes of data, and dst has 8 bytes of tailroom"):
        rig.dma.memcpy(src, small)
    assert rig.dma.num_inflight_tasks == 0
    rig.dma.memcpy(src, dst).wait(5)


def test_submit_lets_the_device_find_out(make_rig, info):
    limit = pydoca.Dma.max_buf_size(info)
    rig = make_rig(size=limit + 1)
    task = rig.copy(submit=False)
    with pytest.raises(pydoca.InvalidValueError, match=rf"takes at most {limit} in one task \(max_buf_size\)"):
        task.try_submit()
    task.submit()
    with pytest.raises(pydoca.IoFailedError, match=rf"dma memcpy of .*takes at most {limit}.*context stops") as raised:
        task.wait(5)
    assert raised.value.task is task
    assert isinstance(raised.value, OSError)
    assert task.status is Status.IO_FAILED


def test_the_pool_has_num_tasks(make_rig):
    rig = make_rig(num_tasks=4)
    tasks = [rig.copy() for _ in range(4)]
    src, dst, _ = rig.bufs()
    with pytest.raises(pydoca.NoMemoryError, match="num_tasks"):
        rig.dma.memcpy(src, dst)
    rig.pe.run_until(tasks, 5)
    with pytest.raises(pydoca.NoMemoryError):
        rig.dma.memcpy(src, dst)
    tasks.pop()
    rig.dma.memcpy(src, dst).wait(5)
    tasks[0].free()
    del dst
    rig.copy().wait(5)


def test_two_tasks_cannot_fill_one_destination(rig):
    task = rig.held()
    src, _, _ = rig.bufs()
    with pytest.raises(pydoca.InUseError, match="destination"):
        rig.dma.memcpy(src, task.dst)
    rig.release()
    task.wait(5)


def test_a_refused_task_gives_its_slot_back(make_rig):
    rig = make_rig(num_tasks=1)
    src, _, _ = rig.bufs()
    for _ in range(3):
        with pytest.raises(pydoca.InvalidValueError):
            rig.dma.memcpy(src, None)
    rig.copy().wait(5)


def test_flush_tasks_posts_what_was_held_back(rig):
    tasks = [rig.held() for _ in range(3)]
    assert rig.pe.drain() == 0
    rig.dma.flush_tasks()
    rig.pe.run_until(tasks, 5)


def test_a_flushing_submit_posts_those_before_it(rig):
    held = rig.held()
    rig.copy().wait(5)
    held.wait(5)


def test_capabilities(info):
    assert pydoca.Dma.is_supported(info)
    assert pydoca.Dma.max_buf_size(info) == 2 << 20
    assert pydoca.Dma.max_buf_list_len(info) >= 1
    assert pydoca.Dma.max_num_tasks(info) >= 256


def test_a_host_lends_and_the_dpu_copies(rig):
    host = pydoca.open_device("0b:00.0", side="host")
    lent = host.mmap(b"lent by the host", access="pci_read_only")
    remote = rig.device.import_mmap(lent.export_pci())
    target = pydoca.alloc(len(remote))
    dst = rig.inventory.get_by_addr(rig.device.mmap(target))
    rig.dma.memcpy(rig.inventory.get_by_data(remote), dst).wait(5)
    assert bytes(target) == b"lent by the host"


def test_an_error_within_with_is_not_hidden_by_a_task_that_has_the_buf(rig):
    tasks = []

    def fail():
        with rig.inventory.get_by_data(rig.source) as src:
            tasks.append(rig.dma.memcpy(src, rig.bufs()[1], submit=False))
            tasks[0].submit(pydoca.SubmitFlags.NONE)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    rig.release()
    tasks[0].wait(5)


def test_memory_of_the_network_is_not_for_dma(rig):
    """RDMA reaches it over a connection; the message of the failed copy says so."""
    shared = rig.device.mmap(bytearray(64), access="local_read_write|rdma_read")
    with rig.device.import_mmap(shared.export_rdma()) as remote:
        src = rig.inventory.get_by_data(remote)
        _, dst, _ = rig.bufs()
        with pytest.raises(pydoca.IoFailedError, match="src was exported to network peers"):
            rig.dma.memcpy(src, dst).wait(5)
        del src
