"""The verdict of the fleet in words."""

from __future__ import annotations

from pydoca.qualify.figures import share
from pydoca.qualify.fleet.record import FleetRecord
from pydoca.qualify.verdicts import ExitCode, Verdict

_SAID = {
    Verdict.FAIL: "{} failed.",
    Verdict.ERROR: "The tester failed on {}: nothing is known of the devices there.",
    Verdict.INTERRUPTED: "The runs on {} were interrupted.",
    Verdict.INCOMPLETE: "No card failed, but of {} limits or expectations have judged nothing.",
    Verdict.MARGINAL: "All cards passed, {} so closely that another run may not.",
    Verdict.PASS: "Every card passed all cases that were judged.",
    Verdict.UNJUDGED: "Values were measured, and no limit judged them.",
    Verdict.SKIPPED: "Nothing was tested.",
}


def said(fleet: FleetRecord) -> str:
    verdicts = [each.run.verdict for each in fleet.cards]
    verdict = Verdict.of_run(verdicts)
    found = _SAID[verdict].format(share(verdicts.count(verdict), len(verdicts), "card"))
    if fleet.exit_code == ExitCode.INTERRUPTED:
        untested = sum(not each.was_tested for each in fleet.cards)
        return f"The run was interrupted. Not tested: {share(untested, len(fleet.cards), 'card')}. So far: {found}"
    return found
