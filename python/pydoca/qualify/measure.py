"""The measurements of a case: samples go in, a limit judges at the end of the block."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pydoca.qualify.figures import plural
from pydoca.qualify.records import LimitRecord, MeasurementRecord
from pydoca.qualify.verdicts import Verdict

if TYPE_CHECKING:
    from pydoca.qualify.limits import Limits, OwnLimit

_FIRST_LOOK = 30  # samples
_NARROW = 0.01  # half the width of an interval that is narrow enough, as a fraction of the value
# A measurement without a verdict gets more time: so many times its own, and at most so many seconds.
_MORE, _MOST_MORE = 9, 60.0
_BETTER = ("higher", "lower", "none")


class MeasurementFailed(AssertionError):
    """A measurement lies beyond its limit."""


class TooFewSamples(RuntimeError):
    """A measurement has too few samples to say anything: the tester's error."""


class NotInBlock(RuntimeError):
    """A measurement is used outside its `with` block, whose end alone judges the samples: the tester's error."""


class CaseInterrupted(Exception):
    """Ctrl-C has cut the case's measurement short; the run can be resumed."""


@dataclass
class Surroundings:
    """The parts of a run that measurements need."""

    limits: Limits
    seconds: float  # the time of one measurement
    seed: int = 0
    must_stop: Callable[[], bool] = lambda: False
    save: Callable[..., str] = lambda name, array, **_: ""  # writes samples; returns the file's name
    take: Callable[[MeasurementRecord], None] = lambda record: None
    made: Callable[[Measurement], None] = lambda measurement: None
    started: float = field(default_factory=time.monotonic)


class Measure:
    """The fixture `pydoca_measure`."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings

    def __call__(
        self,
        name: str,
        *,
        unit: str,
        stat: str = "p50",
        better: str = "none",
        min: float | None = None,
        max: float | None = None,
        n_min: int = 1,
        marginal: float | None = None,
    ) -> Measurement:
        """A measurement for a `with` block, whose end judges its samples.

        unit: "GB/s", "us", "1" for a count or a ratio. stat: what of the samples is judged, unless the limits name
        another: min max mean p50 p90 p99 p999 stdev cv count. better: "higher", "lower" or "none", for comparisons of
        runs.
        min, max, n_min, marginal: the case's own limit; one of a file replaces it.

        Raises ValueError for a unit, a statistic or a word that does not exist. The block raises MeasurementFailed when
        the samples lie beyond their limit, TooFewSamples, and CaseInterrupted after Ctrl-C. Without a block nothing
        would be judged: adding a sample outside it raises NotInBlock, and a measurement whose block was never begun
        makes its case an ERROR.
        """
        from pydoca.qualify.limits import OwnLimit

        __tracebackhide__ = True
        own = OwnLimit(min=min, max=max, n_min=n_min, marginal=marginal)
        return Measurement(self._surroundings, name, unit, stat, _known_word(name, better), own)

    def record(
        self,
        name: str,
        value: float,
        *,
        unit: str,
        better: str = "none",
        min: float | None = None,
        max: float | None = None,
        marginal: float | None = None,
    ) -> MeasurementRecord:
        """Judges a single value, such as a count; raises as the block of a measurement does."""
        with self(name, unit=unit, stat="max", better=better, min=min, max=max, marginal=marginal) as measurement:
            measurement.add(value)
        assert measurement.result is not None
        return measurement.result

    def expect(self, name: str, value: object) -> MeasurementRecord:
        """Compares a property of the device, such as "pcie.speed", with the limits' table `[expect]`."""
        expected, source = self._surroundings.limits.expected(name)
        verdict, reason = _compared(value, expected, source)
        number = float(value) if isinstance(value, int | float) else None
        record = MeasurementRecord(name, "", "value", "none", number, None, 1, 0, 0, {}, verdict, reason)
        self._surroundings.take(record)
        if verdict is Verdict.FAIL:
            raise MeasurementFailed(f"{name}: {reason}")
        return record


def _known_word(name: str, better: str) -> str:
    if better not in _BETTER:
        raise ValueError(f"{name}: better is one of {', '.join(_BETTER)}, not {better!r}")
    return better


def _compared(value: object, expected: object, source: str) -> tuple[Verdict, str]:
    if not source:
        return Verdict.UNJUDGED, f"{_said(value)}; no limits file expects a value"
    if value == expected:
        return Verdict.PASS, f"{_said(value)}, as {source} expects"
    return Verdict.FAIL, f"{_said(value)}, and {source} expects {_said(expected)}"


def _said(value: object) -> str:
    if value is None or value == "":
        return "not set"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else repr(value)


