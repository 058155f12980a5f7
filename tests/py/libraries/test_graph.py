"""Graphs: tasks, functions and other graphs in the order of their dependencies."""

import asyncio
import contextlib
import gc
import itertools
import weakref
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pydoca
from pydoca import GraphNodeState, Status, sim

SIZE = 64


class GraphRig:
    """A running Dma, memory of 64-byte slots, and a record of the functions that ran."""

    def __init__(self):
        self.device = pydoca.open_device("03:00.0", side="dpu")
        self.pe = pydoca.ProgressEngine()
        self.dma = pydoca.Dma(self.pe, self.device, num_tasks=64)
        self.dma.start()
        self.memory = pydoca.alloc(256 * SIZE)
        self.mmap = self.device.mmap(self.memory)
        self.inventory = pydoca.BufInventory(256)
        self.order = []

    def task(self, slot=0):
        """A copy from a slot to the slot 128 places further."""
        src = self.inventory.get_by_data(self.mmap, self.mmap.addr + slot * SIZE, SIZE)
        dst = self.inventory.get_by_addr(self.mmap, self.mmap.addr + (slot + 128) * SIZE, SIZE)
        return self.dma.memcpy(src, dst, submit=False)

    def note(self, cookie):
        self.order.append(cookie)

    def bytes_of(self, slot):
        return bytes(memoryview(self.memory)[slot * SIZE : (slot + 1) * SIZE])


@pytest.fixture
def rig():
    return GraphRig()


@pytest.fixture
def compare(rig):
    """DOCA's sample: two copies side by side, then a function."""
    graph = pydoca.Graph(rig.pe, num_instances=4)
    copies = [graph.node(rig.dma), graph.node(rig.dma)]
    graph.node(rig.note, after=copies)
    graph.start()
    return graph


def data_for(rig, graph, cookie="compare", slot=0):
    first, second, function = graph.nodes
    return {first: rig.task(slot), second: rig.task(slot + 1), function: cookie}


def test_runs_a_function_when_its_copies_have_ended(rig, compare):
    memoryview(rig.memory)[: 2 * SIZE] = b"ab" * SIZE
    instance = compare.run(data_for(rig, compare))
    assert instance.is_running
    assert instance.status is Status.IN_PROGRESS
    assert instance.wait(10) is instance
    assert rig.order == ["compare"]
    assert rig.bytes_of(128) + rig.bytes_of(129) == b"ab" * SIZE
    assert [instance.node_state(node) for node in compare.nodes] == [GraphNodeState.COMPLETED] * 3


async def _await(graph, data):
    async with graph.progress_engine:
        return (await graph.run(data)).status


def test_an_instance_is_awaitable(rig, compare):
    async def main():
        instance = await compare.run(data_for(rig, compare))
        return instance.status

    assert asyncio.run(main()) is Status.SUCCESS


def test_many_instances_run_side_by_side(rig, compare):
    async def main():
        runs = [compare.run(data_for(rig, compare, number, slot=2 * number)) for number in range(4)]
        return await asyncio.gather(*runs)

    assert all(run.status is Status.SUCCESS for run in asyncio.run(main()))
    assert sorted(rig.order) == [0, 1, 2, 3]


def test_an_instance_runs_again(rig, compare):
    data = data_for(rig, compare)
    instance = compare.create_instance(data)
    for _ in range(3):
        for task in list(data.values())[:2]:
            task.dst.reset_data_len()
        instance.submit()
        instance.wait(10)
    assert rig.order == ["compare"] * 3


def test_the_tasks_are_in_flight_until_the_end_and_have_outcomes_then(rig, compare):
    data = data_for(rig, compare)
    task = next(iter(data.values()))
    instance = compare.run(data)
    for refused in (task.free, task.submit, lambda: setattr(task, "src", task.src)):
        with pytest.raises(pydoca.DocaError, match="in flight"):
            refused()
    instance.wait(10)
    assert task.done
    assert task.result() is None


def test_tasks_of_a_graph_call_no_callbacks(rig):
    called = []
    dma = pydoca.Dma(rig.pe, rig.device, on_completion=lambda *given: called.append(given))
    dma.start()
    graph = pydoca.Graph(rig.pe, on_completion=lambda *given: called.append(given), user_data="graph's")
    node = graph.node(dma)
    graph.start()
    instance = graph.create_instance({node: dma.memcpy(rig.task().src, rig.task(1).dst, submit=False)})
    instance.user_data = "instance's"
    instance.submit()
    instance.wait(10)
    assert called == [(instance, "instance's", "graph's")]


