"""asyncio takes tasks and awaitable events where it takes coroutines: create_task(), gather() and others."""

import asyncio

import pytest

import pydoca

BIG = 1 << 20  # bytes: large enough for the device's own threads


@pytest.fixture(params=["small", "big"])
def sized_rig(request, make_rig):
    return make_rig(size=64 if request.param == "small" else BIG)


async def in_a_group(task):
    async with asyncio.TaskGroup() as group:
        made = group.create_task(task)
    return made.result()


async def in_time(task):
    async with asyncio.timeout(50):
        return await task


async def first_of(tasks):
    return [await each for each in asyncio.as_completed(tasks)]


WAYS = {
    "create_task": asyncio.create_task,
    "TaskGroup": in_a_group,
    "ensure_future": asyncio.ensure_future,
    "gather": asyncio.gather,
    "wait_for": lambda task: asyncio.wait_for(task, 50),
    "timeout": in_time,
    "shield": asyncio.shield,
    "as_completed": lambda task: first_of([task]),
}


@pytest.mark.parametrize("way", WAYS)
def test_asyncio_takes_a_task_of_the_device(run, sized_rig, way):
    async def main():
        src, dst, target = sized_rig.bufs()
        assert await WAYS[way](sized_rig.dma.memcpy(src, dst)) in (None, [None])
        assert bytes(target) == bytes(sized_rig.data)

    run(main())


def test_asyncio_takes_an_event_of_a_connection(run, ends):
    async def main():
        async with ends.linked() as (_, server, client):
            received = asyncio.create_task(server.recv())
            await client.send(b"Hello")
            assert await received == b"Hello"

    run(main())


def test_a_task_may_have_several_asyncio_tasks_and_an_await(run, make_rig):
    async def main():
        rig = make_rig(size=BIG)
        task = rig.copy()
        assert await asyncio.gather(asyncio.create_task(task), asyncio.create_task(task), in_time(task)) == [None] * 3

    run(main())


def test_the_error_of_a_task_reaches_its_asyncio_task(run, rig):
    async def main():
        src, dst, _ = rig.bufs()
        task = rig.dma.memcpy(dst, src, submit=False)
        made = asyncio.create_task(task)
        with pytest.raises(pydoca.BadStateError, match="it was never submitted"):
            await made

    run(main())


def test_cancelling_the_asyncio_task_gives_up_its_await(run, ends):
    async def main():
        async with ends.linked() as (_, server, client):
            received = asyncio.create_task(server.recv())
            await asyncio.sleep(0)
            received.cancel()
            with pytest.raises(asyncio.CancelledError):
                await received
            await client.send(b"not lost")
            assert await server.recv() == b"not lost"

    run(main())


def test_a_task_that_only_asyncio_has_gives_its_slot_to_the_next_one(run, make_rig):
    async def main():
        rig = make_rig(num_tasks=4)
        for _ in range(3):
            await asyncio.create_task(rig.copy())
            await asyncio.gather(*(rig.copy() for _ in range(4)))
            made = [asyncio.create_task(rig.copy()) for _ in range(4)]
            await asyncio.wait(made)

    run(main())


def test_a_task_that_the_program_names_keeps_its_slot(run, make_rig):
    async def main():
        rig = make_rig(num_tasks=1)
        task = rig.copy()
        for _ in range(3):
            await asyncio.create_task(task)
        with pytest.raises(pydoca.NoMemoryError, match="drop or free"):
            rig.copy()
        task.dst.reset_data_len()
        task.submit()
        await task

    run(main())


def test_a_task_that_no_asyncio_task_drives_is_not_a_coroutine(run, rig):
    async def main():
        task = rig.copy()
        with pytest.raises(
            TypeError, match=r"only asyncio.create_task\(\) drives <pydoca task: dma memcpy.*; await it"
        ):
            task.send(None)
        task.close()  # the task goes on
        await task

    run(main())


@pytest.mark.parametrize("size", [64, BIG])
def test_an_asyncio_task_in_python_drives_a_task(run, make_rig, size):
    async def main():
        rig = make_rig(size=size, num_tasks=2)
        for _ in range(3):  # the slots return
            made = [asyncio.tasks._PyTask(rig.copy(), loop=asyncio.get_running_loop()) for _ in range(2)]
            assert await asyncio.gather(*made) == [None, None]
            del made

    run(main())


def test_the_drive_of_a_task_ends_with_its_asyncio_task(run, make_rig):
    async def main():
        rig = make_rig(size=BIG)
        task = rig.copy()
        made = asyncio.create_task(task)
        await asyncio.sleep(0)
        drive = made._pydoca_drive
        assert drive.driven is task
        await made
        assert drive.awaiter is None
        assert task.wait() is None  # the task itself goes on
        with pytest.raises(TypeError):
            type(drive)()

    run(main())


def test_a_step_after_the_last_one_is_refused(run, rig):
    """A driver that goes on after the end is asyncio's mistake, and no crash."""

    async def main():
        made = asyncio.create_task(rig.copy())
        await made
        with pytest.raises(TypeError, match=r"only asyncio\.create_task"):
            made.get_coro().send(None)

    run(main())


def test_a_task_that_asyncio_refuses_goes_on(run, rig):
    async def main():
        task = rig.copy()
        with pytest.raises(RuntimeError):
            asyncio.TaskGroup().create_task(task)
        await task

    run(main())


# ---- other loops


def drive(coroutine):
    """Drives the coroutine to its first step, as a loop of another library does."""
    try:
        coroutine.send(None)
    finally:
        coroutine.close()


async def enter(engine):
    async with engine:
        pass


def test_an_await_without_asyncio_says_so(make_rig):
    rig = make_rig(size=BIG)
    sentence = r"await: no asyncio event loop runs in this thread.*not trio's.*wait\(\) and pe.run_until\(\)"

    async def wait_for(task):
        await task

    task = rig.copy()
    for coroutine in (enter(rig.pe), wait_for(task), rig.dma.__aenter__(), rig.pe.gather([task])):
        with pytest.raises(pydoca.NotSupportedError, match=sentence):
            drive(coroutine)
    task.wait()


def test_an_await_in_another_asyncio_loop_names_the_remedy(make_rig):
    rig = make_rig(size=BIG)

    async def main():
        await rig.copy()

    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(main())
        with pytest.raises(
            pydoca.BadStateError, match=r"belongs to another event loop.*make one progress engine per loop"
        ):
            asyncio.run(main())
    finally:
        loop.close()
    asyncio.run(main())
