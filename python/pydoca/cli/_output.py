"""Tables, JSON and numbers for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from pydoca._display.frame.values import in_largest_unit
from pydoca.cli._errors import one_line


def print_json(document: Any) -> None:
    json.dump(document, sys.stdout, indent=2 if sys.stdout.isatty() else None)
    print()


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their longest cell, two spaces apart; the last one is not padded."""
    lines = [heads, *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def bytes_text(count: int) -> str:
    """The count; where a larger unit divides it, also the number of those units."""
    value, unit = in_largest_unit(count)
    return str(count) if unit == "B" else f"{count} ({value} {unit})"


def rate_text(bits_per_second: int) -> str:
    return f"{bits_per_second / 1e9:g} Gbit/s"
