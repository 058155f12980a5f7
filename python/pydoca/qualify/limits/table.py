"""The limits in force: of all files, with the golden values, found by the name of a measurement."""

from __future__ import annotations

import datetime
import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydoca._text.nearest import beside
from pydoca.qualify.limits.file import FileLimit, LimitsError, LimitsFile, Waiver, read_limits
from pydoca.qualify.limits.match import mismatch
from pydoca.qualify.limits.own import OwnLimit
from pydoca.qualify.limits.units import UnitError, convert, unit_of
from pydoca.qualify.records import LimitRecord, MeasurementRecord

CONFIDENCE = 0.95


class Limits:
    """Files in their order: a later one wins. Golden values make a limit narrower, and never wider."""

    def __init__(
        self,
        files: Sequence[LimitsFile] = (),
        baseline: LimitsFile | None = None,
        *,
        today: datetime.date | None = None,
    ) -> None:
        self._files, self._baseline = tuple(files), baseline
        self._today = today or datetime.date.today()

    @classmethod
    def load(
        cls,
        paths: Iterable[str],
        baseline: str | None,
        facts: Mapping[str, str],
        *,
        force: bool = False,
        today: datetime.date | None = None,
    ) -> Limits:
        """Reads the files. Raises LimitsError for one that is wrong, or that is not for a device with these facts."""
        files = [read_limits(path) for path in paths]
        golden = read_limits(baseline) if baseline else None
        for file in [*files, *([golden] if golden else [])]:
            if (why := mismatch(file, facts)) and not force:
                raise LimitsError(
                    f"{file.path} is not for this device: {why} (--pydoca-limits-force applies it anyway)"
                )
        return cls(files, golden, today=today)

    @property
    def confidence(self) -> float:
        return self._default("confidence", CONFIDENCE)

    @property
    def expectations(self) -> dict[str, Any]:
        """All of [expect], as dotted names."""
        return {name: value for file in self._files for name, value in file.expect.items()}

    def expected(self, name: str) -> tuple[Any, str]:
        """The value, and where it is from; no source where none is expected."""
        for file in reversed(self._files):
            if name in file.expect:
                return file.expect[name], f"{file.path}: expect.{name}"
        return None, ""

    def limit_of(self, name: str, unit: str, stat: str, own: OwnLimit) -> LimitRecord | None:
        """The limit of a measurement, in its unit. Raises UnitError for a unit of another dimension."""
        unit_of(unit)
        found = self._found(name)
        limit = self._own(own, stat) if found is None else self._converted(found, unit, stat, own)
        limit = self._narrowed(limit, name, unit, stat)
        return limit and replace(limit, waived=self._waived(name))

    def unjudged(self, measured: Iterable[str], allowed: Iterable[str] = ()) -> dict[str, str]:
        """The limits and expectations that have judged nothing: the sentence about each, by name.

        allowed: names and patterns of limits that may judge nothing.
        """
        names, excused = list(measured), list(allowed)
        limits = [
            (each.name, f"{each.source}: no measurement of this run has that name{beside(each.name, names)}")
            for file in self._files
            for each in file.limits
            if not any(_fits(name, each.name) for name in names)
        ]
        expectations = [
            (name, f"{file.path}: expect.{name}: no case of this run looked at it{beside(name, names)}")
            for file in self._files
            for name in file.expect
            if name not in names
        ]
        return {
            name: text
            for name, text in limits + expectations
            if not any(name == pattern or _fits(name, pattern) for pattern in excused)
        }

    def findings(self, measured: Iterable[str]) -> list[str]:
        """Waivers that have met no measurement, and those that have expired."""
        names = list(measured)
        unmet = [
            f"{waiver.source}: no measurement of this run has that name{beside(waiver.name, names)}"
            for waiver in self._waivers()
            if waiver.until >= self._today and not any(_fits(name, waiver.name) for name in names)
        ]
        return unmet + [
            f"{waiver.source}: expired on {waiver.until}; {waiver.reason}"
            for waiver in self._waivers()
            if waiver.until < self._today
        ]

    def wrong_units(self, measured: Iterable[MeasurementRecord]) -> list[str]:
        """Limits whose unit cannot be that of their measurement; such a measurement of a run is an error."""
        wrong: dict[str, None] = {}
        for each in measured:
            try:
                if each.unit:  # properties have none
                    self.limit_of(each.name, each.unit, each.stat, OwnLimit())
            except UnitError as error:
                wrong[f"{error} {each.name}"] = None
        return list(wrong)

    def _found(self, name: str) -> FileLimit | None:
        """The limit by this name: exact names before patterns, longer ones before shorter ones, later files first."""
        fitting = [
            (each.name == name, len(each.name), index, each)
            for index, file in enumerate(self._files)
            for each in file.limits
            if _fits(name, each.name)
        ]
        return max(fitting, key=lambda entry: entry[:3])[3] if fitting else None

    def _own(self, own: OwnLimit, stat: str) -> LimitRecord | None:
        if own.min is None and own.max is None:
            return None
        # A file's default is for its own limits: a case's are mostly exact counts, whose healthy value is the limit.
        return LimitRecord(stat, own.min, own.max, own.n_min, own.marginal or 0.0, "the case")

    def _converted(self, found: FileLimit, unit: str, stat: str, own: OwnLimit) -> LimitRecord:
        try:
            low, high = (None if each is None else convert(each, found.unit, unit) for each in (found.min, found.max))
        except UnitError as error:
            raise UnitError(f"{found.source}: {error}, the unit of the measurement") from None
        n_min = found.n_min or self._default("n_min", own.n_min)
        marginal = found.marginal if found.marginal is not None else self._default("marginal", 0.0)
        return LimitRecord(found.stat or stat, low, high, int(n_min), marginal, found.source)

    def _narrowed(self, limit: LimitRecord | None, name: str, unit: str, stat: str) -> LimitRecord | None:
        golden = self._golden(name, limit.stat if limit else stat)
        if golden is None:
            return limit
        other = self._converted(golden, unit, stat, OwnLimit())
        if limit is None:
            return other
        low, high = _tighter(max, limit.min, other.min), _tighter(min, limit.max, other.max)
        if (low, high) == (limit.min, limit.max):
            return limit
        return replace(limit, min=low, max=high, source=f"{limit.source}, {other.source}")

    def _golden(self, name: str, stat: str) -> FileLimit | None:
        limits = self._baseline.limits if self._baseline else ()
        return next((each for each in limits if each.name == name and each.stat in (None, stat)), None)

    def _waivers(self) -> list[Waiver]:
        return [waiver for file in self._files for waiver in file.waivers]

    def _waived(self, name: str) -> str:
        for waiver in reversed(self._waivers()):
            if _fits(name, waiver.name) and waiver.until >= self._today:
                return f"{waiver.reason}, until {waiver.until}"
        return ""

    def _default(self, key: str, otherwise: float) -> float:
        given = [getattr(file, key) for file in self._files if getattr(file, key) is not None]
        return float(given[-1]) if given else otherwise


def _fits(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(name, pattern)


def _tighter(choose: Any, one: float | None, other: float | None) -> float | None:
    known = [each for each in (one, other) if each is not None]
    return choose(known) if known else None
