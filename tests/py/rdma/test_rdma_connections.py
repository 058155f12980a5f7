"""Connections of an Rdma: they begin, are rejected, and end."""

import asyncio
import gc
import socket
import weakref

import pytest

import pydoca
from pydoca._rdma import names

State = pydoca.RdmaConnectionState


def test_a_peer_is_found_by_its_address(pair, run, unused_port):
    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a, pair.b.rdma(pe) as b:

            async def serve():
                async for request in b.listen(unused_port):
                    assert request.private_data[:5] == b"hello"
                    assert ":" in request.address[0] or "." in request.address[0]
                    return await request.accept(b"welcome")
                return None

            serving = asyncio.create_task(serve())
            await asyncio.sleep(0)
            ab = await a.connect(pair.b.address, unused_port, private_data=b"hello", user_data="mine")
            ba = await serving
            assert ab.private_data[:7] == b"welcome"
            assert (ab.state, ba.state) == (State.ESTABLISHED, State.ESTABLISHED)
            assert (ab.address, ab.user_data) == ((pair.b.address, unused_port), "mine")
            assert a.connections == [ab]
            into = pair.b.room(8)
            task = b.receive(into)
            await ab.send(pair.a.data(b"data"))
            await task
            assert (bytes(into), task.connection) == (b"data", ba)

    run(main())


def test_a_request_is_rejected(pair, run, unused_port):
    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a, pair.b.rdma(pe) as b:
            with b.listen(unused_port) as listener:
                attempt = a.connect(pair.b.address, unused_port)
                request = await listener.request()
                assert request.state is State.REQUESTED
                request.reject()
                with pytest.raises(pydoca.ConnectionAbortedError):
                    await attempt
                with pytest.raises(pydoca.BadStateError):
                    request.accept()
            assert listener.closed

    run(main())


def test_a_connection_to_a_port_without_a_listener(pair, run, unused_port):
    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe, connection_request_timeout=500) as a:
            with pytest.raises((pydoca.NotFoundError, pydoca.ConnectionAbortedError, pydoca.TimeOutError)):
                await a.connect(pair.b.address, unused_port)
            assert a.state is pydoca.ContextState.RUNNING

    run(main())


@pytest.mark.parametrize("address", ["", "300.1.1.1", "::g"])
def test_what_is_no_address_is_refused(pair, run, address):
    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a:
            with pytest.raises(pydoca.InvalidValueError):
                a.connect(address, 5000)
            with pytest.raises(pydoca.InvalidValueError):
                a.connect(pair.b.address, 70000)
            with pytest.raises(pydoca.InvalidValueError):
                a.listen(0)
            for wrong in (None, b"10.0.0.1", 10):
                with pytest.raises(TypeError, match="address must be a str"):
                    a.connect(wrong, 5000)

    run(main())


def test_giving_up_an_attempt_ends_it(pair, run, unused_port):
    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a, pair.b.rdma(pe) as b:
            with b.listen(unused_port):  # the listener does not accept
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await a.connect(pair.b.address, unused_port)
                async with asyncio.timeout(20):
                    while a.connections:
                        await asyncio.sleep(0.01)

    run(main())


def test_callbacks_hear_of_everything(pair, run, unused_port):
    async def main():
        heard = []

        def requested(connection, user_data):
            heard.append(("request", user_data))
            connection.user_data = "of b"
            connection.accept()

        def note(what):
            return lambda connection, own, user_data: heard.append((what, own, user_data))

        options = {"on_request": requested, "on_established": note("up"), "on_disconnect": note("down"), "user_data": 1}
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a, pair.b.rdma(pe, **options) as b:
            listener = b.listen(unused_port)
            ab = await a.connect(pair.b.address, unused_port)
            await b.connections[0].established()
            ended = b.connections[0].ended()
            await ab.disconnect()
            await ended
            with pytest.raises(pydoca.BadStateError, match="on_request"):
                listener.request()
        assert heard == [("request", 1), ("up", "of b", 1), ("down", "of b", 1)]

    run(main())


def test_the_end_of_one_side_is_told_to_the_other(pair, run, unused_port):
    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a, pair.b.rdma(pe) as b:
            with b.listen(unused_port) as listener:
                attempt = a.connect(pair.b.address, unused_port)
                ba = await (await listener.request()).accept()
                ab = await attempt
            await ab.disconnect()
            await ba.ended()
            assert (ab.state, ba.state) == (State.CLOSED, State.CLOSED)
            assert ba.failure is pydoca.Status.CONNECTION_RESET
            with pytest.raises(pydoca.NotConnectedError):
                ba.send(None)
            assert b.connections == []
            ab.disconnect()  # a second call does nothing
            assert a.state is b.state is pydoca.ContextState.RUNNING

    run(main())


