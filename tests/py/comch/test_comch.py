"""Servers and clients in one process: how they meet and part."""

import asyncio
import contextlib

import pytest

import pydoca
from pydoca import _core, comch

LIMIT = 4080  # bytes of a message


async def send_all(link, what):
    for message in what:
        await link.send(message)


async def turns(count=20):
    for _ in range(count):
        await asyncio.sleep(0)


def test_a_client_waits_for_its_server(run, ends):
    async def main():
        async with pydoca.ProgressEngine() as pe:
            client = ends.client(pe)
            entering = asyncio.create_task(client.__aenter__())
            await asyncio.sleep(0.02)
            assert client.state is pydoca.ContextState.STARTING
            with pytest.raises(pydoca.BadStateError):
                _ = client.connection
            async with ends.server(pe) as server:
                link = await entering
                assert link is client.connection
                assert (await server.accept()).server is server
                await client.__aexit__(None, None, None)

    run(main())


def test_a_server_that_never_comes_is_a_timeout(run, ends):
    async def main():
        async with pydoca.ProgressEngine() as pe:
            client = ends.client(pe)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05), client:
                    pytest.fail("there is no server")
            assert client.closed
            assert client.state is pydoca.ContextState.IDLE

    run(main())


def test_messages_of_a_server_that_hung_up_at_once_are_received(run, ends):
    async def main():
        async with pydoca.ProgressEngine() as pe:

            def refuse(link, successful, data):
                link.send(b"busy")
                link.close()

            async with ends.server(pe, on_connect=refuse), ends.client(pe) as link:
                assert [message async for message in link] == [b"busy"]

    run(main())


def test_links_that_were_not_accepted_wait_in_order(run, ends):
    async def main():
        async with pydoca.ProgressEngine() as pe, ends.server(pe) as server, contextlib.AsyncExitStack() as stack:
            for number in range(5):
                link = await stack.enter_async_context(ends.client(pe))
                await link.send(str(number).encode())
            assert len(server.connections) == 5
            got = [await (await server.accept()).recv() for _ in range(5)]
            assert got == [b"0", b"1", b"2", b"3", b"4"]

    run(main())


def test_a_link_that_ended_before_it_was_accepted_keeps_its_messages(run, ends):
    async def main():
        async with pydoca.ProgressEngine() as pe, ends.server(pe) as server:
            for what in ([], [b"last words"]):
                async with ends.client(pe) as link:
                    await send_all(link, what)
            link = await server.accept()
            assert [message async for message in link] == [b"last words"]

    run(main())


def test_a_step_of_an_iteration_may_have_a_default(run, ends):
    async def step(iterator):
        return await anext(iterator, "the end")

    async def main():
        async with pydoca.ProgressEngine() as pe, ends.server(pe) as server:
            accepting = asyncio.create_task(step(server))
            async with ends.client(pe) as link:
                arrived = await accepting
                receiving = asyncio.create_task(step(arrived))
                await asyncio.sleep(0.01)
                await link.send(b"text")
                assert await receiving == b"text"
                receiving = asyncio.create_task(step(arrived))
                await asyncio.sleep(0.01)
            assert await receiving == "the end"

    run(main())


def test_serving_several_clients_until_the_server_stops(run, ends):
    async def echo(link):
        with link:
            async for message in link:
                await link.send(message.upper())

    async def serve(server):
        echoes = [asyncio.create_task(echo(link)) async for link in server]
        await asyncio.gather(*echoes)
        return len(echoes)

    async def main():
        async with pydoca.ProgressEngine() as pe, ends.server(pe) as server:
            serving = asyncio.create_task(serve(server))
            async with contextlib.AsyncExitStack() as stack:
                links = [await stack.enter_async_context(ends.client(pe)) for _ in range(4)]
                for number, link in enumerate(links):
                    await link.send(f"client {number}".encode())
                    assert await link.recv() == f"CLIENT {number}".encode()
            server.stop()
            assert await serving == 4

    run(main())


