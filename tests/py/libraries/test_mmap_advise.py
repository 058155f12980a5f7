"""Advice about memory: a DPU's caches are invalidated for a buf."""

import asyncio

import pytest

import pydoca
from pydoca import Status

ENOUGH = 20.0  # seconds in which a completion must come


class AdviseRig:
    def __init__(self, device):
        self.memory = bytearray(range(256)) * 64
        self.mmap = device.mmap(self.memory)
        self.pe = pydoca.ProgressEngine()
        self.advise = pydoca.MmapAdvise(self.pe, device, num_tasks=4)
        self.inventory = pydoca.BufInventory(16)
        self.advise.start()

    def buf(self, len=64):
        return self.inventory.get_by_data(self.mmap, self.mmap.addr, len)


@pytest.fixture
def rig():
    with pydoca.open_device("p0") as device:
        rig = AdviseRig(device)
        yield rig
        rig.pe.__exit__(None, None, None)


@pytest.mark.parametrize("size", [1, 4096, 16384])
def test_invalidating_loses_no_bytes(run, rig, size):
    async def main():
        before = bytes(rig.memory)
        assert await rig.advise.invalidate_cache(rig.buf(size)) is None
        assert bytes(rig.memory) == before

    run(main())


def test_without_a_loop(rig):
    buf = rig.buf()
    task = rig.advise.invalidate_cache(buf, user_data="mine", submit=False)
    assert (task.buf, task.user_data, task.status) == (buf, "mine", Status.SUCCESS)
    task.submit()
    assert task.wait(ENOUGH) is None
    assert "mmap advise invalidate_cache of 64 bytes" in repr(task)
    other = rig.buf(128)
    task.buf = other
    task.try_submit()
    task.wait(ENOUGH)
    assert task.buf is other


def test_many_at_a_time(run, rig):
    async def main():
        await rig.pe.gather(rig.advise.invalidate_cache(rig.buf()) for _ in range(4))

    run(main())


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda rig: None, "buf is missing"),
        (lambda rig: rig.inventory.get_by_addr(rig.mmap), "no data"),
    ],
)
def test_bufs_that_are_refused(rig, make, reason):
    with pytest.raises(pydoca.InvalidValueError, match=reason):
        rig.advise.invalidate_cache(make(rig))


def test_a_list_is_refused(rig):
    head = rig.buf(8)
    head.chain(rig.buf(8))
    with pytest.raises(pydoca.InvalidValueError, match="list of 2"):
        rig.advise.invalidate_cache(head)


def test_memory_of_another_process_is_refused(rig):
    with pydoca.open_device("pf0") as host, host.mmap(pydoca.alloc(64), access="pci_read_write") as exported:
        remote = rig.advise.device.import_mmap(exported.export_pci())
        buf = rig.inventory.get_by_data(remote)
        with pytest.raises(pydoca.InvalidValueError, match="memory of another process"):
            rig.advise.invalidate_cache(buf)
        buf.close()
        remote.close()


def test_what_was_not_checked_fails_and_stops_the_context(run, rig):
    async def main():
        task = rig.advise.invalidate_cache(None, submit=False)
        task.submit()
        with pytest.raises(pydoca.IoFailedError, match="buf is missing"):
            await task

    run(main())


def test_the_pool_is_finite(rig):
    tasks = [rig.advise.invalidate_cache(rig.buf(), submit=False) for _ in range(4)]
    with pytest.raises(pydoca.NoMemoryError, match="4"):
        rig.advise.invalidate_cache(rig.buf())
    del tasks


def test_the_number_of_tasks_and_its_callbacks_are_set_while_idle(rig):
    seen = []
    rig.advise.stop()
    rig.advise.set_invalidate_cache_conf(lambda task, mine, its: seen.append(mine), None, 1)
    assert rig.advise.num_tasks == 1
    with pytest.raises(pydoca.InvalidValueError, match="num_tasks must be 1 or more, not 0"):
        rig.advise.set_invalidate_cache_conf(num_tasks=0)
    rig.advise.start()
    rig.advise.invalidate_cache(rig.buf(), user_data="first").wait(ENOUGH)
    assert seen == ["first"]
    assert "doca_mmap_advise_task_invalidate_cache_set_conf" in rig.advise.set_invalidate_cache_conf.__doc__


def test_which_devices_have_it():
    with pydoca.open_device("pf0") as host, pydoca.open_device("p0") as dpu, pydoca.ProgressEngine() as pe:
        assert pydoca.MmapAdvise.is_supported(dpu.info)
        assert pydoca.MmapAdvise.max_buf_size(dpu.info) == dpu.info.capabilities.mmap_advise.max_buf_size == 2 << 20
        assert pydoca.MmapAdvise.max_num_tasks(dpu.info) == dpu.info.capabilities.mmap_advise.max_num_tasks
        assert host.info.capabilities.mmap_advise is None
        with pytest.raises(pydoca.NotSupportedError, match="only functions of the DPU invalidate its cache"):
            pydoca.MmapAdvise(pe, host)
        with pytest.raises(pydoca.NotSupportedError):
            pydoca.MmapAdvise.max_buf_size(host.info)


def test_cancelling_gives_the_buf_back(run, rig):
    async def main():
        waiting = asyncio.ensure_future(rig.advise.invalidate_cache(rig.buf(16384)))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        await rig.advise.invalidate_cache(rig.buf())

    run(main())
