"""Streams of tasks, each made while others are in flight: each ends once, with a result and user data of its own."""

from __future__ import annotations

from collections.abc import Callable

import pydoca
from pydoca.qualify.bench.sides import names_of_link
from pydoca.qualify.bench.streams.completions import Completions, Library
from pydoca.qualify.bench.streams.local import Additions, Copies, Hashes
from pydoca.qualify.bench.streams.peers import Messages, Transfers
from pydoca.qualify.bench.waiting import Stand, duty

_WAYS = 5


def run(device: pydoca.Device, name: str, count: int) -> int:
    """So many tasks of one of LIBRARIES, submitted in each way; returns how many."""
    ends = Completions()
    with Stand() as stand:
        with duty(f"start {name}"):
            library = LIBRARIES[name][1](stand, device, ends)
        ends.check = library.check
        for number in range(count):
            _begin(library, ends, number)
            ends.progress(library, library.window - 1, f"{name}: task {number}")
        ends.progress(library, 0, f"{name}: the last tasks")
        engine_of(library).drain(100)
        ends.require_all(name)
    return count


def engine_of(library: Library) -> pydoca.ProgressEngine:
    """The one that completes its tasks."""
    engine = library.context.progress_engine
    assert engine is not None
    return engine


def _begin(library: Library, ends: Completions, number: int) -> None:
    way, what = number % _WAYS, f"submit task {number}"
    with duty(what):
        task = library.begin(number, way == 0)
        ends.add(number, task)
        if way == 1:
            task.submit()
        elif way == 2:
            task.try_submit()
        elif way == 3:
            task.submit(pydoca.SubmitFlags.NONE)
            library.context.flush_tasks()
        elif way == 4:
            engine_of(library).submit_threadsafe(task)
            engine_of(library).drain()  # submits it: tasks keep their order


def _has(library: str) -> Callable[[pydoca.Device], bool]:
    return lambda device: getattr(device.info.capabilities, library) is not None


def _has_link(device: pydoca.Device) -> bool:
    """This process sees both ends of the link."""
    return device.info.backend == "sim" and names_of_link(device) is not None


LIBRARIES: dict[str, tuple[Callable[[pydoca.Device], bool], Callable[[Stand, pydoca.Device, Completions], Library]]] = {
    "dma": (_has("dma"), Copies),
    "sha": (_has("sha"), Hashes),
    "sync_event": (_has("sync_event"), Additions),
    "rdma": (_has("rdma"), Transfers),
    "comch": (_has_link, Messages),
}
