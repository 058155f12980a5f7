"""Numbers as people write them: in lines of a terminal, in sentences and on pages. JSON has the numbers themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydoca._display.frame.values import plural as plural
from pydoca._text.quantities import TIMES

ABSENT = "\u2013"
NOT_SET = "not set"
STATISTICS = {"p999": "p99.9", "cv": "CV", "value": ""}  # the words that people write; a property has none
CV = "CV (coefficient of variation)"
_UNITS = {"us": "\u00b5s", "degC": "\u00b0C"}
_ANSWERS = {"True": "yes", "False": "no", "None": NOT_SET}
# A string as Python writes it, or the text before a comma or a semicolon.
_SAID = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|.*?)(?=[;,] |$)""")
_TIMES = {unit: TIMES[unit] for unit in ("ns", "us", "ms", "s")}
_HUGE, _TINY = 1e15, 1e-9  # beyond, powers of ten are shorter
_MOST_DIGITS = 12


def unit_text(unit: str) -> str:
    """The text of a unit; empty for numbers without a dimension."""
    return "" if unit == "1" else "/".join(_UNITS.get(part, part) for part in unit.split("/"))


def figure(value: float | None, unit: str = "") -> str:
    """Times, percentages and numbers below 1 with three significant digits, other numbers with four; counts whole."""
    if value is None:
        return ABSENT
    if unit not in _TIMES and value == int(value) and abs(value) < _HUGE:
        return f"{int(value):,}"
    return _rounded(value, _digits(value, unit))


def quantity(value: float | None, unit: str, stat: str = "") -> str:
    """The number and its unit. Some statistics have no unit. The text is a dash where there is no value."""
    if value is None:
        return ABSENT
    if stat == "cv":
        return cv_text(value)
    if stat == "count":
        return figure(value)
    factor, unit = _readable(value, unit)
    return f"{figure(value * factor, unit)} {unit_text(unit)}".strip()


def quantity_beside(value: float, bounds: Iterable[float], unit: str, stat: str = "") -> str:
    """The text has enough digits to lie on the same side of each bound as the value."""
    if stat == "count":
        return figure(value)
    factor, unit = (100.0, "%") if stat == "cv" else _readable(value, unit)
    return _beside(value * factor, [bound * factor for bound in bounds], unit)


def span_text(ends: tuple[float, float], unit: str, stat: str = "", bounds: Iterable[float] = ()) -> str:
    """The text of a span: "2.00 to 2.10 \u00b5s"."""
    factor, unit = (100.0, "%") if stat == "cv" else _readable(max(map(abs, ends)), unit)
    known = [bound * factor for bound in bounds]
    low, high = (_beside(end * factor, known, unit) for end in ends)
    return f"{low.partition(' ')[0]} to {high}"


def bound_text(bound: float, unit: str, stat: str = "") -> str:
    """A limit with all digits that it was written with, and its unit."""
    if stat == "cv":
        return f"{100 * bound:g} %"
    factor, unit = (1.0, unit) if stat == "count" else _readable(bound, unit)
    bound = round(bound * factor, _MOST_DIGITS)
    whole = bound == int(bound) and abs(bound) < _HUGE
    text = (
        f"{int(bound):,}" if whole else f"{bound:,.6g}" if 1e-4 <= abs(bound) < 1e6 else _rounded(bound, 6).rstrip("0")
    )
    return text if stat == "count" else f"{text} {unit_text(unit)}".strip()


def said_of(reason: str) -> tuple[str, str]:
    """The property itself, with which the reason of its record begins, and what the reason says of it."""
    found = _SAID.match(reason)
    return (found[1], reason[found.end(1) :]) if found else (reason, "")


def property_text(reason: str, value: float | None) -> str:
    """A property of the device, without the quotes of a program; a number as other numbers."""
    said = said_of(reason)[0]
    if said in _ANSWERS:
        return _ANSWERS[said]
    return figure(value) if value is not None else said.strip("'\"") or NOT_SET


def cv_text(value: float) -> str:
    return f"{_rounded(100 * value, 2)} %"


def stat_text(stat: str) -> str:
    return STATISTICS.get(stat, stat)


def share(count: int, total: int, noun: str) -> str:
    """The text of a share: "1 of 10 cases"."""
    return f"{count:,} of {plural(total, noun)}"


def duration(seconds: float) -> str:
    """Three significant digits below 100 s, or whole seconds; then minutes and seconds, then hours and minutes."""
    if 0 < seconds < 1:
        return f"{_rounded(1e3 * seconds, 3)} ms"
    if seconds < 99.95:
        return f"{seconds:.0f} s" if seconds == int(seconds) else f"{_rounded(seconds, 3)} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def _readable(value: float, unit: str) -> tuple[float, str]:
    """The factor and the unit of a time, which is a number of a smaller unit when it is far below 1."""
    if unit not in _TIMES or not 0 < abs(value) < 0.1:
        return 1.0, unit
    factors = {name: _TIMES[unit] / seconds for name, seconds in _TIMES.items() if seconds < _TIMES[unit]}
    fitting = [name for name, factor in factors.items() if abs(value) * factor >= 1] or list(factors)[:1]
    return (factors[fitting[-1]], fitting[-1]) if fitting else (1.0, unit)


def _beside(value: float, bounds: list[float], unit: str) -> str:
    if value == int(value):
        return f"{figure(value, unit)} {unit_text(unit)}".strip()
    texts = (_rounded(value, digits) for digits in range(_digits(value, unit), _MOST_DIGITS))
    text = next((each for each in texts if _is_on_its_side(each, value, bounds)), f"{value:g}")
    return f"{text} {unit_text(unit)}".strip()


def _digits(value: float, unit: str) -> int:
    return 3 if unit in _TIMES or unit == "%" or abs(value) < 1 else 4


def _rounded(value: float, digits: int) -> str:
    """The number with so many digits, and all digits before the point."""
    if not value:
        return "0"
    power = int(f"{value:.{digits - 1}e}".partition("e")[2])
    if not _TINY <= abs(value) < _HUGE:
        return f"{value:.3g}"
    return f"{value:,.{max(0, digits - 1 - power)}f}"


def _is_on_its_side(text: str, value: float, bounds: Iterable[float]) -> bool:
    shown = float(text.replace(",", ""))
    return all((shown > bound) - (shown < bound) == (value > bound) - (value < bound) for bound in bounds)
