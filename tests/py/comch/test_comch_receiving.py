"""The receiver of each message, and receivers that wait."""

import asyncio
import signal
import weakref

import pytest

import pydoca


async def send_all(link, what):
    for message in what:
        await link.send(message)


async def receive(link, count):
    return [await link.recv() for _ in range(count)]


async def receive_one(link):
    return await link.recv()


async def turns(count=20):
    for _ in range(count):
        await asyncio.sleep(0)


def test_waiters_are_served_in_order(run, ends):
    async def main():
        async with ends.linked() as (_, served, link):
            waiting = [asyncio.create_task(receive_one(served)) for _ in range(10)]
            await turns()
            await send_all(link, [str(number).encode() for number in range(10)])
            assert await asyncio.gather(*waiting) == [str(number).encode() for number in range(10)]

    run(main())


def test_a_newcomer_does_not_overtake(run, ends):
    async def main():
        async with ends.linked() as (_, served, link):
            first = asyncio.create_task(receive_one(served))
            await turns()
            link.send(b"1")
            link.send(b"2")
            # Delivers here. This wakes the waiting receiver, but the new one looks for messages before it runs.
            while served.recv_messages < 2:
                served_engine(served).progress()
            second = await served.recv()
            assert (await first, second) == (b"1", b"2")

    run(main())


def served_engine(link):
    assert link.server is not None
    return link.server.progress_engine


def test_cancelling_recv_loses_nothing(run, ends):
    async def main():
        async with ends.linked() as (_, served, link):
            for number in range(50):
                waiting = asyncio.create_task(receive_one(served))
                await turns(number % 5)
                link.send(str(number).encode())
                await turns(number % 7)
                waiting.cancel()
                try:
                    got = await waiting
                except asyncio.CancelledError:
                    got = await served.recv()
                assert got == str(number).encode()

    run(main())


def test_a_message_that_raced_in_goes_to_the_next_who_waits(run, ends):
    async def main():
        async with ends.linked() as (_, served, link):
            first, second = (asyncio.create_task(receive_one(served)) for _ in range(2))
            await turns()
            link.send(b"x")
            while served.recv_messages == 0:
                served_engine(served).progress()
            first.cancel()  # this receiver is woken already, and has not run yet
            assert await second == b"x"
            with pytest.raises(asyncio.CancelledError):
                await first

    run(main())


def test_a_recv_that_timed_out_is_out_of_the_line(ends):
    with ends.linked_without_loop() as (_, served, link):
        waiting = served.recv()
        with pytest.raises(TimeoutError):
            waiting.wait(timeout=0.01)
        link.send(b"x")
        assert served.recv().wait(timeout=10) == b"x"
        link.send(b"y")
        assert waiting.wait(timeout=10) == b"y"


def test_a_wait_without_time_takes_what_is_there(ends):
    with ends.linked_without_loop() as (_, served, link):
        with pytest.raises(pydoca.TimeOutError):
            served.recv().wait(timeout=0)
        link.send(b"x").wait(timeout=10)
        assert served.recv().wait(timeout=0) == b"x"


def test_a_recv_that_is_kept_is_not_the_next_one(ends):
    """Those without references serve the next calls, of any connection; a weak reference does not lead to them."""
    with ends.linked_without_loop() as (_, served, link):
        first = served.recv()
        link.send(b"1")
        assert first.wait(timeout=10) == b"1"
        second = served.recv()
        assert second is not first
        gone = weakref.ref(first)
        del first
        link.send(b"2")
        assert second.wait(timeout=10) == b"2"
        assert gone() is None
        del second
        for number in range(40):
            waiting = [served.recv(), link.recv()]
            link.send(str(number).encode())
            served.send(str(-number).encode())
            assert [int(each.wait(timeout=10)) for each in waiting] == [number, -number]


def test_an_exception_of_a_signal_handler_takes_no_message(ends):
    """It comes while the await sleeps in its loop's place, which it does for 10 ms."""

    def interrupt(_number, _frame):
        raise InterruptedError("by a handler")

    async def main():
        async with ends.linked() as (_, served, link):
            signal.setitimer(signal.ITIMER_REAL, 0.002)
            with pytest.raises(InterruptedError):
                await served.recv()
            await link.send(b"x")
            assert await served.recv() == b"x"

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        asyncio.run(main())
    finally:
        signal.signal(signal.SIGALRM, previous)


def test_what_arrived_is_received_before_the_end(run, ends):
    async def main():
        async with ends.linked() as (_, served, link):
            await send_all(link, [b"1", b"2", b"3"])
            link.close()
            assert await receive(served, 3) == [b"1", b"2", b"3"]
            for _ in range(2):
                with pytest.raises(pydoca.ConnectionResetError, match="the other side has closed"):
                    await served.recv()
            assert not served.is_connected

    run(main())


def test_the_end_of_the_link_ends_an_iteration(run, ends):
    async def main():
        async with ends.linked() as (_, served, link):
            await send_all(link, [b"1", b"2"])
            link.close()
            assert [message async for message in served] == [b"1", b"2"]

    run(main())


def test_every_waiting_receiver_learns_of_the_end(run, ends):
    async def main():
        async with ends.linked() as (_, served, link):
            waiting = [asyncio.ensure_future(link.recv()) for _ in range(5)]
            await turns()
            served.close()
            results = await asyncio.gather(*waiting, return_exceptions=True)
            assert [type(result) for result in results] == [pydoca.ConnectionResetError] * 5

    run(main())


def test_closing_here_ends_a_recv_here(run, ends):
    async def main():
        async with ends.linked() as (_, served, _):
            waiting = asyncio.ensure_future(served.recv())
            await turns()
            served.close()
            with pytest.raises(pydoca.ConnectionResetError, match="this side"):
                await waiting
            with pytest.raises(pydoca.NotConnectedError, match="this side"):
                served.send(b"x")

    run(main())


def test_a_sender_after_the_end_is_told(ends):
    with ends.linked_without_loop() as (server, served, link):
        served.close()
        served.close()
        with pytest.raises(ConnectionResetError):
            link.recv().wait(timeout=10)
        with pytest.raises(pydoca.ConnectionResetError, match="the other side"):
            link.send(b"x")
        server.progress_engine.run_until(lambda: served.server is None, timeout=10)
        assert (link.is_connected, served.is_connected, server.connections) == (False, False, [])
