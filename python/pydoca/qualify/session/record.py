"""The records of a case on their way from the process that ran it to the one that writes them."""

from __future__ import annotations

import json
import shlex
import time
from typing import Any

import pytest

import pydoca
from pydoca.qualify.measure import CaseInterrupted
from pydoca.qualify.records import CaseRecord
from pydoca.qualify.results.codec import case_from_dict, case_to_dict, to_json
from pydoca.qualify.session.case_run import CaseRun
from pydoca.qualify.session.choice import label
from pydoca.qualify.session.marks import mark_of
from pydoca.qualify.session.outcome import INTERRUPTED, reason_of, verdict_of_case, verdict_of_exception
from pydoca.qualify.session.settings import Settings
from pydoca.qualify.start import SUITE
from pydoca.qualify.verdicts import Verdict

_LOG_MOST = 20_000  # characters


class Phases:
    """Set-up, call and teardown of a case, as they end."""

    def __init__(self, run: CaseRun) -> None:
        self.run = run
        self._verdicts: list[Verdict] = []
        self._reason = self._log = ""
        self._begin = time.time()

    def add(self, item: pytest.Item, call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
        if call.excinfo is not None and isinstance(call.excinfo.value, CaseInterrupted):
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {INTERRUPTED}")
        verdict = _verdict_of_phase(call, report)
        self._verdicts.append(verdict)
        if verdict in (Verdict.FAIL, Verdict.ERROR):
            self.run.failed = True
            self._log += f"{report.longreprtext}\n"
        if verdict is not Verdict.PASS and not self._reason:
            self._reason = reason_of(report)
        if report.when == "teardown":
            self._log += "".join(f"-- {name} --\n{text}\n" for name, text in report.sections)

    def record(self, item: pytest.Item) -> CaseRecord:
        mark = mark_of(item)
        verdict = verdict_of_case(self._verdicts, [each.verdict for each in self.run.measurements])
        return CaseRecord(
            id=mark.id,
            title=mark.title,
            node=self.run.node,
            repeat=self.run.repeat,
            verdict=verdict,
            reason=self._reason or _of_measurements(self.run, verdict),
            begin=self._begin,
            seconds=time.time() - self._begin,
            measurements=list(self.run.measurements),
            log=self._log[-_LOG_MOST:],
            again=again(item, self.run.node, self.run.device, self.run.level, self.run.seed, self.run.settings),
        )


def _verdict_of_phase(call: pytest.CallInfo[Any], report: pytest.TestReport) -> Verdict:
    if call.excinfo is not None and report.failed:
        return verdict_of_exception(call.excinfo.value, in_call=call.when == "call")
    if report.failed:  # a test under xfail(strict) that passed
        return Verdict.FAIL
    return Verdict.SKIPPED if report.skipped else Verdict.PASS


def _of_measurements(run: CaseRun, verdict: Verdict) -> str:
    """The reason of the measurement that decided."""
    if verdict not in (Verdict.MARGINAL, Verdict.UNJUDGED):
        return ""
    return next((f"{each.name}: {each.reason}" for each in run.measurements if each.verdict is verdict), "")


def again(
    item: pytest.Item, node: str, device: pydoca.DeviceInfo | None, level: str, seed: int, settings: Settings
) -> str:
    """The command that repeats just this case."""
    path, _, rest = node.partition("::")
    pyargs = []
    if item.path.is_relative_to(SUITE):
        node, pyargs = f"pydoca.qualify.{path.removesuffix('.py').replace('/', '.')}::{rest}", ["--pyargs"]
    options = [f"--pydoca-level={level}", f"--pydoca-seed={seed}"]
    options += [f"--pydoca-device={label(device)}"] if device else []
    options += [f"--pydoca-limits={path}" for path in settings.limits]
    return shlex.join(["pytest", *pyargs, node, *options])


def to_wire(case: CaseRecord) -> str:
    """The case as a text, which xdist can carry."""
    return to_json(case_to_dict(case))


def from_wire(text: str) -> CaseRecord:
    return case_from_dict(json.loads(text))
