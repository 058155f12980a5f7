"""The cost of awaits that need not wait, beside the await of a done asyncio future.

With interpreters as arguments (`benchmarks/awaits.py python3.11 python3.13`), measures in turns under each of them
that has pydoca, and compares them with the first: awaits should take the same time with each Python.
"""

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import time
from array import array
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from print_report import Figure, arguments_of, print_report

FLOOR = "await a future that is done"
OF_BATCHES = "await dma.memcpy_many, a row of 64 B"
ROWS = 1000  # of a batch
TARGET = 1.1  # times the first interpreter's
SIZE = 4096  # bytes


async def measure(repetitions: int, count: int, only: str | None = None) -> dict[str, float]:
    """Nanoseconds for one await of each kind, or of one: the best of several stretches of awaits."""
    import pydoca

    device = pydoca.open_device("03:00.0", side="dpu")
    event = pydoca.SyncEvent(device)
    inventory = pydoca.BufInventory(2)
    async with (
        pydoca.ProgressEngine() as pe,
        pydoca.Dma(pe, device, num_tasks=4) as dma,
        event.as_context(pe) as context,
    ):
        src = inventory.get_by_data(device.mmap(pydoca.alloc(SIZE)))
        dst = inventory.get_by_addr(device.mmap(pydoca.alloc(SIZE)))
        stretches = make_stretches(dma, src, dst, context) | {OF_BATCHES: stretch_of_batches(dma, device)}
        if only:
            return {only: await stretches[only](count)}
        best = dict.fromkeys(stretches, float("inf"))
        for _ in range(repetitions):
            for name, stretch in stretches.items():
                best[name] = min(best[name], await stretch(count))
        return best


def make_stretches(dma: Any, src: Any, dst: Any, context: Any) -> dict[str, Callable[[int], Awaitable[float]]]:
    """Functions by name, each of which takes a number of awaits and returns the nanoseconds of one."""

    async def floor(count: int) -> float:
        future = asyncio.get_running_loop().create_future()
        future.set_result(None)
        begin = time.perf_counter_ns()
        for _ in range(count):
            await future
        return (time.perf_counter_ns() - begin) / count

    async def memcpy(count: int) -> float:
        memcpy, reset = dma.memcpy, dst.reset_data_len
        begin = time.perf_counter_ns()
        for _ in range(count):
            reset()
            await memcpy(src, dst)
        return (time.perf_counter_ns() - begin) / count

    async def notify_set(count: int) -> float:
        notify_set = context.notify_set
        begin = time.perf_counter_ns()
        for i in range(count):
            await notify_set(i)
        return (time.perf_counter_ns() - begin) / count

    async def wait_eq(count: int) -> float:
        await context.notify_set(7)
        wait_eq = context.wait_eq
        begin = time.perf_counter_ns()
        for _ in range(count):
            await wait_eq(7)
        return (time.perf_counter_ns() - begin) / count

    return {
        FLOOR: floor,
        "await dma.memcpy, 4 KiB": memcpy,
        "await context.notify_set": notify_set,
        "await context.wait_eq, true at once": wait_eq,
    }


def stretch_of_batches(dma: Any, device: Any) -> Callable[[int], Awaitable[float]]:
    """A function that takes a number of rows, all of small copies, and returns the nanoseconds of one."""
    import pydoca

    src, dst = device.mmap(pydoca.alloc(64)), device.mmap(pydoca.alloc(64 * ROWS))
    words = array("Q", [word for row in range(ROWS) for word in (src.addr, dst.addr + 64 * row, 64, row)])
    descriptors = memoryview(words).cast("B").cast("Q", (ROWS, 4))

    async def memcpy_many(count: int) -> float:
        memcpy_many = dma.memcpy_many
        begin = time.perf_counter_ns()
        for _ in range(count // ROWS):
            await memcpy_many(src, dst, descriptors)
        return (time.perf_counter_ns() - begin) / count

    return memcpy_many


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
    return {FLOOR: figures[0]["floor"]} | {figure["name"]: figure["value"] for figure in figures}


def measure_in_turns(pythons: list[str], repetitions: int, count: int) -> list[dict[str, float]]:
    """The best figure of each, in the order of pythons. Each turn is a process of its own."""
    best: list[dict[str, float]] = [{} for _ in pythons]
    for _ in range(repetitions):
        for python, figures in zip(pythons, best, strict=True):
            for name, value in measure_under(python, count).items():
                figures[name] = min(value, figures.get(name, value))
    return best


def figures_of(python: str, best: dict[str, float], first: dict[str, float]) -> Iterator[Figure]:
    """The interpreter's best values, beside those of the first interpreter."""
    for name, value in best.items():
        yield Figure(
            f"{name}, {python}, against the first", "ns", value, first[name], None if name == FLOOR else TARGET
        )


def compare(pythons: list[str], arguments: argparse.Namespace) -> Iterator[Figure]:
    measured = measure_in_turns(pythons, arguments.repetitions, arguments.count)
    for python, best in zip(pythons, measured, strict=True):
        yield from figures_of(python, best, measured[0])


def main() -> int:
    parser = arguments_of(__doc__, repetitions=9)
    parser.add_argument("--count", type=int, default=20_000, help="awaits of a kind in each repetition")
    parser.add_argument("--only", metavar="NAME", help="do the awaits of one kind, and print nothing")
    parser.add_argument("python", nargs="*", help="an interpreter to compare; none: this one alone")
    arguments = parser.parse_args()

    if arguments.python:
        if not (pythons := find_pythons(arguments.python)):
            parser.error("none of these interpreters has pydoca")
        return print_report(compare(pythons, arguments), arguments)
    best = asyncio.run(measure(arguments.repetitions, arguments.count, arguments.only))
    if arguments.only:
        return 0
    floor = best.pop(FLOOR)
    return print_report((Figure(name, "ns", value, floor) for name, value in best.items()), arguments)


if __name__ == "__main__":
    sys.exit(main())