def test_several_servers_on_one_engine(run, ends):
    async def main():
        async with pydoca.ProgressEngine() as pe, contextlib.AsyncExitStack() as stack:
            for number in range(3):
                name = f"{ends.name}-{number}"
                server = await stack.enter_async_context(comch.Server(pe, ends.dpu, ends.rep, name))
                link = await stack.enter_async_context(comch.Client(pe, ends.host, name))
                await link.send(name.encode())
                assert await (await server.accept()).recv() == name.encode()

    run(main())


def test_accept_serves_in_order_and_cancelling_loses_nothing(run, ends):
    async def main():
        async with pydoca.ProgressEngine() as pe, ends.server(pe) as server:
            first, second = asyncio.ensure_future(server.accept()), asyncio.ensure_future(server.accept())
            await turns()
            async with ends.client(pe):
                first.cancel()
                await turns()
                link = await (second if first.cancelled() else first)
                assert link.is_connected

    run(main())


def test_accept_ends_with_the_server(run, ends):
    async def main():
        async with pydoca.ProgressEngine() as pe:
            server = ends.server(pe)
            with pytest.raises(pydoca.BadStateError, match="start it first"):
                server.accept()
            async with server:
                waiting = asyncio.ensure_future(server.accept())
                await turns()
                server.stop()
                with pytest.raises(pydoca.ShutdownError):
                    await waiting
                assert [link async for link in server] == []

    run(main())


def test_leaving_a_server_disconnects_every_client(run, ends):
    async def main():
        async with pydoca.ProgressEngine() as pe:
            client = ends.client(pe)
            async with ends.server(pe) as server:
                link = await client.__aenter__()
                served = await server.accept()
            assert not served.is_connected
            with pytest.raises(ConnectionResetError):
                await link.recv()
            assert client.failure is pydoca.Status.CONNECTION_RESET
            await client.__aexit__(None, None, None)

    run(main())


def test_client_and_server_can_be_started_again(run, ends):
    async def main():
        async with pydoca.ProgressEngine() as pe:
            server, client = ends.server(pe), ends.client(pe)
            for number in range(3):
                server.start()
                client.start()
                served = await server.accept()
                await served.send(str(number).encode())
                while client.state is not pydoca.ContextState.RUNNING:
                    await asyncio.sleep(0)
                assert await client.connection.recv() == str(number).encode()
                server.stop()
                while client.state is not pydoca.ContextState.IDLE or server.state is not pydoca.ContextState.IDLE:
                    await asyncio.sleep(0)

    run(main())


def test_a_name_in_use(ends):
    with pydoca.ProgressEngine() as pe, ends.server(pe):
        other = ends.server(pe)
        with pytest.raises(pydoca.AlreadyExistError, match=ends.name):
            other.start()
        assert other.state is pydoca.ContextState.IDLE


@pytest.mark.parametrize("name", ["", "x" * 120, "nul\0inside"])
def test_impossible_names(ends, name):
    with pydoca.ProgressEngine() as pe, pytest.raises(pydoca.InvalidValueError, match="name"):
        comch.Client(pe, ends.host, name)


def test_the_wrong_side(ends):
    assert comch.Server.is_supported(ends.dpu.info)
    assert not comch.Server.is_supported(ends.host.info)
    assert comch.Client.is_supported(ends.host.info)
    assert not comch.Client.is_supported(ends.dpu.info)
    with pydoca.ProgressEngine() as pe:
        with pytest.raises(pydoca.NotSupportedError, match="pf0"):
            comch.Server(pe, ends.host, ends.rep, ends.name)
        with pytest.raises(pydoca.NotSupportedError, match="p0"):
            comch.Client(pe, ends.dpu, ends.name)
        with (
            pydoca.open_device("03:00.1", side="dpu") as other,
            pytest.raises(pydoca.InvalidValueError, match="opened on"),
        ):
            comch.Server(pe, other, ends.rep, ends.name)


