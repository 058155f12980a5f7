"""The cost of awaits that need not wait, and of what they need, each beside the same of Python alone.

The rows "bare" are of extensions that do nothing else: bare_copy copies between the same places, bare_word sets a word
and waits for it. They are what the same costs Python itself. `cmake --preset bench && cmake --build --preset bench` in
cpp/ builds them, and their rows are left out without them.

With interpreters as arguments (`benchmarks/awaits.py python3.11 python3.13`), measures in turns under each of them
that has pydoca, and compares them with the first: awaits should take the same time with each Python. `--loop uvloop`
compares another event loop with asyncio's in the same way.
"""

import argparse
import asyncio
import importlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from print_report import PROGRAMS, Figure, arguments_of, print_report

FLOOR = "await a future that is done"
FLOOR_OF_BUFS = "make an object, and drop it"
FLOOR_IN_FLIGHT = "one of 64 futures, set by one call"
FLOOR_OF_MESSAGES = "send 64 B by a socket, and receive them"
FLOORS = (FLOOR, FLOOR_OF_BUFS, FLOOR_IN_FLIGHT, FLOOR_OF_MESSAGES)
IN_FLIGHT = 64
OF_BATCHES = "await dma.memcpy_many, a row of 64 B"
ROWS = 1000  # of a batch
TARGET = 1.1  # times the first interpreter's, or asyncio's own loop's
SIZE = 4096  # bytes
NUMBER = 7  # any value, which an event has
MESSAGE = bytes(64)

Stretch = Callable[[int], Awaitable[float]]  # takes a number of operations, returns the nanoseconds of one
Stretches = dict[str, Stretch]  # by name


async def measure(repetitions: int, count: int, only: str | None = None) -> dict[str, float]:
    """Nanoseconds for one operation of each kind, or of one: the best of several stretches of them."""
    import pydoca

    device = pydoca.open_device("03:00.0", side="dpu")
    event, of_one_number = pydoca.SyncEvent(device), pydoca.SyncEvent(device)
    inventory = pydoca.BufInventory(2 * IN_FLIGHT + 2)
    maps = [device.mmap(pydoca.alloc(SIZE)) for _ in range(2)]
    async with (
        pydoca.ProgressEngine() as pe,
        pydoca.Dma(pe, device, num_tasks=IN_FLIGHT) as dma,
        event.as_context(pe) as context,
        of_one_number.as_context(pe) as has_number,
        both_ends(pe, device) as ends,
    ):
        await has_number.notify_set(NUMBER)
        blocking = pydoca.SyncEvent(device)
        blocking.start()
        stretches = floors() | copies_of_new_bufs(dma, inventory, *maps)
        stretches |= copies(dma, inventory.get_by_data(maps[0]), inventory.get_by_addr(maps[1])) | bare_copies()
        stretches |= in_flight(pe, dma, inventory, *maps) | waits(context)
        wait, until = sides(blocking.update_set, blocking.wait_eq, has_number.wait_eq)
        stretches |= {"set an event and wait": wait, "set an event and await": until} | bare_sides()
        stretches[OF_BATCHES] = stretch_of_batches(dma, device)
        stretches |= messages(*ends)
        if only:
            return {only: await stretches[only](count)}
        best = dict.fromkeys(stretches, float("inf"))
        for _ in range(repetitions):
            for name, stretch in stretches.items():
                best[name] = min(best[name], await stretch(count))
        return best


