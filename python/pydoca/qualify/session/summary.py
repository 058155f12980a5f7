"""The end of a run: its last lines, and its exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydoca.qualify.figures import share
from pydoca.qualify.findings import MACHINE, RUN
from pydoca.qualify.session.lock import WaitEnded
from pydoca.qualify.verdicts import ExitCode, Verdict

if TYPE_CHECKING:
    from pydoca.qualify.session.runs import Run
    from pydoca.qualify.session.session import Session

_KEPT = {int(ExitCode.TESTER_ERROR), int(ExitCode.USAGE)}
_WORST = (ExitCode.FAILED, ExitCode.TESTER_ERROR, ExitCode.INCOMPLETE, ExitCode.PASSED, ExitCode.NOTHING_TESTED)


def exit_code_of(session: Session, status: int, *, interrupted: bool) -> int:
    """The exit code; pytest's own one when no case has run."""
    if interrupted:
        return int(ExitCode.INTERRUPTED)
    if session.refused:
        return int(ExitCode.USAGE)
    if status in _KEPT:
        return int(status)
    if session.collection_failed:
        return int(ExitCode.TESTER_ERROR)
    if session.settings.plan:
        return int(ExitCode.PASSED if session.items else ExitCode.NOTHING_TESTED)
    codes = [ExitCode(run.record.exit_code or 0) for run in session.runs.values() if run.record.exit_code is not None]
    if session.plain_failures:
        codes.append(ExitCode.FAILED)
    return int(next((code for code in _WORST if code in codes), status))


def write_summary(session: Session, reporter: Any) -> None:
    if session.refused:
        reporter.write_line(f"ERROR: {session.refused}", red=True)
    if isinstance(session.not_begun, WaitEnded):
        reporter.write_line(str(session.not_begun))
        return
    if (expression := session.config.option.keyword) and not (session.items or session.shared.cases):
        reporter.write_line(f"nothing was tested: no case of level {session.level} matches {expression!r}")
    for run in [run for run in session.runs.values() if run.has_begun]:
        _write_run(session, run, reporter)


def _write_run(session: Session, run: Run, reporter: Any) -> None:
    record = run.record
    name = run.target.label or "no device"
    reporter.section(f"pydoca: {name}, level {record.level}", sep="-")
    for finding in run.findings():
        if finding.kind in (RUN, MACHINE):  # no line of a case has told it
            reporter.write_line(f"finding: {finding.text}")
    counts = {verdict: sum(case.verdict is verdict for case in record.cases) for verdict in Verdict}
    shown = ", ".join(f"{count:,} {verdict.value}" for verdict, count in counts.items() if count)
    missing = record.planned - len(record.cases)
    left = f"; not run: {share(missing, record.planned, 'case')}" if missing > 0 else ""
    bad, doubtful = {"red": True}, {"yellow": True}
    colours = {Verdict.PASS: {"green": True}, Verdict.FAIL: bad, Verdict.ERROR: bad}
    colours |= {Verdict.INTERRUPTED: doubtful, Verdict.INCOMPLETE: doubtful}
    reporter.write_line(
        f"{record.verdict.value}: {shown or 'no case has run'}{left}", **colours.get(record.verdict, {})
    )
    reporter.write_line(f"exit code {record.exit_code}, --pydoca-seed={record.seed}")
    if run.target.directory is not None:
        reporter.write_line(f"results: {run.target.directory}")
        if record.exit_code == ExitCode.INTERRUPTED:
            reporter.write_line(f"go on with: {session.command_to_resume(run.target.directory)}")
