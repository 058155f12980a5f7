"""Small operations and calls of each library in turn: none may be late, neither now and then nor at intervals."""

from __future__ import annotations

import time
from collections.abc import Callable

import pydoca
from pydoca.qualify.bench.delays.tail import Lateness, share_of, without_collections
from pydoca.qualify.bench.tasks.operations import operations
from pydoca.qualify.bench.waiting import PATIENCE, Stand, duty

_LOOKS = 6


def shares(device: pydoca.Device, seconds: float, must_stop: Callable[[], bool]) -> dict[str, float]:
    """The share of late operations of each library that the device has, and of all, as `bench.delays.tail` finds them.

    They take turns: one of them is late when the device stops for some milliseconds. If chance may explain the late
    operations, the measurement is repeated a few times.
    """
    with Stand() as stand, without_collections():
        every = operations(stand, device) | _calls(stand, device)
        all_of_them = {name: Lateness(run_one) for name, run_one in every.items()}
        for _ in range(_LOOKS):
            _take_turns(list(all_of_them.values()), time.monotonic() + seconds, must_stop)
            late = sum(lateness.late for lateness in all_of_them.values())
            if not late or share_of(*all_of_them.values()) or must_stop():
                break
        found = {name: share_of(lateness) for name, lateness in all_of_them.items()}
        return {**found, "all": share_of(*all_of_them.values())}


def _calls(stand: Stand, device: pydoca.Device) -> dict[str, Callable[[], int]]:
    """Calls that return when their work is done; each function gives the nanoseconds of one."""
    calls: dict[str, Callable[[], int]] = {}
    if device.info.supports("sync_event"):
        calls["event"] = _event(stand, device)
    if device.info.supports("clock"):
        clock, types = stand.enter_context(pydoca.Clock(device)), pydoca.ClockType
        found = [each for each in types if pydoca.Clock.is_supported(device.info, each)]
        calls["clock"] = lambda: _time_of(lambda: [clock.timestamp(each) for each in found])
    return calls


def _event(stand: Stand, device: pydoca.Device) -> Callable[[], int]:
    """A change of a sync event, and waits of each kind that end at once."""
    event, value = stand.enter_context(pydoca.SyncEvent(device)), 0

    def run_one() -> int:
        nonlocal value
        value += 1
        return _time_of(_change_and_wait)

    def _change_and_wait() -> None:
        event.update_set(value)
        for wait, operand in ((event.wait_eq, value), (event.wait_gt, value - 1), (event.wait_neq, value - 1)):
            wait(operand, timeout=PATIENCE)
        event.wait_gt_yield(value - 1, timeout=PATIENCE)

    return run_one


def _time_of(call: Callable[[], object]) -> int:
    with duty("a call that returns when its work is done"):
        begin = time.perf_counter_ns()
        call()
        return time.perf_counter_ns() - begin


def _take_turns(several: list[Lateness], end: float, must_stop: Callable[[], bool]) -> None:
    while time.monotonic() < end and not must_stop():
        for lateness in several:
            lateness.sample()
