"""Task.as_future(): asyncio takes it as it takes its own futures, and a cancellation waits for the device."""

import asyncio
import contextvars
import gc
import logging
import threading
import warnings
import weakref

import pytest

import pydoca
from pydoca.faults import FaultRule, inject

BIG = 1 << 20  # bytes: large enough for the device's own threads


async def first_of(futures):
    return [await each for each in asyncio.as_completed(futures)]


async def in_a_group(future):
    async def wait():
        return await future

    async with asyncio.TaskGroup() as group:
        made = group.create_task(wait())
    return made.result()


async def in_time(future):
    async with asyncio.timeout(50):
        return await future


async def waited(future):
    done, pending = await asyncio.wait([future], timeout=50)
    assert done == {future}
    assert not pending
    return future.result()


WAYS = {
    "await": lambda future: future,
    "ensure_future": asyncio.ensure_future,
    "gather": asyncio.gather,
    "wait": waited,
    "wait_for": lambda future: asyncio.wait_for(future, 50),
    "timeout": in_time,
    "TaskGroup": in_a_group,
    "shield": asyncio.shield,
    "as_completed": lambda future: first_of([future]),
}


@pytest.mark.parametrize("size", [64, BIG])
@pytest.mark.parametrize("way", WAYS)
def test_asyncio_takes_the_future(run, make_rig, way, size):
    async def main():
        rig = make_rig(size=size)
        src, dst, target = rig.bufs()
        assert await WAYS[way](rig.dma.memcpy(src, dst).as_future()) in (None, [None])
        assert bytes(target) == bytes(rig.data)

    run(main())


@pytest.mark.parametrize("way", [way for way in WAYS if way != "TaskGroup"])  # which raises a group
def test_the_error_of_a_task_comes_out(run, make_rig, way):
    async def main():
        with inject(FaultRule("fail", "dma.memcpy", nth=1)):
            task = make_rig().copy()
            with pytest.raises(pydoca.DocaError, match="dma memcpy") as raised:
                await WAYS[way](task.as_future())
        assert raised.value.task is task

    run(main())


def test_it_is_a_future_and_no_coroutine(run, rig):
    async def main():
        future = rig.copy().as_future()
        assert asyncio.isfuture(future)
        assert not asyncio.iscoroutine(future)
        assert asyncio.ensure_future(future) is future
        assert future.get_loop() is asyncio.get_running_loop()
        assert await future is None
        assert future.done()
        assert not future.cancelled()
        assert future.exception() is None

    run(main())


def test_before_its_end_it_has_no_result(run, rig):
    async def main():
        future = rig.held().as_future()
        assert not future.done()
        assert "pending: dma memcpy" in repr(future)
        for call in (future.result, future.exception):
            with pytest.raises(asyncio.InvalidStateError, match="not done; await it"):
                call()
        rig.release()
        await future
        assert repr(future) == "<pydoca future, done>"

    run(main())


def test_the_outcome_is_that_of_its_submission(run, rig):
    async def main():
        src, dst, _ = rig.bufs()
        task = rig.dma.memcpy(src, dst)
        first = task.as_future()
        await first
        dst.reset_data_len()
        task.submit(pydoca.SubmitFlags.NONE)
        second = task.as_future()
        assert first.done()
        assert not second.done()
        rig.release()
        await second
        assert task.as_future().done()

    run(main())


def test_wait_returns_at_the_first_one(run, rig):
    async def main():
        held, other = rig.held(), rig.device
        with pydoca.Dma(rig.pe, other) as dma:
            src, dst, _ = rig.bufs()
            quick, slow = dma.memcpy(src, dst).as_future(), held.as_future()
            done, pending = await asyncio.wait([quick, slow], return_when=asyncio.FIRST_COMPLETED)
            assert (done, pending) == ({quick}, {slow})
            done, pending = await asyncio.wait([slow], timeout=0)
            assert pending == {slow}
            rig.release()
            await slow

    run(main())


def test_callbacks_run_in_their_order_and_contexts(run, rig):
    name = contextvars.ContextVar("name", default="none")
    seen = []

    async def main():
        futures = [rig.held().as_future() for _ in range(3)]
        context = contextvars.copy_context()
        context.run(name.set, "given")
        for place, future in enumerate(futures):
            future.add_done_callback(lambda done, place=place: seen.append((place, name.get(), done)))
            future.add_done_callback(lambda done, place=place: seen.append((place, name.get(), done)), context=context)
        removed = seen.append
        futures[0].add_done_callback(removed)
        assert futures[0].remove_done_callback(removed) == 1
        name.set("later")
        rig.release()
        assert not seen
        await asyncio.gather(*futures)
        assert seen == [(place, word, futures[place]) for place in range(3) for word in ("none", "given")]
        seen.clear()
        futures[0].add_done_callback(seen.append)
        assert not seen  # never at once
        await rig.turns()
        assert seen == [futures[0]]

    run(main())


