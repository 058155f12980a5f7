"""Whether a second run is worse than a first one, beyond chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from pydoca.qualify.figures import quantity, share, stat_text
from pydoca.qualify.history.metrics import Key, Metric, metrics_of, samples_of
from pydoca.qualify.history.selected import Absent, NotSelected
from pydoca.qualify.machine import changes
from pydoca.qualify.records import RunRecord
from pydoca.qualify.report.words import named
from pydoca.qualify.results import RunDirectory
from pydoca.qualify.statistics import difference, holm, value_of
from pydoca.qualify.statistics.samples import Array
from pydoca.qualify.verdicts import Verdict

ALPHA = 0.05  # the chance of any false alarm among all metrics
THRESHOLD = 0.03  # a smaller effect is no matter, however sure it is

# The order is that in which a reader wants them.
REGRESSED, MISSING, SUSPECTED, CHANGED, UNTESTED, IMPROVED, SAME, NEW = ORDER = (
    "regressed", "missing", "suspected", "changed", "untested", "improved", "same", "new",
)  # fmt: skip
# So many repeats tell how much a value differs from one to the next, which the samples of one cannot tell.
_REPEATS = 8
_SURE = (Verdict.PASS, Verdict.MARGINAL)


@dataclass(frozen=True)
class Row:
    """One measurement in both runs."""

    name: str
    stat: str
    unit: str
    better: str
    word: str  # one of ORDER
    first: float | None
    second: float | None
    samples: tuple[int, int]
    effect: float | None  # the difference of the values, as a part of the first one
    p: float | None  # corrected for the number of measurements
    test: str
    reason: str = ""
    least_p: float | None = None  # the smallest p that so many samples can give, corrected
    said: tuple[str, str] = ("", "")  # a property's text in both runs: it need not be a number
    repeats: tuple[int, int] = (0, 0)  # how often each run has measured it

    @property
    def gain(self) -> float | None:
        """The effect: above 0 the second value is the better one. None where neither is."""
        sign = {"higher": 1, "lower": -1}.get(self.better)
        return None if sign is None or self.effect is None else sign * self.effect

    @property
    def statistic(self) -> str:
        """Nothing of single values and of properties."""
        return "" if self.samples == (1, 1) else stat_text(self.stat)

    @property
    def texts(self) -> tuple[str, str]:
        """Both values, as people write them."""
        first, second = (quantity(value, self.unit, self.stat) for value in (self.first, self.second))
        return self.said[0] or first, self.said[1] or second

    @property
    def effect_text(self) -> str:
        return "" if self.effect is None else f"{100 * self.effect:+.1f} %" if self.effect else "0 %"

    @property
    def p_text(self) -> str:
        return "" if self.p is None else "< 0.0001" if self.p < 1e-4 else f"{self.p:.3g}"


@dataclass(frozen=True)
class Comparison:
    first: str  # the ids of the runs
    second: str
    threshold: float
    rows: list[Row]
    verdicts: list[tuple[str, str, str]]  # a case, its verdict in the first run and in the second one, where not equal
    worse: list[str] = field(default_factory=list)  # cases that passed, and do not any more
    machine: list[tuple[str, str, str]] = field(default_factory=list)  # a fact, in both runs, where it is not the same
    notes: list[str] = field(default_factory=list)  # why the runs are not alike
    missing: list[str] = field(default_factory=list)  # cases that the first run has and the second one was to have
    common_cases: int = 0  # that both runs have
    not_selected: dict[str, NotSelected] = field(default_factory=dict)  # "first" and "second": what the run left out
    lost: list[str] = field(default_factory=list)  # cases of missing measurements that passed, and measured nothing

    @property
    def regressions(self) -> list[str]:
        """What --fail-on regress means: worse values, what is missing, cases that pass no longer."""
        return [row.name for row in self.rows if row.word in (REGRESSED, MISSING)] + self.worse + self.lost

    @property
    def suspicions(self) -> list[str]:
        """What would be regressions, if the runs had measured it often enough to tell them from the machine's doing."""
        return [row.name for row in self.rows if row.word == SUSPECTED and (row.gain or 0.0) < 0]

    @property
    def left_out_texts(self) -> list[str]:
        """A sentence for each run with a selection names what only the other run has, because of that selection."""
        runs = {"first": self.first, "second": self.second}
        return [
            f"not selected in {runs[word]} ({each.selection}): {each.text}"
            for word, each in self.not_selected.items()
            if each.cases
        ]

    @property
    def is_empty(self) -> bool:
        """Whether selections have left nothing that both runs have, or were to have."""
        return not self.common_cases and any(each.cases for each in self.not_selected.values()) and not self.regressions


Run = tuple[RunDirectory, RunRecord]


def compare(first: Run, second: Run, *, threshold: float = THRESHOLD, alpha: float = ALPHA) -> Comparison:
    """threshold is the least effect that counts, as a part of the first value."""
    metrics, others = metrics_of(first[1]), metrics_of(second[1])
    absent = {"first": Absent(first[1], second[1]), "second": Absent(second[1], first[1])}
    left_out = {
        "first": [key for key in others if key not in metrics and absent["first"].has_left_out(key)],
        "second": [key for key in metrics if key not in others and absent["second"].has_left_out(key)],
    }
    keys = [key for key in dict.fromkeys([*metrics, *others]) if not any(key in each for each in left_out.values())]
    rows = [_row(key, metrics.get(key), others.get(key), first[0], second[0]) for key in keys]
    judged = [_judged(row, threshold, alpha) for row in _corrected(rows)]
    verdicts = _verdicts(first[1], second[1])
    return Comparison(
        first=first[1].id,
        second=second[1].id,
        threshold=threshold,
        rows=sorted(judged, key=lambda row: ORDER.index(row.word)),
        verdicts=[(case, one.value, other.value) for case, one, other in verdicts],
        worse=[case for case, one, other in verdicts if one in _SURE and other not in _SURE],
        machine=changes(first[1].machine, second[1].machine),
        notes=list(_notes(first[1], second[1])),
        common_cases=len({case.id for case in first[1].cases} & {case.id for case in second[1].cases}),
        missing=list(dict.fromkeys(map(named, absent["second"].missing))),
        not_selected={word: each.not_selected([name for name, _ in left_out[word]]) for word, each in absent.items()},
        lost=[named(case) for case in absent["second"].missing if case.verdict in _SURE and not case.measurements],
    )


