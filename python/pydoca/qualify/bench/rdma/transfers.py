"""Data over RDMA: writes, reads and messages, each compared, with red zones around it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

import pydoca
from pydoca.qualify.bench.patterns import PATTERNS, Bytes, numbers, prbs31
from pydoca.qualify.bench.rdma.pair import ACCESS, Pair, done
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish
from pydoca.qualify.bench.zones import Damage


def integrity(
    a: pydoca.Device,
    b: pydoca.Device,
    sizes: Iterable[int],
    seed: int = 0,
    patterns: Iterable[str] = tuple(PATTERNS),
    offsets: Iterable[tuple[int, int]] = ((0, 0),),
    origin: str = "pydoca.alloc",
    access: str = ACCESS,
) -> Iterator[Damage]:
    """Writes each pattern in each size to the peer and reads it back; yields the damage, false if there is none.

    The offsets are those at this end and at the peer's; origin is the origin of the memory of both, and
    access the permissions of the peer's.
    """
    sizes, offsets, number = list(sizes), list(offsets), seed
    with Stand() as stand:
        pair = Pair(stand, a, b, max(sizes) + max(max(places) for places in offsets), origin=origin, access=access)
        for size, name, places in itertools.product(sizes, patterns, offsets):
            number += 1
            what = f"{size} bytes of {name}, offsets {places[0]} and {places[1]}"
            yield from _write_and_read(pair, PATTERNS[name](size, number), places, what)


def _write_and_read(pair: Pair, data: Bytes, places: tuple[int, int], what: str) -> Iterator[Damage]:
    size, here, theirs = len(data), pair.here, pair.theirs
    place, there = places
    here.data(place, size)[:] = data
    theirs.guard(there, size)
    with duty(f"write {what}"):
        source = pair.data(here.mmap, here.address(place), size)
        write = pair.ab.write(source, pair.room(pair.there, theirs.address(there), size))
    done(write, f"write {what}")
    yield theirs.damage(f"write {what}", there, data)
    here.guard(place, size)
    with duty(f"read {what}"):
        source = pair.data(pair.there, theirs.address(there), size)
        read = pair.ab.read(source, pair.room(here.mmap, here.address(place), size))
    length = done(read, f"read {what}")
    if length != size:
        raise DeviceFault(f"read {what}: the device says that it read {length} bytes")
    yield here.damage(f"read {what}", place, data)
    pair.bufs.close()


class _Message(NamedTuple):
    """A way to send a message, and the expected result of its receive."""

    opcode: pydoca.RdmaOpcode
    send: Callable[[Pair, pydoca.Buf, int, int], pydoca.RdmaTask]  # its data, its length, its number
    has_number: bool


def _write_imm(pair: Pair, src: pydoca.Buf, length: int, number: int) -> pydoca.RdmaTask:
    return pair.ab.write_imm(src, pair.room(pair.there, pair.theirs.address(0), length), number)


_MESSAGES = (
    _Message(
        pydoca.RdmaOpcode.RECV_SEND_WITH_IMM, lambda pair, src, length, number: pair.ab.send_imm(src, number), True
    ),
    _Message(pydoca.RdmaOpcode.RECV_SEND, lambda pair, src, length, number: pair.ab.send(src), False),
    _Message(pydoca.RdmaOpcode.RECV_WRITE_WITH_IMM, _write_imm, True),
)


def messages(a: pydoca.Device, b: pydoca.Device, lengths: Iterable[int]) -> int:
    """Sends and writes messages of each length in turn, with numbers of every width, and checks all that arrives."""
    lengths, wide = list(lengths), numbers(32)[::-1]  # the widest first, as a few messages do not have all
    with Stand() as stand:
        pair = Pair(stand, a, b, max(lengths))
        for place, length in enumerate(lengths):
            kind = _MESSAGES[place % len(_MESSAGES)]
            _message(pair, kind, place, length, wide[place // len(_MESSAGES) % len(wide)])
    return len(lengths)


def _message(pair: Pair, kind: _Message, place: int, length: int, number: int) -> None:
    what = f"message {place} of {length} bytes ({kind.opcode.name.lower()})"
    data = prbs31(length, place)
    pair.here.data(0, length)[:] = data
    pair.theirs.guard(0, length)
    room = pair.room(pair.theirs.mmap, pair.theirs.address(0), length)
    is_written = kind.opcode == pydoca.RdmaOpcode.RECV_WRITE_WITH_IMM
    with duty(what):
        receive = pair.b.receive(None if is_written else room)
        send = kind.send(pair, pair.data(pair.here.mmap, pair.here.address(0), length), length, number)
    done(send, f"send {what}")
    finish(receive, f"receive {what}")
    expected = (kind.opcode, length, number if kind.has_number else None)
    arrived = (receive.result_opcode, receive.result_len, receive.result_immediate_data)
    if arrived != expected:
        raise DeviceFault(f"{what}: {arrived} arrived, instead of {expected} (operation, length, number)")
    receive.free()
    if damage := pair.theirs.damage(what, 0, data):
        raise DeviceFault(str(damage))
    pair.bufs.close()


def atomics(a: pydoca.Device, b: pydoca.Device, count: int, rng: random.Random) -> int:
    """Adds and exchanges numbers of every width in the peer's memory; each old and new value is exact.

    Exchanges that find the compared value and exchanges that do not come in random order: a device with occasional
    faults meets both.
    """
    with Stand() as stand:
        pair = Pair(stand, a, b, 64)
        word, result = (zoned.data(0, 8).view(np.uint64) for zoned in (pair.theirs, pair.here))
        word[0] = expected = 0
        there = pair.data(pair.there, pair.theirs.address(0), 8)
        old = pair.room(pair.here.mmap, pair.here.address(0), 8)
        wide = numbers()
        for number in range(count):
            operand, what, swaps = wide[number // 4 % len(wide)], f"atomic {number}", rng.random() < 0.5
            compared = expected if rng.random() < 0.5 else expected ^ 1 << rng.randrange(64)  # differs in one bit
            after = operand if compared == expected else expected
            old.reset_data_len()
            with duty(what):
                if swaps:
                    task = pair.ab.atomic_cmp_swp(there, old, compared, operand)
                else:
                    task, after = pair.ab.atomic_fetch_add(there, old, operand), (expected + operand) % 2**64
            before = done(task, what)
            if (before, int(result[0])) != (expected, expected):
                raise DeviceFault(f"{what}: the value before was {before:#x}; it must be {expected:#x}")
            expected = after
            if int(word[0]) != expected:
                raise DeviceFault(f"{what} of {operand:#x}: the value is {int(word[0]):#x}; it must be {expected:#x}")
    return count
