"""Callbacks in event loops, and the wake-ups of loops."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

import pytest

import pydoca

BIG = 1 << 20  # bytes: large enough for the device's own threads


@contextlib.asynccontextmanager
async def reported():
    """The contexts that the loop's exception handler receives during the block."""
    contexts: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: contexts.append(context))
    yield contexts
    loop.set_exception_handler(None)


async def until(condition: Callable[[], Any]) -> None:
    """Waits with a pause in each turn of the loop: a busy machine needs the pauses to run the other threads."""
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.001)


# ---- callbacks


def test_what_callbacks_raise_goes_to_the_loops_handler(run, make_rig):
    async def main():
        def on_completion(task, number, context_data):
            if number == 1:
                raise ValueError(number)

        rig = make_rig(on_completion=on_completion)
        async with reported() as contexts:
            tasks = [rig.copy(user_data=number) for number in range(3)]
            for task in tasks:
                await task
        assert [(context["exception"].args, context["task"]) for context in contexts] == [((1,), tasks[1])]

    run(main())


def test_callbacks_are_called_without_anybody_waiting(run, make_rig):
    async def main():
        calls = []
        rig = make_rig(on_completion=lambda *_: calls.append(1), size=BIG)
        async with rig.pe:
            rig.copy()
            await until(lambda: calls)

    run(main())


def test_an_interrupt_in_a_callback_stops_the_loop_after_the_batch(make_rig):
    def on_completion(task, number, context_data):
        if number == 0:
            raise SystemExit(3)

    rig = make_rig(on_completion=on_completion)
    tasks = [rig.copy(user_data=number) for number in range(3)]

    async def main():
        async with rig.pe:
            await asyncio.Event().wait()

    with pytest.raises(SystemExit):
        asyncio.run(main())
    assert all(task.done for task in tasks)


def test_a_blocking_wait_in_a_coroutine_does_not_lose_the_wake_up(run, make_rig):
    async def main():
        rig = make_rig(size=BIG)
        waiting = asyncio.ensure_future(rig.held())
        await asyncio.sleep(0.01)  # the handle is armed now
        with pytest.raises(pydoca.TimeOutError):
            rig.pe.wait(0.002)
        rig.release()
        async with asyncio.timeout(10):
            await waiting

    run(main())


def test_clearing_the_notification_by_hand_does_not_lose_the_wake_up(run, rig):
    async def main():
        waiting = asyncio.ensure_future(rig.held())
        await asyncio.sleep(0.01)
        rig.pe.clear_notification()
        rig.release()
        async with asyncio.timeout(10):
            await waiting

    run(main())


# ---- waking up


def test_nothing_needs_a_timer(make_rig, monkeypatch):
    async def main():
        loop = asyncio.get_running_loop()

        def refuse(*args, **options):
            pytest.fail("a timer was asked for")

        monkeypatch.setattr(loop, "call_later", refuse, raising=False)
        monkeypatch.setattr(loop, "call_at", refuse, raising=False)
        monkeypatch.setattr(loop, "call_soon_threadsafe", refuse, raising=False)
        rig = make_rig(size=BIG)
        async with rig.pe, rig.dma:
            for _ in range(50):
                await asyncio.gather(*(rig.copy() for _ in range(4)))
            held = asyncio.ensure_future(rig.held())
            await rig.turns(1000)  # the handle is armed now
            rig.release()
            await held

    loop = asyncio.SelectorEventLoop()
    try:
        loop.run_until_complete(asyncio.wait_for(main(), None))
    finally:
        loop.close()


def test_an_armed_engine_costs_nothing(run, rig):
    async def main():
        async with rig.pe:
            await rig.copy()
            waiting = asyncio.ensure_future(rig.held())
            await asyncio.sleep(0.05)
            begin = time.process_time()
            await asyncio.sleep(0.5)
            assert time.process_time() - begin < 0.05
            rig.release()
            await waiting

    run(main())


def test_a_completion_wakes_the_loop_once(rig, monkeypatch):
    wakes: list[int] = []
    add_reader = asyncio.SelectorEventLoop.add_reader

    def add_counting_reader(loop: Any, fd: int, ready: Any, *args: Any) -> None:
        add_reader(loop, fd, lambda: (wakes.append(1), ready(*args)))

    monkeypatch.setattr(asyncio.SelectorEventLoop, "add_reader", add_counting_reader)

    async def main():
        async with rig.pe:
            for _ in range(10):
                waiting = [asyncio.ensure_future(rig.held()) for _ in range(20)]
                await asyncio.sleep(0.01)
                rig.release()
                await asyncio.gather(*waiting)
            await asyncio.sleep(0.01)
            count = len(wakes)
            await asyncio.sleep(0.1)
            assert len(wakes) == count

    asyncio.run(main())
    assert 1 <= len(wakes) <= 20
