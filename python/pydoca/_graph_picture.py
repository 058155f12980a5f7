"""Pictures of graphs and of their instances: DOT, SVG for notebooks, text for terminals.

A graph is laid out here, in layers: the notebook then needs no Graphviz. DOT is for large graphs, and for programs that
lay out better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from pydoca._core import Context, Graph, GraphInstance, GraphNode, GraphNodeState

_FILLS = {
    GraphNodeState.NOT_STARTED: "#f2f2f2",
    GraphNodeState.STARTED: "#fff0b3",
    GraphNodeState.COMPLETED: "#cdeccd",
    GraphNodeState.ERROR: "#f7c6c6",
}
_CHARACTER, _PADDING, _GAP = 7.5, 24, 24  # widths, in pixels
_HEIGHT, _LAYER = 32, 72  # of a node, and from layer to layer

_States = Mapping[GraphNode, GraphNodeState]


def name_of(node: GraphNode) -> str:
    """What the node runs: the context's class, the function's name, the number of a sub-graph's nodes."""
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
    """In Graphviz' language."""
    states = states_of(drawn)
    lines = ["digraph {", "  node [shape=box, style=filled];"]
    for node in _nodes_of(drawn):
        label = name_of(node).replace("\\", r"\\").replace('"', r"\"")
        fill = _FILLS[states.get(node, GraphNodeState.NOT_STARTED)]
        tip = f', tooltip="{states[node].name}"' if states else ""
        lines.append(f'  {node.index} [label="{node.index}: {label}", fillcolor="{fill}"{tip}];')
        lines.extend(f"  {node.index} -> {successor.index};" for successor in node.successors)
    return "\n".join([*lines, "}"]) + "\n"


def to_text(drawn: Graph | GraphInstance) -> str:
    """A line for each node: its index, what it runs, its state and time, and the nodes that depend on it."""
    states, times = states_of(drawn), _times_of(drawn)
    names = {node: name_of(node) for node in _nodes_of(drawn)}
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


def _layers(nodes: list[GraphNode]) -> dict[GraphNode, int]:
    """Each node one layer behind the last of its predecessors."""
    layers = dict.fromkeys(nodes, 0)
    waiting = dict.fromkeys(nodes, 0)
    for node in nodes:
        for successor in node.successors:
            waiting[successor] += 1
    ready = [node for node, count in waiting.items() if count == 0]
    for node in ready:  # grows meanwhile
        for successor in node.successors:
            layers[successor] = max(layers[successor], layers[node] + 1)
            waiting[successor] -= 1
            if waiting[successor] == 0:
                ready.append(successor)
    return layers


def _laid_out(nodes: list[GraphNode]) -> tuple[dict[GraphNode, _Box], float]:
    """The boxes and the width of the picture. The boxes of a layer stand in the order of their predecessors' places."""
    boxes = {}
    for node, layer in _layers(nodes).items():
        label = f"{node.index}: {name_of(node)}"
        boxes[node] = _Box(node, label, len(label) * _CHARACTER + _PADDING, layer)
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
            for successor in box.node.successors:
                before[successor].append(box.x)
    return boxes, width


def _shapes(boxes: dict[GraphNode, _Box], states: _States, times: Mapping[GraphNode, str]) -> Iterator[str]:
    for box in boxes.values():
        for successor in box.node.successors:
            to = boxes[successor]
            y, end = box.top + _HEIGHT, to.top
            middle = (y + end) / 2
            yield (
                f'<path d="M{box.x:g} {y}C{box.x:g} {middle:g} {to.x:g} {middle:g} {to.x:g} {end}" fill="none" '
                f'stroke="#666" marker-end="url(#pydoca-arrow)"/>'
            )
    for box in boxes.values():
        state = states.get(box.node, GraphNodeState.NOT_STARTED)
        title = f"<title>{state.name} {times.get(box.node, '')}</title>" if states else ""
        yield (
            f'<g>{title}<rect x="{box.x - box.width / 2:g}" y="{box.top}" width="{box.width:g}" height="{_HEIGHT}" '
            f'rx="5" fill="{_FILLS[state]}" stroke="#666"/>'
            f'<text x="{box.x:g}" y="{box.top + 20}" text-anchor="middle" fill="#222">{escape(box.label)}</text></g>'
        )


def to_svg(drawn: Graph | GraphInstance) -> str:
    """For notebooks."""
    boxes, width = _laid_out(_nodes_of(drawn))
    height = max((box.top for box in boxes.values()), default=0) + _HEIGHT + _GAP // 2
    arrow = (
        '<defs><marker id="pydoca-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0 0L8 4L0 8z" fill="#666"/></marker></defs>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height}" '
        f'viewBox="0 0 {width:g} {height}" font-family="monospace" font-size="12">{arrow}'
        f"{''.join(_shapes(boxes, states_of(drawn), _times_of(drawn)))}</svg>"
    )
