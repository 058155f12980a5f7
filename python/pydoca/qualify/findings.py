"""The findings that a reader of a run must know: failures, errors, close calls, what is missing or has changed.

The page, run.json and the end of the terminal's lines show the same ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydoca.qualify.figures import plural
from pydoca.qualify.machine import changes
from pydoca.qualify.records import CaseRecord, RunRecord
from pydoca.qualify.verdicts import Verdict

# Kinds: of one case; of cases that measured and were not judged; that were skipped; that did not run; of the run
# itself, such as a limit that met nothing; and of the machine.
CASE, NOT_JUDGED, SKIPPED, NOT_RUN, RUN, MACHINE = "case", "not_judged", "skipped", "not_run", "run", "machine"
KINDS = (CASE, NOT_JUDGED, SKIPPED, NOT_RUN, RUN, MACHINE)
_TOLD = (Verdict.FAIL, Verdict.ERROR, Verdict.MARGINAL)


@dataclass(frozen=True)
class Finding:
    kind: str
    verdict: Verdict
    text: str
    cases: tuple[str, ...] = ()  # the ids of the cases that it is about; an id may be there several times
    number: int | None = None  # the index of its case in `RunRecord.cases`, where it is about one
    node: str = ""  # the node of that case
    repeat: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The object of run.json. A finding about one case has "case", a finding about several has "cases"."""
        known: dict[str, Any] = {"kind": self.kind, "verdict": self.verdict.value, "text": self.text}
        if self.number is not None:
            return {**known, "case": self.cases[0], "node": self.node, "repeat": self.repeat}
        return {**known, "cases": list(self.cases)} if self.cases else known


def findings_of(run: RunRecord) -> list[Finding]:
    """The findings of a run, the worst ones first."""
    return [*_of_cases(run), *_not_judged(run), *_skipped(run), *_not_run(run), *_of_run(run), *_of_machine(run)]


def _of_cases(run: RunRecord) -> Iterator[Finding]:
    for verdict in _TOLD:
        for number, case in enumerate(run.cases):
            if case.verdict is verdict:
                yield Finding(CASE, verdict, _reason(case), (case.id,), number, case.node, case.repeat)


def _reason(case: CaseRecord) -> str:
    """The reasons of the measurements that decided the case."""
    told = [f"{each.name}: {each.reason}" for each in case.measurements if each.verdict is case.verdict]
    return "; ".join(told) or case.reason or "no reason is recorded"


def _not_judged(run: RunRecord) -> Iterator[Finding]:
    """The findings about cases that a reader might take for passed."""
    ids = tuple(case.id for case in run.cases if case.verdict is Verdict.UNJUDGED)
    if ids:
        text = f"{plural(len(ids), 'case')} measured values that no limit judges."
        yield Finding(NOT_JUDGED, Verdict.UNJUDGED, text, ids)


def _skipped(run: RunRecord) -> Iterator[Finding]:
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for case in run.cases:
        if case.verdict is Verdict.SKIPPED:
            reasons[case.reason].append(case.id)
    for reason, ids in sorted(reasons.items(), key=lambda each: -len(each[1])):
        text = f"{plural(len(ids), 'case')} did not run: {reason or 'no reason is recorded'}"
        yield Finding(SKIPPED, Verdict.SKIPPED, text, tuple(ids))


def _not_run(run: RunRecord) -> Iterator[Finding]:
    if run.planned > len(run.cases):
        missing = plural(run.planned - len(run.cases), "planned case")
        yield Finding(NOT_RUN, Verdict.SKIPPED, f"{missing} did not run: not tested is not passed.")


def _of_run(run: RunRecord) -> Iterator[Finding]:
    yield from (Finding(RUN, Verdict.MARGINAL, text) for text in run.findings)


def _of_machine(run: RunRecord) -> Iterator[Finding]:
    for name, before, after in changes(run.machine, run.machine_after):
        text = f"The machine changed during the run: {name} was {before}, and is {after}."
        yield Finding(MACHINE, Verdict.MARGINAL, text)
