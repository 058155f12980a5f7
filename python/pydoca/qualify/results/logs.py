"""The output of a run's cases, a file each."""

from __future__ import annotations

from pathlib import Path

from pydoca._display.frame.escaping import printable
from pydoca.qualify.records import CaseRecord, RunRecord
from pydoca.qualify.report.words import log_name
from pydoca.qualify.results.files import replace_file


def write_logs(folder: Path, run: RunRecord) -> None:
    """Writes the files and removes old ones: a run that was resumed may have other cases."""
    for old in (folder / "logs").glob("*.log"):
        old.unlink()
    for number, case in enumerate(run.cases):
        if case.log.strip():
            _write(folder / log_name(number, case), case)


def _write(path: Path, case: CaseRecord) -> None:
    path.parent.mkdir(exist_ok=True)
    replace_file(path, f"{case.verdict.value} {case.id} {case.node}\n\n{printable(case.log)}")
