"""Tasks whose awaits are cancelled."""

import asyncio
import warnings
from collections.abc import Coroutine
from typing import Any

import pytest

import pydoca

BIG = 1 << 20  # bytes: large enough for the device's own threads


def test_a_cancelled_await_ends_when_the_device_has_let_go(run, rig):
    async def main():
        task = rig.held()
        waiting = asyncio.ensure_future(task)
        await rig.turns()
        waiting.cancel("enough")
        await rig.turns(20)
        assert not waiting.done()
        rig.release()
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await waiting
        assert task.done
        assert task.result() is None

    run(main())


def test_a_completion_wins_over_a_cancel(run, rig):
    async def main():
        task = rig.held()
        waiting = asyncio.ensure_future(task)
        await rig.turns()
        rig.release()
        rig.pe.drain()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert task.result() is None

    run(main())


async def cancel_as_it_completes(rig, task):
    """Awaits a held task. Its completion comes between the request to cancel the await and the CancelledError."""
    waiting = asyncio.ensure_future(task)
    await rig.turns()
    waiting.cancel()
    rig.release()
    rig.pe.drain()
    with pytest.raises(asyncio.CancelledError):
        await waiting


def test_a_completion_between_the_request_and_its_delivery(run, rig):
    async def main():
        task = rig.held()
        await cancel_as_it_completes(rig, task)
        assert task.result() is None

    run(main())


def test_a_cancelled_await_does_not_cancel_others(run, rig):
    async def main():
        task = rig.held()
        one, other = asyncio.ensure_future(task), asyncio.ensure_future(task)
        await rig.turns()
        one.cancel()
        await rig.turns()
        rig.release()
        assert await other is None
        with pytest.raises(asyncio.CancelledError):
            await one

    run(main())


def test_a_second_cancel_gives_up_and_leaves_the_memory_to_the_device(run, rig):
    async def main():
        src, dst, target = rig.bufs()
        task = rig.dma.memcpy(src, dst, submit=False)
        task.submit(pydoca.SubmitFlags.NONE)
        waiting = asyncio.ensure_future(task)
        await rig.turns()
        waiting.cancel()
        await rig.turns()
        waiting.cancel()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with pytest.raises(asyncio.CancelledError) as raised:
                await waiting
            await rig.turns()
        assert "which it keeps until" in raised.value.__notes__[0]
        assert [warning.category for warning in warned] == [ResourceWarning]
        assert not task.done
        with pytest.raises(pydoca.InUseError):
            src.set_data(src.head, 1)
        rig.release()
        await task
        assert bytes(target) == bytes(rig.data)

    run(main())


async def turns():
    for _ in range(3):
        await asyncio.sleep(0)


async def give_up(task):
    """Cancels an await twice."""
    waiting = asyncio.ensure_future(task)
    for _ in range(2):
        await turns()
        waiting.cancel()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        with pytest.raises(asyncio.CancelledError) as raised:
            await waiting
        await turns()
    return raised.value


def test_a_context_whose_task_was_given_up_is_faulted_until_it_was_idle(run, rig):
    async def main():
        assert not rig.dma.faulted
        error = await give_up(rig.held())
        assert "faulted: stop it" in error.__notes__[0]
        assert rig.dma.faulted
        assert "RUNNING, faulted>" in repr(rig.dma)
        with pytest.raises(pydoca.BadStateError, match=r"faulted.*stop the context.*start it again"):
            rig.copy()
        other = rig.copy(submit=False)
        for submit in (other.submit, other.try_submit):
            with pytest.raises(pydoca.BadStateError, match="faulted"):
                submit()
        rig.release()
        other.free()
        rig.dma.stop()
        while rig.dma.state is not pydoca.ContextState.IDLE:
            await asyncio.sleep(0)
        assert not rig.dma.faulted
        assert "faulted" not in repr(rig.dma)
        rig.dma.start()
        await rig.copy()

    run(main())


def test_a_fault_outlives_the_completion_of_its_task(run, rig):
    async def main():
        task = rig.held()
        await give_up(task)
        rig.release()
        await task
        assert rig.dma.faulted
        assert rig.pe.num_quarantined_tasks == 0
        with pytest.raises(pydoca.BadStateError, match="faulted"):
            task.submit()

    run(main())


def test_quarantined_memory_is_refused_to_every_context(run, rig):
    async def main():
        src, dst, target = rig.bufs()
        task = rig.dma.memcpy(src, dst, submit=False)
        task.submit(pydoca.SubmitFlags.NONE)
        await give_up(task)
        assert rig.pe.num_quarantined_tasks == 1
        async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, rig.device) as other:
            assert pe.num_quarantined_tasks == 0
            free = rig.device.mmap(pydoca.alloc(64))
            again = rig.device.mmap(target)  # another map of the same memory
            refused = [
                (rig.inventory.get_by_data(free), rig.inventory.get_by_addr(again)),
                (rig.inventory.get_by_data(again), rig.inventory.get_by_addr(free)),
                (rig.inventory.get_by_data(rig.source), rig.inventory.get_by_addr(free)),
                (rig.inventory.get_by_data(free), rig.inventory.get_by_addr(again, again.addr + 63, 1)),
            ]
            for one, two in refused:
                with pytest.raises(pydoca.BufferInUseError, match=r"buf of .* at 0x.*wait for that task, or stop"):
                    other.memcpy(one, two)
            for one, two in ((free, again), (again, free), (rig.source, free), (free, memoryview(again)[63:])):
                with pytest.raises(pydoca.BufferInUseError, match=r"buf of .* at 0x.*wait for that task, or stop"):
                    other.memcpy(one, two)
            room = rig.device.mmap(pydoca.alloc(64))
            await other.memcpy(rig.inventory.get_by_data(free), rig.inventory.get_by_addr(room))
            rig.release()
            await task
            assert rig.pe.num_quarantined_tasks == 0
            await other.memcpy(*refused[1])

    run(main())
    assert issubclass(pydoca.BufferInUseError, pydoca.InUseError)