def test_the_exception_of_a_function_is_raised_where_the_instance_is_awaited(rig, compare):
    failing = pydoca.Graph(rig.pe)
    copy = failing.node(rig.dma)

    def fail(cookie):
        raise LookupError(cookie)

    function = failing.node(fail, after=[copy])
    last = failing.node(rig.note, after=[function])
    failing.start()
    instance = failing.run({copy: rig.task(), function: "why"})
    with pytest.raises(LookupError, match="why"):
        instance.wait(10)
    assert instance.status is Status.UNEXPECTED
    assert instance.failed_node == function
    assert instance.node_state(last) is GraphNodeState.NOT_STARTED
    assert rig.order == []


def test_a_function_fails_its_instance_with_a_status(rig):
    graph = pydoca.Graph(rig.pe)
    copy = graph.node(rig.dma)
    graph.node(lambda cookie: Status.FULL, after=[copy])
    graph.start()
    with pytest.raises(pydoca.FullError, match=r"node 1 \(function\)"):
        graph.run({copy: rig.task()}).wait(10)


def test_a_task_that_cannot_run_fails_with_its_own_explanation(rig, compare):
    data = data_for(rig, compare)
    first, second, _function = data
    compare.run(data).wait(10)
    with pytest.raises(pydoca.InvalidValueError, match="tailroom"):
        compare.run(data)  # both destinations are full
    data[first].dst.reset_data_len()
    instance = compare.run(data)
    with pytest.raises(pydoca.InvalidValueError, match="tailroom"):
        instance.wait(10)
    assert data[second].status is Status.INVALID_VALUE


def test_a_node_that_had_no_turn_leaves_its_task_flushed(rig):
    graph = pydoca.Graph(rig.pe)

    def fail(cookie):
        raise LookupError

    function = graph.node(fail)
    copy = graph.node(rig.dma, after=[function])
    graph.start()
    task = rig.task()
    with pytest.raises(LookupError):
        graph.run({copy: task}).wait(10)
    assert task.status is Status.SHUTDOWN


def test_a_graph_is_a_node_of_another(rig, compare):
    outer = pydoca.Graph(rig.pe)
    before = outer.node(rig.note)
    part = outer.node(compare, after=[before])
    after = outer.node(rig.note, after=[part])
    outer.start()
    inner = compare.create_instance(data_for(rig, compare, "inside"))
    instance = outer.run({before: "before", part: inner, after: "after"})
    instance.wait(10)
    assert rig.order == ["before", "inside", "after"]
    with pytest.raises(pydoca.InUseError):
        inner.submit()


def test_a_with_block_destroys_idle_instances_and_stops(rig):
    graph = pydoca.Graph(rig.pe, num_instances=2)
    node = graph.node(rig.dma)
    with graph:
        instance = graph.run({node: rig.task()})
        instance.wait(10)
        idle = graph.create_instance()
    assert not graph.is_started
    with pytest.raises(pydoca.BadStateError, match="destroyed"):
        idle.submit()
    with graph:
        graph.create_instance()


def test_a_graph_does_not_contain_itself(rig):
    inner, outer = pydoca.Graph(rig.pe), pydoca.Graph(rig.pe)
    inner.node(rig.dma)
    with inner:
        outer.node(inner)
        outer.start()
    with pytest.raises(pydoca.NotPermittedError, match="cycle"):
        inner.node(outer)
    outer.stop()


def test_refusals(rig, compare):
    first, second, _function = compare.nodes
    other = pydoca.Graph(rig.pe)
    foreign = other.node(rig.dma)
    with pytest.raises(pydoca.BadStateError, match="started"):
        compare.node(rig.dma)
    with pytest.raises(TypeError, match="not int"):
        other.node(7)
    with pytest.raises(pydoca.BadStateError, match="not started"):
        other.create_instance()
    with pytest.raises(pydoca.NotPermittedError, match="cycle"):
        other.add_dependency(foreign, foreign)
    instance = compare.create_instance()
    with pytest.raises(pydoca.InvalidValueError, match="has no data"):
        instance.submit()
    with pytest.raises(TypeError, match="runs a task"):
        instance[first] = "a task"
    with pytest.raises(pydoca.InvalidValueError, match="another graph"):
        instance[foreign] = rig.task()
    with pytest.raises(pydoca.InUseError, match="1 instance"):
        compare.stop()
    with pytest.raises(pydoca.InvalidValueError, match="num_instances"):
        pydoca.Graph(rig.pe, num_instances=0)
    with pytest.raises(TypeError, match="on_error"):
        pydoca.Graph(rig.pe, on_error=1)
    task = rig.task()
    instance[first] = instance[second] = task
    with pytest.raises(pydoca.DocaError, match="in flight"):
        instance.submit()
    instance[second] = rig.task(2)
    instance.submit()
    instance.wait(10)


