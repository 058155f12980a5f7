"""What a measurement, a case and a run came to, and a run's exit code."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, IntEnum


class Verdict(Enum):
    """The values are the words of reports and files."""

    PASS = "PASS"
    MARGINAL = "MARGINAL"  # within its limits, but so close that another run may not be
    UNJUDGED = "UNJUDGED"  # measured, and no limit says what is right
    SKIPPED = "SKIPPED"  # not tested, for a reason: the device has no such capability, or another level has the case
    ERROR = "ERROR"  # the tester failed, or took too few samples: nothing is known of the device
    FAIL = "FAIL"
    INTERRUPTED = "INTERRUPTED"  # of a run only: it has not ended, so its cases do not judge the device yet
    INCOMPLETE = "INCOMPLETE"  # of a run only: a limit or an expectation of its files has judged nothing

    @classmethod
    def of_run(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """The worst one; of those that are left after PASS, UNJUDGED before SKIPPED."""
        found = set(verdicts)
        return next((each for each in _WORST_FIRST if each in found), cls.SKIPPED)


_WORST_FIRST = (
    Verdict.FAIL, Verdict.ERROR, Verdict.INTERRUPTED, Verdict.INCOMPLETE, Verdict.MARGINAL, Verdict.PASS,
    Verdict.UNJUDGED,
)  # fmt: skip


class ExitCode(IntEnum):
    """pytest's own numbers, so that `pytest` and `pydoca qualify` agree."""

    PASSED = 0  # every judged case; MARGINAL is among them
    FAILED = 1  # the device
    INTERRUPTED = 2  # the run can be resumed
    TESTER_ERROR = 3
    USAGE = 4  # command line, limits, or the choice of a device
    NOTHING_TESTED = 5
    INCOMPLETE = 6  # nothing failed, and something that was to be judged was not

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
