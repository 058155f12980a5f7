"""The host's half of a handshake: publishes one sync event, waits for another. Start in any order with
sync_event_remote.py."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing

import pydoca

SIGNAL, ANSWER = 10, 20


async def offer(link: pydoca.comch.Connection, *events: pydoca.SyncEvent) -> None:
    for event in events:
        await link.send(event.export_to_remote_pci())
    await link.recv()  # the other side has imported them


async def synchronous(
    pe: pydoca.ProgressEngine, link: pydoca.comch.Connection, signal: pydoca.SyncEvent, answer: pydoca.SyncEvent
) -> int:
    with signal, answer:
        await offer(link, signal, answer)
        signal.update_set(SIGNAL)
        answer.wait_eq(ANSWER)
        await link.recv()  # the other side is done with both
        return answer.get()


async def asynchronous(
    pe: pydoca.ProgressEngine, link: pydoca.comch.Connection, signal: pydoca.SyncEvent, answer: pydoca.SyncEvent
) -> int:
    async with signal.as_context(pe, num_tasks=1) as publisher, answer.as_context(pe, num_tasks=1) as subscriber:
        await offer(link, signal, answer)
        await publisher.notify_set(SIGNAL)
        seen: int = await subscriber.wait_eq(ANSWER)
        await link.recv()
        return seen


async def run(
    mode: Callable[
        [pydoca.ProgressEngine, pydoca.comch.Connection, pydoca.SyncEvent, pydoca.SyncEvent], Awaitable[int]
    ],
) -> None:
    with (
        pydoca.open_device("0b:00.0", side="host") as dev,
        closing(pydoca.SyncEvent(dev, publisher="cpu", subscriber="remote_pci")) as signal,
        closing(pydoca.SyncEvent(dev, publisher="remote_pci", subscriber="cpu")) as answer,
    ):
        print("waiting for sync_event_remote.py", flush=True)
        async with pydoca.ProgressEngine() as pe, pydoca.comch.Client(pe, dev, "sync-event") as link:
            print("the DPU answered", await mode(pe, link, signal, answer))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--async", dest="is_async", action="store_true", help="every operation is an awaited task")
    asyncio.run(run(asynchronous if parser.parse_args().is_async else synchronous))
