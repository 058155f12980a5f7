"""Sync events: every operation against a model, wait tasks, time-outs, rounds between two processes."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.patterns import numbers
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, require_value

_WORD = 2**64
BATCH = 64
_LONGEST = 10.0  # seconds


def operations(device: pydoca.Device, count: int, rng: random.Random) -> int:
    """Sets, additions, reads and waits in random order, each checked; returns how many there were.

    Operands are random, or of the widths of bench.patterns.numbers.
    """
    value, wide = 0, numbers()
    with duty("a sync event"), pydoca.SyncEvent(device) as event:
        for number in range(count):
            operand, choice = rng.choice(wide) if rng.getrandbits(1) else rng.getrandbits(64), rng.randrange(4)
            if choice == 0:
                event.update_set(operand)
                value = operand
            elif choice == 1:
                require_value(event.update_add(operand), value, f"operation {number}: the value before an addition")
                value = (value + operand) % _WORD
            elif choice == 2:
                _wait_for(event, value, rng.getrandbits(64), number)
            require_value(event.get(), value, f"operation {number}: the value")
    return count


class _Waits(NamedTuple):
    """Waits of the three kinds, in one way."""

    eq: Callable[..., None]
    gt: Callable[..., None]
    neq: Callable[..., None]


def _waits_of(event: pydoca.SyncEvent, number: int) -> _Waits:
    """The waits that spin and those that yield, in turn."""
    if number % 2:
        return _Waits(event.wait_eq, event.wait_gt, event.wait_neq)
    return _Waits(event.wait_eq_yield, event.wait_gt_yield, event.wait_neq_yield)


def _wait_for(event: pydoca.SyncEvent, value: int, mask: int, number: int) -> None:
    """Checks that waits of each kind end at once if their condition holds."""
    masked, waits = value & mask, _waits_of(event, number)
    waits.eq(value, timeout=waiting.PATIENCE)
    waits.eq(masked, mask, timeout=waiting.PATIENCE)
    waits.neq(masked ^ 1 << number % 64, mask, timeout=waiting.PATIENCE)
    if masked:
        waits.gt(masked - 1, mask, timeout=waiting.PATIENCE)


def refusals(device: pydoca.Device) -> int:
    """Checks that waits of each kind do not end if one bit of value or mask makes their condition false.

    Returns how many there were.
    """
    value, whole = 0xA5A5_5A5A_F00F_0FF0, _WORD - 1
    with duty("waits that nothing ends"), pydoca.SyncEvent(device) as event:
        event.update_set(value)
        for bit in range(64):
            waits, one = _waits_of(event, bit), 1 << bit
            for wait, operand, mask in (
                (waits.eq, value ^ one, whole),
                (waits.eq, (value ^ one) & one, one),
                (waits.neq, value & one, one),
                (waits.gt, value & ~one, whole ^ one),
                (waits.gt, value | one, whole),
            ):
                _require_no_end(wait, operand, mask, value)
    return 5 * 64


def _require_no_end(wait: Callable[..., None], operand: int, mask: int, value: int) -> None:
    try:
        wait(operand, mask, timeout=0)
    except pydoca.TimeOutError:
        return
    raise DeviceFault(f"a wait for {operand:#x} behind the mask {mask:#x} has ended, and the value is {value:#x}")


def imported(device: pydoca.Device, other: pydoca.Device) -> int:
    """The other side sets, adds to and reads an event with numbers of every width; returns how many operations."""
    wide = numbers()
    with (
        duty("a sync event of the other side"),
        pydoca.SyncEvent(device, publisher="remote_pci", subscriber="cpu") as event,
        other.import_sync_event(event.export_to_remote_pci()) as there,
    ):
        for number in wide:
            there.update_set(number)
            require_value(event.get(), number, f"the value after setting {number:#x}")
            require_value(there.update_add(number), number, f"the value before an addition of {number:#x}")
            require_value(event.get(), 2 * number % _WORD, f"the value after an addition of {number:#x}")
            require_value(there.get(), 2 * number % _WORD, f"the value that the other side reads after {number:#x}")
    return 3 * len(wide)


def with_tasks(
    stand: Stand, device: pydoca.Device, num_tasks: int, **callbacks: Any
) -> tuple[pydoca.ProgressEngine, pydoca.SyncEventContext]:
    """A sync event as a context with num_tasks tasks of each kind, and its engine."""
    event = pydoca.SyncEvent(device)
    stand.callback(event.close)
    pe = stand.engine()
    with duty("a sync event with tasks"):
        return pe, stand.enter_context(event.as_context(pe, num_tasks=num_tasks, **callbacks))


def tasks(device: pydoca.Device, count: int) -> int:
    """Wait tasks, each ended by a notification of the same engine; returns how many there were."""
    with Stand() as stand:
        _, context = with_tasks(stand, device, 4)
        for value in range(1, count + 1):
            waits = context.wait_gt(value - 1) if value < 200 else context.wait_eq(value)
            require_value(
                finish(context.notify_add(1), f"addition {value}"), value - 1, f"the value before addition {value}"
            )
            require_value(finish(waits, f"the wait for {value}"), value, f"the value that ended the wait for {value}")
            waits.free()
    return count


def wide_tasks(device: pydoca.Device) -> int:
    """Tasks set, add and read numbers of every width, and wait for them; returns how many numbers there were."""
    wide = numbers()
    with Stand() as stand:
        _, context = with_tasks(stand, device, 1)
        for number in wide:
            doubled = 2 * number % _WORD
            finish(context.notify_set(number), f"setting {number:#x}")
            require_value(finish(context.get(), f"a read of {number:#x}"), number, "the value that was set")
            what = f"an addition of {number:#x}"
            require_value(finish(context.notify_add(number), what), number, f"the value before {what}")
            require_value(finish(context.get(), f"a read after {what}"), doubled, f"the value after {what}")
            if device.info.supports("async_sync_event_wait"):
                require_value(finish(context.wait_eq(doubled), "a wait"), doubled, "the value that ended a wait")
                other = doubled ^ 1 << number % 64
                require_value(finish(context.wait_neq(other), "a wait"), doubled, f"the value that is not {other:#x}")
    return len(wide)


def masked_tasks(device: pydoca.Device) -> int:
    """Wait tasks with each mask of adjacent bytes: one ends, and one that differs in a bit does not.

    Returns how many masks there were.
    """
    value = 0x0102_0408_1020_4080  # one bit of each byte
    with Stand() as stand:
        pe, context = with_tasks(stand, device, 4)
        finish(context.notify_set(value), f"setting {value:#x}")
        for mask in MASKS:
            what = f"the wait for {value & mask:#x} behind the mask {mask:#x}"
            require_value(finish(context.wait_eq(value & mask, mask), what), value, f"the value that ended {what}")
            for wait in (context.wait_eq(0, mask), context.wait_neq(value & mask, mask)):
                pe.drain()
                if wait.done:
                    raise DeviceFault(f"a wait behind the mask {mask:#x} has ended, and its condition does not hold")
                wait.cancel()
                with contextlib.suppress(pydoca.ShutdownError):
                    wait.wait(timeout=waiting.PATIENCE)
                wait.free()
    return len(MASKS)


MASKS: list[int] = [
    (1 << 8 * size) - 1 << 8 * place for size in (1, 2, 4, 8) for place in range(9 - size)
]  # the operands that wait tasks take


def waits(device: pydoca.Device, count: int) -> int:
    """Waits of each kind for values that another thread sets on request, as many as there is time for.

    Returns how many there were.
    """
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
            until = time.monotonic() + _LONGEST
            for value in range(1, count + 1):
                ask.update_set(value)
                kinds[value % len(kinds)](value)
                require_value(answer.get(), value, f"the value that ended wait {value}")
                if time.monotonic() > until:
                    return value
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
    """The seconds by which a wait without an event exceeds its time-out."""
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
        """Nanoseconds of one round trip. Its wait must end with the partner's answer, and not before."""
        self.rounds += 1
        begin = time.perf_counter_ns()
        self.ping.update_set(self.rounds)
        self.pong.wait_eq_yield(self.rounds, timeout=waiting.PATIENCE)
        elapsed = time.perf_counter_ns() - begin
        require_value(self.pong.get(), self.rounds, f"the value that ended wait {self.rounds}")
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
            require_value(finish(waits, "the wait"), 1, "the value that ended a wait for an event of the other side")
        finally:
            thread.join()
