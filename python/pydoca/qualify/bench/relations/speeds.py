"""The speed of one way of an operation, compared with another way that moves as much in the same seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

import pydoca
from pydoca.qualify.bench import dma, maps, waiting
from pydoca.qualify.bench.rdma.pair import Pair
from pydoca.qualify.bench.waiting import Stand, duty

_ROUNDS = 11
_LARGE = 1 << 16
_SMALL = 64
_MANY = 16
_Run = Callable[[], object]


def ratios(device: pydoca.Device) -> dict[str, float]:
    """The time of each way over that of its plain way: the median of rounds in which both take turns."""
    found: dict[str, float] = {}
    for has, pairs in _PAIRS:
        if has(device):
            with Stand() as stand:
                found |= {name: _ratio(*runs) for name, runs in pairs(stand, device).items()}
    return found


def _ratio(way: _Run, plain: _Run) -> float:
    way(), plain()
    return float(np.median([_time_of(way) / _time_of(plain) for _ in range(_ROUNDS)]))


def _time_of(run: _Run) -> int:
    begin = time.perf_counter_ns()
    run()
    return time.perf_counter_ns() - begin


def _is_done(task: pydoca.Task) -> bool:
    return task.done


class _Tasks:
    """Tasks that run all at once, or one after the other."""

    def __init__(self, pe: pydoca.ProgressEngine, tasks: list[pydoca.Task], rooms: list[pydoca.Buf]) -> None:
        self._pe, self._tasks, self._rooms = pe, tasks, rooms

    def __call__(self) -> None:
        self.submit()
        self.finish()

    def submit(self) -> None:
        """Submits all of them."""
        for room in self._rooms:
            room.reset_data_len()
        for task in self._tasks:
            task.submit()

    def finish(self) -> None:
        """Waits for all tasks."""
        waiting.finish_all(self._pe, self._tasks, "operations in several ways")

    def one_by_one(self) -> None:
        """Runs one task after the other."""
        for room in self._rooms:
            room.reset_data_len()
        for task in self._tasks:
            with duty("operations in several ways"):
                task.submit()
                waiting.poll(self._pe, partial(_is_done, task), "operations in several ways")


class _Copier:
    """Copies of many shapes between the same two pieces of memory."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        self.depth = dma.depth_for(device, _MANY)
        self.size = min(_LARGE, pydoca.Dma.max_buf_size(device.info))
        self._stand, self._ends = stand, dma.local(stand, device, self.depth * self.size + 64)
        self._device, self._inventory, self._pe = device, stand.bufs(16 * self.depth), stand.engine()

    def copies(self, size: int, *, shift: int = 0) -> _Tasks:
        """Copies of this size in a separate context, as many as fit."""
        src, dst = self._bufs(size, shift)
        return self._tasks(src, dst, dst)

    def copy_of_lists(self, size: int, count: int) -> _Tasks:
        """One copy between two lists of pieces."""
        src, dst = (bufs[:count] for bufs in self._bufs(size, 0))
        return self._tasks([maps.chained(src)], [maps.chained(dst)], dst)

    def _bufs(self, size: int, shift: int) -> tuple[list[pydoca.Buf], list[pydoca.Buf]]:
        places = [place * size + shift for place in range(self.depth)]
        src, dst = self._ends.src, self._ends.dst
        return (
            [self._inventory.get_by_data(src, src.addr + place, size) for place in places],
            [self._inventory.get_by_addr(dst, dst.addr + place, size) for place in places],
        )

    def _tasks(self, src: list[pydoca.Buf], dst: list[pydoca.Buf], rooms: list[pydoca.Buf]) -> _Tasks:
        tasks: list[pydoca.Task] = []
        with duty("copies in several ways"):
            engine = self._stand.enter_context(pydoca.Dma(self._pe, self._device, num_tasks=len(src)))
            for pair in zip(src, dst, strict=True):
                tasks.append(engine.memcpy(*pair, submit=False))
                self._stand.callback(tasks[-1].free)
        return _Tasks(self._pe, tasks, rooms)


def _both(one: _Tasks, other: _Tasks) -> None:
    one.submit()
    other.submit()
    one.finish()
    other.finish()


def _one_by_one(one: _Tasks, other: _Tasks) -> None:
    one()
    other()


def _copies(stand: Stand, device: pydoca.Device) -> dict[str, tuple[_Run, _Run]]:
    copier = _Copier(stand, device)
    plain, small, quarter = copier.copies(copier.size), copier.copies(_SMALL), copier.copies(copier.size // 4)

    def quarters() -> None:
        for _ in range(4):
            quarter()

    found: dict[str, tuple[_Run, _Run]] = {
        "copy.unaligned": (copier.copies(copier.size, shift=3), plain),
        "copy.other_context": (copier.copies(copier.size), plain),
        "copy.large": (plain, quarters),
        "copy.in_flight": (small, small.one_by_one),
    }
    older, younger = copier.copies(_SMALL), copier.copies(_SMALL)
    found["copy.beside"] = partial(_both, older, younger), partial(_one_by_one, older, younger)
    count = min(pydoca.Dma.max_buf_list_len(device.info), copier.depth)
    if count > 1:
        found["copy.list"] = copier.copy_of_lists(copier.size // 4, count), quarter
    return found


def _transfers(stand: Stand, device: pydoca.Device) -> dict[str, tuple[_Run, _Run]]:
    size = _LARGE
    pair = Pair(stand, device, device, size, num_tasks=4)
    here, theirs = pair.here.address(0), pair.theirs.address(0)

    def bufs(to_peer: bool, room: pydoca.Mmap) -> tuple[pydoca.Buf, pydoca.Buf]:
        src = pair.data(pair.here.mmap, here, size) if to_peer else pair.data(pair.there, theirs, size)
        return src, pair.room(room, theirs if to_peer else here, size)

    with duty("transfers in several ways"):
        src, dst = bufs(True, pair.there)
        write = pair.ab.write(src, dst, submit=False)
        from_peer, into = bufs(False, pair.here.mmap)
        read = pair.ab.read(from_peer, into, submit=False)
        text, place = bufs(True, pair.theirs.mmap)
        receive, send = pair.b.receive(place, submit=False), pair.ab.send(text, submit=False)
    for task in (write, read, receive, send):
        stand.callback(task.free)
    plain = _Tasks(pair.pe, [write], [dst])
    return {
        "rdma.read": (_Tasks(pair.pe, [read], [into]), plain),
        "rdma.message": (_Tasks(pair.pe, [receive, send], [place]), plain),
    }


_PAIRS: list[tuple[Callable[[pydoca.Device], bool], Callable[[Stand, pydoca.Device], dict[str, tuple[_Run, _Run]]]]] = [
    (lambda device: device.info.supports("dma"), _copies),
    (lambda device: device.info.supports("rdma"), _transfers),
]
