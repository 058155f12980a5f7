"""The objects of comch keep one another alive as long as necessary."""

import asyncio
import gc
import weakref

import pydoca


async def turns(count=20):
    for _ in range(count):
        await asyncio.sleep(0)


def build(ends):
    """An engine, a server, a client and both their connections, with messages that were not received."""
    pe = pydoca.ProgressEngine()
    server, client = ends.server(pe), ends.client(pe)
    server.start()
    client.start()
    served = server.accept().wait(timeout=10)
    pe.run_until(lambda: client.state is pydoca.ContextState.RUNNING, timeout=10)
    served.send(b"x").wait(timeout=10)
    served.user_data = served
    return [pe, server, client, served, client.connection]


def test_everything_is_released_once_closed(ends):
    gc.collect()
    gc.disable()
    try:
        objects = build(ends)
        pe, server, client, served, link = objects
        served.user_data = None
        with pe:
            pass
        watched = [weakref.ref(thing) for thing in objects]
        del objects, pe, server, client, served, link
        assert [watch() for watch in watched] == [None] * 5
    finally:
        gc.enable()


def test_everything_is_released_when_it_is_dropped(ends):
    watched = [weakref.ref(thing) for thing in build(ends)]
    gc.collect()
    assert [watch() for watch in watched] == [None] * 5
    ends.rep.close()


def test_a_connection_keeps_its_context(ends):
    *_, served, link = build(ends)
    gc.collect()
    assert link.recv().wait(timeout=10) == b"x"
    served.send(b"y").wait(timeout=10)
    assert link.recv().wait(timeout=10) == b"y"


def test_one_who_waits_in_a_closed_loop_is_released(run, ends):
    watched = []

    async def main():
        pe = pydoca.ProgressEngine()
        server = ends.server(pe)
        server.start()

        async def wait():
            await server.accept()

        waiting = asyncio.create_task(wait())
        await turns()
        watched.extend([weakref.ref(server), weakref.ref(pe), weakref.ref(waiting)])

    run(main())
    gc.collect()
    assert [watch() for watch in watched] == [None] * 3
