"""Tasks and contexts in event loops: asyncio's, also in its debug mode, and uvloop's."""

import asyncio

import pytest

import pydoca

BIG = 1 << 20  # bytes: large enough for the device's own threads


# ---- awaiting


def test_the_main_flow(run):
    async def main():
        source, target = b"Hello from the source", pydoca.alloc(21)
        dev = pydoca.open_device("03:00.0", side="dpu")
        async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, dev, num_tasks=32) as dma:
            inv = pydoca.BufInventory(64)
            src, dst = dev.mmap(source), dev.mmap(target)
            assert await dma.memcpy(inv.get_by_data(src), inv.get_by_addr(dst)) is None
        assert dma.closed
        assert pe.closed
        return bytes(target)

    assert run(main()) == b"Hello from the source"


@pytest.mark.parametrize("size", [64, BIG])
def test_awaiting_a_task(run, make_rig, size):
    async def main():
        rig = make_rig(size=size)
        src, dst, target = rig.bufs()
        await rig.dma.memcpy(src, dst)
        assert bytes(target) == bytes(rig.data)

    run(main())


async def takes_no_turn(awaitable) -> bool:
    """Tells whether the loop ran nothing else while awaitable was awaited."""
    turned = []
    asyncio.get_running_loop().call_soon(turned.append, 1)
    await awaitable
    return not turned


async def first_without_a_turn(attempt) -> int:
    """The number of attempts; an attempt that the machine interrupts for 0.1 ms has used up its turn's time."""
    for number in range(1, 101):
        if await attempt():
            return number
    raise AssertionError("each of 100 awaits took a turn of the loop")


def test_a_task_that_is_done_is_awaited_at_once(run, rig):
    async def attempt():
        task = rig.copy()
        rig.pe.drain()
        return await takes_no_turn(task)

    run(first_without_a_turn(attempt))


def test_a_task_that_completes_at_once_needs_no_turn_of_the_loop(run, rig):
    async def attempt():
        await rig.copy()
        await rig.turns()
        return await takes_no_turn(rig.copy())

    run(first_without_a_turn(attempt))


def test_what_completes_at_once_does_not_keep_others_from_running(run, make_rig):
    rig = make_rig(num_tasks=1)

    async def main():
        turned = []

        async def count():
            while True:
                turned.append(1)
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        copies = 0
        while copies <= 10 or len(turned) <= 10:  # a loop that gives no turns keeps this going until the test times out
            await rig.copy()
            copies += 1
        counting.cancel()

    run(main())


def test_awaiting_needs_no_loop_when_the_task_is_done(rig):
    task = rig.copy()
    task.wait(5)
    with pytest.raises(StopIteration):
        task.__await__().send(None)


def test_a_failed_tasks_error_is_raised(run, make_rig):
    async def main():
        rig = make_rig()
        task = rig.copy(submit=False)
        task.src.reset_data_len()
        task.submit()
        for _ in range(2):
            with pytest.raises(pydoca.IoFailedError) as raised:
                await task
            assert raised.value.task is task

    run(main())


def test_a_failure_is_raised_to_those_who_were_suspended(run, rig):
    async def main():
        task = rig.held()
        waiting = asyncio.ensure_future(task)
        await rig.turns()
        rig.dma.stop()
        with pytest.raises(pydoca.ShutdownError) as raised:
            await waiting
        assert raised.value.task is task

    run(main())


def test_awaiting_what_was_never_submitted_is_refused(run, rig):
    async def main():
        with pytest.raises(pydoca.BadStateError, match="never submitted"):
            await rig.copy(submit=False)

    run(main())


def test_many_wait_for_one_task(run, rig):
    async def main():
        task = rig.held()
        waiting = [asyncio.ensure_future(task) for _ in range(5)]
        await rig.turns()
        rig.release()
        assert await asyncio.gather(*waiting) == [None] * 5

    run(main())


def test_each_await_is_for_one_completion(run, make_rig):
    async def main():
        again = [1, 1, 1]

        def on_completion(task, *_):
            if again:
                again.pop()
                task.dst.reset_data_len()
                task.submit(pydoca.SubmitFlags.NONE)

        rig = make_rig(on_completion=on_completion)
        task = rig.held()
        for left in (2, 1, 0):
            waiting = asyncio.ensure_future(task)
            await rig.turns()
            rig.release()
            await waiting
            assert len(again) == left
            assert task.state is pydoca.TaskState.SUBMITTED

    run(main())


@pytest.mark.parametrize("size", [64, BIG])
def test_asyncios_own_tools(run, make_rig, size):
    async def main():
        rig = make_rig(size=size)
        assert await asyncio.gather(*(rig.copy() for _ in range(8))) == [None] * 8
        for done in asyncio.as_completed([rig.copy() for _ in range(8)]):
            assert await done is None

        async def copy():
            await rig.copy()

        async with asyncio.TaskGroup() as group:
            for _ in range(8):
                group.create_task(copy())
        async with asyncio.timeout(20):
            await rig.copy()
        await asyncio.wait_for(rig.copy(), 20)
        await asyncio.wait([asyncio.ensure_future(rig.copy()) for _ in range(8)])

    run(main())


