"""The amount of work of a case. It depends on the level alone, so that a run can be repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydoca.qualify.session.case_run import CaseRun


def at(run: CaseRun, *, smoke: int = 0, quick: int = 0, full: int = 0, soak: int = 0) -> int:
    """The number of the run's level, or of the next lower one that has a number."""
    numbers = {"smoke": smoke, "quick": quick or smoke, "full": full or quick or smoke}
    return numbers.get(run.level, soak or numbers["full"])
