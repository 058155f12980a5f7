"""All cases, again and again as --pydoca-repeat and --pydoca-duration say."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pydoca.qualify.session.session import Session


def run_passes(session: Session, pytest_session: pytest.Session) -> None:
    """A pass is complete before the next begins; Ctrl-C and the end of the duration end it after a case."""
    end = _end(session)
    while _goes_on(session, end):
        if session.repeat >= session.settings.repeat:
            _plan_another(session)
        if not _run_pass(session, pytest_session, end):
            break
        session.repeat += 1
    if end is not None and not session.interrupt.requested:  # the time has ended a pass
        for run in session.runs.values():
            run.record.planned = len(run.record.cases)


def _end(session: Session) -> float | None:
    """A soak divides its duration among its cases, and needs no passes for it."""
    duration = session.settings.duration
    return None if duration is None or session.level == "soak" else time.monotonic() + duration


def _goes_on(session: Session, end: float | None) -> bool:
    if session.interrupt.requested:  # before the first case
        return False
    return session.repeat < session.settings.repeat or (end is not None and time.monotonic() < end)


def _plan_another(session: Session) -> None:
    for label, run in session.runs.items():
        run.record.planned += sum(session.target_of(item).label == label for item in session.items)
    if session.progress is not None and session.plan is not None:
        session.progress.add_total(len(session.items), session.plan.seconds / session.settings.repeat)


def _run_pass(session: Session, pytest_session: pytest.Session, end: float | None) -> bool:
    """False: it was ended."""
    items = [item for item in pytest_session.items if session.is_to_run(item)]
    for index, item in enumerate(items):
        if session.repeat:
            renew(item)
        following = items[index + 1] if index + 1 < len(items) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if pytest_session.shouldfail:
            raise pytest_session.Failed(pytest_session.shouldfail)
        if pytest_session.shouldstop:
            raise pytest_session.Interrupted(pytest_session.shouldstop)
        if session.interrupt.requested:
            return False
        if end is not None and session.repeat >= session.settings.repeat and time.monotonic() >= end:
            return False
    return True


def renew(item: Any) -> None:
    """A test that ran has its fixtures' values; it gets new ones."""
    if hasattr(item, "_initrequest"):
        item._initrequest()
