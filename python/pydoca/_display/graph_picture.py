"""Pictures of graphs and of their instances: DOT, shapes for notebooks, text for terminals.

A graph is laid out here, in layers: the notebook then needs no Graphviz. DOT is for large graphs, and for programs that
lay out better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydoca._core import Context, Graph, GraphInstance, GraphNode, GraphNodeState
from pydoca._display.frame import svg
from pydoca._display.frame.panel import MARKS, Picture, Tone
from pydoca._display.frame.values import plural, word

_FILLS = {
    GraphNodeState.NOT_STARTED: "#f2f2f2",
    GraphNodeState.STARTED: "#fff0b3",
    GraphNodeState.COMPLETED: "#cdeccd",
    GraphNodeState.ERROR: "#f7c6c6",
}
TONES: dict[GraphNodeState, Tone] = {
    GraphNodeState.NOT_STARTED: "quiet",
    GraphNodeState.STARTED: "busy",
    GraphNodeState.COMPLETED: "good",
    GraphNodeState.ERROR: "bad",
}
_PADDING, _GAP = 24, 24  # widths, in pixels
_HEIGHT, _LAYER = 30, 66  # pixels: the height of a node, and from layer to layer
_MOST_NODES, _MOST_LINES = 48, 1200  # the most that a picture shows

_States = Mapping[GraphNode, GraphNodeState]


def name_of(node: GraphNode) -> str:
    """The name of a node's work: the context's class, the function's name, the number of a sub-graph's nodes."""
    source = node.source
    if isinstance(source, Context):
        return type(source).__name__
    if isinstance(source, Graph):
        return f"graph of {len(source.nodes)} nodes"
    return str(getattr(source, "__name__", type(source).__name__))


def states_of(drawn: Graph | GraphInstance) -> _States:
    """The state of each node; of a graph, no states."""
    return {} if isinstance(drawn, Graph) else {node: drawn.node_state(node) for node in drawn.graph.nodes}


def _times_of(drawn: Graph | GraphInstance) -> Mapping[GraphNode, str]:
    """How long each node of a timed instance ran, and when it had started."""
    if isinstance(drawn, Graph) or not drawn.graph.timing:
        return {}
    texts = {}
    for node in drawn.graph.nodes:
        started, ended = drawn.node_times(node)
        texts[node] = f"{max(ended - started, 0) / 1000:.1f} us from {started / 1000:.1f} us on" if started else ""
    return texts


def _nodes_of(drawn: Graph | GraphInstance) -> list[GraphNode]:
    return (drawn if isinstance(drawn, Graph) else drawn.graph).nodes


def to_dot(drawn: Graph | GraphInstance) -> str:
    """The graph in Graphviz' language."""
    states = states_of(drawn)
    lines = ["digraph {", "  node [shape=box, style=filled];"]
    for node in _nodes_of(drawn):
        label = name_of(node).replace("\\", r"\\").replace('"', r"\"")
        fill = _FILLS[states.get(node, GraphNodeState.NOT_STARTED)]
        tip = f', tooltip="{states[node].name}"' if states else ""
        lines.append(f'  {node.index} [label="{node.index}: {label}", fillcolor="{fill}"{tip}];')
        lines.extend(f"  {node.index} -> {successor.index};" for successor in node.successors)
    return "\n".join([*lines, "}"]) + "\n"


def to_text(drawn: Graph | GraphInstance, limit: int | None = None) -> str:
    """A line for each node: its index, what it runs, its state and time, and the nodes that depend on it.

    limit: the most nodes that have a line.
    """
    states, times = states_of(drawn), _times_of(drawn)
    names = {node: name_of(node) for node in _nodes_of(drawn)[:limit]}
    width = max((len(name) for name in names.values()), default=0)
    return "\n".join(_line(node, name.ljust(width), states, times) for node, name in names.items())


def _line(node: GraphNode, name: str, states: _States, times: Mapping[GraphNode, str]) -> str:
    state = f"  {states[node].name:<11}" if states else ""
    time = f"  {times[node]:<28}" if times else ""
    successors = ", ".join(str(successor.index) for successor in node.successors)
    return f"{node.index:>3} {name}{state}{time}{'  -> ' if successors else ''}{successors}".rstrip()


@dataclass
class _Box:
    """A node in the picture; x is its centre, in pixels."""

    node: GraphNode
    label: str
    width: float
    layer: int
    x: float = 0.0

    @property
    def top(self) -> int:
        return _GAP // 2 + self.layer * _LAYER


def _successors(node: GraphNode, shown: Mapping[GraphNode, object]) -> list[GraphNode]:
    """The successors that are in the picture."""
    return [successor for successor in node.successors if successor in shown]


