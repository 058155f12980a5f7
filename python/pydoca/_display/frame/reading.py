"""Reads objects in any state: a member that cannot be read is absent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

_Item = TypeVar("_Item")

ABSENT = "\u2013"


def read(owner: Any, name: str, default: Any = None) -> Any:
    """The attribute; default where the object's state, thread or peer refuses it."""
    try:
        return getattr(owner, name)
    except Exception:
        return default


def call(function: Callable[..., Any], *arguments: Any, default: Any = None) -> Any:
    """The result; default where the call is refused. The function reads only."""
    try:
        return function(*arguments)
    except Exception:
        return default


def refusal(function: Callable[..., Any], *arguments: Any) -> str:
    """Why the call is refused; empty when it is not."""
    try:
        function(*arguments)
    except Exception as error:
        return str(error) or type(error).__name__
    return ""


def first(items: Iterable[_Item], limit: int) -> tuple[list[_Item], int]:
    """At most limit items, and how many more there are."""
    known = list(items)
    return known[:limit], max(0, len(known) - limit)
