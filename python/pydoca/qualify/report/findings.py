"""What a reader must know: failures, errors, close calls, changes of the machine, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pydoca._display.frame.escaping import escaped
from pydoca.qualify.figures import plural
from pydoca.qualify.machine import changes
from pydoca.qualify.records import CaseRecord, MeasurementRecord, RunRecord
from pydoca.qualify.report.cases import has_card
from pydoca.qualify.report.elements import anchor, badge, excerpt, log_name, section
from pydoca.qualify.report.words import TONES, named, sentence
from pydoca.qualify.verdicts import Verdict

_TOLD = (Verdict.FAIL, Verdict.ERROR, Verdict.MARGINAL)
_MOST = 60


def findings(run: RunRecord) -> str:
    items = list(_items(run))
    if not items:
        return section("findings", "Findings", '<p class="pq-soft">None.</p>')
    shown = "".join(f"<li>{item}</li>" for item in items[:_MOST])
    more = f'<p class="pq-soft">\u2026 and {len(items) - _MOST:,} more</p>' if len(items) > _MOST else ""
    return section("findings", "Findings", f'<ul class="pq-findings">{shown}</ul>{more}', f"{len(items):,}")


def _items(run: RunRecord) -> Iterator[str]:
    for verdict in _TOLD:
        for number, case in enumerate(run.cases):
            if case.verdict is verdict:
                yield _case(number, case)
    yield from _not_judged(run)
    if run.planned > len(run.cases):
        missing = plural(run.planned - len(run.cases), "planned case")
        yield f"<span>{badge(Verdict.SKIPPED)}</span><span>{missing} did not run: not tested is not passed.</span>"
    for finding in run.findings:
        yield f"<span>{badge(Verdict.MARGINAL)}</span><span>{escaped(finding)}</span>"
    for name, before, after in changes(run.machine, run.machine_after):
        text = f"The machine changed during the run: {name} was {before}, and is {after}."
        yield f"<span>{badge(Verdict.MARGINAL)}</span><span>{escaped(text)}</span>"


def _case(number: int, case: CaseRecord) -> str:
    told = [
        f"{_named(anchor(number, index), each)}: {escaped(each.reason)}"
        for index, each in enumerate(case.measurements)
        if each.verdict is case.verdict
    ]
    what = "; ".join(told) or escaped(case.reason or "no reason is recorded")
    target = f"failure-{number}" if case.verdict in (Verdict.FAIL, Verdict.ERROR) else anchor(number)
    link = f'<a class="pq-id" href="#{target}">{escaped(named(case))}</a>'
    return f"<span>{badge(case.verdict)}</span><span>{link} {what}</span>"


def _named(place: str, measurement: MeasurementRecord) -> str:
    name = escaped(measurement.name)
    return f'<a href="#{place}">{name}</a>' if has_card(measurement) else name


def _not_judged(run: RunRecord) -> Iterator[str]:
    """What a reader might take for passed."""
    unjudged = sum(case.verdict is Verdict.UNJUDGED for case in run.cases)
    if unjudged:
        text = f"{plural(unjudged, 'case')} measured values that no limit judges."
        yield f"<span>{badge(Verdict.UNJUDGED)}</span><span>{text}</span>"
    reasons = Counter(case.reason for case in run.cases if case.verdict is Verdict.SKIPPED)
    for reason, count in reasons.most_common():
        text = f"{plural(count, 'case')} did not run: {reason or 'no reason is recorded'}"
        yield f"<span>{badge(Verdict.SKIPPED)}</span><span>{escaped(text)}</span>"


def failures(run: RunRecord) -> str:
    """Each with the end of its log, and the command that repeats it."""
    found = [(number, case) for number, case in enumerate(run.cases) if case.verdict in (Verdict.FAIL, Verdict.ERROR)]
    if not found:
        return ""
    cards = "".join(_failure(number, case) for number, case in found[:_MOST])
    return section("failures", "Failures", cards, f"{len(found):,}")


def _failure(number: int, case: CaseRecord) -> str:
    again = _labelled("Repeat it", escaped(case.again), "pq-again")
    file = log_name(number, case)
    log = _labelled(f'Log <a href="{file}">{file}</a>', excerpt(case.log), "pq-log")
    repeat = f", repeat {case.repeat + 1}" if case.repeat else ""
    return (
        f'<article class="pq-card pq-{TONES[case.verdict]}" id="failure-{number}"><div class="pq-head">'
        f"{badge(case.verdict)}<h3>{escaped(named(case))} {escaped(sentence(case.title))}{repeat}</h3></div>"
        f'<p class="pq-reason">{escaped(case.reason)}</p>{again}{log}</article>'
    )


def _labelled(label: str, text: str, kind: str) -> str:
    return f'<div class="pq-label">{label}</div><pre class="{kind}">{text}</pre>' if text.strip() else ""
