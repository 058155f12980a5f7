"""Many awaits in one call: pe.gather(tasks) and pe.as_completed(tasks), beside a loop that awaits the tasks.

Submissions count on both sides. The target is that of the loop; 50 ns a call are left out, for the list that a gather
returns. as_completed() has no target: the floor has no `async for`.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

from print_report import Figure, arguments_of, print_report

import pydoca

TARGET = 1.05  # times the loop: two equal figures differ by so much on a machine that is not alone
PER_CALL = 50  # ns
STRETCH = 1 << 20  # ns, about: shorter than a time slice of the system
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


async def figures(repetitions: int, latency: str) -> AsyncIterator[Figure]:
    device = pydoca.open_device("03:00.0", side="dpu")
    for size, num_tasks in GROUPS:
        best = await measure(device, size, num_tasks, repetitions, latency)
        floor = best["loop"]
        allowed = (best["gather"] - PER_CALL / num_tasks) / floor
        of = f"{num_tasks} x {size} B, against a loop of awaits"
        yield Figure(f"gather {of}", "ns", best["gather"], floor, TARGET, allowed)
        yield Figure(f"as_completed {of}", "ns", best["as_completed"], floor)


async def all_figures(repetitions: int, latency: str) -> list[Figure]:
    return [figure async for figure in figures(repetitions, latency)]


def main() -> int:
    parser = arguments_of(__doc__, repetitions=200)
    parser.add_argument("--latency", choices=["low", "balanced", "power"], default="balanced")
    arguments = parser.parse_args()
    return print_report(asyncio.run(all_figures(arguments.repetitions, arguments.latency)), arguments)


if __name__ == "__main__":
    raise SystemExit(main())
