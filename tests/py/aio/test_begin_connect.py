"""Connections by details that an engine progresses: the event loop goes on while the peer is slow, stopped or gone."""

import asyncio

import pytest

import pydoca
from export_owner import owner_in_own_fabric


@pytest.fixture
def peer():
    with owner_in_own_fabric() as peer:
        yield peer


@pytest.fixture
def rdma(peer):
    with (
        pydoca.open_device("03:00.1", side="dpu") as card,
        pydoca.ProgressEngine() as pe,
        pydoca.Rdma(pe, card, max_num_connections=16) as rdma,
    ):
        yield rdma


def test_it_connects_as_the_call_that_waits_does(run, rdma, peer):
    async def main():
        connection, other = rdma.export(), rdma.export()
        assert await connection.begin_connect(peer.details[0]) is connection
        other.connect(peer.details[1])
        assert connection.state == other.state == pydoca.RdmaConnectionState.ESTABLISHED
        await connection.established()

    run(main())


def test_it_is_waited_for_without_a_loop(rdma, peer):
    assert rdma.export().begin_connect(peer.details[0]).wait(10).is_connected


def test_the_loop_goes_on_while_the_peer_is_stopped(run, rdma, peer):
    async def main():
        peer.freeze()
        connection = rdma.export()
        pending = asyncio.ensure_future(connection.begin_connect(peer.details[0]))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not pending.done()
        assert connection.state == pydoca.RdmaConnectionState.EXPORTED
        peer.go_on()
        assert await pending is connection

    run(main())


def test_a_peer_that_does_not_answer_is_named_in_time(run, rdma, peer):
    async def main():
        peer.freeze()
        connection = rdma.export()
        with pytest.raises(pydoca.ConnectionAbortedError, match=rf"process {peer.process.pid}, does not answer"):
            await connection.begin_connect(peer.details[0])
        peer.go_on()
        await connection.begin_connect(peer.details[0])  # another attempt may succeed

    run(main())


def test_a_peer_that_is_gone_is_named(run, rdma, peer):
    async def main():
        peer.end()
        with pytest.raises(pydoca.ConnectionAbortedError, match="is gone"):
            await rdma.export().begin_connect(peer.details[0])

    run(main())


def test_what_are_not_details_is_refused_at_once(rdma, peer):
    connection = rdma.export()
    for wrong in (b"", b"nonsense", peer.blobs["own"]):
        with pytest.raises(pydoca.InvalidValueError) as at_once:
            connection.begin_connect(wrong)
        with pytest.raises(pydoca.InvalidValueError) as waited:
            connection.connect(wrong)
        assert str(at_once.value) == str(waited.value)
    with pytest.raises(TypeError, match="details must be bytes"):
        connection.begin_connect("text")


def test_of_two_attempts_the_second_is_refused(rdma, peer):
    connection = rdma.export()
    peer.freeze()
    first = connection.begin_connect(peer.details[0])
    second = connection.begin_connect(peer.details[1])
    peer.go_on()
    assert first.wait(10) is connection
    with pytest.raises(pydoca.BadStateError, match="established"):
        second.wait(10)
    with pytest.raises(pydoca.BadStateError, match="established"):
        connection.begin_connect(peer.details[1])


def test_a_context_that_stops_meanwhile(rdma, peer):
    connection = rdma.export()
    peer.freeze()
    pending = connection.begin_connect(peer.details[0])
    rdma.stop()
    while rdma.state != pydoca.ContextState.IDLE:
        rdma.progress_engine.progress()
    peer.go_on()
    with pytest.raises(pydoca.NotConnectedError, match="has ended"):
        pending.wait(10)
    with pytest.raises(pydoca.NotConnectedError, match="has ended"):
        connection.begin_connect(peer.details[0])


def test_an_engine_that_is_closed_ends_the_await(run, peer):
    async def main():
        peer.freeze()
        with pydoca.open_device("03:00.1", side="dpu") as card:
            async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, card) as rdma:
                pending = asyncio.ensure_future(rdma.export().begin_connect(peer.details[0]))
                await asyncio.sleep(0)
            with pytest.raises(pydoca.NotConnectedError, match="has ended"):
                await asyncio.wait_for(pending, 20)

    run(main())
