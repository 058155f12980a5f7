"""Graphs and their instances."""

from __future__ import annotations

import contextlib
from typing import Any

import pydoca
from scenes.stack import Stack, scene


def _graph(stack: Stack, **options: Any) -> tuple[pydoca.Graph, pydoca.Dma]:
    engine = stack.engine()
    dma = stack.dma(engine)
    graph = pydoca.Graph(engine, **options)
    copies = [graph.node(dma), graph.node(dma)]
    graph.node(check, after=copies)
    return graph, dma


def check(cookie: object) -> None:
    """A step of a graph."""
    if cookie == "wrong":
        raise ValueError("the copies differ")


@scene
def graph_new(stack: Stack) -> object:
    return _graph(stack)[0]


@scene
def graph_node(stack: Stack) -> object:
    return _graph(stack)[0].nodes[2]


@scene
def graph_large(stack: Stack) -> object:
    graph = pydoca.Graph(stack.engine())
    nodes: list[pydoca.GraphNode] = []
    for index in range(401):
        nodes.append(graph.node(check, after=nodes[index - 16 : index - 14] if index >= 16 else []))
    return graph


def new_instance(stack: Stack, cookie: str) -> pydoca.GraphInstance:
    graph, dma = _graph(stack, timing=True)
    stack.enter_context(graph)
    first, second, last = graph.nodes
    return graph.create_instance({first: stack.copy(dma), second: stack.copy(dma), last: cookie})


@scene
def graph_instance_new(stack: Stack) -> object:
    return new_instance(stack, "right")


@scene
def graph_instance_running(stack: Stack) -> object:
    instance = new_instance(stack, "right")
    instance.submit()
    stack.callback(instance.wait, 10)
    return instance


@scene
def graph_instance_done(stack: Stack) -> object:
    instance = new_instance(stack, "right")
    instance.submit()
    instance.wait(10)
    return instance


@scene
def graph_instance_failed(stack: Stack) -> object:
    instance = new_instance(stack, "wrong")
    instance.submit()
    with contextlib.suppress(Exception, ExceptionGroup):
        instance.wait(10)
    return instance
