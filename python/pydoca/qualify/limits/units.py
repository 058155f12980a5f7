"""Units of measurements, also one per another. A value is converted within its dimension only."""

from __future__ import annotations

from pydoca._text.nearest import did_you_mean
from pydoca._text.quantities import UNITS, Unit


class UnitError(ValueError):
    """A unit that does not exist, or that measures something else."""


@dataclass(frozen=True)
class Unit:
    dimension: str
    factor: float  # multiplies a value into the base unit of the dimension


_SI = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BINARY = {"Ki": 1024.0, "Mi": 1024.0**2, "Gi": 1024.0**3, "Ti": 1024.0**4}


def _scaled(symbol: str, dimension: str, prefixes: str, factor: float = 1.0) -> dict[str, Unit]:
    return {prefix + symbol: Unit(dimension, _SI[prefix] * factor) for prefix in [*prefixes, ""]}


SIMPLE: dict[str, Unit] = {
    "1": Unit("ratio", 1.0),
    "%": Unit("ratio", 1e-2),
    "ppm": Unit("ratio", 1e-6),
    **_scaled("s", "time", "num"),
    "min": Unit("time", 60.0),
    "h": Unit("time", 3600.0),
    **_scaled("B", "data", "kMGT"),
    **{f"{prefix}B": Unit("data", factor) for prefix, factor in _BINARY.items()},
    **_scaled("bit", "data", "kMGT", 1 / 8),
    **_scaled("op", "count", "kMG"),
    **_scaled("msg", "count", "kMG"),
    **_scaled("Hz", "frequency", "kMG"),
    **_scaled("T", "transfers", "MG"),
    **_scaled("W", "power", "m"),
    **_scaled("V", "voltage", "m"),
    **_scaled("A", "current", "m"),
    "degC": Unit("temperature", 1.0),
}
del SIMPLE["T"]
_SPELLINGS = {"ops": "op", "Mops": "Mop", "kops": "kop", "Gops": "Gop", "msgs": "msg", "µs": "us", "sec": "s"}
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
