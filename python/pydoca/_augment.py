"""Attaches Python's half to the extension: the coroutine methods of its classes, and the functions that it calls.

The extension imports no module by name. What needs asyncio is imported by the first await, not with the package.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from pydoca import _blocking, _core, _errors, _log
from pydoca._callbacks import require_plain_function
from pydoca._coroutine import driven_by_asyncio, load_current_task
from pydoca._enums import print_names
from pydoca._stats import EngineStats, TaskStats

_Function = TypeVar("_Function", bound=Callable[..., Any])


@cache
def _aio() -> Any:
    return import_module("pydoca._aio.bridge")


@cache
def _blocks() -> Any:
    return import_module("pydoca._aio.blocks")


def _typed_signature(name: str, text: str) -> Any:
    return import_module("pydoca._signatures").typed_signature(name, text)


def _gather_with_progress(*arguments: Any) -> Any:
    return import_module("pydoca._aio.gather").GatherWithProgress(*arguments)


def _give_up_tasks(*arguments: Any) -> Any:
    return import_module("pydoca._aio.gather").give_up(*arguments)


@cache
def _picture() -> Any:
    return import_module("pydoca._display.graph_picture")


@cache
def _notebook() -> Any:
    return import_module("pydoca._display.notebook")


def _load_faults() -> None:
    import_module("pydoca.faults")._load_environment()


def _method_of(*owners: type, name: str = "") -> Callable[[_Function], _Function]:
    """Makes the function below a method of these classes of the extension, under its own name or that one."""

    def attach(function: _Function) -> _Function:
        function.__name__ = name or function.__name__
        function.__qualname__ = f"{owners[0].__name__}.{function.__name__}"
        for owner in owners:
            setattr(owner, function.__name__, function)
        return function

    return attach


_method_of(_core.Context, name="__enter__")(_blocking.enter_context)
_method_of(_core.Context, name="__exit__")(_blocking.leave_context)
_method_of(_core.ProgressEngine, name="__exit__")(_blocking.leave_engine)
_method_of(_core.ProgressEngine)(_blocking.run_until)


for _value in list(vars(_core).values()):
    if isinstance(_value, type) and issubclass(_value, Enum):
        print_names(_value)


def _find_again(name: str, side: Any, vuid: str) -> _core.DeviceInfo:
    """Returns for pickle the same function as a DeviceInfo, as this process sees it."""
    info = _core.DeviceInfo(name, side=side)
    if info.vuid != vuid:
        raise _errors.NotFoundError(f"unpickle DeviceInfo: here {name} is another function ({info.vuid}, not {vuid})")
    return info


@_method_of(_core.DeviceInfo, name="__reduce__")
def _reduce_info(self: _core.DeviceInfo) -> tuple[Any, ...]:
    """The data that pickle stores: a process that unpickles it looks for the function, else raises NotFoundError."""
    return _find_again, (self.name, self.side.name.lower(), self.vuid)


def _make_copyable(value: type, instead: str) -> None:
    """Makes a copy the object itself, as these objects never change. Pickle refuses them: they tell of this process."""

    @_method_of(value, name="__copy__")
    def copy(self: Any) -> Any:
        return self

    @_method_of(value, name="__deepcopy__")
    def deepcopy(self: Any, memo: dict[int, Any]) -> Any:
        return self

    @_method_of(value, name="__reduce__")
    def reduce(self: Any) -> Any:
        raise TypeError(f"a {value.__name__} cannot be pickled: pickle {instead}")


for _value in vars(_core).copy().values():
    if isinstance(_value, type) and _value.__name__.endswith("Capabilities"):
        _make_copyable(_value, "its DeviceInfo, or what to_dict() gives")
_make_copyable(_core.RepresentorInfo, "what to_dict() gives")
_make_copyable(_core.CrossTimestamp, "its numbers")


@_method_of(_core.Context, name="stats")
def _stats_of_context(self: _core.Context) -> TaskStats:
    """The numbers of its tasks since it was made; they only grow."""
    return TaskStats(*self._counts())


@_method_of(_core.ProgressEngine, name="stats")
def _stats_of_engine(self: _core.ProgressEngine) -> EngineStats:
    """The work of the engine since it was made: tasks of its contexts, sleeps, looks in vain. The numbers only grow."""
    return EngineStats(*self._counts())


@_method_of(_core.Graph, name="to_dot")
def _dot_of_graph(self: _core.Graph) -> str:
    """The graph in Graphviz' language."""
    return str(_picture().to_dot(self))


