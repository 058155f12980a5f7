"""The cost of awaiting a graph: a run of 4 copies, beside the await of one copy and the engine's work for 3 more."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable

from print_report import Figure, arguments_of, print_report

import pydoca

SIZE = 64  # bytes of a copy
TARGET = 1.2  # times the await of one task and the work of its other nodes


class Copies:
    """A chain of copies as a graph, whose one instance is awaited again and again."""

    def __init__(self, pe: pydoca.ProgressEngine, device: pydoca.Device, dma: pydoca.Dma, count: int) -> None:
        self._memory = pydoca.alloc(2 * count * SIZE)
        self._map = device.mmap(self._memory)
        self._inventory = pydoca.BufInventory(2 * count)
        graph = pydoca.Graph(pe, num_instances=1)
        nodes: dict[pydoca.GraphNode, pydoca.Task] = {}
        self._targets = []
        for i in range(count):
            begin = self._map.addr + 2 * i * SIZE
            target = self._inventory.get_by_addr(self._map, begin + SIZE, SIZE)
            task = dma.memcpy(self._inventory.get_by_data(self._map, begin, SIZE), target, submit=False)
            nodes[graph.node(dma, after=list(nodes)[-1:])] = task
            self._targets.append(target)
        graph.start()
        self._first = next(iter(nodes.values()))
        self._instance = graph.create_instance(nodes)

    async def run_graph(self, count: int) -> float:
        """Nanoseconds of a run."""
        submit, resets = self._instance.submit, [target.reset_data_len for target in self._targets]
        begin = time.perf_counter_ns()
        for _ in range(count):
            for reset in resets:
                reset()
            submit()
            await self._instance
        return (time.perf_counter_ns() - begin) / count

    async def run_task(self, count: int) -> float:
        """Nanoseconds of one awaited copy, without a graph."""
        submit, reset = self._first.submit, self._targets[0].reset_data_len
        begin = time.perf_counter_ns()
        for _ in range(count):
            reset()
            submit()
            await self._first
        return (time.perf_counter_ns() - begin) / count


async def measure(repetitions: int, count: int) -> dict[str, float]:
    """Nanoseconds by name: the best of several stretches."""
    device = pydoca.open_device("03:00.0", side="dpu")
    async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, device, num_tasks=64) as dma:
        four, twenty = Copies(pe, device, dma, 4), Copies(pe, device, dma, 20)
        stretches: dict[str, Callable[[int], Awaitable[float]]] = {
            "task": four.run_task,
            "graph of 4": four.run_graph,
            "graph of 20": twenty.run_graph,
        }
        best = dict.fromkeys(stretches, float("inf"))
        for _ in range(repetitions):
            for name, stretch in stretches.items():
                best[name] = min(best[name], await stretch(count))
    return best


def main() -> int:
    parser = arguments_of(__doc__, repetitions=9)
    parser.add_argument("--count", type=int, default=10_000, help="awaits of a kind in each repetition")
    arguments = parser.parse_args()
    best = asyncio.run(measure(arguments.repetitions, arguments.count))
    node = (best["graph of 20"] - best["graph of 4"]) / 16  # a node includes its reset_data_len() in Python
    name = "await a graph of 4 copies of 64 B, against the await of one and the work of three"
    return print_report([Figure(name, "ns", best["graph of 4"], best["task"] + 3 * node, TARGET)], arguments)


if __name__ == "__main__":
    sys.exit(main())
