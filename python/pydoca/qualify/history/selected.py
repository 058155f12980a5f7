"""What one of two runs does not have because its selection left it out, apart from what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pydoca.qualify.figures import plural
from pydoca.qualify.history.metrics import Key
from pydoca.qualify.records import CaseRecord, RunRecord
from pydoca.qualify.report.words import named

Test = tuple[str, str]  # the id of a case, and its node


@dataclass(frozen=True)
class NotSelected:
    """What the selection of one run left out, and the other run has."""

    selection: str = ""  # the words of the command: "--select DMA-*"; empty: the run has none
    cases: tuple[str, ...] = ()
    measurements: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The ids, each once, and how many tests and measurements they have."""
        ids = dict.fromkeys(case.partition(" [")[0] for case in self.cases)
        counts = f"{plural(len(self.cases), 'case')}, {plural(len(self.measurements), 'measurement')}"
        return f"{', '.join(ids)} ({counts})"


class Absent:
    """The cases of another run that a run does not have."""

    def __init__(self, run: RunRecord, other: RunRecord) -> None:
        own = {_test(case) for case in run.cases}
        absent = {_test(case): case for case in other.cases if _test(case) not in own}
        self._run = run
        self._left_out = {test: case for test, case in absent.items() if _leaves_out(run, case)}
        self.missing: list[CaseRecord] = [case for test, case in absent.items() if test not in self._left_out]
        self._tests: dict[Key, set[Test]] = {}  # the other run's tests, by the measurements that they record
        for case in other.cases:
            for each in case.measurements:
                self._tests.setdefault((each.name, each.stat), set()).add(_test(case))

    def has_left_out(self, key: Key) -> bool:
        """Whether the selection left out each case that records the measurement."""
        tests = self._tests.get(key, set())
        return bool(tests) and tests <= self._left_out.keys()

    def not_selected(self, measurements: Iterable[str]) -> NotSelected:
        names = dict.fromkeys(named(case) for case in self._left_out.values())
        return NotSelected(selection_of(self._run), tuple(names), tuple(dict.fromkeys(measurements)))


def selection_of(run: RunRecord) -> str:
    """The selection in the words of the command line."""
    return " ".join(_words(run))


def _words(run: RunRecord) -> Iterator[str]:
    if patterns := run.options.get("select"):
        yield f"--select {','.join(patterns)}"
    if expression := run.options.get("expression"):
        yield f"--select '{expression}'"


def _leaves_out(run: RunRecord, case: CaseRecord) -> bool:
    """Whether the selection of the run left out this case, which the run does not have.

    Records do not tell what an expression selects. A run that has all cases that it planned did not plan this one.
    """
    patterns = run.options.get("select") or ()
    if patterns and not any(fnmatchcase(case.id.lower(), pattern.lower()) for pattern in patterns):
        return True
    return bool(run.options.get("expression")) and len(run.cases) >= run.planned


def _test(case: CaseRecord) -> Test:
    return (case.id, case.node)
