"""Graphs: chains of copies with functions between them, their data, their cost, and a failure in the middle."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.patterns import Bytes, prbs31, view
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty
from pydoca.qualify.bench.zones import require_equal

SIZE = 256  # bytes of each copy


class Chain:
    """A chain of copies, each from the destination of the one before; after each, a function notes that it ran."""

    def __init__(self, stand: Stand, device: pydoca.Device, length: int) -> None:
        self.length = length
        self.ran: list[int] = []
        self.fail_at: int | None = None
        memory = stand.enter_context(pydoca.alloc((length + 1) * SIZE))
        self.pieces: Bytes = view(memory).reshape(length + 1, SIZE)
        mmap = stand.enter_context(device.mmap(memory))
        inventory, self._pe = stand.bufs(2 * length), stand.engine()
        self._bufs = [self._pair(stand, inventory, mmap, i) for i in range(length)]
        with duty(f"a graph of {length} copies"):
            dma = stand.enter_context(pydoca.Dma(self._pe, device, num_tasks=length))
            graph = pydoca.Graph(self._pe, num_instances=1)
            self.copies: list[pydoca.GraphNode] = []
            self.notes: list[pydoca.GraphNode] = []
            for _ in range(length):
                self.copies.append(graph.node(dma, after=self.notes[-1:]))
                self.notes.append(graph.node(self._note, after=self.copies[-1:]))
            stand.enter_context(graph)
            tasks = [dma.memcpy(*pair, submit=False) for pair in self._bufs]
            cookies = dict(zip(self.notes, range(length), strict=True))
            self.instance: pydoca.GraphInstance = graph.create_instance(
                {**dict(zip(self.copies, tasks, strict=True)), **cookies}
            )
        stand.callback(self.instance.destroy)

    @staticmethod
    def _pair(
        stand: Stand, inventory: pydoca.BufInventory, mmap: pydoca.Mmap, place: int
    ) -> tuple[pydoca.Buf, pydoca.Buf]:
        begin = mmap.addr + place * SIZE
        return (
            stand.keep(inventory.get_by_data(mmap, begin, SIZE)),
            stand.keep(inventory.get_by_addr(mmap, begin + SIZE, SIZE)),
        )

    def _note(self, number: int) -> None:
        self.ran.append(number)
        if number == self.fail_at:
            raise ValueError("this function fails on purpose")

    def prepare(self, seed: int) -> None:
        """Writes new data to the begin of the chain, and empties the rest."""
        self.ran.clear()
        self.pieces[1:] = 0
        self.pieces[0] = prbs31(SIZE, seed)
        for _, dst in self._bufs:
            dst.reset_data_len()

    def run(self, seed: int, wait: waiting.Wait | None = None) -> int:
        """Runs the graph once, and verifies the data at its end; returns nanoseconds. The thread waits by wait."""
        self.prepare(seed)
        what = f"a graph of {self.length} copies"
        with duty(what):
            begin = time.perf_counter_ns()
            self.instance.submit()
            if wait is not None:
                wait(self._pe, lambda: not self.instance.is_running, what)
            self.instance.wait(timeout=waiting.PATIENCE)
            taken = time.perf_counter_ns() - begin
        if self.ran != list(range(self.length)):
            raise DeviceFault(f"{what}: its functions ran in the order {self.ran}")
        for place in range(1, self.length + 1):
            require_equal(self.pieces[place], self.pieces[0], f"{what}: copy {place}")
        return taken


def run(device: pydoca.Device, length: int, times: int) -> int:
    """Runs a chain several times; returns how many nodes have run."""
    with Stand() as stand:
        chain = Chain(stand, device, length)
        for seed in range(times):
            chain.run(seed + 1)
    return 2 * length * times


def node_cost(device: pydoca.Device, length: int, until: Callable[[], bool]) -> Iterator[float]:
    """Microseconds of a run, divided by its nodes."""
    with Stand() as stand:
        chain = Chain(stand, device, length)
        seed = 0
        while not until():
            seed += 1
            yield chain.run(seed) / (2 * length) / 1e3


def failure_in_the_middle(device: pydoca.Device, length: int = 8) -> None:
    """Checks that nodes after a failed one do not run, that there is one error, and that the graph runs again."""
    middle = length // 2
    with Stand() as stand:
        chain = Chain(stand, device, length)
        chain.run(1)
        chain.prepare(2)
        chain.fail_at = middle
        _require_failure(chain)
        if chain.ran != list(range(middle + 1)) or chain.pieces[middle + 2 :].any():
            raise DeviceFault(f"after a failure in node {middle} of {length}, these functions had run: {chain.ran}")
        if chain.instance.failed_node != chain.notes[middle]:
            raise DeviceFault(f"the graph names another failed node than the {middle}th function")
        chain.fail_at = None
        chain.run(3)


def _require_failure(chain: Chain) -> None:
    try:
        chain.instance.submit()
        chain.instance.wait(timeout=waiting.PATIENCE)
    except ValueError as error:
        if "on purpose" in str(error):
            return
        raise DeviceFault(f"a graph ended with {error!r}, which is not the error of the node that failed") from error
    except pydoca.DocaError as error:
        raise DeviceFault(f"a graph ended with {error!r}, which is not the error of the node that failed") from error
    raise DeviceFault("a graph succeeded although one of its nodes failed")
