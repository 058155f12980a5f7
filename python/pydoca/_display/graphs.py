"""Graphs, and their instances with the states of their nodes."""

from __future__ import annotations

from typing import Any

from pydoca._core import Graph, GraphInstance, GraphNode, GraphNodeState
from pydoca._display.frame.panel import Code, Fact, Note, Panel, Part, State, Value
from pydoca._display.frame.reading import ABSENT, call, first, read
from pydoca._display.frame.values import plural, yes
from pydoca._display.graph_picture import name_of, picture_of, states_of
from pydoca._display.tasks import reasons
from pydoca._errors import Status

_MOST_NAMES = 8


def graph_panel(graph: Graph) -> Panel:
    state = State("started", "good") if read(graph, "is_started") else State("stopped")
    count = len(read(graph, "nodes", []))
    facts: list[Fact] = [
        ("nodes", count),
        ("instances", f"{read(graph, 'num_instances', 0):,} of {read(graph, 'max_instances', 0):,}"),
        ("timing", yes(read(graph, "timing"))),
    ]
    return Panel("Graph", plural(count, "node"), state, facts, _pictures(graph))


def node_panel(node: GraphNode) -> Panel:
    nodes = read(read(node, "graph"), "nodes", [])
    before = [each for each in nodes if node in each.successors]
    facts: list[Fact] = [
        ("runs", Code(name_of(node))),
        ("type", node.type),
        ("place", f"{node.index} of {plural(len(nodes), 'node')}"),
        ("after", _names(before)),
        ("before", _names(node.successors)),
    ]
    return Panel("GraphNode", f"{node.index}: {name_of(node)}", None, facts)


def _names(nodes: list[GraphNode]) -> Value:
    known, more = first((Code(f"{node.index}: {name_of(node)}") for node in nodes), _MOST_NAMES)
    return Code(", ".join(known) + (f" and {more:,} more" if more else "")) if known else ABSENT


def instance_panel(instance: GraphInstance) -> Panel:
    status = read(instance, "_status", Status.UNKNOWN)
    facts: list[Fact] = [("status", Code(status.name)), ("nodes", len(read(instance.graph, "nodes", [])))]
    failed = read(instance, "failed_node")
    parts = _pictures(instance)
    if failed is not None:
        facts.append(("failed node", Code(f"{failed.index}: {name_of(failed)}")))
        parts += _failure(instance, failed, status)
    return Panel("GraphInstance", "", _state(instance, status, failed is not None), facts, parts)


def _state(instance: GraphInstance, status: Status, has_failed: bool) -> State:
    if read(instance, "is_running"):
        return State("running", "busy")
    if has_failed:
        return State(f"failed: {status.name}", "bad")
    states = call(states_of, instance, default={})
    if all(state == GraphNodeState.NOT_STARTED for state in states.values()):
        return State("not submitted")
    return State("done", "good") if status == Status.SUCCESS else State(status.name.lower().replace("_", " "))


def _failure(instance: GraphInstance, node: Any, status: Status) -> list[Part]:
    data = call(lambda: instance[node])
    snapshot = call(lambda: data._snapshot())
    if snapshot and len(snapshot) == 6:
        return reasons(snapshot[3], status)
    error = read(instance, "_failure")
    return [Note("Cause", f"{type(error).__name__}: {error}" if error else status.descr, "bad")]


def _pictures(drawn: Graph | GraphInstance) -> list[Part]:
    return [picture_of(drawn)]
