"""Numbers as users write them, and the units of times, sizes and measurements: each suffix has one meaning.

docs/command-lines.md lists those of command lines. The engine has units of its own for timing models and fault plans
(cpp/src/detail/text/quantity.hpp, cpp/src/backend/sim/file/timing_file.cpp); a test compares them with these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    dimension: str
    factor: float  # the base unit of the dimension is 1


_SI = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BINARY = {"Ki": 1024.0, "Mi": 1024.0**2, "Gi": 1024.0**3, "Ti": 1024.0**4}


def _scaled(symbol: str, dimension: str, prefixes: str, factor: float = 1.0) -> dict[str, Unit]:
    return {prefix + symbol: Unit(dimension, _SI[prefix] * factor) for prefix in [*prefixes, ""]}


UNITS: dict[str, Unit] = {
    "1": Unit("ratio", 1.0),
    "%": Unit("ratio", 1e-2),
    "ppm": Unit("ratio", 1e-6),
    **_scaled("s", "time", "num"),
    "\u00b5s": Unit("time", 1e-6),
    "min": Unit("time", 60.0),
    "h": Unit("time", 3600.0),
    "d": Unit("time", 86400.0),
    **_scaled("B", "data", "kMGT"),
    **{f"{prefix}B": Unit("data", factor) for prefix, factor in _BINARY.items()},
    **_scaled("bit", "data", "kMGT", 1 / 8),
    **_scaled("op", "count", "kMG"),
    **_scaled("msg", "count", "kMG"),
    **_scaled("Hz", "frequency", "kMG"),
    **{f"{prefix}T": Unit("transfers", _SI[prefix]) for prefix in "MG"},
    **_scaled("W", "power", "m"),
    **_scaled("V", "voltage", "m"),
    **_scaled("A", "current", "m"),
    "degC": Unit("temperature", 1.0),
}
TIMES = {name: unit.factor for name, unit in UNITS.items() if unit.dimension == "time"}
# A prefix alone is short for that of bytes, as of coreutils.
_SIZES = {name: int(unit.factor) for name, unit in UNITS.items() if unit.dimension == "data" and name.endswith("B")}
_SIZES |= {prefix.removesuffix("i"): int(factor) for prefix, factor in _BINARY.items()}
_PERCENT = {"%": UNITS["%"].factor}

# As the engine's: a number, then spaces or none, then at most one word.
_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S*)", re.ASCII)


def to_seconds(text: str) -> float | None:
    """Seconds of "90", "90s", "1.5 ms", "8h"; None for what is not a time. Without a unit, it is seconds."""
    return _quantity(text, {**TIMES, "": 1.0})


def to_share(text: str) -> float | None:
    """0.03 of "3%"; None for what is not a percentage."""
    return _quantity(text, _PERCENT)


def to_bytes(text: str) -> int | None:
    """Bytes of "4096", "64K", "64 KiB", "1MB"; None for what is not a size in whole numbers."""
    match = _QUANTITY.fullmatch(text.strip())
    factor = {**_SIZES, "": 1}.get(match[2]) if match else None
    number = to_whole(match[1]) if match else None
    return None if factor is None or number is None else number * factor


def to_whole(text: str, least: int = 0, most: int = (1 << 64) - 1) -> int | None:
    """A whole number in its range, in decimal digits alone; None for any other text.

    Looks at the length first: int() refuses thousands of digits.
    """
    digits = text.lstrip("0") or "0"
    if not (text.isascii() and text.isdecimal()) or len(digits) > len(str(most)):
        return None
    return int(digits) if least <= int(digits) <= most else None


def _quantity(text: str, units: Mapping[str, float]) -> float | None:
    match = _QUANTITY.fullmatch(text.strip())
    factor = units.get(match[2]) if match else None
    return float(match[1]) * factor if match and factor is not None else None
