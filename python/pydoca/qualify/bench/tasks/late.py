"""Small operations of each library, in turn, again and again: none may be late, now and then or at intervals."""

from __future__ import annotations

import time
from collections.abc import Callable

import pydoca
from pydoca.qualify.bench.tail import Lateness, share_of, without_collections
from pydoca.qualify.bench.tasks.operations import operations
from pydoca.qualify.bench.waiting import Stand

_LOOKS = 6


def shares(device: pydoca.Device, seconds: float, must_stop: Callable[[], bool]) -> dict[str, float]:
    """The share of late operations of each library that the device has, and of all, as `bench.tail` tells them.

    They take turns: where the device stands still for some milliseconds, one of them is late. Late operations of which
    chance could be the cause are looked for again, some times at most, for as many seconds.
    """
    with Stand() as stand, without_collections():
        all_of_them = {name: Lateness(run_one) for name, run_one in operations(stand, device).items()}
        for _ in range(_LOOKS):
            _take_turns(list(all_of_them.values()), time.monotonic() + seconds, must_stop)
            late = sum(lateness.late for lateness in all_of_them.values())
            if not late or share_of(*all_of_them.values()) or must_stop():
                break
        found = {name: share_of(lateness) for name, lateness in all_of_them.items()}
        return {**found, "all": share_of(*all_of_them.values())}


def _take_turns(several: list[Lateness], end: float, must_stop: Callable[[], bool]) -> None:
    while time.monotonic() < end and not must_stop():
        for lateness in several:
            lateness.sample()