@_method_of(_core.GraphInstance, name="to_dot")
def _dot_of_instance(self: _core.GraphInstance) -> str:
    """The graph in Graphviz' language; the nodes have the colours of their states."""
    return str(_picture().to_dot(self))


@_method_of(_core.Graph, _core.GraphInstance, name="__str__")
def _text_of_graph(self: _core.Graph | _core.GraphInstance) -> str:
    """A line for each node: its index, what it runs, its state in an instance, and the nodes that depend on it."""
    return str(_picture().to_text(self))


@_method_of(_core.Graph, _core.GraphInstance, name="_repr_svg_")
def _svg_of_graph(self: _core.Graph | _core.GraphInstance) -> str:
    """The graph's picture as SVG."""
    return str(_notebook().svg_of(self))


@_method_of(_core.Graph, _core.GraphInstance, name="_repr_mimebundle_")
def _forms_of_graph(
    self: _core.Graph | _core.GraphInstance, include: object = None, exclude: object = None
) -> dict[str, str]:
    """The forms that a notebook keeps: text, HTML and SVG."""
    forms: dict[str, str] = _notebook().bundle_of(self)
    return forms


@_method_of(
    *(_core.DeviceInfo, _core.Device, _core.RepresentorInfo, _core.Representor, _core.Memory, _core.Mmap, _core.Buf),
    *(_core.BufInventory, _core.BufPool, _core.ProgressEngine, _core.Context, _core.Task, _core.SyncEvent),
    *(_core.SyncEventRemoteNet, _core.Connection, _core.RdmaConnection, _core.RdmaListener, _core.Graph),
    *(_core.GraphNode, _core.GraphInstance, _errors.DocaError),
    name="_repr_html_",
)
def _html_of(self: object) -> str:
    """The HTML that a notebook shows."""
    return str(_notebook().html_of(self))


def display(obj: Any, file: str | os.PathLike[str] | None = None) -> None:
    """Shows an object of pydoca: in a notebook as HTML, elsewhere as text on standard output.

    obj: an object that a notebook shows by itself - a device, a memory map, a buf, an engine, a context, a task, an
    event, a connection, a graph, an error, `pydoca.sim.topology()` - or a list of DeviceInfo.
    file: writes the same to a file of its own instead: .html, or .svg of an object that is a picture.

    Raises NotSupportedError for another object, InvalidValueError for another file, OSError when the file cannot be
    written. The object does not change.
    """
    _notebook().show(obj, file)


driven_by_asyncio(_core.Task)
driven_by_asyncio(_core.Awaitable)


@_method_of(_core.Connection, _core.Server, _core.RdmaListener, name="__aiter__")
def _iterate(self: Any) -> Any:
    """The object itself."""
    return self


# A coroutine, as anext(iterator, default) asks for __await__ at every step, and must find the wait that it has begun.
@_method_of(_core.Connection, _core.Server, _core.RdmaListener, name="__anext__")
def _step(self: Any) -> Coroutine[Any, Any, Any]:
    """The next message, client or request, as recv(), accept() and request() give it; the end ends the iteration."""
    step: Coroutine[Any, Any, Any] = _aio().take_event(self._next())
    return step


@_method_of(_core.Context, name="__aenter__")
async def _enter_context(self: _core.Context) -> Any:
    """Starts it, unless that was done, and waits until it runs."""
    return await _blocks().enter_context(self)


