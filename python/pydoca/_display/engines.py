"""Progress engines with their contexts, states and tasks in flight."""

from __future__ import annotations

from typing import Any

from pydoca._core import ProgressEngine
from pydoca._display.contexts import state_of
from pydoca._display.frame.panel import Code, Fact, Panel, Part, State, Table, Value
from pydoca._display.frame.reading import call, read
from pydoca._display.frame.values import plural, seconds, word

_MOST_CONTEXTS, _MOST_TASKS = 16, 16


def engine_panel(engine: ProgressEngine) -> Panel:
    snapshots = call(engine._snapshot, _MOST_CONTEXTS, _MOST_TASKS, default=[])
    count, in_flight = read(engine, "num_contexts", 0), read(engine, "num_inflight_tasks", 0)
    closed = read(engine, "closed", False)
    name = "" if closed else f"{plural(count, 'context')}, {plural(in_flight, 'task')} in flight"
    parts: list[Part] = []
    if snapshots:
        parts.append(_contexts(snapshots, count))
        if tasks := [(Code(f"{each[0]} on {each[1]}"), task) for each in snapshots for task in each[-1]]:
            parts.append(_tasks(tasks, in_flight))
    return Panel("ProgressEngine", name, _state(closed, in_flight), _facts(engine, in_flight), parts)


def _state(closed: bool, in_flight: int) -> State:
    if closed:
        return State("closed")
    return State("tasks in flight", "busy") if in_flight else State("open", "good")


def _facts(engine: ProgressEngine, in_flight: int) -> list[Fact]:
    facts: list[Fact] = [
        ("in flight", in_flight),
        ("in quarantine", read(engine, "num_quarantined_tasks", 0)),
        ("latency", str(read(engine, "latency", ""))),
        ("event mode", word(read(engine, "event_mode", ""))),
        ("drain timeout", seconds(read(engine, "drain_timeout"))),
    ]
    stats = call(engine.stats)
    return [*facts, *((key.replace("_", " "), value) for key, value in stats._asdict().items())] if stats else facts


def _contexts(snapshots: list[Any], count: int) -> Table:
    rows: list[list[Value]] = []
    for kind, device, *rest in snapshots:
        state, closed, faulted, failure, _, in_flight, allocated, counts, _ = rest
        _, completed, failed, cancelled = counts
        badge = state_of(state, closed, faulted, failure)
        rows.append([Code(kind), Code(device), badge, in_flight, allocated, completed, failed, cancelled])
    heads = ("context", "device", "state", ">in flight", ">allocated", ">completed", ">failed", ">cancelled")
    return Table("Contexts", heads, rows, max(0, count - len(rows)), "contexts")


def _tasks(tasks: list[tuple[Code, str]], count: int) -> Table:
    """Tasks in flight, of count in all."""
    return Table("Tasks in flight", ("context", "task"), tasks, max(0, count - len(tasks)), "tasks")
