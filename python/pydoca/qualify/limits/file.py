"""A limits file: TOML, whose every key and value is checked before a device is touched."""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from pydoca import _core
from pydoca._text.nearest import did_you_mean
from pydoca.qualify.limits.units import UnitError, unit_of

SCHEMA = 1
STATS = ("min", "max", "mean", "p50", "p90", "p99", "p999", "stdev", "cv", "count")
MATCH_KEYS = ("vendor", "part", "firmware", "serial", "backend", "profile", "name", "side")
_TOP = ("schema", "name", "match", "defaults", "limit", "expect", "waive")
_DEFAULTS = ("confidence", "marginal", "n_min")
_LIMIT = ("unit", "stat", "min", "max", "n_min", "marginal")
_WAIVE = ("reason", "until")


class LimitsError(ValueError):
    """The file, the place in it, the value and what may be meant."""


@dataclass(frozen=True)
class FileLimit:
    name: str  # may be a pattern: "dma.bw.*"
    unit: str
    stat: str | None
    min: float | None
    max: float | None
    n_min: int | None
    marginal: float | None
    source: str  # "bf3.toml: limit.dma.bw.*"


@dataclass(frozen=True)
class Waiver:
    name: str
    reason: str
    until: datetime.date
    source: str


@dataclass(frozen=True)
class LimitsFile:
    path: str
    name: str = ""
    match: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    confidence: float | None = None
    marginal: float | None = None
    n_min: int | None = None
    limits: tuple[FileLimit, ...] = ()
    expect: Mapping[str, Any] = field(default_factory=dict)
    waivers: tuple[Waiver, ...] = ()


