"""Enumerators that print their names: IntEnum and IntFlag print numbers, which say nothing in a message."""

from __future__ import annotations

from enum import Enum, Flag
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type[Enum])

_NUMBER_TYPES = frozenset("bcdeEfFgGnoxX%")


def _format(self: Any, spec: str) -> str:
    return format(int(self) if spec[-1:] in _NUMBER_TYPES and spec else str(self), spec)


def print_names(enum: _Class) -> _Class:
    """Has str() and format() give Class.NAME; format types such as :d still give the number."""
    enum.__str__ = (Flag if issubclass(enum, Flag) else Enum).__str__  # type: ignore[method-assign]
    enum.__format__ = _format  # type: ignore[method-assign, assignment]
    return enum
