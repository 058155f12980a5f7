"""The work of `pydoca rdma ping-pong`: round trips, and how long they take."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from contextlib import AsyncExitStack
from typing import Any

import pydoca
from pydoca.cli._errors import CommandError
from pydoca.cli._output import print_json
from pydoca.cli._two_processes.event_loop import run as run_loop
from pydoca.cli._two_processes.rdma_link import Place, choose_backend, open_rdma_device, reach, take_first
from pydoca.cli._two_processes.report import Reporter, Terminal

_COMMAND = "rdma ping-pong"
_MAX_SIZE = 1 << 30
_SAMPLES_AT_ONCE = 64  # round trips between two updates of the progress bar


def run(arguments: argparse.Namespace) -> int:
    choose_backend(arguments.backend)
    if arguments.size > _MAX_SIZE:
        raise CommandError(f"--size {arguments.size}: at most {_MAX_SIZE} bytes")
    reporter = Terminal(arguments.quiet)
    try:
        result = run_loop(_play(arguments, reporter), None)
    finally:
        reporter.close()
    if arguments.json:
        print_json(result)
    elif not arguments.quiet:
        print(_summary(result))
    return 0


async def _play(arguments: argparse.Namespace, reporter: Reporter) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        device = stack.enter_context(open_rdma_device(arguments.device))
        engine = await stack.enter_async_context(pydoca.ProgressEngine())
        if arguments.listen is not None:
            return await _listen(stack, engine, device, arguments, reporter)
        if arguments.connect is not None:
            return await _connect(stack, engine, device, arguments, reporter)
        return await _play_alone(stack, engine, device, arguments, reporter)


async def _start(stack: AsyncExitStack, engine: pydoca.ProgressEngine, device: pydoca.Device) -> pydoca.Rdma:
    return await stack.enter_async_context(pydoca.Rdma(engine, device, num_tasks={"send": 2, "receive": 2}))


class _Player:
    """A context with one buf to send and one to receive into, as large as the messages."""

    def __init__(self, rdma: pydoca.Rdma, size: int) -> None:
        device = rdma.device
        self.rdma = rdma
        self.inventory = pydoca.BufInventory(2)
        self.out = self.inventory.get_by_data(device.mmap(pydoca.alloc(size)))
        self.into = self.inventory.get_by_addr(device.mmap(pydoca.alloc(size)))

    async def serve(self, connection: pydoca.RdmaConnection, count: int) -> None:
        receive = self.rdma.receive(self.into)
        send = connection.send(self.out, submit=False)
        for number in range(count):
            await receive
            if number + 1 < count:
                self.into.reset_data_len()
                receive.submit()
            send.submit()
            await send

    async def play(self, connection: pydoca.RdmaConnection, count: int, reporter: Reporter) -> list[float]:
        receive = self.rdma.receive(self.into, submit=False)
        send = connection.send(self.out, submit=False)
        times = []
        for number in range(count):
            begin = time.perf_counter()
            self.into.reset_data_len()
            receive.submit()
            send.submit()
            await receive
            times.append(time.perf_counter() - begin)
            await send
            if number % _SAMPLES_AT_ONCE == 0 or number + 1 == count:
                reporter.progress(number + 1, count)
        return times


async def _play_alone(
    stack: AsyncExitStack,
    engine: pydoca.ProgressEngine,
    device: pydoca.Device,
    arguments: argparse.Namespace,
    reporter: Reporter,
) -> dict[str, Any]:
    here = _Player(await _start(stack, engine, device), arguments.size)
    there = _Player(await _start(stack, engine, device), arguments.size)
    ours, theirs = here.rdma.export(), there.rdma.export()
    ours.connect(theirs.details)
    theirs.connect(ours.details)
    _, times = await asyncio.gather(there.serve(theirs, arguments.count), here.play(ours, arguments.count, reporter))
    return _result(device, arguments, times)


async def _connect(
    stack: AsyncExitStack,
    engine: pydoca.ProgressEngine,
    device: pydoca.Device,
    arguments: argparse.Namespace,
    reporter: Reporter,
) -> dict[str, Any]:
    player = _Player(await _start(stack, engine, device), arguments.size)
    address, port = arguments.connect
    place = Place(_COMMAND, address, port, arguments.timeout)
    said = arguments.size.to_bytes(8, "big") + arguments.count.to_bytes(8, "big")
    other = f"pydoca rdma ping-pong --listen {port}"
    connection = await reach(player.rdma, place, other, reporter, said)
    times = await _while_connected(connection, player.play(connection, arguments.count, reporter))
    return _result(device, arguments, times)


async def _listen(
    stack: AsyncExitStack,
    engine: pydoca.ProgressEngine,
    device: pydoca.Device,
    arguments: argparse.Namespace,
    reporter: Reporter,
) -> dict[str, Any]:
    """The other half says size and count."""
    rdma = await _start(stack, engine, device)
    place = Place(_COMMAND, None, arguments.listen, arguments.timeout)
    other = f"pydoca rdma ping-pong --connect {device.info.ipv4_addr}:{arguments.listen}"
    connection = await take_first(rdma, place, other, reporter)
    size, count = wanted_by(connection.private_data.removeprefix(place.greeting))
    if not 1 <= size <= _MAX_SIZE:
        raise CommandError(f"the other half wants messages of {size} bytes; this half takes at most {_MAX_SIZE}")
    await _while_connected(connection, _Player(rdma, size).serve(connection, count))
    await connection.ended()
    return {"device": device.name, "size": size, "count": count}


def wanted_by(said: bytes) -> tuple[int, int]:
    """The size and count that the other half says; a device may have cut off zeros at the end."""
    said = said.ljust(16, b"\0")
    return int.from_bytes(said[:8], "big"), int.from_bytes(said[8:16], "big")


async def _while_connected(connection: pydoca.RdmaConnection, work: Any) -> Any:
    """The result of the work; raises when the other half ends first."""
    task = asyncio.create_task(work)
    ended = asyncio.create_task(_end_of(connection))
    try:
        await asyncio.wait({task, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise CommandError("the other half ended before the last round trip")
        return task.result()
    finally:
        for waiting in (task, ended):
            waiting.cancel()
        await asyncio.wait({task, ended})


async def _end_of(connection: pydoca.RdmaConnection) -> None:
    await connection.ended()


def _result(device: pydoca.Device, arguments: argparse.Namespace, times: list[float]) -> dict[str, Any]:
    micros = sorted(time * 1e6 for time in times)
    return {
        "device": device.name,
        "size": arguments.size,
        "count": arguments.count,
        "round_trip_us": {
            "min": round(micros[0], 2),
            "median": round(statistics.median(micros), 2),
            "p99": round(micros[min(len(micros) - 1, len(micros) * 99 // 100)], 2),
            "max": round(micros[-1], 2),
        },
    }


def _summary(result: dict[str, Any]) -> str:
    text = f"{result['device']}: {result['count']} round trips of {result['size']} bytes"
    if "round_trip_us" not in result:
        return text
    trip = result["round_trip_us"]
    return f"{text}: median {trip['median']} us, 99 % below {trip['p99']} us, at least {trip['min']} us"