def test_a_callback_that_raises_is_the_loops_to_report(run, rig):
    async def main():
        told = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context))
        futures = [rig.held().as_future() for _ in range(2)]
        for future in futures:
            future.add_done_callback(lambda _: 1 / 0)
        rig.release()
        await asyncio.gather(*futures)
        assert [context["future"] for context in told] == futures
        assert all(isinstance(context["exception"], ZeroDivisionError) for context in told)

    run(main())


def test_an_interrupt_in_a_callback_leaves_the_loop_and_loses_no_other_callback(rig):
    seen = []

    def interrupt(_):
        raise KeyboardInterrupt

    async def main(futures):
        for _ in range(2):
            futures.append(rig.held().as_future())
        futures[0].add_done_callback(interrupt)
        futures[0].add_done_callback(seen.append)
        futures[1].add_done_callback(seen.append)
        rig.release()
        await asyncio.sleep(10)

    futures = []
    loop = asyncio.new_event_loop()
    try:
        waiting = loop.create_task(main(futures))
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(waiting)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            loop.run_until_complete(waiting)
        assert seen == futures
    finally:
        loop.close()


# ---- cancelled


def test_a_cancelled_future_ends_when_the_device_has_let_go(run, rig):
    async def main():
        src, dst, target = rig.bufs()
        task = rig.dma.memcpy(src, dst, submit=False)
        task.submit(pydoca.SubmitFlags.NONE)
        future = task.as_future()
        assert future.cancel("enough")
        await rig.turns()
        assert not future.done()
        assert "cancelling" in repr(future)
        rig.release()
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await future
        assert future.cancelled()
        assert not future.cancel()
        assert bytes(target) == bytes(rig.data)
        assert not rig.dma.faulted

    run(main())


@pytest.mark.parametrize("in_gather", [False, True])
def test_a_second_cancellation_gives_up_and_leaves_the_memory_to_the_device(run, rig, in_gather):
    async def main():
        src, dst, target = rig.bufs()
        task = rig.dma.memcpy(src, dst, submit=False)
        task.submit(pydoca.SubmitFlags.NONE)
        waiting = asyncio.gather(task.as_future()) if in_gather else task.as_future()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            for _ in range(2):
                waiting.cancel()
                await rig.turns()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        assert [warning.category for warning in warned] == [ResourceWarning]
        assert rig.pe.num_quarantined_tasks == 1
        assert rig.dma.faulted
        with pytest.raises(pydoca.InUseError):
            src.set_data(src.head, 1)
        rig.release()
        await task
        assert bytes(target) == bytes(rig.data)
        assert rig.pe.num_quarantined_tasks == 0

    run(main())


def test_a_repeated_message_is_no_second_cancellation(run, rig):
    """anyio's scopes cancel in every turn of the loop, always with one message."""

    async def main():
        future = rig.held().as_future()
        for _ in range(3):
            assert future.cancel("Cancelled by cancel scope 1")
            await rig.turns()
        assert not future.done()
        assert rig.pe.num_quarantined_tasks == 0
        rig.release()
        with pytest.raises(asyncio.CancelledError, match="scope 1"):
            await future

    run(main())


def test_a_device_that_does_not_let_go_is_given_up_after_a_time(run, rig):
    async def main():
        rig.pe.drain_timeout = 0.01
        task = rig.held()
        future = task.as_future()
        future.cancel()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with pytest.raises(asyncio.CancelledError) as raised:
                await future
            await rig.turns()
        assert ["which it keeps until" in str(warning.message) for warning in warned] == [True]
        assert "its context is faulted" in raised.value.__notes__[0]
        assert rig.pe.num_quarantined_tasks == 1
        rig.release()
        await task

    run(main())


def test_cancelling_one_future_of_a_task_leaves_the_others(run, rig):
    async def main():
        task = rig.held()
        one, other = task.as_future(), task.as_future()
        one.cancel()
        rig.release()
        assert await asyncio.gather(one, other, return_exceptions=True) != [None, None]
        assert one.cancelled()
        assert other.result() is None

    run(main())


def test_a_timeout_waits_for_the_device(run, rig):
    async def main():
        task = rig.held()
        future = task.as_future()

        async def release_the_cancelled():
            while "cancelling" not in repr(future):
                await asyncio.sleep(0)
            assert not task.done
            rig.release()

        releasing = asyncio.create_task(release_the_cancelled())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(future, 0.001)
        assert task.done
        await releasing

    run(main())


def test_a_wait_that_lends_no_memory_ends_with_its_last_future(run):
    async def main():
        with pydoca.open_device("03:00.0", side="dpu") as device:
            event = pydoca.SyncEvent(device)
            async with pydoca.ProgressEngine() as pe, event.as_context(pe) as context:
                task = context.wait_eq(7)
                one, other = task.as_future(), task.as_future()
                assert one.cancel()
                assert one.cancelled()
                await asyncio.sleep(0)
                assert not task.done
                await context.notify_set(7)
                assert await asyncio.wait_for(other, 20) == 7
                last = context.wait_eq(8).as_future()
                last.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await last
                assert pe.num_inflight_tasks == 0
            event.close()

    run(main())


# ---- failures are reported once


