"""Units of measurements, also one per another. A value is converted within its dimension only."""

from __future__ import annotations

from pydoca._text.nearest import did_you_mean
from pydoca._text.quantities import UNITS, Unit


class UnitError(ValueError):
    """A unit that does not exist, or that measures something else."""


_SPELLINGS = {"ops": "op", "Mops": "Mop", "kops": "kop", "Gops": "Gop", "msgs": "msg", "sec": "s"}
_EXAMPLES = ("GB/s", "MB/s", "GiB/s", "Gbit/s", "GT/s", "op/s", "Mop/s", "msg/s", "1/s", "ms/GiB", "us/op")


def unit_of(text: str) -> Unit:
    """A unit, or one per another: "us", "GB/s", "ms/GiB". Raises UnitError."""
    over, slash, under = text.partition("/")
    parts = [_SPELLINGS.get(part, part) for part in ([over, under] if slash else [over])]
    for part in parts:
        if part not in UNITS:
            raise UnitError(f"{text!r} is not a unit{did_you_mean(text, [*UNITS, *_EXAMPLES])}")
    first = UNITS[parts[0]]
    if not slash:
        return first
    second = UNITS[parts[1]]
    return Unit(f"{first.dimension} per {second.dimension}", first.factor / second.factor)


def convert(value: float, unit: str, to: str) -> float:
    """The value in another unit. Raises UnitError for units of two dimensions."""
    if unit == to:
        return value
    source, target = unit_of(unit), unit_of(to)
    if source.dimension != target.dimension:
        raise UnitError(f"{unit!r} is a unit of {source.dimension}, and {to!r} one of {target.dimension}")
    return value * (source.factor / target.factor)
