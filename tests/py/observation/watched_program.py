"""A program of awaits. Its outcome is the same whatever tool watches it, and each of its lines runs."""

import asyncio
from array import array
from contextlib import suppress

import pydoca
from pydoca.faults import FaultRule, inject

ROWS = 40


async def awaits_at_once(rig):
    task = rig.copy()
    nothing = await task
    return [nothing, task.status.name]


async def awaits_a_value(context):
    await context.notify_set(3)
    value = await context.get()
    return [value]


async def awaits_in_flight(rig):
    task = rig.held()
    asyncio.get_running_loop().call_soon(rig.release)
    nothing = await task
    return [nothing, task.status.name]


async def awaits_maps(rig):
    target = pydoca.alloc(len(rig.data))
    await rig.dma.memcpy(rig.source, rig.device.mmap(target))
    return bytes(target) == bytes(rig.data)


async def awaits_many(rig):
    target = pydoca.alloc(ROWS)
    destination = rig.device.mmap(target)
    begins = rig.source.addr, destination.addr
    words = array("Q", [word for row in range(ROWS) for word in (begins[0] + row, begins[1] + row, 1, row)])
    batch = await rig.dma.memcpy_many(rig.source, destination, memoryview(words).cast("B").cast("Q", (ROWS, 4)))
    return [batch.num_done, bytes(target) == bytes(rig.data)[:ROWS]]


async def awaits_several(rig):
    tasks = [rig.copy(), rig.held(), rig.held()]
    asyncio.get_running_loop().call_soon(rig.release)
    gathered = await rig.pe.gather(tasks)
    completed = []
    async for task in rig.pe.as_completed([rig.copy() for _ in range(3)]):
        completed.append(task.status.name)
    return [gathered == tasks, completed]


async def calls_back(rig):
    called = []

    def note(task):
        called.append(task.status.name)

    def fail(task):
        called.append("fails")
        raise ValueError("a callback failed")

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: called.append(str(context["exception"])))
    for task, callback in ((rig.copy(), note), (rig.held(), note), (rig.copy(), fail)):
        task.add_done_callback(callback)
        rig.release()
        await task
    loop.set_exception_handler(None)
    return called


async def is_cancelled(awaitable, let_go):
    async def wait():
        try:
            await awaitable
        except asyncio.CancelledError as cancelled:
            reached.append(cancelled.args)
            raise

    reached = []
    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel("not wanted")
    asyncio.get_running_loop().call_soon(let_go)
    with suppress(asyncio.CancelledError):
        await task
    return [task.cancelled(), reached]


async def is_cancelled_first(rig):
    task = asyncio.create_task(rig.copy())
    task.cancel("not wanted")
    try:
        await task
    except asyncio.CancelledError as cancelled:
        return str(cancelled)


async def times_out(context):
    try:
        async with asyncio.timeout(0):
            await context.wait_eq(99)
    except TimeoutError as error:
        return type(error).__name__


async def fails(pe, *, in_flight):
    with inject(FaultRule("fail", "dma.memcpy", nth=1)), pydoca.open_device("03:00.0", side="dpu") as device:
        async with pydoca.Dma(pe, device) as dma:
            src, dst = device.mmap(bytes(64)), device.mmap(pydoca.alloc(64))
            task = dma.memcpy(src, dst, submit=False)
            task.submit(pydoca.SubmitFlags.NONE if in_flight else pydoca.SubmitFlags.FLUSH)
            asyncio.get_running_loop().call_soon(dma.flush_tasks)
            try:
                await task
            except pydoca.DocaError as error:
                return [type(error).__name__, error.__traceback__.tb_lineno, error.__traceback__.tb_next is None]


async def program(rig):
    event = pydoca.SyncEvent(rig.device)
    async with rig.pe, event.as_context(rig.pe) as context:
        return {
            "at once": await awaits_at_once(rig),
            "a value": await awaits_a_value(context),
            "in flight": await awaits_in_flight(rig),
            "maps": await awaits_maps(rig),
            "many": await awaits_many(rig),
            "several": await awaits_several(rig),
            "callbacks": await calls_back(rig),
            "cancelled copy": await is_cancelled(rig.held(), rig.release),
            "cancelled wait": await is_cancelled(context.wait_eq(99), list),
            "cancelled first": await is_cancelled_first(rig),
            "time-out": await times_out(context),
            "failed at once": await fails(rig.pe, in_flight=False),
            "failed in flight": await fails(rig.pe, in_flight=True),
            "afterwards": await awaits_at_once(rig),
        }