def test_cancelling_a_gather_for_good_gives_up_what_is_in_flight(run, rig):
    async def main():
        tasks = [rig.held() for _ in range(3)]
        error = await give_up(rig.pe.gather(tasks))
        assert "faulted" in error.__notes__[0]
        assert rig.pe.num_quarantined_tasks == 3
        rig.release()
        await rig.pe.gather(tasks)
        assert rig.pe.num_quarantined_tasks == 0

    run(main())


def test_a_task_that_is_done_is_not_given_up(run, rig):
    async def main():
        task = rig.copy()
        await task
        assert not task._quarantine()
        assert not rig.dma.faulted

    run(main())


def test_the_time_to_drain_is_the_engines():
    assert pydoca.ProgressEngine().drain_timeout == 1.0
    pe = pydoca.ProgressEngine(drain_timeout=0.25)
    assert pe.drain_timeout == 0.25
    pe.drain_timeout = 0
    assert pe.drain_timeout == 0
    for wrong in (-1, float("nan")):
        with pytest.raises(pydoca.InvalidValueError, match="drain_timeout"):
            pydoca.ProgressEngine(drain_timeout=wrong)
        with pytest.raises(pydoca.InvalidValueError, match="drain_timeout"):
            pe.drain_timeout = wrong


def test_a_device_that_does_not_let_go_is_given_up_after_a_time(run, rig):
    async def main():
        rig.pe.drain_timeout = 0.02
        task = rig.held()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await task
            await rig.turns()
        assert [warning.category for warning in warned] == [ResourceWarning]
        assert rig.dma.faulted
        rig.release()
        await task

    run(main())


def test_the_slot_of_a_cancelled_await_is_there_for_another_task(run, make_rig):
    rig = make_rig(num_tasks=1)

    async def main():
        task = rig.held()
        for _ in range(3):
            asyncio.get_running_loop().call_later(0.4, rig.release)  # long after the cancellation
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(task, 0.01)
            task.dst.reset_data_len()
            task.submit(pydoca.SubmitFlags.NONE)  # no other task has needed its slot
        rig.release()
        await task
        with pytest.raises(pydoca.NoMemoryError):  # this one was not given up
            rig.copy()
        task.dst.reset_data_len()
        task.submit(pydoca.SubmitFlags.NONE)
        asyncio.get_running_loop().call_later(0.4, rig.release)  # long after the cancellation
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(task, 0.01)
        await rig.copy()
        assert task.result() is None
        with pytest.raises(pydoca.BadStateError, match="for another task once its await was cancelled"):
            task.submit()

    run(main())


def test_a_cancelled_await_gives_its_slot_back_also_when_the_completion_came_first(run, make_rig):
    rig = make_rig(num_tasks=1)

    async def main():
        task = rig.held()
        await cancel_as_it_completes(rig, task)
        await rig.copy()
        assert task.result() is None

    run(main())


def test_a_shielded_wait_times_out_and_the_task_goes_on(run, rig):
    async def main():
        task = rig.held()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(task), 0.01)
        assert not task.done
        rig.release()
        await task

    run(main())


class Suspensions:
    """Drives a coroutine, counts its suspensions, and cancels its task at one of them."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], cancel_at: int | None) -> None:
        self.coroutine = coroutine
        self.cancel_at = cancel_at
        self.count = 0

    def __await__(self):
        value, error = None, None
        while True:
            try:
                future = self.coroutine.send(value) if error is None else self.coroutine.throw(error)
            except StopIteration as stop:
                return stop.value
            if self.count == self.cancel_at:
                asyncio.get_running_loop().call_soon(asyncio.current_task().cancel)
            self.count += 1
            value, error = None, None
            try:
                # A future that was marked as awaited must be passed on with its mark, as Task expects.
                value = yield future
            except BaseException as thrown:
                error = thrown


def test_cancelling_at_every_suspension_of_a_scenario(run, make_rig):
    async def scenario(rig, targets):
        async with pydoca.Dma(rig.pe, rig.device) as dma:
            for _ in range(2):
                src, dst, target = rig.bufs()
                targets.append(target)
                await dma.memcpy(src, dst)
                await asyncio.sleep(0)
            src, dst, target = rig.bufs()
            targets.append(target)
            task = dma.memcpy(src, dst)
            await asyncio.sleep(0)
            await rig.pe.gather([task, rig.copy()])
            async for done in rig.pe.as_completed([rig.copy() for _ in range(3)]):
                done.result()

    async def once(cancel_at):
        rig = make_rig(size=BIG, num_tasks=16)
        targets = []
        driven = Suspensions(scenario(rig, targets), cancel_at)

        async def drive():
            await driven

        outcome = await asyncio.gather(asyncio.create_task(drive()), return_exceptions=True)
        # The device has given back all memory of the scenario, and nothing changes this memory from now on.
        digests = [bytes(target) for target in targets]
        assert rig.pe.num_contexts == 1
        await rig.pe.gather([rig.copy()])
        await rig.turns(10)
        assert [bytes(target) for target in targets] == digests
        async with rig.pe:
            pass
        return driven.count, outcome[0]

    async def main():
        count, outcome = await once(None)
        assert outcome is None
        cancelled = 0
        for index in range(count):
            _, outcome = await once(index)
            assert outcome is None or isinstance(outcome, asyncio.CancelledError)
            cancelled += outcome is not None
        assert cancelled > 0

    run(main())
