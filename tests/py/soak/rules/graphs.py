"""Graphs and work queues: layers over contexts, whose instances and jobs end as their tasks do."""

from typing import Any

from hypothesis import strategies as st

import pydoca
from pydoca import Status, workq
from soak.rules.connections import Connections
from soak.rules.engines import ENDED
from soak.world import NUMBER, STATE, WAIT, CallbackError, step

DEPTH = 4


class Pipeline:
    """A graph of two copies and a function between them, which may raise."""

    def __init__(self, graph: Any, nodes: Any, dma: Any) -> None:
        self.graph = graph
        self.nodes = nodes
        self.dma = dma
        self.runs: list[Run] = []


class Run:
    def __init__(self, instance: Any, works: list[Any], raises: bool) -> None:
        self.instance = instance
        self.works = works
        self.raises = raises


class Graphs(Connections):
    def set_up(self) -> None:
        super().set_up()
        self.makers |= {"graph": self.add_graph, "queue": self.add_queue}

    @step(number=NUMBER, instances=st.integers(1, DEPTH), timing=st.booleans(), callback=NUMBER)
    def make_graph(self, number: int, instances: int, timing: bool, callback: int) -> None:
        self.add_graph(number, instances, timing, callback)

    def add_graph(self, number: int, instances: int = 2, timing: bool = False, callback: int = 0) -> None:
        dma = self.pick("dma", number)
        if dma is None or dma.closed:
            return
        options = {"on_completion": self.callback(callback), "on_error": self.callback(callback + 1)}
        graph = pydoca.Graph(dma.progress_engine, num_instances=instances, timing=timing, **options)
        first = graph.node(dma)
        middle = graph.node(self.graph_function, after=[first])
        last = graph.node(dma, after=[middle])
        self.refused((pydoca.NotPermittedError, pydoca.AlreadyExistError), graph.add_dependency, last, first)
        self.attempt({Status.BAD_STATE}, graph.start)
        if graph.is_started:
            self.keep("graph", Pipeline(graph, (first, middle, last), dma))

    def graph_function(self, raises: bool) -> None:
        if raises:
            raise CallbackError

    @step(number=NUMBER, source=NUMBER, raises=st.booleans())
    def run_graph(self, number: int, source: int, raises: bool) -> None:
        pipeline = self.pick("graph", number)
        if pipeline is None:
            return
        works = [self.work_for(pipeline.dma, source + place) for place in range(2)]
        if None in works:
            return
        data = dict(zip(pipeline.nodes, (works[0].task, raises, works[1].task), strict=True))
        instance = self.attempt(STATE | {Status.NO_MEMORY}, pipeline.graph.run, data)
        if instance is not None:
            pipeline.runs.append(Run(instance, works, raises))

    def work_for(self, dma: Any, source: int) -> Any:
        """A copy by that context that is not submitted."""
        if dma not in self.made["dma"]:
            return None
        work = self.make_copy(self.made["dma"].index(dma), source, source, submit=False)
        return work if work is not None and work.task is not None else None

    @step(number=NUMBER)
    def finish_graph(self, number: int) -> None:
        pipeline = self.pick("graph", number)
        if pipeline is None or not pipeline.runs:
            return
        run = pipeline.runs.pop(0)
        self.attempt(ENDED | {Status.UNKNOWN}, run.instance.wait, WAIT)
        self.both_until(lambda: not run.instance.is_running, "the end of a graph's instance")
        if run.instance.status is Status.SUCCESS:
            assert not run.raises
            for work in run.works:
                assert bytes(work.dst) == work.expected
        elif all(work.source.is_readable for work in run.works) and pipeline.dma.state is pydoca.ContextState.RUNNING:
            assert run.raises or self.is_removed or pipeline.dma.stats().failed, run.instance

    @step(number=NUMBER)
    def stop_graph(self, number: int) -> None:
        if pipeline := self.pick("graph", number):
            self.attempt({Status.IN_USE}, pipeline.graph.stop)
            if pipeline.runs and not pipeline.runs[0].instance.is_running:
                pipeline.runs.pop(0).instance.destroy()

    @step(number=NUMBER)
    def drop_graph(self, number: int) -> None:
        if pipeline := self.pick("graph", number):
            self.forget("graph", pipeline)

    # ---- work queues

    @step(driven=st.booleans())
    def make_queue(self, driven: bool) -> None:
        self.add_queue(driven)

    def add_queue(self, driven: int) -> None:
        if len(self.made["queue"]) < 2:
            queue = workq.WorkQueue(DEPTH)
            queue.event_driven = bool(driven)
            dma = pydoca.Dma(None, self.dpu)
            queue.add(dma)
            self.refused((pydoca.BadStateError,), queue.add, dma)
            self.keep("queue", (queue, dma, {}))

    @step(number=NUMBER, source=NUMBER)
    def submit_job(self, number: int, source: int) -> None:
        found, sources = self.pick("queue", number), self.sources_of(self.dpu)
        if found is None or not sources:
            return
        queue, dma, jobs = found
        chosen = sources[source % len(sources)]
        src, dst = self.source_buf(chosen, source), self.destination(self.dpu, len(chosen.content), source)
        if src is None or dst is None:
            return
        key = self.random.getrandbits(60)
        expected = STATE | ({Status.NO_MEMORY} if queue.num_jobs == DEPTH else set())
        before = queue.num_jobs
        self.attempt(expected, queue.submit, workq.DmaMemcpyJob(dma, dst, src, key))
        if queue.num_jobs > before:
            jobs[key] = dst, chosen

    @step(number=NUMBER)
    def retrieve_event(self, number: int) -> None:
        found = self.pick("queue", number)
        if found is None:
            return
        queue, _, jobs = found
        event = self.attempt({Status.AGAIN}, retrieve, queue)
        if event is not None:
            dst, source = jobs.pop(event.user_data)
            if event.result is Status.SUCCESS:
                assert bytes(dst) == source.content
            else:
                assert not source.is_readable or event.result is Status.SHUTDOWN
        assert queue.num_jobs == len(jobs)

    @step(number=NUMBER)
    def remove_from_queue(self, number: int) -> None:
        if found := self.pick("queue", number):
            queue, dma, jobs = found
            self.attempt({Status.NOT_PERMITTED} if jobs else (), queue.remove, dma)
            if not queue.contexts:
                queue.add(dma)
            self.refused((pydoca.InUseError,), queue.destroy)

    @step(number=NUMBER)
    def drop_queue(self, number: int) -> None:
        if found := self.pick("queue", number):
            self.forget("queue", found)
            found[0].__exit__(None, None, None)


def retrieve(queue: Any) -> Any:
    """The next event, which may be that of a failed job."""
    try:
        return queue.progress_retrieve()
    except workq.JobFailedError as error:
        return error.event
