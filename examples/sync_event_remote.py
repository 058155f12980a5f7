"""The DPU's half of a handshake: waits for the host's sync event, answers by another. Start in any order with
sync_event_local.py."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing

import pydoca

SIGNAL, ANSWER = 10, 20


async def synchronous(
    pe: pydoca.ProgressEngine, link: pydoca.comch.Connection, signal: pydoca.SyncEvent, answer: pydoca.SyncEvent
) -> int:
    with signal, answer:
        await link.send(b"imported")
        signal.wait_eq(SIGNAL)
        answer.update_set(ANSWER)
        return signal.get()


async def asynchronous(
    pe: pydoca.ProgressEngine, link: pydoca.comch.Connection, signal: pydoca.SyncEvent, answer: pydoca.SyncEvent
) -> int:
    async with signal.as_context(pe, num_tasks=1) as subscriber, answer.as_context(pe, num_tasks=1) as publisher:
        await link.send(b"imported")
        seen: int = await subscriber.wait_eq(SIGNAL)
        await publisher.notify_set(ANSWER)
        return seen


async def run(
    mode: Callable[
        [pydoca.ProgressEngine, pydoca.comch.Connection, pydoca.SyncEvent, pydoca.SyncEvent], Awaitable[int]
    ],
) -> None:
    with pydoca.open_device("03:00.0", side="dpu") as dev, dev.open_representor("0b:00.0") as rep:
        async with pydoca.ProgressEngine() as pe, pydoca.comch.Server(pe, dev, rep, "sync-event") as server:
            print("waiting for sync_event_local.py", flush=True)
            link = await server.accept()
            with (
                closing(dev.import_sync_event(await link.recv())) as signal,
                closing(dev.import_sync_event(await link.recv())) as answer,
            ):
                print("the host signalled", await mode(pe, link, signal, answer))
            await link.send(b"done")
            async for _ in link:  # ends when the host hangs up
                pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--async", dest="is_async", action="store_true", help="every operation is an awaited task")
    asyncio.run(run(asynchronous if parser.parse_args().is_async else synchronous))
