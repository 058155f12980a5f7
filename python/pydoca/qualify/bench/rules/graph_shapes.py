"""Graphs of any shape: each node runs once, after all of its predecessors, and not after a failure."""

from __future__ import annotations

import random

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.patterns import prbs31, view
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty

_NODES = 12
_SIZE = 256


class _Shape:
    """Copies and functions with random dependencies. Functions check that their predecessors are done."""

    def __init__(self, stand: Stand, device: pydoca.Device, rng: random.Random) -> None:
        self.ran: list[int] = []
        self.early: list[tuple[int, int]] = []
        self.fail_at: int | None = None
        memory = stand.enter_context(pydoca.alloc((_NODES + 1) * _SIZE))
        self.pieces = view(memory).reshape(_NODES + 1, _SIZE)
        mmap = stand.enter_context(device.mmap(memory))
        inventory, pe = stand.bufs(2 * _NODES), stand.engine()
        with duty("a graph of any shape"):
            dma = stand.enter_context(pydoca.Dma(pe, device, num_tasks=_NODES))
            graph = pydoca.Graph(pe, num_instances=1)
            self.is_copy = [number == 0 or rng.random() < 0.4 for number in range(_NODES)]
            counts = [min(number, rng.choice((0, 1, 2, 3, 6))) for number in range(_NODES)]
            self.before = [rng.sample(range(number), count) for number, count in enumerate(counts)]
            self.nodes: list[pydoca.GraphNode] = []
            for number in range(_NODES):
                after = [self.nodes[each] for each in self.before[number]]
                self.nodes.append(graph.node(dma if self.is_copy[number] else self._run, after=after))
            stand.enter_context(graph)
            src = mmap.addr + _NODES * _SIZE
            self._dst = [stand.keep(inventory.get_by_addr(mmap, mmap.addr + n * _SIZE, _SIZE)) for n in range(_NODES)]
            source = stand.keep(inventory.get_by_data(mmap, src, _SIZE))
            self.instance = graph.create_instance(
                {
                    node: dma.memcpy(source, self._dst[number], submit=False) if self.is_copy[number] else number
                    for number, node in enumerate(self.nodes)
                }
            )
        stand.callback(self.instance.destroy)

    def _run(self, number: int) -> None:
        self.early += [(number, each) for each in self.before[number] if not self._is_done(each)]
        self.ran.append(number)
        if number == self.fail_at:
            raise ValueError("this function fails on purpose")

    def _is_done(self, number: int) -> bool:
        if self.is_copy[number]:
            return bool((self.pieces[number] == self.pieces[_NODES]).all())
        return number in self.ran

    def run(self, seed: int) -> bool:
        """Tells whether the graph has succeeded."""
        self.ran.clear()
        self.pieces[:_NODES] = 0
        self.pieces[_NODES] = prbs31(_SIZE, seed)
        for buf in self._dst:
            buf.reset_data_len()
        with duty("a graph of any shape"):
            self.instance.submit()
            try:
                self.instance.wait(timeout=waiting.PATIENCE)
            except ValueError:
                return False
        return True

    def require(self, seed: int) -> None:
        """Raises DeviceFault unless all ran in order; then with a function that fails, unless no successor ran."""
        functions = [number for number in range(_NODES) if not self.is_copy[number]]
        if not self.run(seed) or sorted(self.ran) != functions:
            raise DeviceFault(f"a graph whose functions are {functions} has run {self.ran}")
        for number, each in self.early:
            raise DeviceFault(f"function {number} of a graph ran before node {each}, on which it depends")
        if not all(self._is_done(number) for number in range(_NODES)):
            raise DeviceFault("a graph has succeeded, and a copy of it was not done")
        if functions:
            self._require_failure(functions[len(functions) // 2], seed + 1)

    def _require_failure(self, number: int, seed: int) -> None:
        self.fail_at = number
        if self.run(seed) or self.instance.failed_node != self.nodes[number]:
            raise DeviceFault(f"function {number} of a graph failed, and the graph does not say so")
        after = [each for each in self.ran if number in self.before[each]]
        if after or self.early:
            raise DeviceFault(f"function {number} of a graph failed, and functions {after} behind it have run")
        self.fail_at = None


def shapes(device: pydoca.Device, count: int, rng: random.Random) -> int:
    """Runs count random graphs, each with success and with a failure; returns how many nodes they had."""
    for number in range(count):
        with Stand() as stand:
            _Shape(stand, device, rng).require(2 * number + 1)
    return _NODES * count


def together(device: pydoca.Device, count: int, rounds: int) -> int:
    """Instances of one graph, and of a graph in it, run at once, each with its own data; returns how many ran."""
    seen: list[int] = []
    with Stand() as stand:
        pe, inventory = stand.engine(), stand.bufs(2 * count)
        memory = stand.enter_context(pydoca.alloc(2 * count * _SIZE))
        pieces = view(memory).reshape(2, count, _SIZE)
        mmap = stand.enter_context(device.mmap(memory))
        with duty("a graph in a graph"):
            dma = stand.enter_context(pydoca.Dma(pe, device, num_tasks=count))
            inner, outer = (pydoca.Graph(pe, num_instances=count) for _ in range(2))
            copy = inner.node(dma)
            stand.enter_context(inner)
            part = outer.node(inner)
            last = outer.node(seen.append, after=[part])
            first = outer.node(seen.append)
            outer.add_dependency(first, part)
            stand.enter_context(outer)
            runs, room = [], []
            for number in range(count):
                src = stand.keep(inventory.get_by_data(mmap, mmap.addr + number * _SIZE, _SIZE))
                room.append(stand.keep(inventory.get_by_addr(mmap, mmap.addr + (count + number) * _SIZE, _SIZE)))
                task = dma.memcpy(src, room[-1], submit=False)
                data = {first: number, part: inner.create_instance({copy: task}), last: count + number}
                runs.append(outer.create_instance(data))
        for number in range(rounds):
            seen.clear()
            pieces[0] = prbs31(count * _SIZE, number + 1).reshape(count, _SIZE)
            pieces[1] = 0
            for buf in room:
                buf.reset_data_len()
            with duty("graphs that run at once"):
                for run in runs:
                    run.submit()
                for run in runs:
                    run.wait(timeout=waiting.PATIENCE)
            is_right = sorted(seen) == list(range(2 * count)) and (pieces[0] == pieces[1]).all()
            if not is_right or any(seen.index(each) > seen.index(count + each) for each in range(count)):
                raise DeviceFault(f"of {count} graphs that ran at once, the functions ran in the order {seen}")
        for run in runs:
            run.destroy()
    return count * rounds