def test_wrong_types(ends):
    with pydoca.ProgressEngine() as pe:
        for make in (
            lambda: comch.Client("pe", ends.host, ends.name),
            lambda: comch.Client(pe, "0b:00.0", ends.name),
            lambda: comch.Server(pe, ends.dpu, "0b:00.0", ends.name),
            lambda: comch.Client(pe, ends.host, 5),
        ):
            with pytest.raises(TypeError):
                make()


@pytest.mark.parametrize(
    "options", [{"max_msg_size": 0}, {"max_msg_size": LIMIT + 1}, {"recv_queue_size": 0}, {"num_send_tasks": 0}]
)
def test_limits_that_the_device_does_not_have(ends, options):
    limit = rf"{next(iter(options))} must be in 1\.\.\d+, not"
    with pydoca.ProgressEngine() as pe, pytest.raises(pydoca.InvalidValueError, match=limit):
        ends.client(pe, **options)


def test_a_server_in_use_keeps_its_representor(ends):
    with pydoca.ProgressEngine() as pe, ends.server(pe) as server:
        assert server.representor is ends.rep
        with pytest.raises(pydoca.InUseError):
            ends.rep.close()


# ---- the timeout of a client


def test_a_client_waits_for_its_server_as_long_as_its_timeout(run, ends):
    async def main():
        async with pydoca.ProgressEngine() as pe:
            client = ends.client(pe, timeout=0.02)
            assert client.timeout == 0.02
            message = "no server of this name was there for pf0 within 0.02 s; start it, or wait longer"
            with pytest.raises(pydoca.TimeOutError, match=f'start comch.client "{ends.name}": {message}'):
                async with client:
                    pytest.fail("there is no server")
            async with ends.server(pe), ends.client(pe, timeout=20) as link:
                assert link.is_connected

    run(main())


def test_a_client_without_a_loop_has_the_same_timeout(ends):
    with pydoca.ProgressEngine() as pe:
        assert ends.client(pe).timeout is None
        client = ends.client(pe, timeout=0.02)
        with pytest.raises(pydoca.TimeOutError, match=r"within 0\.02 s"), client:
            pytest.fail("there is no server")
        started = ends.client(pe, timeout=0.02)
        started.start()
        pe.run_until(lambda: started.state is pydoca.ContextState.IDLE, timeout=20)
        assert started.failure is pydoca.Status.TIME_OUT


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 1e300])
def test_a_timeout_that_is_none_is_refused(ends, timeout):
    with (
        pydoca.ProgressEngine() as pe,
        pytest.raises(pydoca.InvalidValueError, match=r"timeout is .*; it is in seconds, more than 0, or None"),
    ):
        ends.client(pe, timeout=timeout)


@pytest.fixture
def shown(caplog):
    """The engine's log records from level INFO on."""
    *_, before = _core.log_global_limits()
    pydoca.set_sdk_log_level("INFO")
    caplog.set_level("INFO", logger="pydoca")
    yield caplog
    pydoca.set_sdk_log_level(before)


def test_a_client_says_that_it_waits(run, ends, shown):
    async def main():
        async with pydoca.ProgressEngine() as pe:
            with pytest.raises(pydoca.TimeOutError):
                async with ends.client(pe, timeout=1.1):
                    pytest.fail("there is no server")

    run(main())
    assert f'"{ends.name}": still waiting for a server of this name, for the function pf0, in /' in shown.text
    assert "set PYDOCA_FABRIC_DIR to the same one on both sides" in shown.text


def test_a_client_without_a_loop_says_that_it_waits_while_it_waits(ends, shown):
    said = []
    with pydoca.ProgressEngine() as pe:
        client = ends.client(pe, timeout=20)
        client.start()

        def is_said() -> bool:
            said[:] = [record for record in shown.records if "still waiting" in record.getMessage()]
            return bool(said)

        pe.run_until(is_said, timeout=20)
    assert len(said) == 1
