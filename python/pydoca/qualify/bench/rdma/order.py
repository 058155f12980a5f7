"""Operations of one connection that are in flight together: they take effect in the order of their submission."""

from __future__ import annotations

import numpy as np

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.rdma.pair import Pair
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish_all

_SIZE = 256
_DEPTH = 8


class _Stamps:
    """Sources with a stamp each, one place of the peer, and a place for reads of it."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        self.pair = pair = Pair(stand, device, device, (_DEPTH + 1) * _SIZE, num_tasks=2 * _DEPTH)
        self._sources = pair.here.data(0, _DEPTH * _SIZE).reshape(_DEPTH, _SIZE)
        self.target, self.back = pair.theirs.data(0, _SIZE), pair.here.data(_DEPTH * _SIZE, _SIZE)
        here, theirs = pair.here, pair.theirs
        src = [pair.data(here.mmap, here.address(place * _SIZE), _SIZE) for place in range(_DEPTH)]
        self._rooms = [pair.room(pair.there, theirs.address(0), _SIZE) for _ in range(_DEPTH)]
        self._into = pair.room(here.mmap, here.address(_DEPTH * _SIZE), _SIZE)
        with duty("operations of one connection"):
            self.writes = [pair.ab.write(*each, submit=False) for each in zip(src, self._rooms, strict=True)]
            self.read = pair.ab.read(pair.data(pair.there, theirs.address(0), _SIZE), self._into, submit=False)
            self.message = pair.ab.send_imm(None, 1, submit=False)
            self.receive = pair.b.receive(None, submit=False)
        for task in (*self.writes, self.read, self.message, self.receive):
            stand.callback(task.free)

    def prepare(self, number: int) -> None:
        """Gives each source another byte; the last one is last()."""
        for room in (*self._rooms, self._into):
            room.reset_data_len()
        self._sources[:] = ((np.arange(_DEPTH, dtype=np.uint64) + number) % 251).astype(np.uint8)[:, None]

    @staticmethod
    def last(number: int) -> int:
        """The byte of the last source."""
        return (number + _DEPTH - 1) % 251


def check(device: pydoca.Device, rounds: int) -> int:
    """Writes to one place, then a read of it or a message, all in flight; returns how many writes."""
    with Stand() as stand:
        stamps = _Stamps(stand, device)
        for number in range(rounds):
            stamps.prepare(number)
            (_then_read if number % 2 else _then_message)(stamps, number)
            if (stamps.target != stamps.last(number)).any():
                raise DeviceFault(f"round {number}: of {_DEPTH} writes to one place, the last one is not what is there")
    return rounds * _DEPTH


def _then_read(stamps: _Stamps, number: int) -> None:
    tasks = [*stamps.writes, stamps.read]
    with duty("writes, and a read behind them"):
        for task in tasks:
            task.submit()
    finish_all(stamps.pair.pe, tasks, "writes, and a read behind them")
    if (stamps.back != stamps.last(number)).any():
        raise DeviceFault(f"round {number}: a read behind writes has not read what the last one wrote")


def _then_message(stamps: _Stamps, number: int) -> None:
    seen: list[int] = []
    with duty("writes, and a message behind them"):
        stamps.receive.submit()
        stamps.receive.add_done_callback(lambda _: seen.append(int(stamps.target[-1])))
        for task in (*stamps.writes, stamps.message):
            task.submit()
    finish_all(stamps.pair.pe, [*stamps.writes, stamps.message, stamps.receive], "writes, and a message behind them")
    waiting.until_true(stamps.pair.pe, lambda: seen, "the receive of a message behind writes")
    if seen != [stamps.last(number)]:
        raise DeviceFault(f"round {number}: a message behind writes has arrived before what they write")