def test_many_large_copies_from_many_coroutines(run, make_rig):
    async def main():
        rig = make_rig(size=300_000)

        async def copy():
            src, dst, target = rig.bufs()
            task = rig.dma.memcpy(src, dst, submit=False)
            for _ in range(5):
                task.submit()
                await task
                assert bytes(target) == bytes(rig.data)
                dst.reset_data_len()

        await asyncio.gather(*(copy() for _ in range(20)))

    run(main())


# ---- gather and as_completed


@pytest.mark.parametrize("size", [64, BIG])
def test_gather_awaits_all_tasks_and_returns_them(run, make_rig, size):
    async def main():
        rig = make_rig(size=size)
        tasks = [rig.copy() for _ in range(20)]
        assert await rig.pe.gather(iter(tasks)) == tasks
        assert all(task.done for task in tasks)
        assert await rig.pe.gather(tasks) == tasks
        assert await rig.pe.gather([]) == []

    run(main())


def test_gather_raises_the_first_failed_tasks_error_when_all_are_done(run, make_rig):
    async def main():
        rig = make_rig()
        tasks = [rig.copy(submit=False) for _ in range(3)]
        tasks[1].src.reset_data_len()
        for task in tasks:
            task.submit()
        with pytest.raises(pydoca.IoFailedError) as raised:
            await rig.pe.gather(tasks)
        assert raised.value.task is tasks[1]
        assert all(task.done for task in tasks)

    run(main())


def test_gather_refuses_what_is_not_its_own(run, make_rig):
    async def main():
        one, other = make_rig(), make_rig()
        with pytest.raises(TypeError, match="gather takes an iterable of Tasks, and one item is of type int"):
            await one.pe.gather([5])
        with pytest.raises(pydoca.InvalidValueError, match="another progress engine"):
            await one.pe.gather([other.copy()])
        with pytest.raises(pydoca.BadStateError, match="never submitted"):
            await one.pe.gather([one.copy(submit=False)])

    run(main())


def test_a_cancelled_gather_waits_for_its_tasks(run, rig):
    async def main():
        tasks = [rig.held() for _ in range(5)]
        gathering = asyncio.ensure_future(rig.pe.gather(tasks))
        await rig.turns()
        gathering.cancel()
        await rig.turns()
        assert not gathering.done()
        rig.release()
        with pytest.raises(asyncio.CancelledError):
            await gathering
        assert all(task.done for task in tasks)

    run(main())


@pytest.mark.parametrize("size", [64, BIG])
def test_as_completed_gives_every_task_once(run, make_rig, size):
    async def main():
        rig = make_rig(size=size)
        tasks = [rig.copy() for _ in range(20)]
        order = [task async for task in rig.pe.as_completed(tasks)]
        assert sorted(map(id, order)) == sorted(map(id, tasks))
        assert all(task.done for task in order)

    run(main())


def test_as_completed_gives_them_as_they_come(run, rig):
    async def main():
        first, second = rig.held(), rig.held()
        arrivals = rig.pe.as_completed([second, first])
        coming = asyncio.ensure_future(anext(arrivals))
        await rig.turns()
        assert not coming.done()
        rig.release()
        assert await coming is first
        assert await anext(arrivals) is second
        with pytest.raises(StopAsyncIteration):
            await anext(arrivals)

    run(main())


def test_as_completed_may_be_left_early(run, rig):
    async def main():
        tasks = [rig.copy() for _ in range(4)]
        arrivals = rig.pe.as_completed(tasks)
        async for _ in arrivals:
            break
        await arrivals.aclose()
        await rig.pe.gather(tasks)

    run(main())


# ---- contexts


def test_leaving_a_context_waits_for_what_is_in_flight(run, make_rig):
    async def main():
        rig = make_rig(size=BIG)
        async with rig.dma:
            tasks = [rig.copy() for _ in range(8)]
        assert rig.dma.closed
        assert all(task.done for task in tasks)

    run(main())


@pytest.mark.parametrize("error", [ZeroDivisionError, asyncio.CancelledError])
def test_leaving_a_context_because_of_an_error(run, make_rig, error):
    async def main():
        rig = make_rig(size=BIG)

        tasks = []

        async def body():
            async with rig.pe, rig.dma:
                tasks.append(rig.copy())
                raise error

        with pytest.raises(error):
            await body()
        assert tasks[0].done
        assert rig.dma.closed
        assert rig.pe.closed

    run(main())


def test_leaving_a_context_goes_on_when_cancelled(run, make_rig):
    async def main():
        rig = make_rig(size=2 << 20)

        tasks = []

        async def body():
            async with rig.pe, rig.dma:
                tasks.extend(rig.copy() for _ in range(16))
                asyncio.current_task().cancel()

        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(body())
        assert all(task.done for task in tasks)
        assert rig.dma.closed
        assert rig.pe.closed

    run(main())


def test_leaving_an_engine_closes_its_contexts(run, rig):
    async def main():
        async with rig.pe:
            await rig.copy()
        assert rig.dma.closed
        assert rig.pe.closed

    run(main())


def test_a_start_that_fails_is_raised(run, rig):
    async def main():
        async with rig.dma:
            pass
        with pytest.raises(pydoca.BadStateError, match="closed"):
            async with rig.dma:
                pass

    run(main())
