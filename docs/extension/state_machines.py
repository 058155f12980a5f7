"""The directive `machine`: the drawing of a state machine, in the shapes of the package's own displays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import EnumType
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

import pydoca
from pydoca._display.frame import svg
from pydoca._display.frame.markup import picture_svg
from pydoca._display.frame.panel import Picture

WIDTH, HEIGHT = 118.0, 34.0  # the size of a box
COLUMN, ROW, MARGIN = 288.0, 104.0, 14.0
APART = 9.0  # pixels between the lines there and back
LINE = 14.0  # the height of a line of a label


@dataclass(frozen=True)
class Edge:
    start: str
    end: str
    label: str  # lines with / between them
    side: int = -1  # the side of the line that has the label: -1 above or left, 1 below or right


@dataclass(frozen=True)
class Machine:
    title: str
    places: dict[str, tuple[float, float]]  # column and row of each state
    edges: tuple[Edge, ...]
    enum: EnumType | None = None  # all of whose members are states
    first: str = "IDLE"


MACHINES = {
    "context": Machine(
        "The states of a context",
        {"IDLE": (0, 1), "STARTING": (1, 0), "RUNNING": (2, 1), "STOPPING": (1, 2)},
        (
            Edge("IDLE", "STARTING", "start(): waits/for a peer"),
            Edge("STARTING", "RUNNING", "progress()"),
            Edge("STARTING", "IDLE", "stop(),/failure", 1),
            Edge("IDLE", "RUNNING", "start()"),
            Edge("RUNNING", "IDLE", "stop(): no task is out", 1),
            Edge("RUNNING", "STOPPING", "stop(), or/a task fails", 1),
            Edge("STOPPING", "IDLE", "progress(): all/tasks are back", 1),
        ),
        pydoca.ContextState,
    ),
    "task": Machine(
        "The states of a task",
        {"FREE": (0, 0), "IDLE": (1, 0), "SUBMITTED": (2, 0)},
        (
            Edge("FREE", "IDLE", "memcpy(), hash() .../take it"),
            Edge("IDLE", "FREE", "free(), or the/context stops", 1),
            Edge("IDLE", "SUBMITTED", "submit()"),
            Edge("SUBMITTED", "IDLE", "progress() delivers/the completion", 1),
        ),
        pydoca.TaskState,
        "FREE",
    ),
    "connection": Machine(
        "The states of a connection of RDMA",
        {
            "EXPORTED": (0, 0),
            "REQUESTED": (0, 1),
            "ESTABLISHED": (1, 0),
            "CONNECTING": (1, 1),
            "CLOSING": (2, 0),
            "CLOSED": (2, 1),
        },
        (
            Edge("EXPORTED", "ESTABLISHED", "connect(details)"),
            Edge("REQUESTED", "CONNECTING", "accept()"),
            Edge("CONNECTING", "ESTABLISHED", "progress()", 1),
            Edge("CONNECTING", "CLOSED", "progress(): failure"),
            Edge("ESTABLISHED", "CLOSING", "disconnect(), the/peer's end, failure"),
            Edge("CLOSING", "CLOSED", "progress()", 1),
        ),
        pydoca.RdmaConnectionState,
        "EXPORTED",
    ),
    "notification": Machine(
        "The event mode of a progress engine",
        {"polling": (0, 0), "armed": (1, 0), "fired": (2, 0)},
        (
            Edge("polling", "armed", "request_notification()"),
            Edge("armed", "fired", "a completion makes/fileno() readable"),
            Edge("fired", "polling", "clear_notification(), progress() until nothing is left"),
        ),
        first="polling",
    ),
    "map": Machine(
        "The states of a memory map",
        {"configured": (0, 0), "started": (1, 0), "closed": (2, 0)},
        (
            Edge("configured", "started", "start()"),
            Edge("started", "configured", "stop(): no buf points/into it, exports end", 1),
            Edge("started", "closed", "close(): stops it,/releases the memory"),
        ),
        first="configured",
    ),
}


def picture(machine: Machine) -> Picture:
    if machine.enum is not None and set(machine.places) != set(machine.enum.__members__):
        raise ValueError(f"{machine.title}: the drawing has not the states of {machine.enum.__name__}")
    columns = max(column for column, _ in machine.places.values())
    rows = max(row for _, row in machine.places.values())
    size = (2 * MARGIN + WIDTH + columns * COLUMN, 2 * MARGIN + HEIGHT + max(rows * ROW, 62))

    def draw(prefix: str) -> Iterator[str]:
        yield svg.arrow(f"{prefix}-arrow")
        for edge in machine.edges:
            yield from drawn_edge(machine, edge, f"{prefix}-arrow")
        for name in machine.places:
            yield box(machine, name)

    lines = [f"{edge.start} -> {edge.end}: {edge.label.replace('/', ' ')}" for edge in machine.edges]
    return Picture(machine.title, *size, draw, lines)


def centre(machine: Machine, name: str) -> tuple[float, float]:
    column, row = machine.places[name]
    top = 30 if all(each[1] == 0 for each in machine.places.values()) else 0
    return MARGIN + WIDTH / 2 + column * COLUMN, MARGIN + HEIGHT / 2 + row * ROW + top


def box(machine: Machine, name: str) -> str:
    x, y = centre(machine, name)
    shape = svg.box(x - WIDTH / 2, y - HEIGHT / 2, WIDTH, HEIGHT, edge="accent" if name == machine.first else "quiet")
    return shape + svg.text(x, y + 4, name, anchor="middle", bold=True)


def drawn_edge(machine: Machine, edge: Edge, marker: str) -> Iterator[str]:
    (x1, y1), (x2, y2) = centre(machine, edge.start), centre(machine, edge.end)
    if y1 == y2 and abs(x2 - x1) > COLUMN and len({each[1] for each in machine.places.values()}) == 1:
        yield from arc(edge, x1, x2, y1, marker)
        return
    length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
    both = any((each.start, each.end) == (edge.end, edge.start) for each in machine.edges)
    # A line is moved to the right of its way, so that there and back are two lines.
    dx, dy = ((y1 - y2) / length * -APART, (x2 - x1) / length * -APART) if both else (0.0, 0.0)
    ax, ay = border(x1 + dx, y1 + dy, x1, y1, x2 - x1, y2 - y1)
    bx, by = border(x2 + dx, y2 + dy, x2, y2, x1 - x2, y1 - y2)
    yield svg.line(f"M{ax:g} {ay:g}L{bx:g} {by:g}", marker=marker)
    # An upright line has its label at its right, as a steep one would have.
    yield from label(edge, (ax + bx) / 2, (ay + by) / 2, (y2 - y1) * ((x2 - x1) or -edge.side))


def arc(edge: Edge, x1: float, x2: float, y: float, marker: str) -> Iterator[str]:
    """An arc over a state between the others."""
    top, bottom = y - HEIGHT / 2 - 26, y - HEIGHT / 2
    yield svg.line(f"M{x1:g} {bottom:g}V{top:g}H{x2:g}V{bottom:g}", marker=marker)
    yield svg.text((x1 + x2) / 2, top - 6, edge.label, anchor="middle", faint=True, size=11)


def border(x: float, y: float, cx: float, cy: float, dx: float, dy: float) -> tuple[float, float]:
    """The point where the line from (x, y) in the direction (dx, dy) leaves the box around (cx, cy)."""
    reach = []
    if dx:
        reach.append((cx + (WIDTH / 2 if dx > 0 else -WIDTH / 2) - x) / dx)
    if dy:
        reach.append((cy + (HEIGHT / 2 if dy > 0 else -HEIGHT / 2) - y) / dy)
    t = min(reach)
    return x + t * dx, y + t * dy


def label(edge: Edge, x: float, y: float, slope: float) -> Iterator[str]:
    """A label beside the middle of the line. slope: 0 for a flat line, below 0 for one that rises to the right."""
    lines = edge.label.split("/")
    top = y - 6 - LINE * (len(lines) - 1) if edge.side < 0 else y + 15
    anchor = "middle" if slope == 0 else "end" if (slope < 0) == (edge.side < 0) else "start"
    x += {"middle": 0, "end": -6, "start": 6}[anchor]
    for number, text in enumerate(lines):
        yield svg.text(x, top + number * LINE, text, anchor=anchor, faint=True, size=11)


class MachineDirective(Directive):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        drawing = picture_svg(picture(MACHINES[self.arguments[0]]))
        return [nodes.raw("", f'<div class="drawing">{drawing}</div>', format="html")]


def setup(app: Any) -> None:
    app.add_directive("machine", MachineDirective)