@_method_of(_core.Context, name="__aexit__")
async def _leave_context(self: _core.Context, *_: object) -> None:
    """Stops it, waits until it is IDLE (5 s at most, then TimeOutError), and closes it."""
    await _blocks().leave_context(self)


@_method_of(_core.ProgressEngine, name="__aenter__")
async def _enter_engine(self: _core.ProgressEngine) -> _core.ProgressEngine:
    """Binds it to the running loop."""
    engine: _core.ProgressEngine = await _blocks().enter_engine(self)
    return engine


@_method_of(_core.ProgressEngine, name="__aexit__")
async def _leave_engine(self: _core.ProgressEngine, *_: object) -> None:
    """Stops and closes the contexts that are still open, newest first, then closes the engine."""
    await _blocks().leave_engine(self)


@_method_of(_core.SyncEventContext)
def poll_until(
    self: _core.SyncEventContext, predicate: Callable[[int], object], *, interval: float = 0.0
) -> Coroutine[Any, Any, int]:
    """Awaits until predicate(value) is true, and gives that value.

    For devices without wait tasks, and conditions that these do not have. Looks with one get task, with a turn of the
    loop between looks, or interval seconds.
    """
    polled: Coroutine[Any, Any, int] = _aio().poll_until(self, predicate, interval)
    return polled


@_method_of(_core.RdmaConnection)
async def while_connected(self: _core.RdmaConnection, task: _core.Task) -> Any:
    """Awaits task, such as a receive, as long as there is this connection, and gives what the task gives.

    Raises ConnectionResetError, with what ended it, once there is none; the task stays in flight, as a receive is for
    every connection of its context.
    """
    return await _aio().while_connected(self, task)


@_method_of(_core.Rdma)
def connect(
    self: _core.Rdma,
    address: str,
    port: int,
    *,
    address_type: str | None = None,
    private_data: Any = b"",
    user_data: Any = None,
) -> Awaitable[_core.RdmaConnection]:
    """Awaitable: a connection to the peer that listens there (RDMA-CM).

    address: in digits, or a host's name, which is looked up when awaited, and whose addresses are tried in turn, IPv4
    first; localhost means those devices of this machine that are of the same backend and side.
    address_type: ipv4, ipv6 or gid; None: as address looks.
    private_data: up to 56 bytes, which the peer sees with the request. Giving up its await ends the attempt.
    Raises NotFoundError (no peer listens, unknown name), ConnectionAbortedError (rejected), ConnectionResetError (the
    peer was gone before it answered), TimeOutError, NotSupportedError, InvalidValueError
    (doca_rdma_connect_to_addr).
    """
    if isinstance(address, str) and address_type in (None, "ipv4", "ipv6"):
        from pydoca._rdma.names import ConnectionByName, is_name

        if is_name(address):
            options = {"private_data": private_data, "user_data": user_data}
            return ConnectionByName(self, address, _core.require_port(port), address_type, options)
    return self._connect(address, port, address_type, private_data, user_data)


@_method_of(_core.Rdma)
def receives(self: _core.Rdma, bufs: Iterable[_core.Buf]) -> AsyncIterator[_core.RdmaTask]:
    """Posts a receive into each, and gives an iterator of them, in the order in which messages fill them.

    async for task in rdma.receives(bufs) posts each again, emptied, when the next one is asked for. Raises
    InvalidValueError without a buf, InUseError for one that is given twice, NoMemoryError when there are more than
    tasks; nothing is posted then.
    """
    from pydoca._rdma.receives import Receives

    return Receives(self, bufs)


_core.attach(
    drain_log=_log.drain,
    gather_with_progress=_gather_with_progress,
    give_up_tasks=_give_up_tasks,
    load_aio=_aio,
    load_current_task=load_current_task,
    load_faults_of_environment=_load_faults,
    require_plain_function=require_plain_function,
    typed_signature=_typed_signature,
)
atexit.register(_core.end_all_engines)