class Measurement:
    """One measurement: samples go in by `add` or `extend`; `seconds` and `has_enough()` say how long to go on."""

    def __init__(self, surroundings: Surroundings, name: str, unit: str, stat: str, better: str, own: OwnLimit) -> None:
        from pydoca.qualify.statistics import STATISTICS

        __tracebackhide__ = True
        self.name: str = name
        self.unit: str = unit
        self.better: str = better
        self.limit: LimitRecord | None = self._limit(surroundings, stat, own)
        self.stat: str = self.limit.stat if self.limit else stat
        if self.stat not in STATISTICS:
            raise ValueError(f"{name}: {self.stat!r} is not a statistic: {', '.join(STATISTICS)}")
        self.result: MeasurementRecord | None = None
        self._around = surroundings
        self._samples: list[float] = []
        self._next_look = max(_FIRST_LOOK, own.n_min, self.limit.n_min if self.limit else 1)
        self._interrupted = False
        self._begin = time.monotonic()
        self.is_begun: bool = False  # its block has begun
        surroundings.made(self)

    def _limit(self, around: Surroundings, stat: str, own: OwnLimit) -> LimitRecord | None:
        """The limit. Raises UnitError for one in another dimension; the record of the measurement also says so."""
        from pydoca.qualify.limits.units import UnitError

        __tracebackhide__ = True
        try:
            return around.limits.limit_of(self.name, self.unit, stat, own)
        except UnitError as error:
            around.take(
                MeasurementRecord(
                    self.name, self.unit, stat, self.better, None, None, 0, 0, 0, {}, Verdict.ERROR, str(error)
                )
            )
            raise UnitError(str(error)) from None

    @property
    def seconds(self) -> float:
        """The time for this measurement, as its level has it."""
        return self._around.seconds

    def __len__(self) -> int:
        return len(self._samples)

    def add(self, value: float) -> None:
        """Adds one sample."""
        self._require_block()
        self._samples.append(float(value))

    def extend(self, values: Iterable[float]) -> None:
        """Adds many samples, given as an array or a list."""
        self._require_block()
        self._samples.extend(float(value) for value in values)

    def _require_block(self) -> None:
        if not self.is_begun or self.result is not None:
            raise NotInBlock(
                f"{self.name}: samples count inside the block, whose end judges them: "
                f"with pydoca_measure({self.name!r}, unit={self.unit!r}) as m: m.add(value)"
            )

    def has_enough(self) -> bool:
        """Whether the interval is narrow with as many samples as the limit wants, or the time is over.

        A slow device or a busy machine gets more time for so many samples: ten times as much, or a minute more. A case
        that asks this in its loop ends soon after Ctrl-C.
        """
        if self._around.must_stop():
            self._interrupted = True
            return True
        over = time.monotonic() - self._begin - self.seconds
        if over >= 0:
            is_patient = over < min(_MORE * self.seconds, _MOST_MORE)
            return len(self._samples) >= (self.limit.n_min if self.limit and is_patient else 1)
        return len(self._samples) >= self._next_look and self._is_narrow()

    def _is_narrow(self) -> bool:
        """Whether the interval is narrow. Looks seldom, as an interval takes longer than most samples."""
        from pydoca.qualify.statistics import interval, value_of

        self._next_look = len(self._samples) * 2
        value, found = value_of(self._samples, self.stat), interval(self._samples, self.stat, seed=self._around.seed)
        if value is None or found is None or self.stat in ("min", "max", "count"):
            return False
        return found[1] - found[0] <= 2 * _NARROW * abs(value)

    def __enter__(self) -> Self:
        self.is_begun = True
        self._begin = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        if error is not None:
            if self._samples:
                self._take(self._judged(f"the case ended early: {kind.__name__ if kind else ''}"))
            return
        if self._interrupted:
            self._take(self._judged("interrupted"))
            raise CaseInterrupted(f"{self.name}: interrupted after {plural(len(self._samples), 'sample')}")
        record = self._take(self._judged())
        if record.verdict is Verdict.FAIL:
            raise MeasurementFailed(f"{self.name}: {record.reason}")
        if record.verdict is Verdict.ERROR:
            raise TooFewSamples(f"{self.name}: {record.reason}")

    def _take(self, record: MeasurementRecord) -> MeasurementRecord:
        self.result = record
        self._around.take(record)
        return record

    def _judged(self, unfinished: str = "") -> MeasurementRecord:
        """The record. Its statistics are without the warm-up; the samples on disk have it."""
        from pydoca.qualify import statistics

        warmup = statistics.warmup(self._samples)
        warm = self._samples[warmup:]
        value = statistics.value_of(warm, self.stat) if warm else None
        confidence = self._around.limits.confidence
        found = statistics.interval(warm, self.stat, confidence, self._around.seed) if warm else None
        verdict, reason = statistics.judge(value, found, self.limit, len(warm), unit=self.unit)
        if not warm:
            verdict, reason = Verdict.ERROR, "no sample"
        if unfinished:
            verdict, reason = Verdict.UNJUDGED, f"{unfinished}, after {plural(len(self._samples), 'sample')}"
        return MeasurementRecord(
            name=self.name,
            unit=self.unit,
            stat=self.stat,
            better=self.better,
            value=value,
            interval=found,
            n=len(warm),
            warmup=warmup,
            outliers=statistics.outliers(warm) if warm else 0,
            statistics=statistics.summary(warm) if warm else {},
            verdict=verdict,
            reason=reason,
            limit=self.limit,
            samples=self._around.save(self.name, self._samples, warmup=warmup, unit=self.unit) if warm else "",
        )
