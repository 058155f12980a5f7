"""The end of a with block releases what is idle, whatever names are left; explicit ends stay strict."""

import asyncio
import gc
import secrets

import pytest

import pydoca

SIZE = 4096


def copy_with_names_for_everything():
    """README's program, with a name for every buf and task, and blocking calls."""
    data, target = b"x" * SIZE, pydoca.alloc(SIZE)
    with (
        pydoca.open_device("03:00.0") as dev,
        pydoca.ProgressEngine() as pe,
        pydoca.Dma(pe, dev, num_tasks=2) as dma,
        pydoca.BufInventory(4) as inventory,
        dev.mmap(data) as src,
        dev.mmap(target) as dst,
    ):
        a = inventory.get_by_data(src)
        b = inventory.get_by_addr(dst)
        task = dma.memcpy(a, b)
        pe.run_until(task)
        fresh = dma.memcpy(a, b, submit=False)
    assert bytes(target) == data
    return a, b, task, fresh, src, dst, inventory, dev


def test_names_do_not_stand_in_the_way():
    a, b, task, fresh, src, dst, inventory, dev = copy_with_names_for_everything()
    for buf in (a, b):
        with pytest.raises(pydoca.BadStateError, match="released"):
            buf.data_len  # noqa: B018
    assert task.status is pydoca.Status.SUCCESS
    assert task.state is fresh.state is pydoca.TaskState.FREE
    assert not src.is_started
    assert not dst.is_started
    assert inventory.num_elements == 0
    assert not dev.is_open


def test_a_cell_can_be_run_again():
    kept = [copy_with_names_for_everything() for _ in range(3)]
    assert len(kept) == 3


def test_names_do_not_stand_in_the_way_of_awaits(run):
    async def main():
        target = pydoca.alloc(SIZE)
        with pydoca.open_device("03:00.0") as dev:
            async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, dev) as dma:
                with pydoca.BufInventory(4) as inventory, dev.mmap(b"y" * SIZE) as src, dev.mmap(target) as dst:
                    a, b = inventory.get_by_data(src), inventory.get_by_addr(dst)
                    task = dma.memcpy(a, b)
                    await task
        return bytes(target), a, b, task

    copied, *_ = run(main())
    assert copied == b"y" * SIZE


def test_a_map_without_a_block_ends_with_its_devices_block():
    freed = []
    with pydoca.open_device("03:00.0") as dev, pydoca.BufInventory(2) as inventory:
        mmap = dev.mmap(bytearray(64), free_callback=freed.append)
        buf = inventory.get_by_addr(mmap)
    assert len(freed) == 1
    with pytest.raises(pydoca.BadStateError, match="closed"):
        mmap.start()
    with pytest.raises(pydoca.BadStateError, match="released"):
        buf.len  # noqa: B018


def test_the_map_of_another_opening_stays():
    with pydoca.open_device("03:00.0") as other, other.mmap(bytearray(64)) as mmap:
        with pydoca.open_device("03:00.0") as dev:
            assert dev == other
        assert mmap.is_started


def test_a_free_callback_may_end_other_maps():
    maps = []
    with pydoca.open_device("03:00.0") as dev:
        maps.append(dev.mmap(bytearray(64)))
        maps.append(dev.mmap(bytearray(64), free_callback=lambda _: maps.pop(0)))
    assert len(maps) == 1


@pytest.fixture
def dev():
    gc.collect()  # another test may have left the device open; this opening must be the last one
    with pydoca.open_device("03:00.0") as dev:
        yield dev


def test_what_is_in_flight_is_not_released(dev):
    with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, dev) as dma:
        inventory = pydoca.BufInventory(4)
        src, dst = dev.mmap(bytearray(64)), dev.mmap(bytearray(64))
        idle = inventory.get_by_addr(dst, dst.addr + 32, 8)
        task = dma.memcpy(inventory.get_by_data(src), inventory.get_by_addr(dst), submit=False)
        task.submit(pydoca.SubmitFlags.NONE)
        with pytest.raises(pydoca.NotPermittedError, match="1 buf"), src:
            pass
        with pytest.raises(pydoca.InUseError, match="2 of 4"), inventory:
            pass
        with pytest.raises(pydoca.BadStateError, match="released"):
            idle.data_len  # noqa: B018
        dma.flush_tasks()
        pe.run_until(task)
        for block in (src, dst, inventory):
            block.__exit__(None, None, None)


def test_explicit_ends_stay_strict(dev):
    with pydoca.BufInventory(2) as inventory, dev.mmap(bytearray(64)) as mmap:
        buf = inventory.get_by_addr(mmap)
        for end in (mmap.stop, mmap.close):
            with pytest.raises(pydoca.NotPermittedError, match="1 buf"):
                end()
        with pytest.raises(pydoca.InUseError):
            inventory.close()
        with pytest.raises(pydoca.InUseError):
            dev.close()
        assert buf.len == 64