def _notes(first: RunRecord, second: RunRecord) -> Iterator[str]:
    if first.level != second.level:
        yield (
            f"the first run is of level {first.level}, the second one of level {second.level}: a level has cases and "
            "times of its own, so measurements can be missing or new by that"
        )
    for word, run in (("first", first), ("second", second)):
        if run.verdict is Verdict.INTERRUPTED:
            yield f"the {word} run was interrupted after {share(len(run.cases), run.planned, 'case')}"


def _row(key: Key, one: Metric | None, other: Metric | None, first: RunDirectory, second: RunDirectory) -> Row:
    name, stat = key
    known = one or other
    assert known is not None
    a, b = samples_of(first, one), samples_of(second, other)
    values, sizes = (_value(one, a), _value(other, b)), (len(a), len(b))
    row = Row(name, stat, known.unit, known.better, "", *values, sizes, None, None, "")
    row = replace(row, said=(_said(one), _said(other)), repeats=(_repeats(one), _repeats(other)))
    if one is None:
        return replace(row, word=NEW, reason="the first run does not have it")
    if other is not None and one.is_property:
        return _property(row)
    if other is None or row.second is None:
        return replace(row, word=MISSING, reason="the second run does not have it")
    if one.unit != other.unit:
        return replace(row, word=MISSING, reason=f"the first run has it in {one.unit}, the second one in {other.unit}")
    found = difference(a, b, stat)
    if min(row.repeats) < _REPEATS:
        return replace(row, effect=found.effect, p=found.p, test=found.test, least_p=found.least)
    repeats = difference(one.values, other.values)
    return replace(row, effect=found.effect, p=repeats.p, test=f"{repeats.test} of repeats", least_p=repeats.least)


def _property(row: Row) -> Row:
    """Each run has one answer, or its repeats do not agree."""
    first, second = row.said
    if first == second:
        return replace(row, word=SAME)
    return replace(row, word=CHANGED, reason=f"{first} in the first run, {second} in the second one")


def _said(metric: Metric | None) -> str:
    return " or ".join(sorted(set(metric.said))) if metric is not None and metric.is_property else ""


def _repeats(metric: Metric | None) -> int:
    return len(metric.values) if metric is not None else 0


def _value(metric: Metric | None, samples: Array) -> float | None:
    """The value of all repeats together."""
    if metric is None:
        return None
    if metric.is_property:
        return metric.values[0] if metric.values else None
    return value_of(samples, metric.stat)


def _corrected(rows: Sequence[Row]) -> list[Row]:
    known = [row.p for row in rows if row.p is not None]
    p_values = iter(holm(known))
    return [
        row if row.p is None else replace(row, p=next(p_values), least_p=min(1.0, len(known) * (row.least_p or 0.0)))
        for row in rows
    ]


def _judged(row: Row, threshold: float, alpha: float) -> Row:
    if row.word:
        return row
    if row.first == row.second:
        return replace(row, word=SAME)
    if row.p is None or (row.p >= alpha and (row.least_p or 0.0) >= alpha):
        return replace(row, word=UNTESTED, reason="too few samples to tell a difference from chance")
    if row.effect is None:  # the first value is 0
        return replace(row, word=CHANGED if row.p < alpha else SAME)
    if row.p >= alpha:
        return replace(row, word=SAME, reason="could be chance")
    if abs(row.effect) < threshold:
        return replace(row, word=SAME, reason="a real difference, and a small one")
    if row.gain is None:
        return replace(row, word=CHANGED)
    if min(row.repeats) < _REPEATS:
        return replace(row, word=SUSPECTED, reason=_too_few(row.repeats))
    return replace(row, word=IMPROVED if row.gain > 0 else REGRESSED)


def _too_few(repeats: tuple[int, int]) -> str:
    """The samples of one run say how it differs from the other run, and not whether the device does."""
    often = " and ".join("once" if count == 1 else f"{count} times" for count in dict.fromkeys(repeats))
    return f"measured {often}, too few to tell the device from the machine: give both runs --repeat {_REPEATS} or more"


def _verdicts(first: RunRecord, second: RunRecord) -> list[tuple[str, Verdict, Verdict]]:
    """Cases whose verdict is another one; of several repeats, the worst one counts."""
    one, other = _worst_of_cases(first), _worst_of_cases(second)
    return [(names[0], one[names], other[names]) for names in one if names in other and one[names] != other[names]]


def _worst_of_cases(run: RunRecord) -> dict[tuple[str, str], Verdict]:
    found: dict[tuple[str, str], list[Verdict]] = {}
    for case in run.cases:
        found.setdefault((named(case), case.node), []).append(case.verdict)
    return {names: Verdict.of_run(verdicts) for names, verdicts in found.items()}
