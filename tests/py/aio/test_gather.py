"""gather() and as_completed() do what a loop of awaits does, with no more suspensions than the loop has."""

import asyncio
import contextlib
import gc
import inspect
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from typing import Any

import pytest

import pydoca

BIG = 1 << 20  # bytes: large enough for the device's own threads


class Counted:
    """An awaitable that counts the suspensions of another awaitable."""

    def __init__(self, awaited: Any) -> None:
        self.awaited, self.suspensions = awaited, 0

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = self.awaited.__await__()
        while True:
            try:
                future = next(steps)
            except StopIteration as end:
                return end.value
            self.suspensions += 1
            yield future


async def loop_of_awaits(pe: Any, tasks: list[Any]) -> list[Any]:
    for task in tasks:
        await task
    return tasks


async def completed(pe: Any, tasks: list[Any]) -> list[Any]:
    return [task async for task in pe.as_completed(tasks)]


async def gathered(pe: Any, tasks: list[Any]) -> list[Any]:
    return await pe.gather(tasks)  # type: ignore[no-any-return]


WAYS: dict[str, Callable[[Any, list[Any]], Coroutine[Any, Any, list[Any]]]] = {
    "gather": gathered,
    "as_completed": completed,
}


# ---- never more than a loop of awaits


SCENARIOS = {  # the sizes of the copies
    "one": [64],
    "one large": [BIG],
    "two": [64, 64],
    "small": [64] * 64,
    "very many": [64] * 1000,
    "large": [BIG] * 8,
    "first the large one": [BIG, *[64] * 8],
    "last the large one": [*[64] * 8, BIG],
    "mixed": [64, BIG, 4096, BIG // 2] * 4,
}


def suspensions(way: Callable[..., Any], sizes: list[int], latency: str, all_done: bool) -> int:
    """Counts the suspensions in virtual time, where every run is the same."""
    counts = []

    async def main() -> None:
        device = pydoca.open_device("03:00.0", side="dpu")
        inventory = pydoca.BufInventory(2 * len(sizes))
        target = device.mmap(pydoca.alloc(sum(sizes)))
        source = device.mmap(pydoca.alloc(BIG))
        async with (
            pydoca.ProgressEngine(latency=latency) as pe,
            pydoca.Dma(pe, device, num_tasks=1024) as first,
            pydoca.Dma(pe, device, num_tasks=1024) as second,
        ):
            tasks, place = [], target.addr
            for number, size in enumerate(sizes):
                src = inventory.get_by_data(source, source.addr, size)
                dma = (first, second)[number % 2]
                tasks.append(dma.memcpy(src, inventory.get_by_addr(target, place, size)))
                place += size
            if all_done:
                await loop_of_awaits(pe, tasks)
            counted = Counted(way(pe, tasks))
            assert sorted(map(id, await counted)) == sorted(map(id, tasks))
            counts.append(counted.suspensions)

    with pydoca.sim.virtual_time(seed=1) as time:
        time.run(main())
    return counts[0]


@pytest.fixture
def as_slow_as_a_card() -> Any:
    pydoca.sim.load_config(pydoca.sim.Config(seed=1, preset="bluefield3"))
    yield
    pydoca.sim.load_config({})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("all_done", [False, True], ids=["in flight", "done"])
def test_no_more_suspensions_than_a_loop_of_awaits(as_slow_as_a_card, way, scenario, all_done):
    sizes = SCENARIOS[scenario]
    limit = suspensions(loop_of_awaits, sizes, "balanced", all_done)
    count = suspensions(WAYS[way], sizes, "balanced", all_done)
    if way == "gather":
        assert count <= limit
    else:  # as_completed() gives each task as soon as it is done, even while an earlier one is in flight
        assert count <= max(limit, len(sizes))
    if all_done:
        assert count <= limit


@pytest.mark.parametrize("latency", ["low", "balanced", "power"])
@pytest.mark.parametrize("way", WAYS)
def test_small_copies_suspend_nothing(run, latency, way):
    """A completion that is there before the first suspension needs no turn of the loop, whatever the latency."""

    async def main():
        device = pydoca.open_device("03:00.0", side="dpu")
        inventory = pydoca.BufInventory(128)
        source, target = device.mmap(pydoca.alloc(64)), device.mmap(pydoca.alloc(64 * 64))
        async with pydoca.ProgressEngine(latency=latency) as pe, pydoca.Dma(pe, device, num_tasks=64) as dma:
            for count in (1, 2, 64):
                await asyncio.sleep(0)  # each turn has a new time budget
                src = inventory.get_by_data(source)
                rooms = [inventory.get_by_addr(target, target.addr + 64 * place, 64) for place in range(count)]
                counted = Counted(WAYS[way](pe, [dma.memcpy(src, room) for room in rooms]))
                assert len(await counted) == count
                assert counted.suspensions <= 1  # the budget may end on a busy machine

    run(main())


@pytest.mark.parametrize("way", WAYS)
def test_other_coroutines_run_beside_one_that_never_waits(run, make_rig, way):
    """A time budget gives others a turn: without it a thousand gathers of small copies would be one turn."""
    rig = make_rig()
    turns = 0

    async def count():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def main():
        async with rig.pe:
            counting = asyncio.create_task(count())
            task = rig.copy()
            await task
            for _ in range(20_000):
                await WAYS[way](rig.pe, [task])
            counting.cancel()

    run(main())
    assert turns > 3


# ---- results


def test_gather_returns_a_list_in_the_order_given(run, make_rig):
    rig = make_rig(size=BIG)

    async def main():
        async with rig.pe:
            tasks = [rig.copy() for _ in range(4)]
            assert await rig.pe.gather(iter(tasks)) == tasks
            assert await rig.pe.gather(tasks[:1] * 3) == tasks[:1] * 3
            assert await rig.pe.gather([]) == []
            assert [task async for task in rig.pe.as_completed([])] == []

    run(main())


def test_as_completed_gives_tasks_in_the_order_of_their_completion(run, rig):
    async def main():
        async with rig.pe:
            done, *held = rig.copy(), rig.held(), rig.held(), rig.copy()
            await done
            order = []
            async for task in rig.pe.as_completed([*held, done]):
                order.append(task)
                rig.release()
            assert order[0] is done
            assert set(order) == {done, *held}

    run(main())


def test_a_callback_that_submits_again_ends_no_wait_twice(run, make_rig):
    again = []

    def on_completion(task, *_):
        if len(again) < 5:
            again.append(task)
            task.dst.reset_data_len()
            task.submit()

    rig = make_rig(on_completion=on_completion)

    async def main():
        async with rig.pe:
            task = rig.copy()
            assert await asyncio.wait_for(rig.pe.gather([task, task]), 20) == [task, task]
            again.clear()
            await task
            task.dst.reset_data_len()
            task.submit()
            assert [each async for each in rig.pe.as_completed([task])] == [task]

    run(main())


def test_the_first_failure_in_the_order_of_the_tasks_is_raised(run, make_rig):
    rig = make_rig()
    rooms = [rig.device.mmap(pydoca.alloc(8)) for _ in range(2)]

    async def main():
        async with rig.pe:
            src, dst, _ = rig.bufs()
            failing = [rig.dma.memcpy(src, rig.inventory.get_by_addr(room), submit=False) for room in rooms]
            tasks = [rig.dma.memcpy(src, dst), *failing]
            for task in failing:
                task.submit()
            with pytest.raises(pydoca.DocaError) as failure:
                await rig.pe.gather(tasks)
            assert failure.value.task is failing[0]

    run(main())


REFUSALS: dict[str, tuple[Callable[[Any, Any], list[Any]], type[Exception], str]] = {
    "no task": (lambda rig, other: [rig.copy(), 7], TypeError, "takes an iterable of Tasks.*int"),
    "not submitted": (lambda rig, other: [rig.copy(submit=False)], pydoca.BadStateError, "never submitted"),
    "another engine's": (lambda rig, other: [rig.copy(), other.copy()], pydoca.InvalidValueError, "another progress"),
    "no iterable": (lambda rig, other: 7, TypeError, "not iterable"),  # type: ignore[return-value,dict-item]
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("refused", REFUSALS)
def test_what_cannot_be_awaited_is_refused(run, make_rig, way, refused):
    rig, other = make_rig(), make_rig()
    make, kind, text = REFUSALS[refused]

    async def main():
        async with rig.pe:
            with pytest.raises(kind, match=text):
                await WAYS[way](rig.pe, make(rig, other))

    run(main())


def test_a_refusal_comes_with_the_call(rig):
    for method in (rig.pe.gather, rig.pe.as_completed):
        with pytest.raises(TypeError, match=f"{method.__name__} takes an iterable of Tasks"):
            method([7])


def test_without_a_loop_there_is_an_error_that_names_the_way_without(rig):
    gathering = rig.pe.gather([rig.held()])
    with pytest.raises(pydoca.NotSupportedError, match=r"pe\.run_until"):
        gathering.send(None)


# ---- gather() and as_completed() as a coroutine


def test_asyncio_takes_a_gather_for_a_coroutine(new_loop, make_rig):
    rig = make_rig(size=BIG)
    tasks = [rig.copy(), rig.copy()]
    gathering = rig.pe.gather(tasks)
    assert asyncio.iscoroutine(gathering)
    assert inspect.isawaitable(gathering)
    assert gathering.__qualname__ == "ProgressEngine.gather"
    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(gathering) == tasks
    with pytest.raises(RuntimeError, match="this await is over"):
        gathering.send(None)


def test_a_step_of_an_iteration_can_be_a_task_of_asyncio(run, rig):
    async def main():
        async with rig.pe:
            held = rig.held()
            iterator = rig.pe.as_completed([held])
            assert isinstance(iterator, AsyncIterator)
            step = asyncio.create_task(anext(iterator))
            await rig.turns()
            with pytest.raises(pydoca.InUseError, match="another step of this iteration waits"):
                await anext(iterator)
            rig.release()
            assert await step is held
            assert await anext(iterator, None) is None
            with pytest.raises(StopAsyncIteration):
                await anext(iterator)

    run(main())


def test_an_iteration_that_is_left_holds_nothing(run, rig):
    async def main():
        async with rig.pe:
            done = rig.copy()
            await done
            held = [rig.held() for _ in range(2)]
            async for task in rig.pe.as_completed([*held, done]):
                assert task is done
                del task
                break
            async with contextlib.aclosing(rig.pe.as_completed(held)):
                pass
            reference = weakref.ref(done)
            del done
            gc.collect()
            assert reference() is None
            rig.release()
            await rig.pe.gather(held)

    run(main())


# ---- given up


def gathering(pe: Any, tasks: list[Any]) -> Any:
    return pe.gather(tasks)


def stepping(pe: Any, tasks: list[Any]) -> Any:
    async def step() -> Any:
        return await anext(pe.as_completed(tasks))

    return step()


@pytest.mark.parametrize("begin", [gathering, stepping])
@pytest.mark.parametrize("turns", range(4))
def test_a_cancellation_comes_when_the_device_has_the_memory_no_more(run, make_rig, begin, turns):
    rig = make_rig(size=BIG)

    async def main():
        async with rig.pe:
            tasks = [rig.copy() for _ in range(4)]
            waiting = asyncio.create_task(begin(rig.pe, tasks))
            await rig.turns(turns)
            if waiting.cancel():
                with pytest.raises(asyncio.CancelledError):
                    await waiting
            if waiting.cancelled() and (begin is gathering or turns):
                assert all(task.done for task in tasks)
            await rig.pe.gather(tasks)

    run(main())


def test_a_gather_whose_await_ends_with_another_error_lets_the_tasks_go_on(run, rig):
    async def main():
        async with rig.pe:
            held = rig.held()
            for error in (ValueError("of the program"), GeneratorExit()):
                awaiting = rig.pe.gather([held])
                awaiting.send(None)
                with pytest.raises(type(error)):
                    awaiting.throw(error)
            closed = rig.pe.gather([held])
            closed.send(None)
            closed.close()
            closed.close()
            assert not held.done
            rig.release()
            assert await rig.pe.gather([held]) == [held]

    run(main())


def test_a_dropped_gather_leaves_the_tasks_alone(run, rig):
    async def main():
        async with rig.pe:
            held = rig.held()
            begun = rig.pe.gather([held])
            begun.send(None)
            del begun
            gc.collect()
            rig.release()
            assert await rig.pe.gather([held]) == [held]

    run(main())
