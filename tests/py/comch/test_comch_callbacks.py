"""Comch by callbacks; and in threads and processes that its objects do not belong to."""

import asyncio
import contextlib
import os
import threading

import pytest

import pydoca


async def send_all(link, what):
    for message in what:
        await link.send(message)


def test_callbacks_have_docas_shape(ends):
    calls = []

    def note(what):
        return lambda *args: calls.append((what, *args))

    options = {f"on_{what}": note(what) for what in ("connect", "disconnect", "message", "state_changed")}
    with ends.linked_without_loop(user_data="mine", **options) as (server, served, link):
        link.send(b"hello").wait(timeout=10)
        link.close()
        server.progress_engine.run_until(lambda: served.server is None, timeout=10)
        with pytest.raises(pydoca.ConnectionResetError):
            served.recv().wait(timeout=10)
    idle, running = pydoca.ContextState.IDLE, pydoca.ContextState.RUNNING
    assert calls[:4] == [
        ("state_changed", "mine", server, idle, running),
        ("connect", served, True, "mine"),
        ("message", served, b"hello", "mine"),
        ("disconnect", served, True, "mine"),
    ]


def test_with_on_message_nothing_is_left_to_receive(ends):
    linked = ends.linked_without_loop(on_message=lambda *args: None)
    with linked as (_, served, _), pytest.raises(pydoca.BadStateError, match="on_message"):
        served.recv()


def test_a_client_tells_of_its_disconnection(ends):
    calls = []
    options = {"on_disconnect": lambda *args: calls.append(args), "user_data": 7}
    with ends.linked_without_loop(client=options) as (_, served, link):
        served.close()
        with pytest.raises(ConnectionResetError):
            link.recv().wait(timeout=10)
        served_by = link.client
        if served_by is not None:
            served_by.progress_engine.run_until(lambda: link.client is None, timeout=10)
    assert calls == [(link, True, 7)]


def test_a_connection_has_its_server_and_client_while_its_end_is_told(ends):
    told = []

    def note(connection, *_):
        told.append((connection.server, connection.client, connection.is_connected))

    with ends.linked_without_loop(client={"on_disconnect": note}, on_disconnect=note) as (server, served, link):
        client = link.client
        link.close()
        server.progress_engine.run_until(lambda: served.server is None, timeout=10)
        client.progress_engine.run_until(lambda: link.client is None, timeout=10)
    assert sorted(told, key=lambda each: each[0] is None) == [(server, None, False), (None, client, False)]


def test_errors_of_callbacks_are_collected(ends):
    got = []

    def fail(link, message, data):
        got.append(message)
        raise ValueError(message.decode())

    with ends.linked_without_loop(on_message=fail) as (server, _, link):
        link.send(b"one")
        link.send(b"two")
        with pytest.raises(ExceptionGroup) as failed:
            server.progress_engine.run_until(lambda: len(got) == 2, timeout=10)
        while len(got) < 2:
            with contextlib.suppress(ExceptionGroup):
                server.progress_engine.run_until(lambda: len(got) == 2, timeout=10)
        assert all(isinstance(error, ValueError) for error in failed.value.exceptions)
        assert link.is_connected


def test_errors_of_callbacks_go_to_the_loop(run, ends):
    reports = []

    def fail(link, message, data):
        raise ValueError(message.decode())

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))
        async with ends.linked(on_message=fail) as (_, served, link):
            await link.send(b"oops")
            while not reports:
                await asyncio.sleep(0)
            await served.send(b"still here")
            assert await link.recv() == b"still here"

    run(main())
    assert [str(report["exception"]) for report in reports] == ["oops"]


def test_messages_can_be_sent_and_links_closed_in_callbacks(run, ends):
    def answer(link, message, data):
        link.send(message[::-1])
        if message == b"bye":
            link.close()

    async def main():
        async with ends.linked(on_message=answer) as (_, _, link):
            await send_all(link, [b"abc", b"bye"])
            assert [message async for message in link] == [b"cba", b"eyb"]

    run(main())


# The thread and the process that comch objects belong to.


def test_links_belong_to_the_engines_thread(ends):
    errors = []

    def use(work):
        try:
            work()
        except pydoca.WrongThreadError as error:
            errors.append(error)

    with ends.linked_without_loop() as (server, _, link):
        for work in (lambda: link.send(b"x"), link.close, lambda: link.recv().wait(1), lambda: server.accept().wait(1)):
            thread = threading.Thread(target=use, args=(work,))
            thread.start()
            thread.join(10)
        assert link.is_connected
    assert len(errors) == 4


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_leaves_its_parents_links_alone(ends):
    with ends.linked_without_loop() as (_, served, link):
        child = os.fork()
        if child == 0:
            try:
                link.close()
                link.send(b"from the child")
            except pydoca.ForkedError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        link.send(b"from the parent").wait(timeout=10)
        assert served.recv().wait(timeout=10) == b"from the parent"


def test_user_data_and_kin(ends):
    with ends.linked_without_loop() as (server, served, link):
        assert (served.server, served.client, link.server) == (server, None, None)
        assert link.client is not None
        assert link.client.name == server.name == ends.name
        assert server.connections == [served]
        served.user_data = [1]
        assert server.connections[0].user_data == [1]
        assert ends.name in repr(link)
        assert "connected" in repr(link)
    assert "closed" in repr(link)
    assert (served.server, link.client) == (None, None)


@pytest.mark.parametrize("name", ["on_connect", "on_disconnect", "on_message", "on_error"])
def test_callbacks_can_be_called(ends, name):
    with pydoca.ProgressEngine() as pe, pytest.raises(TypeError, match=f"{name} must be callable"):
        ends.server(pe, **{name: 5})


@pytest.mark.parametrize("name", ["max_msg_size", "recv_queue_size", "num_send_tasks"])
def test_impossible_limits_are_named(ends, name):
    with pydoca.ProgressEngine() as pe, pytest.raises(pydoca.InvalidValueError, match=f"{name} must be .* not -1"):
        ends.client(pe, **{name: -1})


def test_the_longest_name_leaves_room_for_its_end(ends):
    limit = ends.host.info.capabilities.comch.max_name_len
    with pydoca.ProgressEngine() as pe:
        pydoca.comch.Client(pe, ends.host, "n" * (limit - 1))
        with pytest.raises(pydoca.InvalidValueError, match="max_name_len counts"):
            pydoca.comch.Client(pe, ends.host, "n" * limit)
