"""Graphs: what they refuse and tell in each state, and how an error of a node ends its run."""

from __future__ import annotations

from typing import Any

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.contracts.engines import require_refused
from pydoca.qualify.bench.contracts.places import SIZE, Places
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused
from pydoca.qualify.bench.zones import require_equal

_State, _Status = pydoca.GraphNodeState, pydoca.Status


class _Row:
    """A copy, a function, another function whose answer the bench chooses, and another copy, in this order."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        self.places, self.pe, self.answer = Places(stand, device), stand.engine(), _Status.SUCCESS
        self.seen: list[object] = []
        self.calls: list[object] = []
        with duty("a graph of two copies and two functions"):
            on_end = {"on_completion": lambda *told: self.calls.append(told), "on_error": lambda *_: None}
            self.dma = stand.enter_context(pydoca.Dma(self.pe, device, num_tasks=2, **on_end))
            self.graph = pydoca.Graph(self.pe, num_instances=2, timing=True)
        self.tasks = [self.dma.memcpy(self.places.src, room, submit=False) for room in self.places.rooms]
        self.other = pydoca.Graph(stand.engine())

    def build(self, stand: Stand) -> None:
        """Adds the nodes, and tries what is refused on the way."""
        graph, invalid = self.graph, pydoca.InvalidValueError
        foreign = self.other.node(self.seen.append)
        note = graph.node(self.seen.append)
        choose = graph.node(lambda _: self.answer, after=[note])
        calls: Any = {"start() without a context": (graph.start, pydoca.BadStateError)}
        require_refused("a graph", calls)
        first, last = graph.node(self.dma), graph.node(self.dma, after=[choose])
        graph.add_dependency(first, note)
        calls = {
            "a cycle": (lambda: graph.add_dependency(last, first), pydoca.NotPermittedError),
            "a dependency on itself": (lambda: graph.add_dependency(first, first), pydoca.NotPermittedError),
            "a dependency that exists": (lambda: graph.add_dependency(first, note), pydoca.AlreadyExistError),
            "a node of another graph": (lambda: graph.add_dependency(first, foreign), invalid),
            "a context of another engine": (lambda: self.other.node(self.dma), invalid),
            "an instance before the start": (graph.create_instance, pydoca.BadStateError),
        }
        require_refused("a graph", calls)
        found: dict[str, object] = {"started": graph.is_started, "type": (first.type, note.type), "nodes": graph.nodes}
        found |= {"source": first.source, "successors": (first.successors, last.successors), "graph": first.graph}
        expected: dict[str, object] = {
            "started": False,
            "type": ("context", "user"),
            "source": self.dma,
            "graph": graph,
        }
        expected |= {"successors": ([note], []), "nodes": [note, choose, first, last]}
        require_told("a graph", found, expected)
        self.note, self.choose, self.first, self.last = note, choose, first, last
        with duty("start a graph"):
            stand.enter_context(graph)
        calls = {"a second start()": (graph.start, pydoca.BadStateError)}
        calls["a node"] = lambda: graph.node(self.dma), pydoca.BadStateError
        calls["a dependency"] = lambda: graph.add_dependency(choose, note), pydoca.BadStateError
        require_refused("a started graph", calls)

    def data(self) -> dict[pydoca.GraphNode, object]:
        """The data of each node, for a new instance."""
        return {self.first: self.tasks[0], self.last: self.tasks[1], self.note: "noted", self.choose: "chosen"}

    def states(self, instance: pydoca.GraphInstance) -> list[pydoca.GraphNodeState]:
        """The states of the first copy, the two functions and the last copy."""
        return [instance.node_state(node) for node in (self.first, self.note, self.choose, self.last)]


def check(device: pydoca.Device, rounds: int) -> int:
    """An instance runs again and again, with success, and with an error in turn; returns how often."""
    with Stand() as stand:
        made = _Row(stand, device)
        made.build(stand)
        graph = made.graph
        instance = graph.create_instance()
        found: dict[str, object] = {"states": set(made.states(instance)), "running": instance.is_running}
        found |= {"failed": instance.failed_node, "instances": (graph.num_instances, graph.max_instances)}
        expected: dict[str, object] = {"states": {_State.NOT_STARTED}, "running": False, "failed": None}
        require_told("an instance that was not submitted", found, {**expected, "instances": (1, 2)})
        with refused("an instance without data", pydoca.InvalidValueError):
            instance.submit()
        for node, value in made.data().items():
            instance[node] = value
        for number in range(rounds):
            made.answer = _Status.SUCCESS if number % 2 else (_Status.NOT_FOUND, _Status.AGAIN)[number // 2 % 2]
            _run(made, instance, number)
        _end(made, instance)
    return rounds


def _run(made: _Row, instance: pydoca.GraphInstance, number: int) -> None:
    made.places.prepare(number + 1)
    made.seen.clear()
    before = made.pe.stats()
    with duty("a graph"):
        instance.submit()
    _require_running(made, instance)
    try:
        instance.wait(waiting.PATIENCE)
        status = _Status.SUCCESS
    except pydoca.DocaError as error:
        status = error.status
    good, done = made.answer is _Status.SUCCESS, _State.COMPLETED
    ended = [done, done, done, done] if good else [done, done, _State.ERROR, _State.NOT_STARTED]
    counts = 2 if good else 1
    found: dict[str, object] = {"status": (status, instance.status), "running": instance.is_running, "seen": made.seen}
    found |= {"failed": instance.failed_node, "states": made.states(instance), "in flight": made.pe.num_inflight_tasks}
    found |= {"copies": made.pe.stats().completed - before.completed, "calls": made.calls}
    found |= {"data": [buf.data_len for buf in made.places.rooms], "task": made.tasks[0].status}
    expected: dict[str, object] = {"status": (made.answer,) * 2, "running": False, "seen": ["noted"], "calls": []}
    expected |= {"failed": None if good else made.choose, "states": ended, "in flight": 0, "copies": counts}
    expected |= {"data": [SIZE, SIZE * (counts - 1)], "task": _Status.SUCCESS}
    require_told(f"run {number} of a graph, one of whose functions answers {made.answer.name},", found, expected)
    for place in range(1, counts + 1):
        require_equal(made.places.array[place], made.places.array[0], f"run {number} of a graph: copy {place}")
    _require_times(made, instance, good)


def _require_running(made: _Row, instance: pydoca.GraphInstance) -> None:
    """Requires that the first copy is in flight, however long: no call has progressed since the submission."""
    graph, task, in_use = made.graph, made.tasks[0], pydoca.InUseError
    found: dict[str, object] = {"running": instance.is_running, "status": instance.status, "copy": task.state}
    found |= {"in flight": (made.pe.num_inflight_tasks, made.dma.num_inflight_tasks), "last": made.states(instance)[3]}
    expected: dict[str, object] = {"running": True, "status": _Status.IN_PROGRESS, "copy": pydoca.TaskState.SUBMITTED}
    expected |= {"in flight": (1, 1), "last": _State.NOT_STARTED}
    require_told("a graph that runs", found, expected)
    calls: Any = {"submit()": (instance.submit, in_use), "destroy()": (instance.destroy, in_use)}
    calls |= {"stop()": (graph.stop, in_use), "free() of its task": (task.free, in_use)}
    calls["submit() of its task"] = task.submit, pydoca.BadStateError
    require_refused("a graph that runs", calls)
    with refused("one more run of a task of a graph that runs", in_use):
        second = graph.create_instance(made.data())
        try:
            second.submit()
        finally:
            second.destroy()


def _require_times(made: _Row, instance: pydoca.GraphInstance, good: bool) -> None:
    """Requires that nodes end after they began, and begin after the one before; one that has not run tells 0."""
    times = [instance.node_times(node) for node in (made.first, made.note, made.choose, made.last)]
    ran = [moment for pair in times[: 4 if good else 3] for moment in pair]
    if ran != sorted(ran) or ran[0] <= 0 or not (good or times[3] == (0, 0)):
        raise DeviceFault(f"the nodes of a graph tell that they began and ended at {times} ns")


def _end(made: _Row, instance: pydoca.GraphInstance) -> None:
    """A copy that fails fails its graph; then instances are destroyed, and the graph has one node more."""
    graph = made.graph
    made.tasks[0].dst = made.places.short
    with refused("a graph with a copy to a place that is too short", pydoca.InvalidValueError, pydoca.IoFailedError):
        instance.submit()
        instance.wait(waiting.PATIENCE)
    found: dict[str, object] = {"copied": made.places.short.data_len, "failed": instance.status is not _Status.SUCCESS}
    second = graph.create_instance()
    calls: Any = {"one instance too many": (graph.create_instance, pydoca.NoMemoryError)}
    require_refused("a graph", {**calls, "stop()": (graph.stop, pydoca.InUseError)})
    second.destroy()
    found["instances"] = [graph.num_instances]
    instance.destroy()
    with duty("stop a graph without instances"):
        graph.stop()
        graph.node(made.seen.append)
    found |= {"instances": [found["instances"], graph.num_instances], "started": graph.is_started}
    found["nodes"] = len(graph.nodes)
    expected: dict[str, object] = {"copied": 0, "failed": True, "instances": [[1], 0], "started": False, "nodes": 5}
    require_told("a graph that has ended", found, expected)
