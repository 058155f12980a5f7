"""Awaits whose task is done while a turn of the event loop is due: they suspend once, and have their result then."""

import asyncio
import gc
import time
import weakref

import pytest

import pydoca


def suspended(rig, make):
    """A task that is done, and the await of it that lets the loop's turn come first."""
    asyncio.get_running_loop().call_soon(list)  # a loop without work would skip the turn
    time.sleep(0.001)  # longer than awaits may take in one turn
    for _ in range(100):  # awaits read the clock only now and then
        task = make()
        steps = task.__await__()
        try:
            assert steps.send(None) is None
        except StopIteration:
            continue
        return [task, steps]
    pytest.fail("none of the awaits let the loop's turn come first")


@pytest.fixture
def in_turn(run, rig):
    """Runs check() in a loop, with the task and its await, which is suspended, in a list."""

    def in_turn(check, make=rig.copy):
        async def main():
            async with rig.pe:
                await rig.copy()
                check(suspended(rig, make))
                await rig.copy()
                assert rig.pe.num_inflight_tasks == 0

        run(main())

    return in_turn


def test_the_result_comes_after_the_turn(in_turn):
    def check(pair):
        task, steps = pair
        assert task.done
        with pytest.raises(StopIteration) as ended:
            steps.send(None)
        assert ended.value.value is None
        with pytest.raises(RuntimeError):
            steps.send(None)

    in_turn(check)


def test_a_value_comes_after_the_turn(run, rig):
    async def main():
        event = pydoca.SyncEvent(rig.device)
        async with rig.pe, event.as_context(rig.pe) as context:
            await context.notify_set(3)
            _, steps = suspended(rig, context.get)
            with pytest.raises(StopIteration) as ended:
                steps.send(None)
            assert ended.value.value == 3

    run(main())


def test_a_cancellation_in_the_turn_leaves_the_outcome_in_the_task(in_turn):
    def check(pair):
        task, steps = pair
        with pytest.raises(asyncio.CancelledError, match="not wanted"):
            steps.throw(asyncio.CancelledError("not wanted"))
        with pytest.raises(RuntimeError):
            steps.send(None)
        assert task.result() is None

    in_turn(check)


@pytest.mark.parametrize("end", [lambda steps: steps.close(), lambda steps: None], ids=["closed", "dropped"])
def test_an_await_that_ends_in_the_turn_frees_its_task(in_turn, end):
    def check(pair):
        end(pair[1])
        gone = weakref.ref(pair[0])
        pair.clear()
        gc.collect()
        assert gone() is None

    in_turn(check)


def test_many_awaits_let_other_coroutines_run(run, rig):
    """The loop's own turns come in between, and every await has its own result."""

    async def main():
        async with rig.pe:
            other, turns = asyncio.create_task(count()), []
            while len(turns) < 3:
                assert await rig.copy() is None
                if seen[0] != (turns[-1] if turns else 0):
                    turns.append(seen[0])
            other.cancel()

    async def count():
        while True:
            seen[0] += 1
            await asyncio.sleep(0)

    seen = [0]
    run(main())
