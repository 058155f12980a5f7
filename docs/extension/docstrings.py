"""Docstrings as reStructuredText: they are plain text with some backticks, so signs of the markup are escaped."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache

import pydoca
from pydoca.cli.explain._names import names_in
from pydoca.cli.explain._table import load

CODE = re.compile(r"``.*?``|`[^`]+`")
NAME = re.compile(r"`([\w.]+)(\(\))?`")
BULLET = re.compile(r"\s*[*-] ")


@cache
def errors() -> re.Pattern[str]:
    names = [name for name in names_in(pydoca) if name.endswith("Error")]
    return re.compile(rf"\b(?:{'|'.join(names)})\b")


@cache
def doca_names() -> frozenset[str]:
    return frozenset(load().entries)


def rst_of(value: object) -> Iterator[str]:
    lines = (inspect.getdoc(value) or "").splitlines()
    in_block = False
    for place, line in enumerate(lines):
        in_block = in_block and (not line or line.startswith(" "))
        if in_block:
            yield line
        elif line.startswith("|"):
            yield from table_row(line, is_first=not place or not lines[place - 1].startswith("|"))
        elif not line.startswith("Types: ("):  # the signature has them
            yield inline(line)
        in_block = in_block or line.endswith("::")


def table_row(line: str, is_first: bool) -> Iterator[str]:
    """Turns a row of a table in Markdown into one of a list table."""
    if is_first:
        yield from (".. list-table::", "   :header-rows: 1", "")
    cells = [cell.strip() for cell in line.strip("| ").split("|")]
    if not set(line) <= set("|-"):
        yield f"   * - {inline(cells[0])}"
        yield from (f"     - {inline(cell)}" for cell in cells[1:])


def inline(line: str) -> str:
    """The line with links for errors, names in backticks and names of DOCA."""
    bullet = BULLET.match(line)
    head = bullet[0] if bullet else ""
    texts = CODE.split(line[len(head) :])
    codes = CODE.findall(line[len(head) :])
    return head + "".join(text + code for text, code in zip(map(plain, texts), [*map(in_code, codes), ""], strict=True))


def in_code(code: str) -> str:
    if code.startswith("``"):
        return code
    name = NAME.fullmatch(code)
    return f":py:obj:`{name[1]}{name[2] or ''} <{name[1]}>`" if name else f"`{code}`"


def plain(text: str) -> str:
    text = re.sub(r"([*|\\])", r"\\\1", text)
    text = re.sub(r"(?<=\w)_(?=\W|$)", r"\_", text)
    text = errors().sub(lambda match: f":py:exc:`~pydoca.{match[0]}`", text)
    return re.sub(r"\b(doca_\w+)(\(?)", doca_link, text)


def doca_link(match: re.Match[str]) -> str:
    """A link to the name; a backslash separates it from a bracket that follows."""
    code = f":doca:`{match[1]}`" if match[1] in doca_names() else f"``{match[1]}``"
    return code + ("\\ (" if match[2] else "")
