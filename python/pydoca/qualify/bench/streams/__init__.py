"""Streams of tasks, each made while others are in flight: each ends once, with its own result and user data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pydoca
from pydoca.qualify.bench import resources, waiting
from pydoca.qualify.bench.sides import has_link
from pydoca.qualify.bench.streams.completions import Completions, Library
from pydoca.qualify.bench.streams.copies import AnyCopies, SmallCopies, across
from pydoca.qualify.bench.streams.local import Additions, Expansions, SmallHashes
from pydoca.qualify.bench.streams.peers import Transfers
from pydoca.qualify.bench.streams.texts import Texts
from pydoca.qualify.bench.waiting import Stand, duty

_WAYS = 7
_PARTS = 8  # parts of a stream; leaks are measured in each part of its second half
_FLUSH, _TOGETHER = pydoca.SubmitFlags.FLUSH, pydoca.SubmitFlags.OPTIMIZE_REPORTS
_FLAGS = {
    2: _TOGETHER,
    3: pydoca.SubmitFlags.NONE,
    4: _FLUSH | _TOGETHER,
    6: _FLUSH,
}  # the flags of the ways that have some; a way without OPTIMIZE_REPORTS follows each that has it
_THREADSAFE = 101  # one task in this many is submitted by submit_threadsafe(), then the engine drains


class Stream:
    """Runs tasks of one of LIBRARIES, at most a window in flight, submitted in each way."""

    def __init__(self, stand: Stand, device: pydoca.Device, name: str) -> None:
        self._name = name
        self._ends = Completions()
        with duty(f"start {name}"):
            self._library = LIBRARIES[name][1](stand, device, self._ends)
        self._ends.check = self._library.check
        self._count = 0
        self._is_held = False  # the end of the last task may be reported together with that of a later one

    @property
    def goes_on_by_itself(self) -> bool:
        """Tells whether the end of one task makes room for the next one; a message also has to arrive."""
        return not isinstance(self._library, Transfers | Texts)

    def go_on_to(self, count: int) -> None:
        """Fills the window; each task that ends begins the next one in its callback, up to count."""

        def next_one() -> None:
            if self._count < count:
                number, self._count = self._count, self._count + 1
                self._ends.add(number, self._library.begin(number, True))

        self._ends.go_on = next_one
        with duty(f"fill the window of {self._name}"):
            for _ in range(self._library.window):
                next_one()

    def step(self) -> None:
        """Submits one more task, and takes completions if the window is full."""
        self._begin(self._count)
        self._count += 1
        self._ends.progress(self._library, self._library.window - 1, f"{self._name}: task {self._count - 1}")

    @property
    def starts_again(self) -> bool:
        """Tells whether the context can start once more: others are connected, or start once."""
        return isinstance(self._library, SmallCopies | AnyCopies | SmallHashes | Expansions)

    def start_again(self) -> None:
        """Stops the context after its last task, and starts it again."""
        context = self._library.context
        self.end()
        with duty(f"stop and start {self._name} behind {self._count} tasks"):
            context.stop()
            self._engine.run_until(lambda: context.state is pydoca.ContextState.IDLE, timeout=waiting.PATIENCE)
            context.start()

    def end(self) -> None:
        """Raises DeviceFault unless all tasks have ended, each once."""
        if self._is_held:
            self.step()
        self._ends.progress(self._library, 0, f"{self._name}: the last tasks")
        self._engine.drain(100)
        self._ends.require_all(self._library, self._count, self._name)

    @property
    def _engine(self) -> pydoca.ProgressEngine:
        """The engine that completes its tasks."""
        engine = self._library.context.progress_engine
        assert engine is not None
        return engine

    def _begin(self, number: int) -> None:
        way = _WAYS if number % _THREADSAFE == 0 else number % _WAYS
        with duty(f"submit task {number}"):
            task = self._library.begin(number, way == 0)
            self._ends.add(number, task)
            if way == 1:
                task.submit()
            elif way == 5:
                task.try_submit()
            elif way in _FLAGS:
                self._submit(task, _FLAGS[way] if self._library.window > 1 else _FLAGS[way] & ~_TOGETHER)
            elif way == _WAYS:
                self._engine.submit_threadsafe(task)
                self._engine.drain()  # this submits the task: tasks keep their order
        self._is_held = _TOGETHER in _FLAGS.get(way, _FLUSH)

    def _submit(self, task: pydoca.Task, flags: pydoca.SubmitFlags) -> None:
        """Submits with these flags; a flush follows if they do not have it."""
        task.submit(flags)
        if _FLUSH not in flags:
            self._library.context.flush_tasks()


class Run(NamedTuple):
    """The number of tasks, and the bytes of memory that the second half of them left behind."""

    tasks: int
    growth: int


def run(device: pydoca.Device, name: str, count: int) -> Run:
    """Runs count tasks of one of LIBRARIES, fewer if the device is far too slow.

    A context starts again after a quarter of them.
    """
    done, sizes = 0, list[int]()
    with Stand() as stand:
        stream = Stream(stand, device, name)
        for number in waiting.paced(count):
            if number == count // 4 and stream.starts_again:
                stream.start_again()
            if number >= count // 2 and number % max(1, count // _PARTS) == 0:
                sizes.append(resources.resident())
            stream.step()
            done += 1
        stream.end()
        return Run(done, resources.leaked(sizes) if len(sizes) > 2 else 0)


def in_callbacks(device: pydoca.Device, count: int) -> int:
    """Runs count tasks of each library, each begun in the callback of another; returns how many there were of all."""
    done = 0
    for name, (has, _) in LIBRARIES.items():
        if has(device):
            with Stand() as stand:
                stream = Stream(stand, device, name)
                if stream.goes_on_by_itself:
                    stream.go_on_to(count)
                    done += count
                stream.end()
    return done


def _has_copies_across(device: pydoca.Device) -> bool:
    return device.info.supports("dma") and has_link(device)


LIBRARIES: dict[str, tuple[Callable[[pydoca.Device], bool], Callable[[Stand, pydoca.Device, Completions], Library]]] = {
    "dma": (lambda device: device.info.supports("dma"), SmallCopies),
    "dma.any": (lambda device: device.info.supports("dma"), AnyCopies),
    "dma.read": (_has_copies_across, partial(across, read=True)),
    "dma.write": (_has_copies_across, partial(across, read=False)),
    "sha": (lambda device: device.info.supports("sha"), SmallHashes),
    "compress": (lambda device: device.info.supports("compress"), Expansions),
    "sync_event": (lambda device: device.info.supports("sync_event"), Additions),
    "rdma": (lambda device: device.info.supports("rdma"), Transfers),
    "comch": (has_link, Texts),
    "comch.back": (has_link, partial(Texts, back=True)),
}
