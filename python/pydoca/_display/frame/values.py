"""Numbers, addresses and enumerators as readers like them."""

from __future__ import annotations

from enum import Enum, IntFlag
from typing import Any

from pydoca._display.frame.panel import Code
from pydoca._display.frame.reading import ABSENT

LONGEST = 400  # characters of any one text


def clip(text: str, limit: int = LONGEST) -> str:
    """The text, or its beginning with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "\u2026"


def number(value: int) -> str:
    return f"{value:,}"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def in_largest_unit(count: int) -> tuple[int, str]:
    """Bytes, in the largest unit that divides them."""
    value, unit = count, "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or value % 1024:
            break
        value, unit = value // 1024, larger
    return value, unit


def size(count: int) -> str:
    value, unit = in_largest_unit(count)
    return f"{value:,} {unit}"


def address(value: int | None) -> Code:
    return Code(f"{value:#x}") if value else Code(ABSENT)


def rate(bits_per_second: int) -> str:
    return f"{bits_per_second / 1e9:g} Gbit/s" if bits_per_second else ABSENT


def short_pci(addr: str) -> str:
    """The address; without the domain when that is 0."""
    return addr.removeprefix("0000:")


def word(value: Any) -> str:
    """An enumerator in lower case: RUNNING is "running"."""
    return value.name.lower().replace("_", " ") if isinstance(value, Enum) and value.name else str(value)


def flags(value: IntFlag) -> list[str]:
    """The names of the flags that are set."""
    return [str(flag.name).lower() for flag in type(value) if flag and flag in value]


def yes(value: object) -> str:
    return "yes" if value else "no"


def mark(value: object) -> str:
    """A cell of a table of yes and no."""
    return "\u2713" if value else ABSENT


def code(value: object) -> Code:
    """Text in the type of programs; what is absent or empty is a dash."""
    return Code(clip(str(value)) if value not in (None, "") else ABSENT)


def seconds(value: float | None) -> str:
    return "no limit" if value is None else f"{value:g} s"