def test_a_receive_is_awaited_while_there_is_a_connection(pair, run, unused_port):
    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a, pair.b.rdma(pe) as b:
            with b.listen(unused_port) as listener:
                ab, ba = await linked_by(a.connect(pair.b.address, unused_port), listener)
            into = pair.b.room(8)
            task = b.receive(into)
            await ab.send(pair.a.data(b"data"))
            assert await ba.while_connected(task) == 4
            assert await ba.while_connected(task) == 4  # it is done
            into.reset_data_len()
            task.submit()
            waiting = asyncio.ensure_future(ba.while_connected(task))
            await asyncio.sleep(0)
            await ab.disconnect()
            with pytest.raises(pydoca.ConnectionResetError, match="has ended"):
                await waiting
            assert not task.done
            with pytest.raises(pydoca.BadStateError, match="never submitted"):
                await ba.while_connected(b.receive(None, submit=False))
            with pytest.raises(TypeError, match="task"):
                await ba.while_connected("task")

    run(main())


def test_a_connection_that_was_exported_only_is_given_up(pair, run):
    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe, max_num_connections=1) as a:
            exported = a.export()
            waiting = asyncio.ensure_future(exported.ended())
            await asyncio.sleep(0)
            await exported.disconnect()
            await waiting
            assert (exported.state, a.connections) == (State.CLOSED, [])
            with a.export() as another, pytest.raises(pydoca.FullError, match="max_num_connections"):
                a.export()
            assert another.state is State.CLOSED
            with a.export():
                pass

    run(main())


def test_a_port_is_free_again_once_its_listener_is_dropped(pair, run, unused_port):
    async def main():
        async with pydoca.ProgressEngine() as pe, pair.b.rdma(pe) as b:
            listener = b.listen(unused_port)
            with pytest.raises(pydoca.BadStateError):
                b.listen(unused_port)
            del listener
            with b.listen(unused_port) as again:
                assert again.port == unused_port

                async def requests():
                    return [request async for request in again]

                waiting = asyncio.create_task(requests())
                await asyncio.sleep(0)
                b.stop()
                assert await waiting == []

    run(main())


def test_a_step_of_listening_may_have_a_default(pair, run, unused_port):
    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a, pair.b.rdma(pe) as b:
            listener = b.listen(unused_port)

            async def step():
                return await anext(listener, "end")

            waiting = asyncio.create_task(step())
            await asyncio.sleep(0.01)
            attempt = a.connect(pair.b.address, unused_port)
            async with asyncio.timeout(20):
                await (await waiting).accept()
                await attempt
            given_up = asyncio.create_task(step())
            await asyncio.sleep(0.01)
            given_up.cancel()
            waiting = asyncio.create_task(step())
            await asyncio.sleep(0.01)
            listener.close()
            async with asyncio.timeout(20):
                assert await waiting == "end"
            assert given_up.cancelled()

    run(main())


def test_a_listener_shows_its_port(pair, run, unused_port):
    async def main():
        async with pydoca.ProgressEngine() as pe, pair.b.rdma(pe) as b:
            with b.listen(unused_port) as listener:
                assert repr(listener) == f"<pydoca rdma listener, port {unused_port}>"
            assert repr(listener).endswith("closed>")

    run(main())


def test_a_request_that_was_given_up_is_not_handed_out(pair, run, unused_port, rdma_names):
    if rdma_names[1] != "sim":
        pytest.skip("librdmacm reports that the client has gone only when the request is answered")

    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a, pair.b.rdma(pe) as b:
            listener = b.listen(unused_port)
            given_up = a.connect(pair.b.address, unused_port, private_data=b"given up")
            async with asyncio.timeout(20):
                while not b.connections:
                    await asyncio.sleep(0)
                given_up.connection.disconnect()
                while b.connections:
                    await asyncio.sleep(0)
                attempt = a.connect(pair.b.address, unused_port, private_data=b"wanted")
                async for request in listener:
                    assert request.private_data.rstrip(b"\0") == b"wanted"
                    await request.accept()
                    break
                await attempt

    run(main())


def test_details_are_checked(pair, run):
    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe, max_num_connections=1) as a, pair.b.rdma(pe) as b:
            ab = a.export()
            with pytest.raises(pydoca.FullError):
                a.export()
            details = b.export().details
            for forged in (b"", b"x" * 100, details[:-1], bytes(100)):
                with pytest.raises((pydoca.InvalidValueError, pydoca.UnsupportedVersionError)):
                    ab.connect(forged)
            with pytest.raises(TypeError):
                ab.connect("text")
            assert len(details) < 512
            assert ab.state is State.EXPORTED

    run(main())