def read_limits(path: str | Path) -> LimitsFile:
    """The limits of a file. Raises LimitsError."""
    try:
        document = _core.read_toml(os.fsencode(path), _date)
    except OSError as error:
        raise LimitsError(f"{path}: the limits file cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise LimitsError(str(error)) from None
    return _Reader(str(path)).read(document)


def _date(text: str) -> datetime.date | str:
    """The date; a text that is a date and a time, or a time, as it is."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return text


class _Reader:
    """Reads tables; names the place of what it refuses."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._short = Path(path).name

    def read(self, document: dict[str, Any]) -> LimitsFile:
        self._known("", document, _TOP)
        if "schema" not in document:
            self._refuse("schema", f"it is missing; write schema = {SCHEMA} at the top")
        if document["schema"] != SCHEMA:
            self._refuse("schema", f"it is {document['schema']!r}, and this version of pydoca reads {SCHEMA}")
        defaults = self._table("defaults", document.get("defaults", {}), _DEFAULTS)
        return LimitsFile(
            path=self._path,
            name=self._text("name", document.get("name", "")),
            match=dict(self._matches(document.get("match", {}))),
            confidence=self._fraction("defaults.confidence", defaults.get("confidence")),
            marginal=self._fraction("defaults.marginal", defaults.get("marginal")),
            n_min=self._count("defaults.n_min", defaults.get("n_min")),
            limits=tuple(self._limits(document.get("limit", {}))),
            expect=dict(_flat(self._any_table("expect", document.get("expect", {})))),
            waivers=tuple(self._waivers(document.get("waive", {}))),
        )

    def _matches(self, given: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
        for key, value in self._table("match", given, MATCH_KEYS).items():
            values = [value] if isinstance(value, str) else value
            if not isinstance(values, list) or not all(isinstance(each, str) for each in values) or not values:
                self._refuse(f"match.{key}", f"{value!r} is neither a text nor a list of texts")
            if key == "firmware":
                self._versions(values)
            yield key, tuple(values)

    def _versions(self, values: list[str]) -> None:
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        for value in values:
            try:
                SpecifierSet(value)
            except InvalidSpecifier:
                self._refuse("match.firmware", f"{value!r} is not a range of versions, such as '>=32.41,<33'")

    def _limits(self, given: Any) -> Iterator[FileLimit]:
        for name, table in self._entries("limit", given, _LIMIT):
            place = f"limit.{name}"
            if "unit" not in table:
                self._refuse(place, "it has no unit; write unit = 'us', or '1' for a count")
            unit = self._text(f"{place}.unit", table["unit"])
            self._unit(f"{place}.unit", unit)
            stat = table.get("stat")
            if stat is not None and stat not in STATS:
                self._refuse(f"{place}.stat", f"{stat!r} is not a statistic{did_you_mean(str(stat), STATS)}")
            low, high = (self._number(f"{place}.{key}", table.get(key)) for key in ("min", "max"))
            if low is None and high is None:
                self._refuse(place, "it has neither min nor max")
            if low is not None and high is not None and low > high:
                self._refuse(place, f"its min {low:g} is above its max {high:g}")
            n_min = self._count(f"{place}.n_min", table.get("n_min"))
            marginal = self._fraction(f"{place}.marginal", table.get("marginal"))
            yield FileLimit(name, unit, stat, low, high, n_min, marginal, f"{self._short}: {place}")

    def _waivers(self, given: Any) -> Iterator[Waiver]:
        for name, table in self._entries("waive", given, _WAIVE):
            place = f"waive.{name}"
            reason, until = table.get("reason"), table.get("until")
            if not isinstance(reason, str) or not reason:
                self._refuse(place, "it has no reason; write why a failure is accepted")
            if not isinstance(until, datetime.date):
                self._refuse(f"{place}.until", f"{until!r} is not a date; write until = 2026-12-31, without quotes")
            yield Waiver(name, reason, until, f"{self._short}: {place}")

    def _entries(self, place: str, given: Any, keys: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
        """The entries of a table, also of [limit.dma.bw], whose name TOML takes apart."""
        yield from self._leaves(place, "", self._any_table(place, given), keys)

    def _leaves(
        self, place: str, prefix: str, table: dict[str, Any], keys: tuple[str, ...]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, value in table.items():
            full = f"{prefix}{name}"
            if not isinstance(value, dict):
                self._refuse(f"{place}.{full}", f'it is not a table; write [{place}."{full}"] before its keys')
            if value and all(isinstance(each, dict) for each in value.values()):
                yield from self._leaves(place, f"{full}.", value, keys)
            else:
                self._known(f"{place}.{full}", value, keys)
                yield full, value

    def _table(self, place: str, given: Any, keys: tuple[str, ...]) -> dict[str, Any]:
        table = self._any_table(place, given)
        self._known(place, table, keys)
        return table

    def _any_table(self, place: str, given: Any) -> dict[str, Any]:
        if not isinstance(given, dict):
            self._refuse(place, f"it is not a table; write [{place}]")
        return given

    def _known(self, place: str, table: Mapping[str, Any], keys: tuple[str, ...]) -> None:
        for key in table:
            if key not in keys:
                meant = did_you_mean(key, keys)
                self._refuse(place or "the file", f"unknown key {key!r}{meant} (known: {', '.join(keys)})")

    def _unit(self, place: str, unit: str) -> None:
        try:
            unit_of(unit)
        except UnitError as error:
            self._refuse(place, str(error))

    def _number(self, place: str, value: Any) -> float | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            self._refuse(place, f"{value!r} is not a number")
        return float(value)

    def _fraction(self, place: str, value: Any) -> float | None:
        number = self._number(place, value)
        if number is not None and not 0 <= number < 1:
            self._refuse(place, f"{value!r} is not a fraction from 0 to 1; 2 % is 0.02")
        return number

    def _count(self, place: str, value: Any) -> int | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self._refuse(place, f"{value!r} is not a count from 1 on")
        return int(value)

    def _text(self, place: str, value: Any) -> str:
        if not isinstance(value, str):
            self._refuse(place, f"{value!r} is not a text; write it in quotes")
        return value

    def _refuse(self, place: str, why: str) -> NoReturn:
        raise LimitsError(f"{self._path}: {place}: {why}")


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The table with dotted names: {"pcie": {"speed": ...}} as "pcie.speed"."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
