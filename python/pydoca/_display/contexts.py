"""Contexts of every library: their state, their tasks, and what each library adds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydoca._core import Client as ComchClient
from pydoca._core import Context, ContextState, Rdma, SyncEventContext
from pydoca._core import Endpoint as ComchEndpoint
from pydoca._core import Server as ComchServer
from pydoca._display.frame.panel import Code, Fact, Note, Panel, Part, State, Table, Tone, Value
from pydoca._display.frame.reading import ABSENT, call, first, read
from pydoca._display.frame.values import code, flags, plural, seconds, size, word
from pydoca._display.tasks import reasons
from pydoca._errors import Status

_MOST_TASKS, _MOST_CONNECTIONS = 12, 12

_TONES: dict[ContextState, Tone] = {
    ContextState.RUNNING: "good",
    ContextState.STARTING: "busy",
    ContextState.STOPPING: "busy",
}


def state_of(state: ContextState, closed: bool, faulted: bool, failure: Status) -> State:
    if closed:
        return State("closed")
    if faulted:
        return State(f"{word(state)}, faulted", "bad")
    if state == ContextState.IDLE and failure != Status.SUCCESS:
        return State(f"idle: {failure.name}", "bad")
    return State(word(state), _TONES.get(state, "quiet"))


def _tasks(tasks: list[str], count: int) -> Table:
    """Tasks in flight, of count in all."""
    rows = [(task,) for task in tasks]
    return Table("Tasks in flight, newest first", ("task",), rows, max(0, count - len(rows)), "tasks")


def context_panel(context: Context) -> Panel:
    snapshot = context._snapshot(_MOST_TASKS)
    _, device, state, closed, faulted, failure, why, in_flight, allocated, counts, tasks = snapshot
    submitted, completed, failed, cancelled = counts
    facts: list[Fact] = [
        ("device", Code(device)),
        ("engine", _engine(context)),
        *_library_facts(context),
        ("in flight", in_flight),
        ("allocated", allocated),
        ("submitted", submitted),
        ("completed", completed),
        ("failed", failed),
        ("cancelled", cancelled),
    ]
    parts: list[Part] = []
    if faulted:
        text = (
            "a task was given up while the device had its memory; stop the context, and start it again once it is idle"
        )
        parts.append(Note("Faulted", text, "bad"))
    if failure != Status.SUCCESS:
        parts += reasons(f"{failure.name}: {why or failure.descr}", failure, "It stopped")
    if tasks:
        parts.append(_tasks(tasks, in_flight))
    name = f"{_name(context)} on {device}".strip()
    badge = state_of(state, closed, faulted, failure)
    return Panel(type(context).__name__, name, badge, facts, [*parts, *_library_parts(context)])


def _engine(context: Context) -> str:
    engine = read(context, "progress_engine")
    if engine is None:
        return "not connected yet"
    return "closed" if read(engine, "closed") else f"has {plural(read(engine, 'num_contexts', 0), 'context')}"


def _name(context: Context) -> str:
    return f'"{context.name}"' if isinstance(context, ComchEndpoint) else ""


def _library_facts(context: Context) -> list[Fact]:
    for owner, make in _FACTS:
        if isinstance(context, owner):
            return make(context)
    num_tasks = read(context, "num_tasks")
    facts: list[Fact] = [("tasks", num_tasks)] if isinstance(num_tasks, int) else []
    ordered = read(context, "ordered_completions")
    return facts if ordered is None else [*facts, ("completions", "in order" if ordered else "in any order")]


def _rdma_facts(rdma: Rdma) -> list[Fact]:
    permissions = read(rdma, "permissions")
    return [
        ("transport", word(read(rdma, "transport_type", ABSENT)).upper()),
        ("peers may", ", ".join(flags(permissions)) or "nothing" if permissions is not None else ABSENT),
        ("connections", f"{len(read(rdma, 'connections', []))} of {read(rdma, 'max_num_connections', ABSENT)}"),
        ("send queue", read(rdma, "send_queue_size", 0)),
        ("receives", read(rdma, "recv_queue_size", 0)),
        ("MTU", size(read(rdma, "mtu", 0))),
        ("GID index", str(read(rdma, "gid_index", ABSENT))),
    ]


def _event_facts(context: SyncEventContext) -> list[Fact]:
    event = context.event
    return [
        ("publisher", word(read(event, "publisher", ABSENT))),
        ("subscriber", word(read(event, "subscriber", ABSENT))),
        ("value", "a get task reads it"),
    ]


def _endpoint_facts(endpoint: ComchEndpoint) -> list[Fact]:
    facts: list[Fact] = [("server's name", code(endpoint.name))]
    if isinstance(endpoint, ComchServer):
        representor = read(endpoint, "representor")
        facts.append(("serves", code(representor and f"{representor.name} ({representor.pci_addr})")))
    elif isinstance(endpoint, ComchClient):
        facts.append(("time limit", seconds(read(endpoint, "timeout"))))
    return [
        *facts,
        ("send tasks", read(endpoint, "num_send_tasks", 0)),
        ("receive queue", read(endpoint, "recv_queue_size", 0)),
        ("longest message", size(read(endpoint, "max_msg_size", 0))),
    ]


_FACTS: list[tuple[type, Callable[[Any], list[Fact]]]] = [
    (Rdma, _rdma_facts),
    (SyncEventContext, _event_facts),
    (ComchEndpoint, _endpoint_facts),
]


def _library_parts(context: Context) -> list[Part]:
    if isinstance(context, Rdma):
        return _rdma_connections(context)
    if isinstance(context, ComchServer):
        return _comch_connections(read(context, "connections", []))
    if isinstance(context, ComchClient):
        connection = read(context, "connection")
        return _comch_connections([connection] if connection is not None else [])
    return _kinds(context) if isinstance(context, SyncEventContext) else []


def _rdma_connections(rdma: Rdma) -> list[Part]:
    known, more = first(read(rdma, "connections", []), _MOST_CONNECTIONS)
    rows: list[list[Value]] = []
    for each in known:
        address = read(each, "address")
        peer = code(address and f"{address[0]}, port {address[1]}")
        rows.append([each.id, State(word(each.state), "good" if each.is_connected else "busy"), peer])
    table = Table("Connections", (">connection", "state", "peer"), rows, more, "connections")
    return [table] if rows else []


def _comch_connections(connections: list[Any]) -> list[Part]:
    known, more = first(connections, _MOST_CONNECTIONS)
    rows: list[list[Value]] = []
    for index, each in enumerate(known):
        state = State("connected", "good") if read(each, "is_connected") else State("closed")
        waiting = call(each._snapshot, default=("", 0))[1]
        rows.append([index + 1, state, read(each, "sent_messages", 0), read(each, "recv_messages", 0), waiting])
    heads = (">connection", "state", ">sent", ">received", ">not read yet")
    return [Table("Connections", heads, rows, more, "connections")] if rows else []


def _kinds(context: SyncEventContext) -> list[Part]:
    kinds = ("get", "notify_set", "notify_add", "wait_gt", "wait_eq", "wait_neq")
    rows: list[list[Value]] = [[Code(kind), call(context.num_tasks, kind, default=0)] for kind in kinds]
    return [Table("Kinds of tasks", ("kind", ">tasks"), rows)]
