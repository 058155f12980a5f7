"""Cards as text, for terminals."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from pydoca._display.frame.escaping import printable
from pydoca._display.frame.panel import Blocks, Fact, Names, Note, Panel, Part, Picture, Table, Value
from pydoca._display.frame.values import clip, number


def panel_text(panel: Panel) -> str:
    """Lines without a newline at the end."""
    return "\n".join(printable(line) for line in _lines(panel))


def _lines(panel: Panel) -> Iterator[str]:
    yield "  ".join(filter(None, (panel.kind, _one_line(panel.name), str(panel.state or ""))))
    yield from _facts(panel.facts)
    for part in panel.parts:
        yield from _part(part)


def _one_line(text: str) -> str:
    return clip(" ".join(text.split()))


def _text(value: Value) -> str:
    return number(value) if type(value) is int else _one_line(str(value))


def _facts(facts: Sequence[Fact], indent: str = "  ") -> Iterator[str]:
    width = max((len(label) for label, _ in facts), default=0)
    for label, value in facts:
        yield f"{indent}{label.ljust(width)}  {_text(value)}".rstrip()


def _part(part: Part) -> Iterator[str]:
    if isinstance(part, Table):
        yield from _table(part)
    elif isinstance(part, Blocks):
        yield f"  {part.title}"
        for heading, facts in part.blocks:
            yield f"    {heading}"
            yield from _facts(facts, "      ")
    elif isinstance(part, Names):
        yield f"  {part.title}"
        yield from textwrap.wrap(", ".join(part.names), 100, initial_indent="    ", subsequent_indent="    ")
    elif isinstance(part, Note):
        yield f"  {part.label}: {' '.join(part.text.split())}"
    elif isinstance(part, Picture):
        yield from (f"  {clip(line, 200)}" for line in part.lines)


def _table(table: Table) -> Iterator[str]:
    if table.title:
        yield f"  {table.title}"
    heads = [head.lstrip(">") for head in table.heads]
    lines = [heads, *([_text(value) for value in row] for row in table.rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    for line in lines:
        cells = (
            cell.rjust(width) if head.startswith(">") else cell.ljust(width)
            for cell, width, head in zip(line, widths, table.heads, strict=True)
        )
        yield f"    {'  '.join(cells)}".rstrip()
    if table.more:
        yield f"    ... and {number(table.more)} more {table.what}"
