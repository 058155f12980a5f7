"""The outcome of a case, from the ends of its phases and from its measurements."""

from __future__ import annotations

import re
from typing import Any

import pytest

import pydoca
from pydoca.qualify.bench.waiting import DeviceFault
from pydoca.qualify.limits.units import UnitError
from pydoca.qualify.measure import CaseInterrupted, MeasurementFailed, TooFewSamples
from pydoca.qualify.session.pair import PairError
from pydoca.qualify.verdicts import Verdict

_OF_DEVICE = (AssertionError, pydoca.DocaError, pytest.fail.Exception)
_SAID_OF_DEVICE = (MeasurementFailed, DeviceFault)  # raised by measurements and benches, also around the call
_OWN_CLASS = re.compile(r"^pydoca\.qualify\.[\w.]+: ")  # the prefix of exceptions whose message says all
INTERRUPTED = "interrupted; a resumed run repeats it"


def verdict_of_exception(error: BaseException, *, in_call: bool = True) -> Verdict:
    """A wrong value and a failed operation are failures of the device; any other exception is the tester's error.

    in_call: whether it came in the call, not in set-up or teardown. There the tester gets ready and cleans up, so that
    an operation that fails, or takes too long, says nothing of the device: its own opening, and the end of the case's
    processes, are among them.
    """
    if isinstance(error, CaseInterrupted):
        return Verdict.SKIPPED
    if isinstance(error, TooFewSamples | UnitError):
        return Verdict.ERROR
    if isinstance(error, PairError):
        cause = error.__cause__
        return verdict_of_exception(cause, in_call=in_call) if cause is not None else Verdict.ERROR
    if isinstance(error, BaseExceptionGroup):
        return Verdict.of_run(verdict_of_exception(each, in_call=in_call) for each in error.exceptions)
    return Verdict.FAIL if isinstance(error, _OF_DEVICE if in_call else _SAID_OF_DEVICE) else Verdict.ERROR


def verdict_of_case(phases: list[Verdict], measured: list[Verdict]) -> Verdict:
    """A case without measurements has passed when its assertions have."""
    if (worst := Verdict.of_run(phases)) in (Verdict.FAIL, Verdict.ERROR):
        return worst
    if Verdict.SKIPPED in phases:
        return Verdict.SKIPPED
    return Verdict.of_run(measured) if measured else Verdict.PASS


def reason_of(report: pytest.TestReport) -> str:
    """The reason in one line: that of a skip, or the message of a failure."""
    longrepr: Any = report.longrepr
    if isinstance(longrepr, tuple):
        return str(longrepr[2]).removeprefix("Skipped: ")
    crash = getattr(longrepr, "reprcrash", None)
    text = str(crash.message) if crash is not None else str(longrepr)
    return _OWN_CLASS.sub("", (text.strip().splitlines() or [""])[0])
