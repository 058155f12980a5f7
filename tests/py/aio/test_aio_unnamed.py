"""asyncio tasks that the program does not name: asyncio itself keeps only weak references to its tasks."""

import asyncio
import gc

import pytest

import pydoca


async def collect():
    """Lets the created tasks begin, then collects garbage."""
    for _ in range(3):
        await asyncio.sleep(0)
    gc.collect()
    await asyncio.sleep(0)


@pytest.fixture
def begin():
    """Makes an asyncio task that nothing names, and returns a future that gets its result."""

    def begin(coroutine):
        ended = asyncio.get_running_loop().create_future()

        async def tell():
            result = await coroutine
            ended.set_result(result)

        asyncio.create_task(tell())  # noqa: RUF006  nothing names it
        return ended

    return begin


def test_a_receive_and_an_accept_go_on(run, ends, begin, patience):
    async def main():
        async with ends.linked() as (server, there, link):
            received, accepted = begin(there.recv()), begin(server.accept())
            await collect()
            await link.send(b"kept")
            assert await asyncio.wait_for(received, patience) == b"kept"
            async with ends.client(link.client.progress_engine):
                await asyncio.wait_for(accepted, patience)

    run(main())


def test_an_iteration_goes_on(run, ends, begin, patience):
    async def main():
        async def receive(connection):
            return [message async for message in connection]

        async with ends.linked() as (_, there, link):
            received = begin(receive(there))
            for number in range(3):
                await collect()
                await link.send(bytes([number]))
            link.close()
            assert await asyncio.wait_for(received, patience) == [b"\0", b"\1", b"\2"]

    run(main())


def test_a_request_for_a_connection_is_answered(run, begin, patience, unused_port):
    async def main():
        async def accept_one(listener):
            return await (await listener.request()).accept()

        with pydoca.open_device("pf0") as here, pydoca.open_device("pf1") as there:
            async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, there) as server, pydoca.Rdma(pe, here) as client:
                with server.listen(unused_port) as listener:
                    accepted = begin(accept_one(listener))
                    await collect()
                    await asyncio.wait_for(client.connect(there.info.ipv4_addr, unused_port), patience)
                    await asyncio.wait_for(accepted, patience)

    run(main())


def test_tasks_of_the_device_go_on(run, rig, begin, patience):
    async def main():
        async def all_of(tasks):
            return [task async for task in rig.pe.as_completed(tasks)]

        ended = [
            begin(rig.held()),
            begin(rig.pe.gather([rig.held(), rig.held()])),
            begin(all_of([rig.held(), rig.held()])),
        ]
        await collect()
        rig.release()
        await asyncio.wait_for(asyncio.gather(*ended), patience)

    run(main())


def test_what_waited_in_a_loop_that_was_closed_can_be_collected(new_loop, ends):
    pe = pydoca.ProgressEngine()
    server = ends.server(pe)
    server.start()
    collected = []

    class Mark:
        def __del__(self):
            collected.append(True)

    async def wait():
        mark = Mark()
        await server.accept()
        del mark

    async def begin():
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # the task is destroyed, and pending
        asyncio.create_task(wait())  # noqa: RUF006  nothing names it
        await collect()

    loop = new_loop()
    loop.run_until_complete(begin())
    assert not collected
    loop.close()
    with pytest.warns(ResourceWarning, match="had waiters in an event loop that is closed"):
        pe.__exit__(None, None, None)
    del loop
    gc.collect()
    assert collected