@pytest.mark.parametrize("asked", [False, True])
def test_a_failure_is_reported_when_no_code_asks(run, make_rig, caplog, asked):
    async def main():
        told = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context))
        with inject(FaultRule("fail", "dma.memcpy", nth=1)):
            future = make_rig().copy().as_future()
            await asyncio.wait([future])
        if asked:
            assert isinstance(future.exception(), pydoca.DocaError)
        del future
        gc.collect()
        assert not told

    with caplog.at_level(logging.ERROR):
        run(main())
    reports = [record for record in caplog.records if "no code asked for its outcome" in record.getMessage()]
    assert len(reports) == (0 if asked else 1)


# ---- what it refuses


def test_it_needs_a_submitted_task_and_the_engines_loop(rig, new_loop):
    async def future_of(task):
        return task.as_future()

    src, dst, _ = rig.bufs()
    fresh, held = rig.dma.memcpy(src, dst, submit=False), rig.held()
    with pytest.raises(pydoca.NotSupportedError, match="no asyncio event loop runs"):
        held.as_future()
    loop, other = new_loop(), new_loop()
    try:
        with pytest.raises(pydoca.BadStateError, match=r"as_future of dma memcpy.*never submitted"):
            loop.run_until_complete(future_of(fresh))
        future = loop.run_until_complete(future_of(held))
        with pytest.raises(pydoca.BadStateError, match="belongs to another event loop"):
            other.run_until_complete(future_of(held))
        rig.release()
        loop.run_until_complete(asyncio.wait_for(future, 20))
    finally:
        loop.close()
        other.close()


def test_another_thread_is_refused(run, rig):
    async def main():
        task = rig.held()
        future = task.as_future()
        errors = []

        def use():
            for call in (task.as_future, future.cancel, lambda: future.add_done_callback(print)):
                try:
                    call()
                except pydoca.WrongThreadError as error:
                    errors.append(error)

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        assert len(errors) == 3
        rig.release()
        await future

    run(main())


# ---- what it keeps


def test_a_future_goes_on_that_only_the_task_has(run, rig):
    async def main():
        seen = []
        rig.held().as_future().add_done_callback(seen.append)
        gc.collect()
        rig.release()
        while not seen:
            await asyncio.sleep(0)
        assert seen[0].result() is None

    run(main())


def test_a_done_future_keeps_no_slot(run, make_rig):
    async def main():
        rig = make_rig(num_tasks=2)
        kept = []
        for _ in range(3):
            futures = [rig.copy().as_future() for _ in range(2)]
            await asyncio.gather(*futures)
            kept += futures
        assert all(future.result() is None for future in kept)

    run(main())


def test_nothing_is_left_for_the_collector(run, rig):
    async def main():
        gc.collect()
        gc.disable()
        try:
            references = []
            for cancelled in (False, True):
                futures = [rig.held().as_future() for _ in range(4)]
                references += [weakref.ref(future) for future in futures]
                for future in futures[:2]:
                    future.add_done_callback(lambda _: None)
                    if cancelled:
                        future.cancel()
                rig.release()
                await asyncio.wait(futures)
                await rig.turns()
                del future, futures
                assert [reference() for reference in references] == [None] * len(references)
        finally:
            gc.enable()

    run(main())


def test_a_dropped_engine_with_a_future_can_be_collected(run, make_rig):
    async def main():
        rig = make_rig(kept=False)
        future = rig.held().as_future()
        future.add_done_callback(lambda _: None)
        reference = weakref.ref(future)
        rig.pe._bridge.unbind()
        rig.__dict__.clear()
        del future
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
            gc.collect()
        assert reference() is None

    run(main())


class EqualToNothing:
    """A callback whose comparison does something else first."""

    def __init__(self, first):
        self.first = first

    def __eq__(self, other):
        self.first()
        return False

    __hash__ = None

    def __call__(self, future):
        pass


@pytest.mark.parametrize("of", ["task", "future"])
@pytest.mark.parametrize("action", ["add", "remove"])
def test_a_comparison_may_change_the_callbacks(run, rig, of, action):
    async def main():
        task = rig.held()
        watched = task if of == "task" else task.as_future()
        calls = []
        wanted = calls.append

        def once(made=[]):  # noqa: B006
            if made:
                return
            made.append(1)
            for _ in range(100):
                watched.add_done_callback(wanted)
            if action == "remove":
                assert watched.remove_done_callback(wanted) == 101

        watched.add_done_callback(wanted)
        for _ in range(5):
            watched.add_done_callback(EqualToNothing(once))
        assert watched.remove_done_callback(len) == 0
        rig.release()
        await task
        await rig.turns()
        assert len(calls) == (101 if action == "add" else 0)

    run(main())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fn": None}, "fn must be callable, and NoneType is not"),
        ({"fn": print, "context": 5}, r"context must be a contextvars\.Context, not int"),
    ],
)
def test_a_callback_that_cannot_be_called_is_refused(run, rig, arguments, message):
    async def main():
        future = rig.copy().as_future()
        with pytest.raises(TypeError, match=message):
            future.add_done_callback(**arguments)
        await future

    run(main())
