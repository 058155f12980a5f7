"""The top of the page: the verdict and the device in words."""

from __future__ import annotations

from pydoca.qualify.figures import share
from pydoca.qualify.records import RunRecord
from pydoca.qualify.verdicts import ExitCode, Verdict

_SAID = {
    Verdict.FAIL: "The device failed {}.",
    Verdict.ERROR: "The tester failed in {}: nothing is known of the device there.",
    Verdict.INCOMPLETE: "No case failed, but limits or expectations of this run have judged nothing: see the findings.",
    Verdict.MARGINAL: "The device passed, so closely that another run may not.",
    Verdict.PASS: "The device passed every case that was judged.",
    Verdict.UNJUDGED: "Values were measured, and no limit judged them.",
    Verdict.SKIPPED: "Nothing was tested.",
}


def subject(run: RunRecord) -> str:
    if is_simulated(run):
        return "Qualification of a simulated device"
    is_software = run.device.get("profile") == "software"  # Soft-RoCE
    return "Qualification of a device in software" if is_software else "Hardware qualification"


def is_simulated(run: RunRecord) -> bool:
    return run.device.get("backend") == "sim"


def said(run: RunRecord) -> str:
    if run.exit_code is None:
        return f"The run has not ended: it was killed, or goes on. So far: {_found(run)}"
    if run.exit_code == ExitCode.INTERRUPTED:
        return f"The run was interrupted, and can be resumed. So far: {_found(run)}"
    return _found(run)


def seconds_of(run: RunRecord) -> float:
    """The time that the run took; its last case ends a run that was killed."""
    ends = (case.begin + case.seconds for case in run.cases)
    return (run.end if run.end is not None else max(ends, default=run.begin)) - run.begin


def _found(run: RunRecord) -> str:
    """What the cases say that have ended, also of a run that has not."""
    verdicts = [case.verdict for case in run.cases]
    verdict = Verdict.of_run(verdicts) if run.verdict is Verdict.INTERRUPTED else run.verdict
    return _SAID[verdict].format(share(verdicts.count(verdict), len(verdicts), "case"))
