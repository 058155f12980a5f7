"""The queue: the jobs' contexts and graphs, and the events that wait for the program."""

from __future__ import annotations

import itertools
from typing import Any

from pydoca._core import (
    Context,
    ContextState,
    Graph,
    GraphInstance,
    JobLedger,
    ProgressEngine,
    SyncEventTask,
    Task,
)
from pydoca._errors import (
    AgainError,
    BadStateError,
    InUseError,
    NoMemoryError,
    NotFoundError,
    NotPermittedError,
    Status,
)
from pydoca.workq._events import Callbacks, Event, JobFailedError, JobType, Key, Library
from pydoca.workq._jobs import JOBS, LIBRARIES, Job, JobContext


class WorkQueue:
    """Takes jobs of its contexts, and gives an event for each (struct doca_workq). Only one thread may use it."""

    def __init__(self, depth: int, *, overwrite: bool = False) -> None:
        """depth: the most jobs whose events have not been retrieved. overwrite: destinations lose their data before a
        job, as up to DOCA 2.0.2; from 2.2 on, as everywhere else, results are appended. Raises InvalidValueError for
        a depth below 1 (doca_workq_create)."""
        self._pe = ProgressEngine()
        self._ledger = JobLedger(self._pe, depth)
        self._overwrite = overwrite
        self._added: dict[int, Context | Graph] = {}  # each context and graph by its id
        self._numbers = itertools.count()
        self._events: dict[int, Event] = {}  # each event by its number in the ledger

    @property
    def depth(self) -> int:
        """The most jobs whose events have not been retrieved (doca_workq_get_depth)."""
        return self._ledger.depth

    @property
    def num_jobs(self) -> int:
        """How many jobs were submitted whose events have not been retrieved."""
        return self._ledger.num_jobs

    @property
    def contexts(self) -> list[Context]:
        """The contexts that were added."""
        return [added for added in self._added.values() if isinstance(added, Context)]

    @property
    def progress_engine(self) -> ProgressEngine:
        """The engine below the queue. Only the queue progresses it."""
        return self._pe

    # ---- contexts

    def add(self, ctx: JobContext) -> None:
        """Joins a context that was made with pe=None, gives it depth tasks of each kind, and starts it. Raises
        BadStateError unless it is IDLE, and when it was added before; NotPermittedError when it belongs to another
        queue or engine (doca_ctx_start, doca_ctx_workq_add)."""
        library = _library_of(ctx)
        if id(ctx) in self._added:
            raise BadStateError(f"add {ctx!r} to a work queue: it was added before")
        if ctx.progress_engine is None:
            self._pe.connect(ctx)
        elif ctx.progress_engine is not self._pe:
            raise NotPermittedError(
                f"add {ctx!r} to a work queue: it belongs to another queue or engine for life; "
                "make another context of the device"
            )
        library.configure(ctx, self.depth, Callbacks(self._completed, self._completed_with_value, self._failed))
        ctx.start()
        self._added[id(ctx)] = ctx

    def remove(self, ctx: Context) -> None:
        """Stops the context, which can be added to this queue again. Raises NotFoundError when it was not added,
        NotPermittedError while an event of it is not retrieved, InUseError while the program has tasks of make_task()
        or sessions (doca_ctx_workq_rm, doca_ctx_stop)."""
        self._require_idle(ctx, "remove")
        if ctx.state is ContextState.RUNNING:
            ctx.stop()
        while not _is_idle(ctx):
            if not self._pe.progress() and not ctx.num_inflight_tasks and not _is_idle(ctx):
                raise InUseError(
                    f"remove {ctx!r}: tasks of make_task(), or sessions, are not freed; free() or drop them, and repeat"
                )
        self._forget(ctx)

    # ---- jobs

    def submit(self, job: Job) -> None:
        """Hands the job to its context; progress_retrieve() will give its event. Raises NoMemoryError when depth jobs
        are submitted and not retrieved, NotFoundError unless the job's context was added, BadStateError when the
        context has stopped, InvalidValueError for what the device refuses (doca_workq_submit)."""
        self._require_room()
        self._prepare(job)
        job._make_task()
        self._ledger.begin()

    def make_task(self, job: Job) -> Task:
        """The job as a task, for a node of a graph. Raises as submit() does, except for NoMemoryError of the depth."""
        self._prepare(job)
        return job._make_task(submit=False)

    def progress_retrieve(self) -> Event:
        """The event of a job that has ended with success, or of an instance of a graph, whose result says how it has
        ended. Raises JobFailedError, an IoFailedError, whose event is that of a job that has failed; AgainError when
        nothing has ended yet, and for each node of an instance that has run, those of sub-graphs apart; BadStateError
        when the queue is destroyed (doca_workq_progress_retrieve)."""
        self._pe._require_open("progress_retrieve")
        number = self._ledger.retrieve()
        if number is None:
            raise AgainError("progress_retrieve: no job has ended yet; call it again")
        event = self._events.pop(number)
        if event.result is not Status.SUCCESS and event.type is not JobType.GRAPH:
            raise JobFailedError(event)
        return event

    # ---- graphs

    def create_graph(self, *, num_instances: int | None = None) -> Graph:
        """A graph whose instances graph_submit() takes; num_instances: depth unless given (doca_graph_create,
        doca_graph_workq_add)."""
        graph = Graph(
            self._pe,
            num_instances=self.depth if num_instances is None else num_instances,
            on_completion=self._graph_ended,
            on_error=self._graph_ended,
        )
        self._added[id(graph)] = graph
        return graph

    def remove_graph(self, graph: Graph) -> None:
        """Stops the graph. Raises NotFoundError unless create_graph() has made it, NotPermittedError while an event of
        its instances was not retrieved, InUseError while instances exist (doca_graph_workq_rm, doca_graph_stop)."""
        self._require_idle(graph, "remove")
        graph.stop()
        self._forget(graph)

    def graph_submit(self, instance: GraphInstance, user_data: Any = None) -> None:
        """Runs the instance once. Its event, of JobType.GRAPH, comes when its last node has ended or one has failed.
        Raises NoMemoryError when depth jobs are submitted and not retrieved, NotFoundError unless create_graph() has
        made its graph, InUseError while it runs (doca_workq_graph_submit)."""
        self._require_room()
        if id(instance.graph) not in self._added:
            raise NotFoundError("graph_submit: the graph is not of this queue; create_graph() makes one")
        instance.user_data = user_data
        instance.submit()
        self._ledger.begin_run(id(instance.graph), instance)

    # ---- events instead of polling

    @property
    def event_driven(self) -> bool:
        """Whether the program sleeps at event_handle between looks; False at first, when it polls. Every context can
        wake it, so none refuses with NotSupportedError. Setting raises BadStateError while an event is not retrieved
        (doca_workq_set_event_driven_enable)."""
        return self._ledger.event_driven

    @event_driven.setter
    def event_driven(self, value: bool) -> None:
        self._ledger.event_driven = bool(value)

    @property
    def event_handle(self) -> int:
        """A descriptor for select, poll or epoll: readable when an event may be retrieved, once it is armed. Raises
        BadStateError for a queue that polls (doca_workq_get_event_handle)."""
        return self._ledger.event_handle

    def event_handle_arm(self) -> None:
        """Arms event_handle; needed before every wait at it (doca_workq_event_handle_arm)."""
        self._ledger.event_handle_arm()

    def event_handle_clear(self) -> None:
        """Clears event_handle; needed after every wait, before progress_retrieve() (doca_workq_event_handle_clear)."""
        self._ledger.event_handle_clear()

    # ---- ends

    def destroy(self) -> None:
        """Closes the queue for good; idempotent. Raises InUseError while contexts or graphs are added
        (doca_workq_destroy)."""
        if self._added:
            raise InUseError(f"destroy a work queue: {len(self._added)} context(s) or graph(s) are added; remove them")
        self._close()

    def __enter__(self) -> WorkQueue:
        return self

    def __exit__(self, *exception: object) -> None:
        """Releases contexts and graphs, whatever is idle; what is in flight is awaited or raises, as at the end of the
        engine's with block."""
        self._close()

    def _close(self) -> None:
        self._pe.__exit__(None, None, None)
        self._added.clear()
        self._events.clear()
        self._ledger.clear()

    def __repr__(self) -> str:
        mode = "event-driven" if self.event_driven else "polling"
        closed = ", closed" if self._pe.closed else ""
        return f"<pydoca.workq.WorkQueue, {self.num_jobs} of {self.depth} jobs, {mode}{closed}>"

    # ---- inside

    def _require_room(self) -> None:
        if self._ledger.is_full:
            raise NoMemoryError(f"submit: all {self.depth} jobs of the queue are taken; retrieve an event first")

    def _prepare(self, job: Job) -> None:
        if type(job) not in JOBS:
            raise TypeError(f"a job of pydoca.workq is needed, not {type(job).__name__}")
        if id(job.ctx) not in self._added:
            raise NotFoundError(f"submit: {job.ctx!r} was not added to this work queue")
        if self._overwrite:
            for buf in job._filled() or ():
                buf.reset_data_len()

    def _require_idle(self, member: Context | Graph, verb: str) -> None:
        if id(member) not in self._added:
            raise NotFoundError(f"{verb} {member!r}: it was not added to this work queue")
        jobs = self._ledger.num_waiting(id(member))
        jobs += member.num_inflight_tasks if isinstance(member, Context) else 0
        if jobs != 0:
            raise NotPermittedError(f"{verb} {member!r}: {jobs} job(s) of it are not retrieved; retrieve their events")

    def _forget(self, member: Context | Graph) -> None:
        del self._added[id(member)]

    def _completed(self, task: Task, key: Key, _: object) -> None:
        self._end(key, task.status)

    def _completed_with_value(self, task: SyncEventTask, key: Key, _: object) -> None:
        self._end(key, task.status, task.result())

    def _failed(self, task: Task, key: Key, _: object) -> None:
        self._end(key, task.status)

    def _end(self, key: Key, result: Status, value: int | None = None) -> None:
        ctx, job_type, user_data = key
        number = next(self._numbers)
        if self._ledger.end(id(ctx), number):
            self._events[number] = Event(job_type, user_data, result, value)

    def _graph_ended(self, instance: GraphInstance, user_data: Any, _: object) -> None:
        number = next(self._numbers)
        if self._ledger.end_run(id(instance.graph), instance, number):
            self._events[number] = Event(JobType.GRAPH, user_data, instance.status)


def _is_idle(ctx: Context) -> bool:
    return ctx.state is ContextState.IDLE


def _library_of(ctx: Context) -> Library:
    for library in LIBRARIES:
        if isinstance(ctx, library.context):
            return library
    *others, last = (f"a {library.context.__name__}" for library in LIBRARIES)
    raise TypeError(f"{', '.join(others)} or {last} is needed, not {type(ctx).__name__}")
