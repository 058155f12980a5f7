"""Many awaits in one call: pe.gather(tasks) and pe.as_completed(tasks), beside a loop that awaits the tasks.

Submissions count on both sides. The target is that of the loop; 50 ns a call are left out, for the list that a gather
returns. as_completed() has no target: the floor has no `async for`.

dma.memcpy_many() stands beside bare_copies, a loop of memcpy in C that reads the same descriptors; `cmake --preset
bench && cmake --build --preset bench` in cpp/ builds it. It also stands beside the loop of awaits, of tasks that exist.
"""

import asyncio
import ctypes
import time
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

from print_report import PROGRAMS, Figure, arguments_of, print_report

import pydoca

TARGET = 1.05  # times the loop: two equal figures differ by so much on a machine that is not alone
PER_CALL = 50  # ns
STRETCH = 1 << 20  # ns, about: shorter than a time slice of the system
PER_ROW = 30  # ns above the memcpy of a row
BATCHES = ((64, 64), (64, 1000), (4096, 64), (4096, 1000))  # bytes of a row, and rows
IN_FLIGHT = 64  # tasks of a batch
GROUPS = ((64, 1), (64, 2), (64, 64), (64, 1000), (131072, 1), (131072, 64))  # bytes of a task, and tasks

Way = Callable[[Any, list[Any]], Awaitable[None]]


async def loop(pe: Any, tasks: list[Any]) -> None:
    for task in tasks:
        await task


async def gather(pe: Any, tasks: list[Any]) -> None:
    await pe.gather(tasks)


async def as_completed(pe: Any, tasks: list[Any]) -> None:
    async for _ in pe.as_completed(tasks):
        pass


WAYS: dict[str, Way] = {"loop": loop, "gather": gather, "as_completed": as_completed}


async def stretch(pe: Any, tasks: list[Any], way: Way, rounds: int) -> float:
    """Nanoseconds of one task."""
    begin = time.perf_counter_ns()
    for _ in range(rounds):
        for task in tasks:
            task.dst.reset_data_len()
            task.submit()
        await way(pe, tasks)
    return (time.perf_counter_ns() - begin) / (rounds * len(tasks))


async def measure(device: Any, size: int, num_tasks: int, repetitions: int, latency: str) -> dict[str, float]:
    """The best of many short stretches for each way; the ways take turns."""
    inventory = pydoca.BufInventory(num_tasks + 1)
    src = inventory.get_by_data(device.mmap(pydoca.alloc(size)))
    rooms = device.mmap(pydoca.alloc(size * num_tasks))
    dsts = [inventory.get_by_addr(rooms, rooms.addr + size * i, size) for i in range(num_tasks)]
    async with pydoca.ProgressEngine(latency=latency) as pe, pydoca.Dma(pe, device, num_tasks=num_tasks) as dma:
        tasks = [dma.memcpy(src, dst, submit=False) for dst in dsts]
        take = partial(stretch, pe, tasks)
        rounds = max(1, STRETCH // round(num_tasks * await take(loop, 1)))
        best = dict.fromkeys(WAYS, float("inf"))
        for _ in range(repetitions):
            for name, way in WAYS.items():
                best[name] = min(best[name], await take(way, rounds))
        return best


class Batch:
    """Copies of equal size, each to a place of its own, as descriptors."""

    def __init__(self, device: Any, size: int, num_rows: int) -> None:
        self.src, self.dst = device.mmap(pydoca.alloc(size)), device.mmap(pydoca.alloc(size * num_rows))
        self.words = array("Q")
        for row in range(num_rows):
            self.words.extend((self.src.addr, self.dst.addr + size * row, size, row))
        self.rows = memoryview(self.words).cast("B").cast("Q", (num_rows, 4))

    async def copy(self, dma: Any) -> None:
        await dma.memcpy_many(self.src, self.dst, self.rows)

    def bare(self) -> Callable[[], None]:
        """A loop of memcpy in C."""
        copy = ctypes.CDLL(str(PROGRAMS / "bare_copies.so")).copy_rows
        return partial(copy, ctypes.c_void_p(self.words.buffer_info()[0]), ctypes.c_size_t(len(self.rows)))


async def measure_batch(device: Any, size: int, num_rows: int, repetitions: int, latency: str) -> tuple[float, float]:
    """Nanoseconds of a row, awaited and bare: the best of many batches, which take turns."""
    batch = Batch(device, size, num_rows)
    bare, best = batch.bare(), [float("inf"), float("inf")]
    async with pydoca.ProgressEngine(latency=latency) as pe, pydoca.Dma(pe, device, num_tasks=IN_FLIGHT) as dma:
        for _ in range(10 * repetitions):
            begin = time.perf_counter_ns()
            await batch.copy(dma)
            middle = time.perf_counter_ns()
            bare()
            end = time.perf_counter_ns()
            best = [min(best[0], middle - begin), min(best[1], end - middle)]
    return best[0] / num_rows, best[1] / num_rows


async def figures_of_batches(device: Any, repetitions: int, latency: str) -> AsyncIterator[Figure]:
    for size, num_rows in BATCHES:
        value, floor = await measure_batch(device, size, num_rows, repetitions, latency)
        of = f"memcpy_many {num_rows} x {size} B, a descriptor"
        yield Figure(f"{of}, above memcpy", "ns", value, floor, PER_ROW, compared="difference")
        loop_of_awaits = (await measure(device, size, num_rows, repetitions // 4, latency))["loop"]
        yield Figure(f"{of}, against a loop of awaits", "ns", value, loop_of_awaits)


async def figures(repetitions: int, latency: str) -> AsyncIterator[Figure]:
    device = pydoca.open_device("03:00.0", side="dpu")
    for size, num_tasks in GROUPS:
        best = await measure(device, size, num_tasks, repetitions, latency)
        floor = best["loop"]
        allowed = (best["gather"] - PER_CALL / num_tasks) / floor
        of = f"{num_tasks} x {size} B, against a loop of awaits"
        yield Figure(f"gather {of}", "ns", best["gather"], floor, TARGET, allowed)
        yield Figure(f"as_completed {of}", "ns", best["as_completed"], floor)
    async for figure in figures_of_batches(device, repetitions, latency):
        yield figure


async def all_figures(repetitions: int, latency: str) -> list[Figure]:
    return [figure async for figure in figures(repetitions, latency)]


def main() -> int:
    parser = arguments_of(__doc__, repetitions=200)
    parser.add_argument("--latency", choices=["low", "balanced", "power"], default="balanced")
    arguments = parser.parse_args()
    return print_report(asyncio.run(all_figures(arguments.repetitions, arguments.latency)), arguments)


if __name__ == "__main__":
    raise SystemExit(main())