def test_a_shared_list_is_released_with_all_references(dev):
    inventory = pydoca.BufInventory(4)
    with dev.mmap(bytearray(64)) as mmap:
        head, inner = inventory.get_by_addr(mmap, len=8), inventory.get_by_addr(mmap, len=8)
        head.chain(inner)
        head.inc_refcount()
    assert inventory.num_free_elements == 4
    for buf in (head, inner):
        with pytest.raises(pydoca.BadStateError, match="released"):
            buf.len  # noqa: B018


def test_a_task_with_a_released_buf_is_refused(dev):
    with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, dev) as dma, dev.mmap(bytearray(64)) as dst:
        with pydoca.BufInventory(2) as inventory, dev.mmap(bytearray(64)) as src:
            task = dma.memcpy(inventory.get_by_data(src), inventory.get_by_addr(dst), submit=False)
        for submit in (task.submit, task.try_submit):
            with pytest.raises(pydoca.BadStateError, match="released"):
                submit()


def test_an_event_keeps_its_buf(dev):
    mmap = dev.mmap(pydoca.alloc(8), access="local_read_write|rdma_read|rdma_write|rdma_atomic")
    with pydoca.BufInventory(1) as inventory:
        buf = inventory.get_by_data(mmap)
        event = pydoca.SyncEvent(dev, buf=buf)
        with pytest.raises(pydoca.InUseError), inventory:
            pass
        event.close()
    with pytest.raises(pydoca.BadStateError):
        buf.len  # noqa: B018


def closed_objects():
    """Objects that a with block has closed, by kind, and what their error tells the program to do."""
    dev = pydoca.open_device("03:00.0", side="dpu")
    pe = pydoca.ProgressEngine()
    inventory, mmap = pydoca.BufInventory(1), dev.mmap(bytearray(8))
    representor = dev.open_representor("0b:00.0")
    server = pydoca.comch.Server(pe, dev, representor, f"test-{secrets.token_hex(4)}")
    contexts = (server, pydoca.Dma(pe, dev), pydoca.Rdma(pe, dev))
    buf, event = inventory.get_by_data(mmap), pydoca.SyncEvent(dev)
    for each in (*contexts, event, buf, inventory, mmap, representor, pydoca.alloc(1), pe, dev):
        with each:
            pass
        yield each


def test_a_with_block_over_a_closed_object_says_what_to_make():
    for each in closed_objects():
        with pytest.raises(pydoca.BadStateError, match=r"(closed|released); .*(another|anew|again)"), each:
            pytest.fail(f"{each!r} is closed")
        if hasattr(each, "__aenter__"):

            async def enter(context=each):
                async with context:
                    pass

            with pytest.raises(pydoca.BadStateError, match="closed; make another"):
                asyncio.run(enter())


def test_idle_contexts_and_sync_events_end_with_their_devices_block():
    with pydoca.open_device("03:00.0") as device:
        never_connected = pydoca.Dma(None, device)
        engine = pydoca.ProgressEngine()
        stopped = pydoca.Dma(engine, device)
        stopped.start()
        stopped.stop()
        event = pydoca.SyncEvent(device)
        event.start()
        events = pydoca.SyncEvent(device).as_context(engine)
    assert all(each.closed for each in (never_connected, stopped, events))
    assert "closed" in repr(event)
    engine.close()


def test_a_context_that_runs_is_not_released_with_its_device():
    with pydoca.ProgressEngine() as engine:
        device = pydoca.open_device("03:00.0")
        dma = pydoca.Dma(engine, device)
        dma.start()
        with pytest.raises(pydoca.InUseError, match="1 context"), device:
            pass
        assert dma.state is pydoca.ContextState.RUNNING
        dma.stop()
        with device:
            pass
        assert dma.closed


def test_callbacks_that_raise_do_not_keep_anything_open():
    def fail(_, context, before, now):
        if before is pydoca.ContextState.RUNNING:
            raise ValueError(now)

    with pydoca.open_device("03:00.0") as dev:
        pe = pydoca.ProgressEngine()
        dma = pydoca.Dma(pe, dev, on_state_changed=fail)
        dma.start()
        with pytest.raises(ExceptionGroup, match="callbacks of pydoca raised"):
            pe.__exit__(None, None, None)
        assert dma.closed
        assert pe.closed


def context_that_raises_at_its_stop(pe, device):
    """A context whose callback raises at its stop, and a task of it that the program still has."""

    def fail(_, context, before, now):
        if now is pydoca.ContextState.STOPPING:
            raise ValueError(now)

    dma = pydoca.Dma(pe, device, on_state_changed=fail)
    dma.start()
    memory = device.mmap(pydoca.alloc(64))
    inventory = pydoca.BufInventory(2)
    task = dma.memcpy(inventory.get_by_data(memory, None, 32), inventory.get_by_addr(memory, memory.addr + 32))
    pe.run_until(task)
    return dma, task


def test_a_context_whose_callback_raises_frees_its_tasks_when_it_is_left():
    with pydoca.open_device("03:00.0") as device, pydoca.ProgressEngine() as pe:
        dma, task = context_that_raises_at_its_stop(pe, device)
        with pytest.raises(ExceptionGroup, match="callbacks of pydoca raised"), dma:
            pass
        assert dma.closed
        assert task.state is pydoca.TaskState.FREE
