"""Tasks that an event loop awaits: alone, together, in the order of their ends, and next to a cancelled wait."""

from __future__ import annotations

import asyncio
import contextlib

import numpy as np

import pydoca
from pydoca.qualify.bench import dma, waiting
from pydoca.qualify.bench.events import with_tasks
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty
from pydoca.qualify.bench.zones import require_equal

_DEPTH = 16
_SIZE = 64


def copies(device: pydoca.Device, rounds: int) -> int:
    """Awaits rounds of copies in each way; returns how many copies there were."""
    with Stand() as stand:
        depth = dma.depth_for(device, _DEPTH)
        made = dma.Copies(stand, device, dma.local(stand, device, _SIZE * depth), _SIZE, depth)
        with duty("awaited copies"):
            asyncio.run(asyncio.wait_for(_all_rounds(made, rounds), 10 * waiting.PATIENCE))
    return rounds * depth


async def _all_rounds(made: dma.Copies, rounds: int) -> None:
    ways = (_one_by_one, _gathered, _as_completed, _by_asyncio)
    for number in range(rounds):
        made.prepare()
        for task in made.tasks:
            task.submit()
        await ways[number % len(ways)](made)
        require_equal(made.ends.target, made.ends.source, f"round {number} of awaited copies")


async def _one_by_one(made: dma.Copies) -> None:
    for task in made.tasks:
        await task


async def _gathered(made: dma.Copies) -> None:
    if await made.pe.gather(made.tasks) != made.tasks:
        raise DeviceFault("tasks that are awaited together come back in another order")


async def _as_completed(made: dma.Copies) -> None:
    seen = [task async for task in made.pe.as_completed(made.tasks)]
    if len(seen) != len(made.tasks) or {id(task) for task in seen} != {id(task) for task in made.tasks}:
        raise DeviceFault(f"{len(seen)} tasks come as completed, of {len(made.tasks)}")


async def _by_asyncio(made: dma.Copies) -> None:
    async def wait(task: pydoca.DmaMemcpyTask) -> None:
        await task

    await asyncio.gather(*(wait(task) for task in made.tasks))


def cancelled(device: pydoca.Device, rounds: int) -> int:
    """An await of an event that does not come is cancelled; the next one ends with its value."""
    with Stand() as stand:
        _, context = with_tasks(stand, device, 4)
        with duty("awaits that are cancelled"):
            asyncio.run(asyncio.wait_for(_cancel(context, rounds), 10 * waiting.PATIENCE))
    return rounds


async def _cancel(context: pydoca.SyncEventContext, rounds: int) -> None:
    for number in range(1, rounds + 1):
        waits = context.wait_eq(number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(_value_of(waits), 0.001)
            raise DeviceFault(f"an await of {number} has ended, and nothing has set it")
        before = await context.notify_add(1)
        value = await context.wait_eq(number)
        if (before, value) != (number - 1, number):
            raise DeviceFault(f"round {number}: the value was {before}, and then {value}")


async def _value_of(task: pydoca.SyncEventTask) -> int:
    return int(np.uint64(await task))
