"""The passes over all cases, as many as --pydoca-repeat and --pydoca-duration say."""

from __future__ import annotations

import time

import pytest

from pydoca.qualify.pytest_private import renew
from pydoca.qualify.session.levels import least_of_a_pass
from pydoca.qualify.session.selection import share_time
from pydoca.qualify.session.session import Session


def run_passes(session: Session, pytest_session: pytest.Session) -> None:
    """Runs passes. Each is complete before the next begins; Ctrl-C and the end of the duration end it after a case."""
    duration = session.settings.duration
    end = None if duration is None else time.monotonic() + duration
    while _goes_on(session, end):
        if session.repeat >= session.settings.repeat:
            _plan_another(session, end)
        if not _run_pass(session, pytest_session, end):
            break
        session.repeat += 1
    if end is not None and not session.interrupt.requested:  # the end of the time has ended a pass
        for run in session.runs.values():
            run.record.planned = len(run.record.cases)


def _goes_on(session: Session, end: float | None) -> bool:
    if session.interrupt.requested:  # Ctrl-C came before the first case
        return False
    if session.repeat < session.settings.repeat:
        return True
    least = least_of_a_pass(session.level, len(session.items), session.settings.duration or 0.0)
    return end is not None and end - time.monotonic() > least


def _plan_another(session: Session, end: float | None) -> None:
    """Plans another pass of a soak: its cases divide what is left of the duration."""
    if session.level == "soak" and end is not None:
        share_time(session.items, session.level, end - time.monotonic())
    for label, run in session.runs.items():
        run.record.planned += sum(session.target_of(item).label == label for item in session.items)
    if session.progress is not None and session.plan is not None:
        session.progress.add_total(len(session.items), session.plan.seconds / session.settings.repeat)


def _run_pass(session: Session, pytest_session: pytest.Session, end: float | None) -> bool:
    """Runs one pass. False: it was ended."""
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
