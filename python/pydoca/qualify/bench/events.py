"""Sync events: every operation against a model, wait tasks, time-outs, rounds between two processes."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish

_WORD = 2**64
BATCH = 64


def operations(device: pydoca.Device, count: int, rng: random.Random) -> int:
    """Sets, additions, reads and waits in random order, each checked; returns how many there were."""
    value = 0
    with duty("a sync event"), pydoca.SyncEvent(device) as event:
        for number in range(count):
            operand, choice = rng.getrandbits(64), rng.randrange(4)
            if choice == 0:
                event.update_set(operand)
                value = operand
            elif choice == 1:
                _require(event.update_add(operand), value, f"operation {number}: the value before an addition")
                value = (value + operand) % _WORD
            elif choice == 2:
                event.wait_eq(value, timeout=waiting.PATIENCE)
                if value:
                    event.wait_gt(value - 1, timeout=waiting.PATIENCE)
            _require(event.get(), value, f"operation {number}: the value")
    return count


def _require(found: int, expected: int, what: str) -> None:
    if found != expected:
        raise DeviceFault(f"{what} is {found:#x}; it must be {expected:#x}")


def tasks(device: pydoca.Device, count: int) -> int:
    """Wait tasks, each ended by a notification of the same engine; returns how many there were."""
    with Stand() as stand:
        event = pydoca.SyncEvent(device)
        stand.callback(event.close)
        pe = stand.engine()
        with duty("a sync event with tasks"):
            context = stand.enter_context(event.as_context(pe, num_tasks=4))
        for value in range(1, count + 1):
            waits = context.wait_gt(value - 1) if value < 200 else context.wait_eq(value)
            _require(
                finish(context.notify_add(1), f"addition {value}"), value - 1, f"the value before addition {value}"
            )
            _require(finish(waits, f"the wait for {value}"), value, f"the value that ended the wait for {value}")
            waits.free()
    return count


def waits(device: pydoca.Device, count: int) -> int:
    """Waits of each kind for values that another thread sets only when it is asked; returns how many there were."""
    with duty("waits for another thread"), pydoca.SyncEvent(device) as ask, pydoca.SyncEvent(device) as answer:
        kinds = (
            lambda value: answer.wait_eq(value, timeout=waiting.PATIENCE),
            lambda value: answer.wait_gt(value - 1, timeout=waiting.PATIENCE),
            lambda value: answer.wait_neq(value - 1, timeout=waiting.PATIENCE),
            lambda value: answer.wait_eq_yield(value, timeout=waiting.PATIENCE),
            lambda value: answer.wait_gt_yield(value - 1, timeout=waiting.PATIENCE),
            lambda value: answer.wait_neq_yield(value - 1, timeout=waiting.PATIENCE),
        )
        thread = threading.Thread(target=_answer, args=[ask, answer, count])
        thread.start()
        try:
            for value in range(1, count + 1):
                ask.update_set(value)
                kinds[value % len(kinds)](value)
                _require(answer.get(), value, f"the value that ended wait {value}")
        finally:
            ask.update_set(_WORD - 1)
            thread.join()
    return count


def _answer(ask: pydoca.SyncEvent, answer: pydoca.SyncEvent, count: int) -> None:
    for value in range(1, count + 1):
        ask.wait_gt_yield(value - 1, timeout=waiting.PATIENCE)
        if ask.get() == _WORD - 1:
            return
        answer.update_set(value)


def time_out(device: pydoca.Device, seconds: float) -> float:
    """How much longer than asked a wait takes that nothing ends, in seconds."""
    with pydoca.SyncEvent(device) as event:
        begin = time.monotonic()
        try:
            event.wait_eq_yield(1, timeout=seconds)
        except pydoca.TimeOutError:
            return time.monotonic() - begin - seconds
    raise DeviceFault("a wait for a value that was never set has ended")


class Partner:
    """Two events that this process owns, for a partner that imports both: it waits for `ping`, and sets `pong`."""

    ping: pydoca.SyncEvent
    pong: pydoca.SyncEvent
    blobs: tuple[bytes, bytes]
    rounds: int

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        with duty("export sync events"):
            self.ping = stand.enter_context(pydoca.SyncEvent(device, publisher="cpu", subscriber="remote_pci"))
            self.pong = stand.enter_context(pydoca.SyncEvent(device, publisher="remote_pci", subscriber="cpu"))
            self.blobs = self.ping.export_to_remote_pci(), self.pong.export_to_remote_pci()
        self.rounds = 0

    def round(self) -> int:
        """One round trip, in nanoseconds. Its wait must have ended with the partner's answer, and not before."""
        self.rounds += 1
        begin = time.perf_counter_ns()
        self.ping.update_set(self.rounds)
        self.pong.wait_eq_yield(self.rounds, timeout=waiting.PATIENCE)
        elapsed = time.perf_counter_ns() - begin
        _require(self.pong.get(), self.rounds, f"the value that ended wait {self.rounds}")
        return elapsed

    def end(self) -> None:
        """Tells the partner to leave."""
        self.ping.update_set(_WORD - 1)


def ping_pong(partner: Partner, until: Callable[[], bool]) -> Iterator[NDArray[np.float64]]:
    """Microseconds of round trips, BATCH samples at a time; the partner runs `answer_pings` of bench.remote."""
    with duty("a round of sync events"):
        partner.round()
        while not until():
            yield np.array([partner.round() for _ in range(BATCH)]) / 1e3


def armed_wait(device: pydoca.Device, other: pydoca.Device) -> None:
    """A sleeping engine is woken by an event that the other side sets, from another thread of this process."""
    with Stand() as stand:
        event = pydoca.SyncEvent(device, publisher="remote_pci", subscriber="cpu")
        stand.callback(event.close)
        pe = stand.engine()
        with duty("a sync event of the other side"):
            context = stand.enter_context(event.as_context(pe, num_tasks=2))
            setter = stand.enter_context(other.import_sync_event(event.export_to_remote_pci()))
            waits = context.wait_eq(1)
        thread = threading.Timer(0.02, setter.update_set, [1])
        thread.start()
        try:
            waiting.sleep_until(pe, lambda: waits.done, "a wait for an event that the other side sets")
            _require(finish(waits, "the wait"), 1, "the value that ended a wait for an event of the other side")
        finally:
            thread.join()
