"""Cards as HTML, and pictures as SVG: complete in themselves, without scripts and links; all text is escaped."""

from __future__ import annotations

import os
from collections.abc import Iterator

from pydoca._display.frame.escaping import escaped
from pydoca._display.frame.panel import (
    MARKS,
    Blocks,
    Code,
    Fact,
    Names,
    Note,
    Panel,
    Part,
    Picture,
    State,
    Table,
    Value,
)
from pydoca._display.frame.style import ROOT, html_sheet, svg_sheet
from pydoca._display.frame.values import clip, number

WIDEST = 640  # pixels: a wider picture is scrolled, not made smaller


def unique() -> str:
    """A prefix for the ids of one output, because a page may hold several outputs."""
    return f"pd{os.urandom(6).hex()}"


def panel_html(panel: Panel) -> str:
    """The panel as one element."""
    prefix = unique()
    parts = "".join(_part(part, f"{prefix}-{index}") for index, part in enumerate(panel.parts))
    words = (panel.kind, clip(panel.name), panel.state.word if panel.state else "")
    label = escaped(" ".join(filter(None, words)))
    return (
        f'<div class="{ROOT}" role="group" aria-label="{label}"><style>{html_sheet()}</style>{_head(panel)}'
        f"{_facts(panel.facts)}{parts}</div>"
    )


def document(body: str, title: str) -> str:
    """A document of what a notebook shows; title is text."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/><title>' + escaped(title) + "</title>"
        '<meta name="viewport" content="width=device-width"/><meta name="color-scheme" content="light dark"/>'
        "<style>body{margin:16px}</style></head>\n<body>" + body + "</body></html>\n"
    )


def picture_svg(picture: Picture) -> str:
    """The picture as a document of its own."""
    prefix = unique()
    return _svg(picture, prefix, f'xmlns="http://www.w3.org/2000/svg" class="{ROOT}"', f"<style>{svg_sheet()}</style>")


def inline_svg(picture: Picture, prefix: str) -> str:
    """The picture as an element of a page, as wide as its place, and not wider than itself; ids begin with prefix."""
    return _svg(picture, prefix, 'style="max-width:100%;height:auto"')


def _svg(picture: Picture, prefix: str, attributes: str, styles: str = "") -> str:
    title = f'<title id="{prefix}-title">{escaped(picture.title)}</title>'
    return (
        f'<svg {attributes} role="img" aria-labelledby="{prefix}-title" width="{picture.width:g}" '
        f'height="{picture.height:g}" viewBox="0 0 {picture.width:g} {picture.height:g}" '
        f'font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="12">'
        f"{title}{styles}{''.join(picture.draw(prefix))}</svg>"
    )


def _head(panel: Panel) -> str:
    state = f'<span class="pd-state">{_value(panel.state)}</span>' if panel.state else ""
    name = f'<span class="pd-name pd-code">{escaped(clip(panel.name))}</span>' if panel.name else ""
    return f'<div class="pd-head"><span class="pd-kind">{escaped(panel.kind)}</span> {name} {state}</div>'


def _facts(facts: list[Fact]) -> str:
    if not facts:
        return ""
    items = (f"<div><dt>{escaped(label)}</dt><dd>{_value(value)}</dd></div>" for label, value in facts)
    return f"<dl>{''.join(items)}</dl>"


def _value(value: Value) -> str:
    if isinstance(value, State):
        return f'<span class="pd-mark pd-{value.tone}">{MARKS[value.tone]}</span>{escaped(clip(value.word))}'
    if isinstance(value, Code):
        return f"<code>{escaped(clip(value))}</code>"
    return number(value) if isinstance(value, int) else escaped(clip(value))


def _part(part: Part, prefix: str) -> str:
    if isinstance(part, Table):
        return "".join(_table(part))
    if isinstance(part, Blocks):
        return "".join(_blocks(part))
    if isinstance(part, Names):
        mark = f'<span class="pd-mark pd-{part.tone}">{MARKS[part.tone]}</span>'
        names = "".join(f"<li>{mark}<code>{escaped(clip(name))}</code></li>" for name in part.names)
        return f'{_title(part.title)}<ul class="pd-names">{names}</ul>'
    if isinstance(part, Note):
        return (
            f'<div class="pd-note pd-{part.tone}"><span class="pd-title">{escaped(part.label)}</span> '
            f'<span class="pd-said">{escaped(clip(part.text, 4000))}</span></div>'
        )
    least = min(part.width, part.least) if part.width <= WIDEST else part.width
    style = f'style="max-width:100%;min-width:{least:g}px;height:auto"'
    return f'<div class="pd-scroll">{_svg(part, prefix, style)}</div>'


def _title(text: str) -> str:
    return f'<div class="pd-title">{escaped(text)}</div>' if text else ""


def _table(table: Table) -> Iterator[str]:
    numeric = [head.startswith(">") for head in table.heads]
    last = len(table.heads) - 1
    yield f'{_title(table.title)}<div class="pd-scroll"><table><thead><tr>'
    for head, is_number in zip(table.heads, numeric, strict=True):
        yield f'<th scope="col"{_class("pd-n" if is_number else "")}>{escaped(head.lstrip(">"))}</th>'
    yield "</tr></thead><tbody>"
    for row in table.rows:
        cells = []
        for index, (value, is_number) in enumerate(zip(row, numeric, strict=True)):
            kind = "pd-n" if is_number else "pd-wrap" if index == last and not isinstance(value, (int, State)) else ""
            cells.append(f"<td{_class(kind)}>{_value(value)}</td>")
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"
    if table.more:
        yield f'<p class="pd-more">\u2026 and {number(table.more)} more {escaped(table.what)}</p>'


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _blocks(blocks: Blocks) -> Iterator[str]:
    yield f'{_title(blocks.title)}<div class="pd-blocks">'
    for heading, facts in blocks.blocks:
        rows = "".join(f"<tr><td>{escaped(label)}</td><td>{_value(value)}</td></tr>" for label, value in facts)
        yield f'<div class="pd-block"><table><caption>{escaped(heading)}</caption><tbody>{rows}</tbody></table></div>'
    yield "</div>"
