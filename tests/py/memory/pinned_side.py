"""One of two processes that take turns: the first acts and waits for the answer, the other the reverse.

usage: pinned_side.py KIND first|second await|wait LATENCY. Reads commands and writes answers, each a line of JSON. The
command null ends it. Any other command has "cpus", where it runs from now on, "rounds", and "pause": seconds that the
first side waits before each round.
"""

import asyncio
import contextlib
import itertools
import json
import os
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

import pydoca

ENOUGH = 30.0  # seconds in which an event must come
PERMISSIONS = "local_read_write"

# A side's act in the round of a number, and the wait that follows: each gives a task or an awaitable event.
Moves = tuple[Callable[[int], Any], Callable[[int], Any]]


def say(what: Any) -> None:
    print(json.dumps(what), flush=True)


def hear() -> Any:
    return json.loads(sys.stdin.readline() or "null")


def swap(mine: bytes) -> bytes:
    """Gives the other side some bytes, and returns those that the other side gives."""
    say(mine.hex())
    return bytes.fromhex(hear())


def open_device(is_first: bool) -> pydoca.Device:
    return pydoca.open_device("0b:00.0", side="host") if is_first else pydoca.open_device("03:00.0", side="dpu")


@contextlib.asynccontextmanager
async def event(pe: pydoca.ProgressEngine, is_first: bool) -> AsyncIterator[Moves]:
    """One event: the first publishes odd numbers, the second even ones."""
    device = open_device(is_first)
    its = pydoca.SyncEvent(device, publisher="remote_pci") if is_first else device.import_sync_event(swap(b""))
    async with its.as_context(pe) as context:
        if is_first:
            swap(its.export_to_remote_pci())
        mine, theirs = (1, 2) if is_first else (2, 1)
        yield (
            lambda number: context.notify_set(2 * number + mine),
            lambda number: context.wait_eq(2 * number + theirs),
        )


@contextlib.asynccontextmanager
async def comch(pe: pydoca.ProgressEngine, is_first: bool) -> AsyncIterator[Moves]:
    device = open_device(is_first)
    if is_first:
        async with pydoca.comch.Client(pe, device, "pinned") as client:
            yield lambda _: client.send(b"1"), lambda _: client.recv()
        return
    async with pydoca.comch.Server(pe, device, device.open_representor("0b:00.0"), "pinned") as server:
        link = await server.accept()
        yield lambda _: link.send(b"2"), lambda _: link.recv()


@contextlib.asynccontextmanager
async def rdma(pe: pydoca.ProgressEngine, is_first: bool) -> AsyncIterator[Moves]:
    device = open_device(is_first)
    memory = device.mmap(pydoca.alloc(64), access=PERMISSIONS)
    inventory = pydoca.BufInventory(8)
    out = inventory.get_by_data(memory, memory.addr, 8)
    rooms = itertools.cycle([inventory.get_by_addr(memory, memory.addr + 8 * place, 8) for place in range(1, 5)])
    async with pydoca.Rdma(pe, device, num_tasks=8) as context:
        connection = context.export()
        connection.connect(swap(connection.details))
        await connection.established()

        def post() -> Any:
            room = next(rooms)
            room.reset_data_len()
            return context.receive(room)

        posted = deque(post() for _ in range(3))

        def oldest(_: int) -> Any:
            posted.append(post())
            return posted.popleft()

        yield lambda _: connection.send(out), oldest
        connection.disconnect()


async def play(moves: Moves, order: list[int], blocking: bool, number: int) -> None:
    for place in order:
        task = moves[place](number)
        if blocking:
            task.wait(ENOUGH)
        else:
            await task


async def main(kind: str, side: str, way: str, latency: str) -> None:
    is_first = side == "first"
    order = [0, 1] if is_first else [1, 0]
    number = 0
    make = {"event": event, "comch": comch, "rdma": rdma}[kind]
    async with pydoca.ProgressEngine(latency=latency) as pe, make(pe, is_first) as moves:
        say("ready")
        while command := hear():
            os.sched_setaffinity(0, command["cpus"])
            before = pe.stats()
            for _ in range(command["rounds"]):
                if is_first and command["pause"]:
                    time.sleep(command["pause"])
                await play(moves, order, way == "wait", number)
                number += 1
            now = pe.stats()
            counts = {"sleeps": now.sleeps - before.sleeps, "looks": now.vain_looks - before.vain_looks}
            say({"elsewhere": pe.may_advance_elsewhere, **counts})


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
