"""The top of the page: the verdict of the fleet, and how many cards came to what."""

from __future__ import annotations

from pydoca._display.frame.escaping import escaped
from pydoca.qualify.figures import duration, plural, share
from pydoca.qualify.fleet.record import FleetRecord
from pydoca.qualify.report.heading import counts_of, heading
from pydoca.qualify.report.words import moment
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


def band(fleet: FleetRecord) -> str:
    kind = f"Qualification of a fleet, level {escaped(fleet.level)}, run <code>{escaped(fleet.id)}</code>"
    counts = counts_of([each.run.verdict for each in fleet.cards])
    return heading(fleet.verdict, kind, plural(len(fleet.cards), "card"), _said(fleet), _facts(fleet), counts)


def _said(fleet: FleetRecord) -> str:
    verdicts = [each.run.verdict for each in fleet.cards]
    verdict = Verdict.of_run(verdicts)
    found = _SAID[verdict].format(share(verdicts.count(verdict), len(verdicts), "card"))
    if fleet.exit_code == ExitCode.INTERRUPTED:
        untested = sum(not each.was_tested for each in fleet.cards)
        return f"The run was interrupted. Not tested: {share(untested, len(fleet.cards), 'card')}. So far: {found}"
    return found


def _facts(fleet: FleetRecord) -> list[tuple[str, str]]:
    hosts = {worker.host for worker in fleet.workers}
    lost = sum(worker.lost for worker in fleet.workers)
    return [
        ("Scheduler", escaped(fleet.scheduler)),
        ("Hosts", f"{len(hosts):,}"),
        ("Workers", f"{len(fleet.workers):,}" + (f", {lost:,} lost" if lost else "")),
        ("Begun", escaped(moment(fleet.begin))),
        ("Took", escaped(duration((fleet.end or fleet.begin) - fleet.begin))),
        ("Seed", str(fleet.seed)),
        ("Outliers", plural(len({each.card for each in fleet.outliers}), "card") if fleet.outliers else "none"),
        ("pydoca", escaped(str(fleet.versions.get("pydoca", "")))),
    ]