def test_a_failed_task_ends_the_connection_and_stops_its_context_only(pair, run, rdma_names):
    async def main():
        async with pair.linked() as (a, b, ab, ba):
            mmap = pair.b.mmap(pydoca.alloc(64), access="local_read_write|rdma_read")
            with (
                pair.remote(mmap) as remote,
                pytest.raises(pydoca.IoFailedError, match="dst's memory was exported without rdma_write"),
            ):
                await ab.write(pair.a.data(b"x"), pair.a.room(remote))
            async with asyncio.timeout(20):
                while a.state is not pydoca.ContextState.IDLE:
                    await asyncio.sleep(0.001)
            assert ab.failure is pydoca.Status.IO_FAILED
            if rdma_names[1] != "sim":
                ba.disconnect()  # such a device learns of the end only by its next task
            await asyncio.wait_for(ba.ended(), 30)
            assert b.state is pydoca.ContextState.RUNNING
            a.start()
            ab, ba = a.export(), b.export()
            assert await ab.begin_connect(ba.details) is ab
            ba.connect(ab.details)
            task = b.receive(None)
            await ab.send(None)
            assert await task == 0

    run(main())


def test_closing_brings_back_what_is_in_flight(pair, run):
    async def main():
        async with pair.linked() as (_, b, _ab, _ba):
            tasks = [b.receive(pair.b.room(8)) for _ in range(10)]
        for task in tasks:
            with pytest.raises(pydoca.ShutdownError):
                task.result()

    run(main())


def test_nothing_is_left_of_contexts_and_connections(pair, run):
    dropped = []

    async def main():
        async with pair.linked() as (a, _b, ab, ba):
            dropped.extend(map(weakref.ref, (a, ab, ba)))
            ab.user_data = ab  # a cycle

    run(main())
    gc.collect()
    assert [ref() for ref in dropped] == [None] * 3


async def linked_by(connecting, listener):
    """Both ends of the connection that the awaitable makes."""
    accepted = asyncio.ensure_future(accept_one(listener))
    made = await connecting
    return made, await accepted


async def accept_one(listener):
    return await (await listener.request()).accept()


def found(monkeypatch, *addresses):
    """Replaces the system's answer for every name by these addresses."""
    entries = [(socket.AF_INET6 if ":" in each else socket.AF_INET, 1, 6, "", (each, 0)) for each in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: entries)


def test_localhost_is_known_where_the_system_knows_no_names(pair, monkeypatch):
    def unknown(*_arguments, **_options):
        raise OSError(-2, "Name or service not known")

    monkeypatch.setattr("socket.getaddrinfo", unknown)
    assert pair.a.device.info.ipv4_addr in names.look_up(pair.a.device, "localhost", "ipv4")
    assert names.look_up(pair.a.device, "LocalHost.") == names.look_up(pair.a.device, "localhost")
    with pytest.raises(pydoca.NotFoundError, match=r"no\.such\.host"):
        names.look_up(pair.a.device, "no.such.host")


def test_localhost_is_where_this_machines_devices_listen(pair, run, unused_port):
    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a, pair.a.rdma(pe) as b:
            with b.listen(unused_port) as listener:
                made, _ = await linked_by(a.connect("localhost", unused_port, private_data=b"hello"), listener)
                assert made.address == (pair.a.address, unused_port)

    run(main())


def test_the_addresses_of_a_name_are_tried_in_turn(pair, run, unused_port, monkeypatch):
    found(monkeypatch, "2001:db8::9", pair.a.address, "127.0.0.1")

    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a, pair.a.rdma(pe) as b:
            with b.listen(unused_port) as listener:
                named = a.connect("dpu-7.example", unused_port, user_data="mine")
                assert named.connection is None
                assert "dpu-7.example" in repr(named)
                made, _ = await linked_by(named, listener)
                assert made.user_data == "mine"
                assert named.connection is made
                assert await named is named.wait() is made
            with pytest.raises(pydoca.NotFoundError, match="no peer listens"):
                await a.connect("dpu-7.example", unused_port)

    run(main())


def test_a_name_is_connected_to_without_a_loop(pair, unused_port):
    def accept(connection, _):
        connection.accept()

    with (
        pydoca.ProgressEngine() as pe,
        pair.a.rdma(pe) as a,
        pair.a.rdma(pe, on_request=accept) as b,
        b.listen(unused_port),
    ):
        assert a.connect("localhost", unused_port).wait(60).is_connected


def test_names_that_lead_nowhere(pair, run, monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a:
            with pytest.raises(pydoca.InvalidValueError, match=r"two\.\.dots.*neither an address nor a name"):
                await a.connect("two..dots", 5000)
            with pytest.raises(pydoca.InvalidValueError, match="GID"):
                a.connect("localhost", 5000, address_type="gid")
            with pytest.raises(pydoca.InvalidValueError, match="IPv4 address in digits"):
                a.connect("10.0.0", 5000)
            monkeypatch.setattr(socket, "getaddrinfo", unknown)
            with pytest.raises(pydoca.NotFoundError, match=r'"no\.such\.host": the name is not known: Name or service'):
                await a.connect("no.such.host", 5000)

    run(main())
