"""Awaits that asyncio cancels before their first step, as programs write them. tests/py/cancellation has every call."""

import asyncio
import gc

import pytest

import pydoca

BIG = 1 << 20  # bytes: large enough for the device's own threads


def test_a_group_that_runs_out_of_tasks_ends_when_the_device_has_let_go(run, make_rig):
    async def main():
        rig = make_rig(size=BIG, num_tasks=32)
        targets = []

        def begin(group):
            for _ in range(40):
                src, dst, target = rig.bufs()
                targets.append(target)
                group.create_task(rig.dma.memcpy(src, dst))

        with pytest.raises(ExceptionGroup) as raised:
            async with asyncio.TaskGroup() as group:
                begin(group)
        assert raised.group_contains(pydoca.NoMemoryError)
        assert rig.pe.num_inflight_tasks == 0
        for target in targets:
            memoryview(target)[:] = bytes([7]) * BIG
        await asyncio.sleep(0.01)
        assert all(bytes(target) == bytes([7]) * BIG for target in targets)

    run(main())


def test_a_time_out_leaves_the_blocks_of_the_copy(run):
    async def main():
        with pydoca.open_device("03:00.0", side="dpu") as dev, pydoca.BufInventory(2) as inv:
            async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, dev) as dma:
                with dev.mmap(bytes(BIG)) as src, dev.mmap(pydoca.alloc(BIG)) as dst:
                    await asyncio.wait_for(dma.memcpy(inv.get_by_data(src), inv.get_by_addr(dst)), 0)

    with pytest.raises(TimeoutError):
        run(main())


def test_a_task_that_is_made_and_cancelled(run, make_rig):
    async def main():
        rig = make_rig(size=BIG)
        copy = rig.copy()
        task = asyncio.create_task(copy)
        task.cancel("not wanted")
        with pytest.raises(asyncio.CancelledError, match="not wanted"):
            await task
        assert copy.done
        assert copy.result() is None

    run(main())


def test_a_message_stays_for_the_next_receive(run, ends):
    async def main():
        async with ends.linked() as (_, there, link):
            await link.send(b"one")
            await asyncio.sleep(0.05)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(there.recv(), 0)
            dropped = there.recv().__await__()
            del dropped
            assert await there.recv() == b"one"

    run(main())


def test_a_client_stays_for_the_next_accept(run, ends):
    async def main():
        async with pydoca.ProgressEngine() as pe, ends.server(pe) as server, ends.client(pe) as link:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(server.accept(), 0)
            await (await server.accept()).send(b"served")
            assert await link.recv() == b"served"

    run(main())


def test_waits_give_their_slots_back(run):
    async def main():
        with pydoca.open_device("0b:00.0", side="host") as host:
            event = pydoca.SyncEvent(host)
            async with pydoca.ProgressEngine() as pe, event.as_context(pe) as ctx:
                for _ in range(100):  # the context has only 32 slots
                    with pytest.raises(TimeoutError):
                        await asyncio.wait_for(ctx.wait_eq(9), 0)
                assert await ctx.get() == 0
            event.close()

    run(main())


def test_a_graph_ends_before_its_await_does(run, make_rig):
    async def main():
        rig = make_rig(size=BIG)
        graph = pydoca.Graph(rig.pe, num_instances=1)
        copies = [graph.node(rig.dma) for _ in range(4)]
        with graph:
            for _ in range(3):
                instance = graph.run({copy: rig.copy(submit=False) for copy in copies})
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(instance, 0)
                assert not instance.is_running
                del instance

    run(main())


def test_an_awaiter_has_the_methods_of_a_coroutine(run, ends, rig):
    async def main():
        async with ends.linked() as (_, there, link):
            for awaitable in (there.recv(), rig.copy(submit=False)):
                awaiter = awaitable.__await__()
                with pytest.raises(TypeError, match=r"throw\(\) takes one to three arguments"):
                    awaiter.throw()
                with pytest.raises(ValueError, match="mine"):
                    awaiter.throw(ValueError("mine"))
                with pytest.raises(RuntimeError, match="over"):
                    awaiter.send(None)
                awaitable.__await__().close()
            await link.send(b"kept")
            assert await there.recv() == b"kept"

    run(main())


@pytest.fixture
def uncollected():
    """Disables the garbage collector during the test."""
    gc.disable()
    yield
    gc.enable()


async def times_out(awaitable):
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(awaitable, 0)


def test_nothing_is_left_for_the_collector(run, make_rig, uncollected):
    """The awaits outnumber the inventories, slots and instances, which would run out if any of them stayed in use."""

    async def main():
        rig = make_rig(num_tasks=2)
        inventory = pydoca.BufInventory(8)
        room = rig.device.mmap(pydoca.alloc(len(rig.data)))

        def copy(**options):
            return rig.dma.memcpy(inventory.get_by_data(rig.source), inventory.get_by_addr(room), **options)

        graph = pydoca.Graph(rig.pe, num_instances=1)
        node = graph.node(rig.dma)
        graph.start()
        for _ in range(20):
            await times_out(copy())
            await times_out(rig.pe.gather([copy()]))
            await times_out(rig.pe.gather([copy()], progress=print))
            await times_out(graph.run({node: copy(submit=False)}))

    run(main())
