"""The top of the page: the verdict of the fleet, and how many cards came to what."""

from __future__ import annotations

from pydoca._display.frame.escaping import escaped
from pydoca._display.frame.values import plural
from pydoca.qualify.fleet.record import FleetRecord
from pydoca.qualify.report.elements import facts
from pydoca.qualify.report.words import MARKS, TONES, duration, moment
from pydoca.qualify.verdicts import ExitCode, Verdict

_ORDER = (
    Verdict.FAIL, Verdict.ERROR, Verdict.INTERRUPTED, Verdict.MARGINAL, Verdict.PASS, Verdict.UNJUDGED, Verdict.SKIPPED,
)  # fmt: skip
_SAID = {
    Verdict.FAIL: "{} of {} cards failed.",
    Verdict.ERROR: "The tester failed on {} of {} cards: nothing is known of them there.",
    Verdict.INTERRUPTED: "The runs of {} of {} cards were interrupted.",
    Verdict.MARGINAL: "All cards passed, {} of {} so closely that another run may not.",
    Verdict.PASS: "Every card passed all cases that were judged.",
    Verdict.UNJUDGED: "Values were measured, and no limit judged them.",
    Verdict.SKIPPED: "Nothing was tested.",
}


def band(fleet: FleetRecord) -> str:
    verdict = fleet.verdict
    return (
        f'<header class="pq-band pq-{TONES[verdict]}"><div class="pq-inner"><div class="pq-top">'
        f'<div class="pq-verdict"><span class="pq-mark">{MARKS[verdict]}</span>{verdict.value}</div>'
        f'<div class="pq-who"><p class="pq-kind">Qualification of a fleet, level {escaped(fleet.level)}, '
        f"run <code>{escaped(fleet.id)}</code></p>"
        f"<h1>{plural(len(fleet.cards), 'card')}</h1><p>{escaped(_said(fleet))}</p></div></div>"
        f"{facts(_facts(fleet), 'pq-facts')}{_bar(fleet)}</div></header>\n"
    )


def _said(fleet: FleetRecord) -> str:
    verdicts = [each.run.verdict for each in fleet.cards]
    verdict = Verdict.of_run(verdicts)
    found = _SAID[verdict].format(f"{verdicts.count(verdict):,}", f"{len(verdicts):,}")
    if fleet.exit_code == ExitCode.INTERRUPTED:
        untested = sum(not each.was_tested for each in fleet.cards)
        return f"The run was interrupted: {untested:,} of {len(fleet.cards):,} cards were not tested. So far: {found}"
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
        ("Outliers", f"{len({each.card for each in fleet.outliers}):,} cards" if fleet.outliers else "none"),
        ("pydoca", escaped(str(fleet.versions.get("pydoca", "")))),
    ]


def _bar(fleet: FleetRecord) -> str:
    counts = {verdict: sum(each.run.verdict is verdict for each in fleet.cards) for verdict in _ORDER}
    known = {verdict: count for verdict, count in counts.items() if count}
    parts = "".join(
        f'<i class="pq-{TONES[verdict]} pq-{verdict.value.lower()}" style="flex:{count}"></i>'
        for verdict, count in known.items()
    )
    items = "".join(
        f'<li><span class="pq-mark pq-{TONES[verdict]}">{MARKS[verdict]}</span> <b>{count:,}</b> {verdict.value}</li>'
        for verdict, count in known.items()
    )
    return f'<div class="pq-bar" aria-hidden="true">{parts}</div><ul class="pq-counts">{items}</ul>'
