"""Counters of contexts and progress engines, for monitoring: numbers that only grow."""

from __future__ import annotations

from typing import NamedTuple


class TaskStats(NamedTuple):
    """Numbers of tasks of a context since it was made, over all of its runs. `_asdict()` gives a dict."""

    submitted: int
    """Tasks that the context took."""
    completed: int
    """Tasks that ended with success."""
    failed: int
    """Tasks that ended with another status than SUCCESS and SHUTDOWN."""
    cancelled: int
    """Tasks that were flushed (SHUTDOWN): the context stopped before the device began them."""


class EngineStats(NamedTuple):
    """The work of a progress engine since it was made. `_asdict()` gives a dict."""

    submitted: int
    """Tasks that the contexts of the engine took, those of closed contexts included."""
    completed: int
    """Tasks that ended with success."""
    failed: int
    """Tasks that ended with another status than SUCCESS and SHUTDOWN."""
    cancelled: int
    """Tasks that were flushed (SHUTDOWN): their contexts stopped before the device began them."""
    sleeps: int
    """Times that the engine was armed for a sleep, by a blocking call, an event loop or request_notification()."""
    wake_ups: int
    """Sleeps that something ended; the others ended by a time limit (blocking calls look about every 10 ms)."""
    vain_looks: int
    """Looks of progress(), and of calls that wait, that found nothing: how much the thread spun."""
