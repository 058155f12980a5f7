"""The machine: both sides of the PCIe link with their functions and representors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from pydoca._core import DeviceInfo
from pydoca._display.frame import svg
from pydoca._display.frame.panel import Code, Fact, Panel, Picture, Table, Value
from pydoca._display.frame.reading import first
from pydoca._display.frame.values import code, plural, rate, short_pci, word

_SIDES = ("host", "dpu")
_SERIAL = re.compile(r"(.+?)(?:EC)?S\d+D\d+F\d")  # a card's number, with which the VUIDs of its functions begin
_MOST = 24  # functions in the picture and in the table
_WIDTH, _ROW, _TOP, _BOX = 440.0, 30.0, 32.0, 23.0
_HOST, _REP, _DPU = (12.0, 132.0), (200.0, 90.0), (310.0, 118.0)  # x and width of the columns


def topology_panel(topology: Mapping[str, Any]) -> Panel:
    panel = _panel("Topology", topology.get("function", []))
    if cards := topology.get("card", []):
        panel.name += f", {plural(sum(card.get('count', 1) for card in cards), 'card')} to be made"
        panel.parts.append(_kinds(cards))
    return panel


def _kinds(cards: Sequence[Mapping[str, Any]]) -> Table:
    """The cards of a topology that is not loaded; they have no functions yet."""
    shown, more = first(cards, _MOST)
    rows: list[list[Value]] = [
        [
            str(card.get("count", 1)),
            code(card.get("name", "card{}")),
            code(card.get("profile")),
            *(str(card.get(key, usual)) for key, usual in (("ports", 2), ("vfs", 0), ("sfs", 0))),
        ]
        for card in shown
    ]
    return Table("Cards", (">count", "name", "profile", ">ports", ">VFs", ">SFs"), rows, more, "kinds")


def machine_panel(infos: list[DeviceInfo]) -> Panel:
    """The panel of a list of functions, whose representors are not known."""
    functions = [
        {**info.to_dict(), "side": info.side.name.lower(), "func_type": info.func_type.name.lower()} for info in infos
    ]
    return _panel("Devices", functions)


def _panel(kind: str, functions: Sequence[Mapping[str, Any]]) -> Panel:
    shown, more = first(functions, _MOST)
    sides = [str(function.get("side", "")) for function in functions]
    count = sum(1 for function in functions if function.get("representor"))
    cards = {match[1] for function in functions if (match := _SERIAL.match(str(function.get("vuid") or "")))}
    facts: list[Fact] = [
        *([("cards", len(cards))] if len(cards) > 1 else []),
        ("host", plural(sides.count("host"), "function")),
        ("DPU", plural(sides.count("dpu"), "function")),
        ("representors", count if count else "not shown here"),
        ("card", code(", ".join(sorted({str(function.get("profile", "")) for function in functions})))),
    ]
    rows = [_row(function) for function in shown]
    heads = ("function", "side", "type", "PCI address", "representor", "interface", "RDMA device", ">port")
    table = Table("Functions", heads, rows, more, "functions")
    name = f"{plural(len(functions), 'function')} on {len(set(sides))} side{'s' if len(set(sides)) != 1 else ''}"
    return Panel(kind, name, facts=facts, parts=[_picture(shown, more), table])


def _row(function: Mapping[str, Any]) -> list[Value]:
    names = (code(function.get(key)) for key in ("representor", "iface_name", "ibdev_name"))
    kind, side = str(function.get("func_type", "")).upper(), word(function.get("side", ""))
    pci = code(short_pci(str(function.get("pci_addr") or "")))
    return [Code(function.get("name", "")), side, kind, pci, *names, rate(function.get("active_rate") or 0)]


@dataclass
class _Group:
    """A function of the DPU with the functions behind its representors, or functions without any."""

    port: Mapping[str, Any] | None
    members: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return max(len(self.members), 1)


def _groups(functions: list[Mapping[str, Any]]) -> list[_Group]:
    if not any(function.get("representor") for function in functions):
        return _pairs(functions)
    parents = {function.get("parent") for function in functions if function.get("parent")}
    groups = {
        str(function["name"]): _Group(function)
        for function in functions
        if function.get("side") == "dpu" and not (function.get("parent") and function["name"] not in parents)
    }
    alone = _Group(None)
    for function in functions:
        if function.get("name") not in groups or function.get("side") != "dpu":
            groups.get(str(function.get("parent")), alone).members.append(function)
    return [*groups.values(), *([alone] if alone.members else [])]


def _pairs(functions: list[Mapping[str, Any]]) -> list[_Group]:
    """The functions of both sides beside one another, where representors are not known."""
    sides = ([each for each in functions if each.get("side") == side] for side in _SIDES)
    return [_Group(port, [each] if each else []) for each, port in zip_longest(*sides)]


def _picture(functions: list[Mapping[str, Any]], more: int) -> Picture:
    groups = _groups(functions)
    rows = sum(group.rows for group in groups)
    has_representors = any(function.get("representor") for function in functions)
    gap = 10 if has_representors else 0
    height = _TOP + rows * _ROW + gap * len(groups) + 4 + (18 if more else 0)

    def draw(prefix: str) -> Iterator[str]:
        bottom = height - 8 - (18 if more else 0)
        yield svg.area(2, 4, _HOST[0] + _HOST[1] + 8, bottom) + svg.heading(16, 22, "host")
        yield svg.area(_REP[0] - 12, 4, _WIDTH - _REP[0] + 10, bottom) + svg.heading(
            _WIDTH - 18, 22, "dpu", anchor="end"
        )
        if has_representors:
            yield svg.heading(_REP[0], 22, "representors")
        yield svg.heading((_HOST[0] + _HOST[1] + _REP[0]) / 2 + 1, 22, "pcie", anchor="middle")
        y = _TOP
        for group in groups:
            yield from _drawn(group, y)
            y += group.rows * _ROW + gap
        if more:
            yield svg.text(16, height - 6, f"\u2026 and {plural(more, 'more function')}", faint=True)

    return Picture(_words(functions), _WIDTH, height, draw, _lines(groups))


def _words(functions: list[Mapping[str, Any]]) -> str:
    names = {
        side: [str(each.get("name")) for each in functions if each.get("side") == side] for side in ("host", "dpu")
    }
    return f"Machine with a host ({', '.join(names['host'])}) and a DPU ({', '.join(names['dpu'])})"


def _drawn(group: _Group, y: float) -> Iterator[str]:
    middle = y + _BOX / 2
    trunk = (_REP[0] + _REP[1] + _DPU[0]) / 2
    last = middle
    if group.port is not None:
        yield _function(group.port, _DPU, y)
    for index, member in enumerate(group.members):
        row = middle + index * _ROW
        is_local = member.get("side") == "dpu"
        if member.get("representor"):
            yield _representor(member, row - _BOX / 2)
            if is_local:
                yield svg.line(f"M{trunk:g} {row:g}H{_DPU[0]:g}", dashed=True)
            else:
                yield svg.line(f"M{_HOST[0] + _HOST[1]:g} {row:g}H{_REP[0]:g}", dashed=True)
            yield svg.line(f"M{_REP[0] + _REP[1]:g} {row:g}H{trunk:g}")
            last = row
        yield _function(member, _DPU if is_local else _HOST, row - _BOX / 2)
    if group.port is not None and any(member.get("representor") for member in group.members):
        yield svg.line(f"M{trunk:g} {last:g}V{middle:g}H{_DPU[0]:g}")


def _function(function: Mapping[str, Any], column: tuple[float, float], y: float) -> str:
    x, width = column
    name, pci = str(function.get("name", "")), short_pci(str(function.get("pci_addr") or ""))
    kind = str(function.get("func_type", "")).upper()
    tail = f"{kind} {pci}" if kind != "SF" else kind
    if len(name) * svg.CHARACTER + len(tail) * 6.1 > width - 18:
        tail = pci  # the tip and the table have the type
    room = width - len(tail) * 6.1 - 18
    shapes = svg.box(x, y, width, _BOX, edge="accent" if kind == "PF" else "quiet")
    shapes += svg.text(x + 7, y + 16, svg.fitting(name, room), bold=True)
    shapes += svg.text(x + width - 7, y + 16, tail, anchor="end", faint=True, size=10)
    return svg.group(shapes, f"{kind} {name} {pci} on the {function.get('side')} side".replace("  ", " "))


def _representor(function: Mapping[str, Any], y: float) -> str:
    x, width = _REP
    name = str(function.get("representor"))
    shapes = svg.box(x, y, width, _BOX, dashed=True) + svg.text(x + 7, y + 16, svg.fitting(name, width - 14))
    return svg.group(shapes, f"representor {name} of {function.get('name')}")


def _lines(groups: list[_Group]) -> list[str]:
    lines = []
    for group in groups:
        if group.port is not None:
            lines.append(f"dpu {group.port.get('name')} {short_pci(str(group.port.get('pci_addr') or ''))}".rstrip())
        for member in group.members:
            behind = f"{member['representor']} -> " if member.get("representor") else ""
            lines.append(f"  {behind}{member.get('side')} {member.get('name')}")
    return lines