def test_leaving_a_context_fails_the_instances_that_need_it(rig):
    async def main():
        async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, rig.device) as dma:
            graph = pydoca.Graph(pe)
            entered = asyncio.Event()
            function = graph.node(lambda cookie: entered.set())
            copy = graph.node(dma, after=[function])
            graph.start()
            src, dst = rig.task().src, rig.task(1).dst
            instance = graph.run({copy: dma.memcpy(src, dst, submit=False)})
            await dma.__aexit__(None, None, None)
            with pytest.raises(pydoca.BadStateError):
                await instance

    asyncio.run(main())


def test_a_removed_device_fails_the_instance(rig):
    """A function removes it before the turn of the copy."""
    graph = pydoca.Graph(rig.pe)
    removing = graph.node(lambda _: sim.remove_device("p0"))
    copying = graph.node(rig.dma, after=[removing])
    graph.start()
    instance = graph.create_instance({copying: rig.task()})
    try:
        instance.submit()
        with pytest.raises(pydoca.DocaError) as failure:
            instance.wait(10)
        assert failure.value.status in (Status.DRIVER, Status.BAD_STATE)
        assert instance.failed_node == copying
        assert instance.node_state(removing) is GraphNodeState.COMPLETED
    finally:
        sim.restore_device("p0")


def test_dropping_everything_while_it_runs_ends_quietly(rig, compare):
    instance = compare.run(data_for(rig, compare))
    gone = weakref.ref(instance)
    del instance, compare
    while rig.pe.num_inflight_tasks:
        rig.pe.progress()
    rig.pe.drain(100)
    gc.collect()
    assert gone() is None
    assert rig.order == ["compare"], "the engine keeps a running instance"


DAGS = st.integers(2, 64).flatmap(
    lambda size: st.tuples(
        st.just(size),
        st.sets(st.tuples(st.integers(0, size - 2), st.integers(1, size - 1)).filter(lambda edge: edge[0] < edge[1])),
        st.sets(st.integers(0, size - 1), max_size=2),
    )
)


@settings(max_examples=150, deadline=None)
@given(DAGS)
def test_a_graph_runs_as_a_plain_interpreter_runs_it(dag):
    """Functions and one copy; node by node in the order in which they become ready, up to the first that fails."""
    size, edges, failing = dag
    rig = GraphRig()
    graph = pydoca.Graph(rig.pe)

    def step(number):
        rig.order.append(number)
        return Status.FULL if number in failing else None

    nodes = [graph.node(step) for _ in range(size)]
    copy = graph.node(rig.dma, after=[nodes[-1]])
    for before, after in sorted(edges):
        graph.add_dependency(nodes[before], nodes[after])
    graph.start()
    instance = graph.run({**{node: number for number, node in enumerate(nodes)}, copy: rig.task()})
    with contextlib.suppress(pydoca.FullError):
        instance.wait(10)
    order = interpret(size, edges, failing)
    assert rig.order == order
    assert instance.status is (Status.FULL if failing & set(order) else Status.SUCCESS)
    completed = GraphNodeState.ERROR if order[-1] in failing else GraphNodeState.COMPLETED
    assert instance.node_state(nodes[order[-1]]) is completed
    graph.progress_engine.drain(10)


def interpret(size, edges, failing):
    """The numbers of the functions that run: each root in turn, and every function that it makes ready."""
    waiting = [sum(after == number for _, after in edges) for number in range(size)]
    order = []
    for root in [number for number in range(size) if not waiting[number]]:
        ready = [root]
        while ready:
            number = ready.pop(0)
            order.append(number)
            if number in failing:
                return order
            for before, after in sorted(edges):
                if before == number:
                    waiting[after] -= 1
                    if not waiting[after]:
                        ready.append(after)
    return order


# ---- pictures


def test_a_graph_tells_its_nodes_in_lines(compare):
    assert str(compare).splitlines() == ["  0 Dma   -> 2", "  1 Dma   -> 2", "  2 note"]
    assert repr(compare).startswith("<pydoca.Graph, 3 node(s)")


def test_an_instance_tells_the_states_of_its_nodes(rig, compare):
    instance = compare.run(data_for(rig, compare)).wait(10)
    assert str(instance).splitlines()[1:] == ["  1 Dma   COMPLETED    -> 2", "  2 note  COMPLETED"]
    assert instance.to_dot().count('tooltip="COMPLETED"') == 3


def test_a_timed_graph_tells_when_its_nodes_ran(rig):
    graph = pydoca.Graph(rig.pe, timing=True)
    copying = graph.node(rig.dma)
    noting = graph.node(rig.note, after=[copying])
    graph.start()
    instance = graph.run({copying: rig.task()}).wait(10)
    (begin, end), (later, last) = instance.node_times(copying), instance.node_times(noting)
    assert 0 < begin <= end <= later <= last
    assert str(instance).count(" us from ") == instance._repr_svg_().count(" us from ") == 2


