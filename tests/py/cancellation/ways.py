"""Ways to end an await before its operation ends: cancel it at a turn of the loop, or close or drop its awaiter."""

import asyncio
import contextlib
import gc
import warnings
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from scene import Maker, Scene, soon

TURNS = 3  # turns of the loop before the operation completes
LAST = 6  # the last turn of a cancellation: every await has ended by then

Way = Callable[[Scene], Awaitable[list[Any]]]


async def finish(waiting: "asyncio.Future[Any]", scene: Scene) -> list[Any]:
    """Awaits the result and returns it, if there is one; the operation has completed, or does so now."""
    results: list[Any] = []
    with contextlib.suppress(asyncio.CancelledError, TimeoutError):
        results.append(await waiting)
    scene.returned(results)
    return results


def at_turn(turn: int, *, first: bool = True, times: int = 1) -> Way:
    """Cancels the await at a turn, and again at the turns after it; the operation completes at turn TURNS."""

    async def way(scene: Scene) -> list[Any]:
        task = asyncio.ensure_future(scene.begin())
        watcher = asyncio.ensure_future(finish(task, scene))
        for now in range(LAST + 1):
            if now == TURNS and first:
                scene.complete()
            if turn <= now < turn + times:
                task.cancel()
            if now == TURNS and not first:
                scene.complete()
            await asyncio.sleep(0)
        return await soon(watcher)

    return way


def with_its_completion(*, first: bool) -> Way:
    """Cancels the await in the turn in which the engine delivers the completion, before or after the delivery."""

    async def way(scene: Scene) -> list[Any]:
        task = asyncio.ensure_future(scene.begin())
        watcher = asyncio.ensure_future(finish(task, scene))
        for _ in range(TURNS):
            await asyncio.sleep(0)
        if first:
            task.cancel()
        scene.complete()
        for _ in range(0 if scene.pe.closed else 100):
            scene.pe.drain()
        task.cancel()
        return await soon(watcher)

    return way


@contextlib.contextmanager
def completing_later(scene: Scene) -> Iterator[None]:
    timer = asyncio.get_running_loop().call_later(0.005, scene.complete)
    yield
    timer.cancel()


async def timed_out(scene: Scene) -> list[Any]:
    """Calls asyncio.wait_for() with a time-out of 0."""
    with completing_later(scene):
        return await soon(finish(asyncio.ensure_future(asyncio.wait_for(scene.begin(), 0)), scene))


async def in_a_group(scene: Scene) -> list[Any]:
    """Awaits in a TaskGroup that another of its tasks ends before the await takes its first step."""

    async def fail() -> None:
        raise ValueError

    results: list[Any] = []
    task = None
    with completing_later(scene), contextlib.suppress(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            task = group.create_task(as_coroutine(scene.begin()))
    if task is None:  # tasks start eagerly: the group has ended, and refuses the await
        gc.collect()  # this frees the frames of the refusal
        await scene.go_on()
        return results
    if not task.cancelled():
        results.append(task.result())
    scene.returned(results)
    del task
    gc.collect()  # this frees the frames of the group's exception, which have the task and its result
    return results


def as_coroutine(awaitable: Any) -> Any:
    """Wraps the iterator of an asynchronous generator in a coroutine: create_task() does not take such an iterator."""
    if hasattr(awaitable, "throw") and hasattr(awaitable, "close") and asyncio.iscoroutine(awaitable):
        return awaitable

    async def wait() -> Any:
        return await awaitable

    return wait()


class ByHand:
    """Drives an awaiter a number of steps, then ends it. The result is what the await gave, if it gave something."""

    def __init__(self, awaiter: Any, steps: int, end: Callable[[Any], Any]) -> None:
        self._awaiter, self._steps, self._end = awaiter, steps, end

    def __await__(self) -> Any:
        awaiter, self._awaiter = self._awaiter, None
        try:
            for _ in range(self._steps):
                future = awaiter.send(None)
                if future is not None:
                    future._asyncio_future_blocking = False  # the loop does not wait for it
            future = self._end(awaiter)
            while future is not None:
                yield future
                future = awaiter.send(None)
        except StopIteration as stop:
            return [stop.value]
        except asyncio.CancelledError:
            pass
        return []


def by_hand(steps: int, end: Callable[[Any], Any]) -> Way:
    async def way(scene: Scene) -> list[Any]:
        awaitable = scene.begin()
        is_coroutine = asyncio.iscoroutine(awaitable) and not hasattr(awaitable, "wait")
        awaiter = awaitable if is_coroutine else awaitable.__await__()
        with completing_later(scene) if end is throw else contextlib.nullcontext():
            results: list[Any] = await ByHand(awaiter, steps, end)
        if end is throw:
            scene.returned(results)
        del awaitable, awaiter
        gc.collect()
        if steps == 0 and end is drop:
            await scene.go_on()
        return results

    return way


def throw(awaiter: Any) -> Any:
    return awaiter.throw(asyncio.CancelledError())


def close(awaiter: Any) -> None:
    awaiter.close()


def drop(_awaiter: Any) -> None:
    """Does nothing: the caller has the last reference, and drops it."""


WAYS: dict[str, Way] = {
    **{f"cancelled at turn {turn}": at_turn(turn) for turn in range(LAST + 1)},
    **{f"cancelled at turn {turn}, twice": at_turn(turn, times=2) for turn in range(LAST)},
    "cancelled before it completes": at_turn(TURNS, first=False),
    "cancelled, then delivered": with_its_completion(first=True),
    "delivered, then cancelled": with_its_completion(first=False),
    "no time": timed_out,
    "in a group": in_a_group,
    **{f"{end.__name__} at step {steps}": by_hand(steps, end) for end in (throw, close, drop) for steps in (0, 1)},
}


async def run(make: Maker, way: Way) -> None:
    async with make() as scene:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # an await that a second cancellation gives up warns
            warnings.simplefilter("ignore", RuntimeWarning)  # a coroutine that is closed before its first step warns
            results = await way(scene)
            await scene.check(results)
