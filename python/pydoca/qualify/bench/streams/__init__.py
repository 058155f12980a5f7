"""Streams of tasks, each made while others are in flight: each ends once, with a result and user data of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pydoca
from pydoca.qualify.bench.sides import has_link
from pydoca.qualify.bench.streams.completions import Completions, Library
from pydoca.qualify.bench.streams.copies import AnyCopies, SmallCopies, across
from pydoca.qualify.bench.streams.local import Additions, SmallHashes
from pydoca.qualify.bench.streams.peers import Transfers
from pydoca.qualify.bench.streams.texts import Texts
from pydoca.qualify.bench.waiting import Stand, duty

_WAYS = 5


class Stream:
    """Tasks of one of LIBRARIES, one after the other, up to its window in flight, submitted in each way."""

    def __init__(self, stand: Stand, device: pydoca.Device, name: str) -> None:
        self._name = name
        self._ends = Completions()
        with duty(f"start {name}"):
            self._library = LIBRARIES[name][1](stand, device, self._ends)
        self._ends.check = self._library.check
        self._count = 0

    def step(self) -> None:
        """Submits one more, and takes completions where the window is full."""
        self._begin(self._count)
        self._count += 1
        self._ends.progress(self._library, self._library.window - 1, f"{self._name}: task {self._count - 1}")

    def end(self) -> None:
        """Raises DeviceFault unless all have ended, each once."""
        self._ends.progress(self._library, 0, f"{self._name}: the last tasks")
        self._engine.drain(100)
        self._ends.require_all(self._library, self._count, self._name)

    @property
    def _engine(self) -> pydoca.ProgressEngine:
        """The one that completes its tasks."""
        engine = self._library.context.progress_engine
        assert engine is not None
        return engine

    def _begin(self, number: int) -> None:
        way = number % _WAYS
        with duty(f"submit task {number}"):
            task = self._library.begin(number, way == 0)
            self._ends.add(number, task)
            if way == 1:
                task.submit()
            elif way == 2:
                task.try_submit()
            elif way == 3:
                task.submit(pydoca.SubmitFlags.NONE)
                self._library.context.flush_tasks()
            elif way == 4:
                self._engine.submit_threadsafe(task)
                self._engine.drain()  # submits it: tasks keep their order


def run(device: pydoca.Device, name: str, count: int) -> int:
    """So many tasks of one of LIBRARIES; returns how many."""
    with Stand() as stand:
        stream = Stream(stand, device, name)
        for _ in range(count):
            stream.step()
        stream.end()
    return count


def _has_copies_across(device: pydoca.Device) -> bool:
    return device.info.supports("dma") and has_link(device)


LIBRARIES: dict[str, tuple[Callable[[pydoca.Device], bool], Callable[[Stand, pydoca.Device, Completions], Library]]] = {
    "dma": (lambda device: device.info.supports("dma"), SmallCopies),
    "dma.any": (lambda device: device.info.supports("dma"), AnyCopies),
    "dma.read": (_has_copies_across, partial(across, read=True)),
    "dma.write": (_has_copies_across, partial(across, read=False)),
    "sha": (lambda device: device.info.supports("sha"), SmallHashes),
    "sync_event": (lambda device: device.info.supports("sync_event"), Additions),
    "rdma": (lambda device: device.info.supports("rdma"), Transfers),
    "comch": (has_link, Texts),
    "comch.back": (has_link, partial(Texts, back=True)),
}