def test_a_graph_without_timing_has_no_times(rig, compare):
    instance = compare.run(data_for(rig, compare)).wait(10)
    assert not compare.timing
    with pytest.raises(pydoca.NotPermittedError, match="timing"):
        instance.node_times(compare.nodes[0])


def test_dot_has_every_node_and_dependency(compare):
    lines = compare.to_dot().splitlines()
    assert [lines[0], lines[-1]] == ["digraph {", "}"]
    assert {"  0 -> 2;", "  1 -> 2;"} <= set(lines)
    assert sum("label=" in line for line in lines) == 3


@pytest.mark.parametrize("size", [0, 1, 40])
def test_a_notebook_gets_a_picture_of_any_graph(rig, size):
    graph = pydoca.Graph(rig.pe)
    nodes = [graph.node(rig.note) for _ in range(size)]
    for before, after in itertools.combinations(nodes, 2):
        graph.add_dependency(before, after)
    picture = ElementTree.fromstring(graph._repr_svg_())
    shapes = [element.tag.rpartition("}")[2] for element in picture.iter()]
    assert (shapes.count("rect"), shapes.count("path") - 1) == (size, size * (size - 1) // 2)


def test_a_notebook_shows_the_exception_of_a_function(rig):
    graph = pydoca.Graph(rig.pe)
    copying = graph.node(rig.dma)
    dividing = graph.node(lambda number: 1 // number, after=[copying])
    graph.start()
    instance = graph.run({copying: rig.task(), dividing: 0})
    with pytest.raises(ZeroDivisionError, match="by zero") as raised:
        instance.wait(10)
    assert f"ZeroDivisionError: {raised.value}" in instance._repr_html_()


def test_names_of_functions_are_escaped_in_pictures(rig):
    graph = pydoca.Graph(rig.pe)
    graph.node(lambda cookie: cookie)
    (picture, dot) = (graph._repr_svg_(), graph.to_dot())
    assert "&lt;lambda&gt;" in picture
    assert '"0: <lambda>"' in dot


def test_an_instance_with_a_task_in_flight_is_not_submitted(rig):
    event = pydoca.SyncEvent(rig.device)
    with event.as_context(rig.pe, num_tasks=4) as context:
        graph = pydoca.Graph(rig.pe, num_instances=1)
        node = graph.node(context)
        with graph:
            waits = context.wait_eq(5, submit=False)
            instance = graph.create_instance({node: waits})
            waits.submit()
            with pytest.raises(pydoca.InUseError, match="it is in flight"):
                instance.submit()
            context.notify_set(5).wait(10)
            waits.wait(10)
            instance.destroy()
            waits.free()
    event.close()


def graph_in_a_graph(rig, task):
    """An instance whose only part has the task as its only node; the task's turn comes with the next progress()."""
    inner = pydoca.Graph(rig.pe, num_instances=1)
    copy = inner.node(rig.dma)
    inner.start()
    outer = pydoca.Graph(rig.pe, num_instances=1)
    part = outer.node(inner)
    outer.start()
    return outer.create_instance({part: inner.create_instance({copy: task})})


def test_bufs_of_a_graph_that_runs_are_kept(rig):
    """A task whose turn has not come would use a buf that was released."""
    task = rig.task()
    instance = graph_in_a_graph(rig, task)
    instance.submit()
    for buf in (task.src, task.dst):
        with pytest.raises(pydoca.NotPermittedError, match="a task has it"):
            buf.dec_refcount()
    with pytest.raises((pydoca.InUseError, pydoca.BadStateError)):
        task.src = task.dst
    instance.wait(10)
    for buf in (task.src, task.dst):
        buf.dec_refcount()


def test_a_function_prepares_the_buf_of_a_later_task(rig):
    graph = pydoca.Graph(rig.pe, num_instances=1)
    prepare = graph.node(lambda buf: buf.set_data(buf.head, 16))
    copy = graph.node(rig.dma, after=[prepare])
    graph.start()
    task = rig.task()
    graph.run({prepare: task.src, copy: task}).wait(10)
    assert task.dst.data_len == 16


def test_a_failure_is_explained_when_its_task_is_gone(rig):
    """The text of an instance that has ended must outlive its task, which the context has freed."""
    task = rig.dma.memcpy(None, None, submit=False)
    instance = graph_in_a_graph(rig, task)
    instance.submit()
    rig.pe.run_until(lambda: instance.status is not Status.IN_PROGRESS, timeout=10)
    task.free()
    rig.dma.stop()
    rig.pe.run_until(lambda: rig.dma.state is pydoca.ContextState.IDLE, timeout=10)
    rig.dma.close()
    with pytest.raises(pydoca.DocaError, match="src is missing"):
        instance.wait(10)