def _layers(nodes: list[GraphNode]) -> dict[GraphNode, int]:
    """The layer of each node: the one after the last layer of its predecessors."""
    layers = dict.fromkeys(nodes, 0)
    waiting = dict.fromkeys(nodes, 0)
    for node in nodes:
        for successor in _successors(node, waiting):
            waiting[successor] += 1
    ready = [node for node, count in waiting.items() if count == 0]
    for node in ready:  # grows meanwhile
        for successor in _successors(node, waiting):
            layers[successor] = max(layers[successor], layers[node] + 1)
            waiting[successor] -= 1
            if waiting[successor] == 0:
                ready.append(successor)
    return layers


def _laid_out(nodes: list[GraphNode], marked: bool) -> tuple[dict[GraphNode, _Box], float]:
    """The boxes and the width of the picture; marked: with room for the marks of states.

    The boxes of a layer have the order of their predecessors' places."""
    boxes = {}
    for node, layer in _layers(nodes).items():
        label = svg.fitting(f"{node.index}: {name_of(node)}", 300)
        boxes[node] = _Box(node, label, len(label) * svg.CHARACTER + _PADDING + (18 if marked else 0), layer)
    rows: list[list[_Box]] = [[] for _ in range(1 + max((box.layer for box in boxes.values()), default=-1))]
    for box in boxes.values():
        rows[box.layer].append(box)
    width = max((sum(box.width + _GAP for box in row) for row in rows), default=float(_GAP))
    before: dict[GraphNode, list[float]] = {node: [] for node in nodes}
    for row in rows:
        row.sort(key=lambda box: sum(before[box.node]) / max(len(before[box.node]), 1))
        x = (width - sum(box.width + _GAP for box in row)) / 2
        for box in row:
            box.x = x + (box.width + _GAP) / 2
            x += box.width + _GAP
            for successor in _successors(box.node, before):
                before[successor].append(box.x)
    return boxes, width


def _lines(boxes: dict[GraphNode, _Box], arrow: str) -> Iterator[str]:
    drawn = 0
    for box in boxes.values():
        for successor in _successors(box.node, boxes):
            drawn += 1
            if drawn > _MOST_LINES:
                return
            to = boxes[successor]
            y, end = box.top + _HEIGHT, to.top
            middle = (y + end) / 2
            path = f"M{box.x:g} {y}C{box.x:g} {middle:g} {to.x:g} {middle:g} {to.x:g} {end}"
            yield svg.line(path, marker=arrow)


def _node(box: _Box, states: _States, times: Mapping[GraphNode, str]) -> str:
    """A state is a mark, a kind of edge and a tip; a graph, which has no states, has plain boxes."""
    state = states.get(box.node)
    left = box.x - box.width / 2
    if state is None:
        shapes = svg.box(left, box.top, box.width, _HEIGHT)
        return svg.group(shapes + svg.text(box.x, box.top + 19, box.label, anchor="middle"))
    tone = TONES[state]
    shapes = svg.box(left, box.top, box.width, _HEIGHT, edge=tone, dashed=state == GraphNodeState.NOT_STARTED)
    shapes += svg.mark(left + 15, box.top + 19, MARKS[tone], tone)
    shapes += svg.text(box.x + 9, box.top + 19, box.label, anchor="middle")
    return svg.group(shapes, f"{box.label}: {word(state)} {times.get(box.node, '')}".rstrip())


def picture_of(drawn: Graph | GraphInstance) -> Picture:
    """The first nodes of a graph, in layers from top to bottom; of an instance, with their states."""
    nodes = _nodes_of(drawn)
    shown, states, times = nodes[:_MOST_NODES], states_of(drawn), _times_of(drawn)
    boxes, width = _laid_out(shown, bool(states))
    height = max((box.top for box in boxes.values()), default=0) + _HEIGHT + _GAP // 2
    more = f"\u2026 and {plural(len(nodes) - len(shown), 'more node')}" if len(nodes) > len(shown) else ""

    def draw(prefix: str) -> Iterator[str]:
        yield svg.arrow(f"{prefix}-arrow")
        yield from _lines(boxes, f"{prefix}-arrow")
        yield from (_node(box, states, times) for box in boxes.values())
        if more:
            yield svg.text(8, height + 12, more, faint=True)

    kind = "Graph" if isinstance(drawn, Graph) else "Run of a graph"
    lines = [*to_text(drawn, _MOST_NODES).splitlines(), *([more] if more else [])]
    return Picture(f"{kind} of {plural(len(nodes), 'node')}", width, height + (18 if more else 0), draw, lines)
