from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from pydoca._core.awaitable import Awaitable
from pydoca._core.context import Context
from pydoca._core.progress_engine import ProgressEngine
from pydoca._errors import Status

_Ended: TypeAlias = Callable[[GraphInstance, Any, Any], object]

class GraphNodeState(IntEnum):
    """How far a node has got in a run."""

    NOT_STARTED = 0
    STARTED = 1
    COMPLETED = 2
    ERROR = 3

class GraphNode:
    """A step of a graph; Graph.node() makes it. Nodes are keys of mappings."""
    @property
    def graph(self) -> Graph:
        """The Graph of the node."""
    @property
    def index(self) -> int:
        """Its place in Graph.nodes."""
    @property
    def type(self) -> Literal["context", "user", "graph"]:
        """ "context", "user" or "graph"."""
    @property
    def source(self) -> Context | Graph | Callable[[Any], object]:
        """What it was made from: the context, the function or the graph."""
    @property
    def successors(self) -> list[GraphNode]:
        """The nodes that depend on this one."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Graph:
    """Tasks and functions that run in the order of their dependencies. Add nodes, start it, create instances,
    submit them; many may run at once. Belongs to the thread of its progress engine.
    """
    def __init__(
        self,
        pe: ProgressEngine,
        *,
        num_instances: int = ...,
        on_completion: _Ended | None = ...,
        on_error: _Ended | None = ...,
        user_data: Any = ...,
        timing: bool = ...,
    ) -> None:
        """A graph without nodes. num_instances: how many instances may exist. on_completion and on_error are
        called with (instance, instance.user_data, graph.user_data) when an instance has ended. timing:
        whether GraphInstance.node_times() tells when nodes started and ended (doca_graph_create,
        doca_graph_set_conf).
        """
    def node(self, source: Context | Graph | Callable[[Any], object], *, after: Iterable[GraphNode] = ...) -> GraphNode:
        """Adds a node. source: a context, of which it will run a task; a function of one argument; or a started
        graph. after: the nodes that must succeed before it starts. A function runs in progress() and gets its
        cookie; an exception, or a Status that is not SUCCESS, fails the instance. Raises BadStateError when
        the graph is started, InvalidValueError for a context or graph of another engine
        (doca_graph_node_create_from_ctx, _user, _graph).
        """
    def add_dependency(self, from_: GraphNode, to: GraphNode) -> None:
        """to starts when from_ has succeeded. Raises NotPermittedError for a cycle, AlreadyExistError for a
        dependency that exists, InvalidValueError for a node of another graph (doca_graph_add_dependency).
        """
    @property
    def nodes(self) -> list[GraphNode]:
        """Every GraphNode, in the order of creation."""
    def start(self) -> None:
        """From now on instances can be created. Raises BadStateError when started, without a context node, and
        unless all contexts run and all sub-graphs are started (doca_graph_start).
        """
    def stop(self) -> None:
        """Nodes can be added again; does nothing when stopped. Raises InUseError while instances exist. The end
        of a with block destroys those that do not run (doca_graph_stop).
        """
    def to_dot(self) -> str:
        """The graph in Graphviz' language."""
    def _repr_svg_(self) -> str:
        """The picture that a notebook shows."""
    @property
    def is_started(self) -> bool:
        """Whether it is started."""
    def create_instance(self, data: Mapping[GraphNode, Any] | None = ...) -> GraphInstance:
        """An instance that is not submitted. data: a mapping from nodes to their tasks, cookies and instances;
        a task is made with submit=False. Raises BadStateError unless the graph is started, NoMemoryError when
        num_instances exist (doca_graph_instance_create).
        """
    def run(self, data: Mapping[GraphNode, Any]) -> GraphInstance:
        """A new instance, which is submitted: await graph.run({copy: task, check: cookie}). Raises the errors of
        create_instance() and GraphInstance.submit().
        """
    @property
    def timing(self) -> bool:
        """Whether instances record the times of their nodes."""
    @property
    def num_instances(self) -> int:
        """How many instances exist."""
    @property
    def max_instances(self) -> int:
        """How many may exist."""
    @property
    def progress_engine(self) -> ProgressEngine:
        """The ProgressEngine."""
    @property
    def user_data(self) -> Any:
        """Any object; the callbacks get it as an argument."""
    @user_data.setter
    def user_data(self, value: Any, /) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

class GraphInstance(Awaitable):
    """One run of a graph, again and again: give it data, submit it, await it. Awaiting raises the error of the
    first node that failed, when the nodes that ran have ended. A cancelled await raises CancelledError once the
    run has ended; what gives up a task gives up all tasks of the run.
    """
    def submit(self) -> None:
        """Runs the graph once; await the instance, or wait() for it. Its tasks are in flight until it has ended,
        and call no callbacks. Raises InUseError while it runs, as part of another and when one of its tasks is
        in flight, InvalidValueError when a node has no data (doca_graph_instance_submit).
        """
    def to_dot(self) -> str:
        """The graph in Graphviz' language; the nodes have the colours of their states."""
    def _repr_svg_(self) -> str:
        """The picture that a notebook shows."""
    def destroy(self) -> None:
        """Ends the instance; dropping it does so, too. Raises InUseError while it runs and as part of another
        (doca_graph_instance_destroy).
        """
    @property
    def is_running(self) -> bool:
        """Whether it was submitted and has not ended."""
    @property
    def status(self) -> Status:
        """Of the last run: SUCCESS, IN_PROGRESS, or why its first node failed."""
    def __getitem__(self, node: GraphNode) -> Any: ...
    def __setitem__(self, node: GraphNode, data: Any) -> None: ...
    def node_state(self, node: GraphNode) -> GraphNodeState:
        """How far the node got in the last run."""
    def node_times(self, node: GraphNode) -> tuple[int, int]:
        """When the node started and ended in the last run, in nanoseconds after submit(); 0 when it did not.
        Raises NotPermittedError unless the graph was made with timing=True.
        """
    @property
    def failed_node(self) -> GraphNode | None:
        """The first node that failed in the last run, or None."""
    @property
    def _failure(self) -> BaseException | None: ...
    @property
    def _status(self) -> Status: ...
    @property
    def graph(self) -> Graph:
        """The Graph."""
    @property
    def user_data(self) -> Any:
        """Any object; the callbacks get it as an argument."""
    @user_data.setter
    def user_data(self, value: Any, /) -> None: ...
