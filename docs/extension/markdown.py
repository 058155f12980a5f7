"""Markdown's small parts, as the made pages need them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from extension.cpp_headers import home_of
from extension.python_names import homes


def slug(title: str) -> str:
    """The name of a page's file."""
    words = "".join(char if char.isalnum() else " " for char in title.lower()).split()
    return "-".join(words)


def fenced(directive: str, argument: str, body: Iterable[str], colons: int = 3) -> Iterator[str]:
    fence = ":" * colons
    yield f"{fence}{{{directive}}} {argument}".rstrip()
    yield from body
    yield from (fence, "")


def code(text: str) -> str:
    return f"`{text}`"


def listed(items: Iterable[str], between: str = ", ") -> str:
    return between.join(dict.fromkeys(items))


def python_role(name: str) -> str:
    """A link to the reference of a public name of pydoca, such as "Dma(num_tasks=)"."""
    base = name.partition("(")[0]
    return f"{{py:obj}}`{name} <pydoca.{homes().get(base, base)}>`"


def cpp_role(name: str) -> str:
    return f"{{cpp:any}}`{name} <{home_of('pydoca::' + name)}>`"


def sentence(text: str) -> str:
    """The text with a capital letter and a full stop, unless it begins with code."""
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")
