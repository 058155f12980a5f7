"""The clocks of a device: each goes forward, without jumps, at its rate. The clock of this machine is the reference."""

from __future__ import annotations

import time

import pydoca
from pydoca import ClockType
from pydoca.qualify.bench.waiting import DeviceFault, duty

CLOCKS = (ClockType.NIC_FREE_RUNNING, ClockType.NIC_REAL_TIME, ClockType.NIC_DPA_TIMER)
_TOLERANCE = 1e-3  # an oscillator deviates by far less, even from a clock that NTP adjusts
_COARSE = 2000  # nanoseconds by which a reading may be rounded


def clocks(device: pydoca.Device) -> list[ClockType]:
    """The clocks that the device has."""
    return [each for each in CLOCKS if pydoca.Clock.is_supported(device.info, each)]


def name_of(which: ClockType) -> str:
    """The clock's name: nic_real_time, for example."""
    return str(which.name).lower()


def readings(device: pydoca.Device, which: ClockType, seconds: float) -> int:
    """Reads the clock for some seconds; each reading must fit the time that has passed. Returns the count.

    This machine's clock is read before and after each: a delay of the thread widens the allowed range.
    """
    with pydoca.Clock(device) as clock:
        unit = 1e9 / _frequency(clock, which, seconds)  # nanoseconds
        begin, first, begun = _reading(clock, which)
        last, count, before = first, 0, begin
        while before - begin < seconds * 1e9:
            before, now, after = _reading(clock, which)
            count += 1
            passed, what = (now - first) * unit, f"reading {count} of {name_of(which)}"
            if now < last:
                raise DeviceFault(f"{what} is {last - now} before the reading that came first: {now} after {last}")
            shortest = (before - begun) * (1 - _TOLERANCE) - _COARSE
            longest = (after - begin) * (1 + _TOLERANCE) + _COARSE
            if not shortest <= passed <= longest:
                allowed = f"{shortest:,.0f} to {longest:,.0f} ns have passed since the first"
                raise DeviceFault(f"{what} says that {passed:,.0f} ns have passed, and {allowed}")
            last = now
    return count


def _reading(clock: pydoca.Clock, which: ClockType) -> tuple[int, int, int]:
    """One reading of the clock between two readings of this machine's."""
    before = time.monotonic_ns()
    now = clock.timestamp(which)
    return before, now, time.monotonic_ns()


def _frequency(clock: pydoca.Clock, which: ClockType, seconds: float) -> float:
    """The frequency in Hz. That of the DPA's timer is not a capability: it is measured, and must then stay."""
    if which == ClockType.NIC_FREE_RUNNING:
        return pydoca.Clock.free_running_frequency(clock.device.info)
    if which == ClockType.NIC_REAL_TIME:
        return 1e9
    begin, first = _close_reading(clock, which)
    time.sleep(seconds / 4)
    end, last = _close_reading(clock, which)
    if last <= first:
        raise DeviceFault(f"{name_of(which)} stands still: {last} after {first}")
    return (last - first) * 1e9 / (end - begin)


def _close_reading(clock: pydoca.Clock, which: ClockType) -> tuple[int, int]:
    """This machine's clock and the device's, from the reading with the smallest delay."""
    tries = [_reading(clock, which) for _ in range(20)]
    before, now, _ = min(tries, key=lambda each: each[2] - each[0])
    return before, now


def deviation(device: pydoca.Device, which: ClockType, seconds: float) -> float:
    """The deviation of the clock from this machine's in millionths, measured over some seconds."""
    with pydoca.Clock(device) as clock:
        frequency = _frequency(clock, which, seconds)
        begin, first = _close_reading(clock, which)
        time.sleep(seconds)
        end, last = _close_reading(clock, which)
        return abs((last - first) * 1e9 / frequency / (end - begin) - 1) * 1e6


def offset(device: pydoca.Device) -> float:
    """Seconds by which the device's time of day is ahead of this machine's; negative if it is behind."""
    with pydoca.Clock(device) as clock:
        return (clock.timestamp(ClockType.NIC_REAL_TIME) - time.time_ns()) / 1e9


def crossings(device: pydoca.Device, which: ClockType, count: int) -> int:
    """Reads two clocks together: both lie between single readings before and after. Returns the count."""
    with duty("read clocks together"), pydoca.Clock(device) as clock:
        for number in range(count):
            before = clock.timestamp(which), clock.timestamp(ClockType.HOST_MONOTONIC)
            both = clock.crosstimestamp(ClockType.HOST_MONOTONIC, which)
            after = clock.timestamp(which), clock.timestamp(ClockType.HOST_MONOTONIC)
            pairs = zip(before, (both.nic, both.host), after, strict=True)
            if not all(early <= now <= late for early, now, late in pairs) or both.accuracy < 0:
                raise DeviceFault(f"crossing {number}: {both.nic}, {both.host} between {before} and {after}")
    return count