def floors() -> Stretches:
    """What Python itself takes."""

    async def future(count: int) -> float:
        future = asyncio.get_running_loop().create_future()
        future.set_result(None)
        begin = time.perf_counter_ns()
        for _ in range(count):
            await future
        return (time.perf_counter_ns() - begin) / count

    async def make_object(count: int) -> float:
        begin = time.perf_counter_ns()
        for _ in range(count):
            object()
        return (time.perf_counter_ns() - begin) / count

    async def futures(count: int) -> float:
        loop = asyncio.get_running_loop()
        begin = time.perf_counter_ns()
        for _ in range(rounds := max(1, count // IN_FLIGHT)):
            waiters = [loop.create_future() for _ in range(IN_FLIGHT)]
            loop.call_soon(lambda waiters: [waiter.set_result(None) for waiter in waiters], waiters)
            for waiter in waiters:
                await waiter
        return (time.perf_counter_ns() - begin) / (rounds * IN_FLIGHT)

    return {FLOOR: future, FLOOR_OF_BUFS: make_object, FLOOR_IN_FLIGHT: futures}


def copies_of_new_bufs(dma: Any, inventory: Any, src_map: Any, dst_map: Any) -> Stretches:
    """Copies of 4 KiB, each awaited at once, with bufs of their own or without; and such a buf alone."""
    get_by_data, get_by_addr, memcpy = inventory.get_by_data, inventory.get_by_addr, dma.memcpy

    async def new_bufs(count: int) -> float:
        begin = time.perf_counter_ns()
        for _ in range(count):
            await memcpy(get_by_data(src_map), get_by_addr(dst_map))
        return (time.perf_counter_ns() - begin) / count

    async def new_bufs_at_addresses(count: int) -> float:
        begin = time.perf_counter_ns()
        for _ in range(count):
            await memcpy(get_by_data(src_map, src_map.addr, SIZE), get_by_addr(dst_map, dst_map.addr, SIZE))
        return (time.perf_counter_ns() - begin) / count

    async def buf(count: int) -> float:
        begin = time.perf_counter_ns()
        for _ in range(count):
            get_by_data(src_map)
        return (time.perf_counter_ns() - begin) / count

    async def maps(count: int) -> float:
        begin = time.perf_counter_ns()
        for _ in range(count):
            await memcpy(src_map, dst_map)
        return (time.perf_counter_ns() - begin) / count

    return {
        "await dma.memcpy of two new bufs, 4 KiB": new_bufs,
        "await dma.memcpy of two new bufs at addresses, 4 KiB": new_bufs_at_addresses,
        "get_by_data, and drop": buf,
        "await dma.memcpy of two maps, 4 KiB": maps,
    }


def copies(dma: Any, src: Any, dst: Any) -> Stretches:
    """Copies of 4 KiB between the same bufs, each awaited at once."""
    memcpy = dma.memcpy

    async def same_bufs(count: int) -> float:
        reset = dst.reset_data_len
        begin = time.perf_counter_ns()
        for _ in range(count):
            reset()
            await memcpy(src, dst)
        return (time.perf_counter_ns() - begin) / count

    async def submitted_again(count: int) -> float:
        dst.reset_data_len()
        task = memcpy(src, dst)
        await task
        reset, submit = dst.reset_data_len, task.submit
        begin = time.perf_counter_ns()
        for _ in range(count):
            reset()
            submit()
            await task
        return (time.perf_counter_ns() - begin) / count

    return {"await dma.memcpy, 4 KiB": same_bufs, "await a task submitted again, 4 KiB": submitted_again}


def bare_extension(name: str) -> Any:
    """None where this interpreter has none."""
    sys.path.append(str(PROGRAMS))
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def bare_copies() -> Stretches:
    """The same copies with bare_copy; nothing where this interpreter has none."""
    if (bare := bare_extension("bare_copy")) is None:
        return {}
    place = bare.Place
    src, dst = place(bytearray(SIZE)), place(bytearray(SIZE))

    async def copy(count: int) -> float:
        reset, copy_from = dst.reset, dst.copy_from
        begin = time.perf_counter_ns()
        for _ in range(count):
            reset()
            await copy_from(src)
        return (time.perf_counter_ns() - begin) / count

    return {"await a bare copy, 4 KiB": copy}


def in_flight(pe: Any, dma: Any, inventory: Any, src_map: Any, dst_map: Any) -> Stretches:
    """64 copies of 64 B, which are submitted first, and then awaited."""
    src = inventory.get_by_data(src_map, src_map.addr, 64)
    dsts = [inventory.get_by_addr(dst_map, dst_map.addr + 64 * i, 64) for i in range(IN_FLIGHT)]

    async def loop(tasks: list[Any]) -> None:
        for task in tasks:
            await task

    async def gather(tasks: list[Any]) -> None:
        await pe.gather(tasks)

    async def asyncio_gather(tasks: list[Any]) -> None:
        await asyncio.gather(*tasks)

    async def gather_futures(tasks: list[Any]) -> None:
        await asyncio.gather(*(task.as_future() for task in tasks))

    async def stretch(way: Callable[[list[Any]], Awaitable[None]], count: int) -> float:
        memcpy = dma.memcpy
        begin = time.perf_counter_ns()
        for _ in range(rounds := max(1, count // IN_FLIGHT)):
            for dst in dsts:
                dst.reset_data_len()
            await way([memcpy(src, dst) for dst in dsts])
        return (time.perf_counter_ns() - begin) / (rounds * IN_FLIGHT)

    return {
        "one of 64 in flight, a loop of awaits": partial(stretch, loop),
        "one of 64 in flight, pe.gather": partial(stretch, gather),
        "one of 64 in flight, asyncio.gather": partial(stretch, asyncio_gather),
        "one of 64 in flight, asyncio.gather of futures": partial(stretch, gather_futures),
    }


def waits(context: Any) -> Stretches:
    """Tasks of a sync event."""

    async def notify_set(count: int) -> float:
        notify_set = context.notify_set
        begin = time.perf_counter_ns()
        for i in range(count):
            await notify_set(i)
        return (time.perf_counter_ns() - begin) / count

    async def wait_eq(count: int) -> float:
        await context.notify_set(NUMBER)
        wait_eq = context.wait_eq
        begin = time.perf_counter_ns()
        for _ in range(count):
            await wait_eq(NUMBER)
        return (time.perf_counter_ns() - begin) / count

    return {"await context.notify_set": notify_set, "await context.wait_eq, true at once": wait_eq}


@asynccontextmanager
async def both_ends(pe: Any, device: Any) -> AsyncIterator[tuple[Any, Any]]:
    """The two ends of a comch connection, in this process and on one engine."""
    import pydoca

    name = f"awaits-{os.getpid()}"
    host = pydoca.open_device("0b:00.0", side="host")
    async with (
        pydoca.comch.Server(pe, device, device.open_representor("0b:00.0"), name) as server,
        pydoca.comch.Client(pe, host, name) as client,
    ):
        yield client, await server.accept()


def messages(near: Any, far: Any) -> Stretches:
    """A message from one end to the other, and what Python takes for the same by a socket."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    async def by_socket(count: int) -> float:
        begin = time.perf_counter_ns()
        for _ in range(count):
            one.send(MESSAGE)
            other.recv(256)
        return (time.perf_counter_ns() - begin) / count

    async def blocking(count: int) -> float:
        begin = time.perf_counter_ns()
        for _ in range(count):
            near.send(MESSAGE).wait()
            far.recv().wait()
        return (time.perf_counter_ns() - begin) / count

    async def awaited(count: int) -> float:
        begin = time.perf_counter_ns()
        for _ in range(count):
            await near.send(MESSAGE)
            await far.recv()
        return (time.perf_counter_ns() - begin) / count

    return {
        FLOOR_OF_MESSAGES: by_socket,
        "send a comch message, and wait for it": blocking,
        "send a comch message, and await it": awaited,
    }


def sides(
    publish: Callable[[int], Any], wait: Callable[[int], Any], until: Callable[[int], Any]
) -> tuple[Stretch, Stretch]:
    """What one side of a round trip does: it publishes a number, and waits for one, which is there."""

    async def blocking(count: int) -> float:
        begin = time.perf_counter_ns()
        for _ in range(count):
            publish(NUMBER)
            wait(NUMBER)
        return (time.perf_counter_ns() - begin) / count

    async def awaited(count: int) -> float:
        begin = time.perf_counter_ns()
        for _ in range(count):
            publish(NUMBER)
            await until(NUMBER)
        return (time.perf_counter_ns() - begin) / count

    return blocking, awaited


def bare_sides() -> Stretches:
    """The same with bare_word; nothing where this interpreter has none."""
    if (bare := bare_extension("bare_word")) is None:
        return {}
    word = bare.Word(bytearray(8))
    wait, until = sides(word.set, word.wait, word.until)
    return {"set a bare word and wait": wait, "set a bare word and await": until}


def floor_of(name: str) -> str:
    """The floor of the figure with that name."""
    if name.startswith("get_by_data"):
        return FLOOR_OF_BUFS
    if name.startswith("send a comch"):
        return FLOOR_OF_MESSAGES
    return FLOOR_IN_FLIGHT if name.startswith("one of 64 in flight") else FLOOR


def stretch_of_batches(dma: Any, device: Any) -> Callable[[int], Awaitable[float]]:
    """A function that takes a number of rows, all of small copies, and returns the nanoseconds of one."""
    import pydoca

    src, dst = device.mmap(pydoca.alloc(64)), device.mmap(pydoca.alloc(64 * ROWS))
    words = array("Q", [word for row in range(ROWS) for word in (src.addr, dst.addr + 64 * row, 64, row)])
    descriptors = memoryview(words).cast("B").cast("Q", (ROWS, 4))

    async def memcpy_many(count: int) -> float:
        memcpy_many = dma.memcpy_many
        begin = time.perf_counter_ns()
        for _ in range(rounds := max(1, count // ROWS)):
            await memcpy_many(src, dst, descriptors)
        return (time.perf_counter_ns() - begin) / (rounds * ROWS)

    return memcpy_many


def run(loop: str, repetitions: int, count: int, only: str | None = None) -> dict[str, float]:
    """What measure() returns in an event loop of the module of that name."""
    with asyncio.Runner(loop_factory=importlib.import_module(loop).new_event_loop) as runner:
        return runner.run(measure(repetitions, count, only))


def best_in_turns(
    names: list[str], repetitions: int, measure_one: Callable[[str], dict[str, float]]
) -> list[dict[str, float]]:
    """The best figures of each, in the order of names."""
    best: list[dict[str, float]] = [{} for _ in names]
    for _ in range(repetitions):
        for name, figures in zip(names, best, strict=True):
            for figure, value in measure_one(name).items():
                figures[figure] = min(value, figures.get(figure, value))
    return best


def find_pythons(names: list[str]) -> list[str]:
    """The interpreters that have pydoca; prints the others on standard error."""
    found = []
    for name in names:
        probe = [shutil.which(name) or name, "-c", "import pydoca"]
        try:
            subprocess.run(probe, check=True, capture_output=True, text=True)
        except OSError as error:
            print(f"{name}: {error}", file=sys.stderr)
        except subprocess.CalledProcessError as error:
            print(f"{name} has no pydoca: {error.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        else:
            found.append(name)
    return found


def measure_under(python: str, count: int) -> dict[str, float]:
    command = [python, __file__, "--json", "--repetitions", "1", "--count", str(count)]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures = json.loads(run.stdout)
    return {floor_of(figure["name"]): figure["floor"] for figure in figures} | {
        figure["name"]: figure["value"] for figure in figures
    }


def figures_of(name: str, best: dict[str, float], first: dict[str, float], other: str) -> Iterator[Figure]:
    """The best values of an interpreter or a loop, beside those of the first."""
    for figure, value in best.items():
        target = None if figure in FLOORS else TARGET
        yield Figure(f"{figure}, {name}, against {other}", "ns", value, first[figure], target)


def compare_pythons(pythons: list[str], arguments: argparse.Namespace) -> Iterator[Figure]:
    """Each turn of an interpreter is a process of its own."""
    measured = best_in_turns(pythons, arguments.repetitions, lambda python: measure_under(python, arguments.count))
    for python, best in zip(pythons, measured, strict=True):
        yield from figures_of(python, best, measured[0], "the first")


def compare_loops(loop: str, arguments: argparse.Namespace) -> Iterator[Figure]:
    loops = ["asyncio", loop]
    first, best = best_in_turns(loops, arguments.repetitions, lambda name: run(name, 1, arguments.count))
    return figures_of(loop, best, first, "asyncio")


def main() -> int:
    parser = arguments_of(__doc__, repetitions=9)
    parser.add_argument("--count", type=int, default=20_000, help="awaits of a kind in each repetition")
    parser.add_argument("--only", metavar="NAME", help="do the awaits of one kind, and print nothing")
    parser.add_argument("--loop", choices=("asyncio", "uvloop"), default="asyncio", help="an event loop to compare")
    parser.add_argument("python", nargs="*", help="an interpreter to compare; none: this one alone")
    arguments = parser.parse_args()

    if arguments.only:
        run(arguments.loop, arguments.repetitions, arguments.count, arguments.only)
        return 0
    if arguments.loop != "asyncio":
        if arguments.python:
            parser.error("--loop compares loops of this interpreter: name no other interpreter beside it")
        return print_report(compare_loops(arguments.loop, arguments), arguments)
    if arguments.python:
        if not (pythons := find_pythons(arguments.python)):
            parser.error("none of these interpreters has pydoca")
        return print_report(compare_pythons(pythons, arguments), arguments)
    best = run("asyncio", arguments.repetitions, arguments.count)
    figures = (Figure(name, "ns", value, best[floor_of(name)]) for name, value in best.items() if name not in FLOORS)
    return print_report(figures, arguments)


if __name__ == "__main__":
    sys.exit(main())
