"""The findings of a run as a list of the page, and its failures with their logs."""

from __future__ import annotations

from pydoca._display.frame.escaping import escaped
from pydoca.qualify.findings import Finding, findings_of
from pydoca.qualify.records import CaseRecord, MeasurementRecord, RunRecord
from pydoca.qualify.report.cases import has_card
from pydoca.qualify.report.elements import anchor, badge, excerpt, log_name, section
from pydoca.qualify.report.words import TONES, named, sentence
from pydoca.qualify.verdicts import Verdict

_MOST = 60


def findings(run: RunRecord) -> str:
    found = findings_of(run)
    if not found:
        return section("findings", "Findings", '<p class="pq-soft">None.</p>')
    items = "".join(
        f"<li><span>{badge(each.verdict)}</span><span>{_text(run, each)}</span></li>" for each in found[:_MOST]
    )
    rest = len(found) - _MOST
    more = f'<p class="pq-soft">\u2026 and {rest:,} more; run.json has all.</p>' if rest > 0 else ""
    return section("findings", "Findings", f'<ul class="pq-findings">{items}</ul>{more}', f"{len(found):,}")


def _text(run: RunRecord, finding: Finding) -> str:
    if finding.number is None:
        return escaped(finding.text)
    return _case(finding.number, run.cases[finding.number], finding.text)


def _case(number: int, case: CaseRecord, text: str) -> str:
    """With links to the case, and to the measurements that decided."""
    told = [
        f"{_named(anchor(number, index), each)}: {escaped(each.reason)}"
        for index, each in enumerate(case.measurements)
        if each.verdict is case.verdict
    ]
    target = f"failure-{number}" if case.verdict in (Verdict.FAIL, Verdict.ERROR) else anchor(number)
    return f'<a class="pq-id" href="#{target}">{escaped(named(case))}</a> {"; ".join(told) or escaped(text)}'


def _named(place: str, measurement: MeasurementRecord) -> str:
    name = escaped(measurement.name)
    return f'<a href="#{place}">{name}</a>' if has_card(measurement) else name


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
