"""A buf as headroom, data and tailroom, with its chain; inventories and pools."""

from __future__ import annotations

from collections.abc import Iterator

from pydoca._core import Buf, BufInventory, BufPool
from pydoca._display.frame import svg
from pydoca._display.frame.panel import Fact, Note, Panel, Part, Picture, State, Table, Tone, Value
from pydoca._display.frame.reading import call, read
from pydoca._display.frame.values import address, number, size
from pydoca._display.memory import MOST_BUFS, bufs_table

_Section = tuple[int, int, int, int, bool]

_MOST_ELEMENTS = 12
_WIDTH, _BAR, _ROW = 440.0, 26.0, 44.0
_SMALLEST = 52.0  # pixels: no section that has bytes vanishes
_TONES: dict[str, Tone] = {"started": "good"}


def buf_panel(buf: Buf) -> Panel:
    snapshot = call(buf._snapshot, _MOST_ELEMENTS)
    if snapshot is None:
        return Panel("Buf", "", State("released"), parts=[Note("State", "it has returned to its inventory")])
    own, count, references, source, start, elements = snapshot
    head, length, data, data_len, in_flight = elements[own - start]
    state = State("in flight", "busy") if in_flight else State("idle")
    facts: list[Fact] = [
        ("head", address(head)),
        ("data at", address(data)),
        ("references", references),
        ("of a", source),
        ("map", _map_of(buf)),
    ]
    if count > 1:
        facts.append(("chain", f"element {own + 1} of {number(count)}"))
    parts: list[Part] = [_picture(elements, start, own, count)]
    if count > 1:
        parts.append(_chain(elements, start, own, count))
    name = f"{size(length)} at {head:#x}: headroom {number(data - head)}, data {number(data_len)}, " + (
        f"tailroom {number(head + length - data - data_len)}"
    )
    return Panel("Buf", name, state, facts, parts)


def _map_of(buf: Buf) -> Value:
    mmap = read(buf, "mmap")
    return f"{size(mmap.len)} at {mmap.addr:#x}" if mmap is not None else "unknown"


def _chain(elements: list[_Section], start: int, own: int, count: int) -> Table:
    rows: list[list[Value]] = []
    for index, (head, length, data, data_len, _) in enumerate(elements, start):
        this = "\u25b8 this one" if index == own else ""
        room = (data - head, data_len, head + length - data - data_len)
        rows.append([index + 1, address(head), length, *room, this])
    heads = (">element", "head", ">bytes", ">headroom", ">data", ">tailroom", "")
    return Table("Chain", heads, rows, count - len(elements), "elements")


def _widths(parts: tuple[int, ...], total: float) -> list[float]:
    """Widths in proportion to the parts; a part that has bytes is wide enough to be seen."""
    kept = [_SMALLEST if part else 0.0 for part in parts]
    whole = sum(parts) or 1
    left = total - sum(kept)
    return [least + left * part / whole for least, part in zip(kept, parts, strict=True)]


def _picture(elements: list[_Section], start: int, own: int, count: int) -> Picture:
    longest = max(length for _, length, *_ in elements) or 1
    heights = _ROW * len(elements)

    def draw(prefix: str) -> Iterator[str]:
        yield svg.hatch(f"{prefix}-hatch") + svg.arrow(f"{prefix}-arrow")
        for index, element in enumerate(elements):
            y = 16 + index * _ROW
            width = max(_WIDTH * (0.4 + 0.6 * element[1] / longest) - 22, 3 * _SMALLEST)
            if index or start:
                yield svg.line(f"M8 {y - 18:g}V{y + _BAR / 2:g}H19", marker=f"{prefix}-arrow")
            yield _sections(element, 20, y, width, f"{prefix}-hatch", count > 1 and start + index == own)

    title = "; ".join(_words(start + index, element) for index, element in enumerate(elements))
    lines = [_words(start + index, element) for index, element in enumerate(elements)]
    return Picture(f"Buf: {title}", _WIDTH, heights + 6, draw, lines)


def _words(index: int, element: _Section) -> str:
    head, length, data, data_len, _ = element
    return f"{index + 1}: headroom {data - head}, data {data_len}, tailroom {head + length - data - data_len} bytes"


def _sections(element: _Section, x: float, y: float, width: float, pattern: str, is_own: bool) -> str:
    head, length, data, data_len, _ = element
    parts = (data - head, data_len, head + length - data - data_len)
    shapes = svg.box(x, y, width, _BAR, edge="accent" if is_own else "quiet")
    for name, count, wide in zip(("headroom", "data", "tailroom"), parts, _widths(parts, width), strict=True):
        if name == "data":
            bar = svg.bar(x, y, wide, _BAR, "accent", 0.3)
        else:
            bar = svg.hatched(x, y, wide, _BAR, pattern) if name == "headroom" else ""
        shapes += svg.group(bar + _label(name, count, x, y, wide), f"{name}: {count} bytes") if count else ""
        x += wide
    return shapes


def _label(name: str, count: int, x: float, y: float, width: float) -> str:
    """The name above the bar and the number in it, each where it fits."""
    amount = number(count)
    shapes = ""
    if len(amount) * svg.CHARACTER + 6 <= width:
        if name == "headroom":  # the number has clear paper below it, not the hatching
            wide = len(amount) * svg.CHARACTER + 6
            shapes += svg.box(x + (width - wide) / 2, y + 4, wide, _BAR - 8)
        shapes += svg.text(x + width / 2, y + _BAR / 2 + 4, amount, anchor="middle")
    if len(name) * 6.2 <= width:
        shapes += svg.text(x + width / 2, y - 4, name, anchor="middle", faint=True, size=10)
    return shapes


def _meter(used: int, total: int, what: str) -> Picture:
    def draw(prefix: str) -> Iterator[str]:
        yield svg.box(1, 1, _WIDTH - 2, 12)
        yield svg.bar(2, 2, (_WIDTH - 4) * min(used / max(total, 1), 1), 10, "accent", 0.6)

    return Picture(f"{number(used)} of {number(total)} {what}", _WIDTH, 14, draw, least=0)


def inventory_panel(inventory: BufInventory) -> Panel:
    return _source_panel(inventory, "BufInventory", [])


def pool_panel(pool: BufPool) -> Panel:
    mmap = read(pool, "mmap")
    facts: list[Fact] = [
        ("element", size(read(pool, "element_size", 0))),
        ("alignment", read(pool, "element_alignment", 0)),
        ("map", f"{size(mmap.len)} at {mmap.addr:#x}" if mmap is not None else "unknown"),
    ]
    return _source_panel(pool, "BufPool", facts)


def _source_panel(source: BufInventory | BufPool, kind: str, more: list[Fact]) -> Panel:
    state, bufs = call(source._snapshot, MOST_BUFS, default=("unknown", []))
    total, free = read(source, "num_elements", 0), read(source, "num_free_elements", 0)
    used = max(total - free, 0)
    facts: list[Fact] = [("elements", total), ("out", used), ("free", free), *more]
    parts: list[Part] = [_meter(used, total, "elements are out")] if total else []
    if bufs:
        parts.append(bufs_table(bufs, used))
    name = f"{number(used)} of {number(total)} out" if total else ""
    return Panel(kind, name, State(state, _TONES.get(state, "quiet")), facts, parts)
