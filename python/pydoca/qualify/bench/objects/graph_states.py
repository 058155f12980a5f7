"""Graphs: properties of instances and nodes before, during and after a run, and their callbacks."""

from __future__ import annotations

from typing import Any

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused

_INSTANCES = 4


class _Runs:
    """A graph of a copy and three functions in a row; each function gets a cookie of its instance."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        self.seen: list[object] = []
        self.told: list[tuple[str, object, object]] = []
        self.fail_at: object = None
        self.pe, inventory = stand.engine(), stand.bufs(2 * _INSTANCES)
        mmap = stand.enter_context(device.mmap(pydoca.alloc(2 * _INSTANCES * 64)))
        places = [mmap.addr + number * 64 for number in range(2 * _INSTANCES)]
        self._src = [stand.keep(inventory.get_by_data(mmap, place, 64)) for place in places[:_INSTANCES]]
        self._dst = [stand.keep(inventory.get_by_addr(mmap, place, 64)) for place in places[_INSTANCES:]]
        with duty("a graph with callbacks"):
            self._dma = stand.enter_context(pydoca.Dma(self.pe, device, num_tasks=_INSTANCES))
            self.graph = pydoca.Graph(
                self.pe,
                num_instances=_INSTANCES,
                on_completion=self._teller("completion"),
                on_error=self._teller("error"),
                user_data="graph",
                timing=True,
            )
            self.copy = self.graph.node(self._dma)
            self.nodes: list[pydoca.GraphNode] = []
            for _ in range(3):
                self.nodes.append(self.graph.node(self._run, after=self.nodes[-1:] or [self.copy]))
            stand.enter_context(self.graph)
            self.instances = [self._make(number) for number in range(_INSTANCES)]
        stand.callback(self._destroy)

    def _make(self, number: int) -> pydoca.GraphInstance:
        cookies = {node: (number, place) for place, node in enumerate(self.nodes)}
        copy = self._dma.memcpy(self._src[number], self._dst[number], submit=False)
        made = self.graph.create_instance({self.copy: copy, **cookies})
        made.user_data = number
        return made

    def _destroy(self) -> None:
        for each in self.instances:
            each.destroy()

    def _teller(self, name: str) -> Any:
        return lambda instance, data, owner: self.told.append((name, data, owner))

    def begin(self, number: int) -> None:
        """Submits an instance."""
        self._dst[number].reset_data_len()
        self.instances[number].submit()

    def _run(self, cookie: object) -> None:
        self.seen.append(cookie)
        if cookie == self.fail_at:
            raise ValueError("this function fails on purpose")


def _change(runs: _Runs, number: int, turn: int) -> None:
    """A function gets the cookie that its instance was given last."""
    runs.seen.clear()
    instance = runs.instances[number]
    for place, node in enumerate(runs.nodes):
        instance[node] = (number, place, turn)
    with duty("a run of a graph with other cookies"):
        runs.begin(number)
    _wait(runs, number)
    if runs.seen != [(number, place, turn) for place in range(3)]:
        raise DeviceFault(f"turn {turn} of an instance with cookies of its own: its functions got {runs.seen}")
    for place, node in enumerate(runs.nodes):
        instance[node] = (number, place)


def check(device: pydoca.Device, rounds: int) -> int:
    """Instances run alone, at once, and with a failure; returns how many runs there were."""
    with Stand() as stand:
        runs = _Runs(stand, device)
        _require_limits(runs)
        for number in range(rounds):
            _one_round(runs, number % _INSTANCES)
            _all_at_once(runs)
            _change(runs, number % _INSTANCES, number)
            _one_failure(runs, number % _INSTANCES)
    return rounds * (_INSTANCES + 3)


def _require_limits(runs: _Runs) -> None:
    graph, (first, second, last) = runs.graph, runs.nodes
    found: dict[str, object] = {"num_instances": graph.num_instances, "max_instances": graph.max_instances}
    found |= {"nodes": graph.nodes, "index": [node.index for node in graph.nodes], "user_data": graph.user_data}
    found |= {"successors": [first.successors, second.successors, last.successors], "types": first.type}
    expected: dict[str, object] = {
        "num_instances": _INSTANCES,
        "max_instances": _INSTANCES,
        "nodes": [runs.copy, *runs.nodes],
    }
    expected |= {"index": [0, 1, 2, 3], "user_data": "graph", "successors": [[second], [last], []], "types": "user"}
    require_told("a graph", found, expected)
    with refused("one instance more than a graph may have", pydoca.DocaError):
        graph.create_instance()


def _wait(runs: _Runs, number: int) -> None:
    instance = runs.instances[number]
    with duty("a run of a graph"):
        instance.wait(timeout=waiting.PATIENCE)
    runs.pe.drain(100)


def _one_round(runs: _Runs, number: int) -> None:
    runs.seen.clear()
    runs.told.clear()
    instance = runs.instances[number]
    with duty("a run of a graph"):
        runs.begin(number)
    if not instance.is_running:
        raise DeviceFault("an instance was submitted, and says that it does not run")
    _wait(runs, number)
    states = [instance.node_state(node) for node in runs.nodes]
    found: dict[str, object] = {"status": instance.status, "running": instance.is_running, "states": set(states)}
    found |= {"seen": runs.seen, "told": runs.told, "failed": instance.failed_node}
    expected: dict[str, object] = {"status": pydoca.Status.SUCCESS, "running": False, "failed": None}
    expected |= {"states": {pydoca.GraphNodeState.COMPLETED}, "seen": [(number, place) for place in range(3)]}
    require_told("a run of a graph", found, {**expected, "told": [("completion", number, "graph")]})
    times = [time for node in runs.nodes for time in instance.node_times(node)]
    if times != sorted(times) or times[-1] == 0:
        raise DeviceFault(f"the nodes of a run tell that they began and ended at {times} ns")


def _all_at_once(runs: _Runs) -> None:
    runs.seen.clear()
    runs.told.clear()
    for number in range(_INSTANCES):
        with duty("runs of a graph at once"):
            runs.begin(number)
    for number in range(_INSTANCES):
        _wait(runs, number)
    expected = [(number, place) for number in range(_INSTANCES) for place in range(3)]
    told = sorted(("completion", number, "graph") for number in range(_INSTANCES))
    if sorted(runs.seen) != expected or sorted(runs.told) != told:  # type: ignore[type-var]
        raise DeviceFault(f"{_INSTANCES} runs at once: functions got {runs.seen}, and the callbacks {runs.told}")


def _one_failure(runs: _Runs, number: int) -> None:
    runs.seen.clear()
    runs.told.clear()
    runs.fail_at = (number, 1)
    instance = runs.instances[number]
    with duty("a run of a graph that fails"):
        runs.begin(number)
        try:
            instance.wait(timeout=waiting.PATIENCE)
        except ValueError:
            pass
        else:
            raise DeviceFault("a graph succeeds, and a function of it has failed")
    runs.pe.drain(100)
    runs.fail_at = None
    state = pydoca.GraphNodeState
    found: dict[str, object] = {"states": [instance.node_state(node) for node in runs.nodes], "told": runs.told}
    found |= {"seen": runs.seen, "failed": instance.failed_node, "success": instance.status is pydoca.Status.SUCCESS}
    expected: dict[str, object] = {"states": [state.COMPLETED, state.ERROR, state.NOT_STARTED], "success": False}
    expected |= {"seen": [(number, 0), (number, 1)], "failed": runs.nodes[1], "told": [("error", number, "graph")]}
    require_told("a run of a graph that fails", found, expected)
