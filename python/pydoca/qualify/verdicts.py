"""The verdicts of a measurement, a case and a run, and a run's exit code."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, IntEnum


class Verdict(Enum):
    """The outcome; its values are the words of reports and files."""

    PASS = "PASS"
    MARGINAL = "MARGINAL"  # meets its limits, but so narrowly that another run may not
    UNJUDGED = "UNJUDGED"  # a measured value without a limit that says what is right
    SKIPPED = "SKIPPED"  # not tested, for a reason: the device has no such capability, or the case has another level
    ERROR = "ERROR"  # the tester failed, or took too few samples: nothing is known of the device
    FAIL = "FAIL"
    INTERRUPTED = "INTERRUPTED"  # only a run's verdict: it has not ended, so its cases do not judge the device yet
    INCOMPLETE = "INCOMPLETE"  # only a run's verdict: a limit or an expectation of its files has judged nothing

    @classmethod
    def of_run(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """The verdict of a run: the worst one; of those that are left after PASS, UNJUDGED before SKIPPED."""
        found = set(verdicts)
        return next((each for each in _WORST_FIRST if each in found), cls.SKIPPED)


_WORST_FIRST = (
    Verdict.FAIL, Verdict.ERROR, Verdict.INTERRUPTED, Verdict.INCOMPLETE, Verdict.MARGINAL, Verdict.PASS,
    Verdict.UNJUDGED,
)  # fmt: skip


class ExitCode(IntEnum):
    """pytest's own numbers, so that `pytest` and `pydoca qualify` agree."""

    PASSED = 0  # each judged case passed; MARGINAL is among them
    FAILED = 1  # the device failed
    INTERRUPTED = 2  # the run can be resumed
    TESTER_ERROR = 3
    USAGE = 4  # the command line, the limits or the choice of a device is wrong
    NOTHING_TESTED = 5
    INCOMPLETE = 6  # nothing failed, but something that was to be judged was not

    @classmethod
    def of_verdict(cls, verdict: Verdict) -> ExitCode:
        return _OF_VERDICT[verdict]


_OF_VERDICT = {
    Verdict.PASS: ExitCode.PASSED,
    Verdict.MARGINAL: ExitCode.PASSED,
    Verdict.UNJUDGED: ExitCode.PASSED,
    Verdict.SKIPPED: ExitCode.NOTHING_TESTED,
    Verdict.ERROR: ExitCode.TESTER_ERROR,
    Verdict.INTERRUPTED: ExitCode.INTERRUPTED,
    Verdict.INCOMPLETE: ExitCode.INCOMPLETE,
    Verdict.FAIL: ExitCode.FAILED,
}
