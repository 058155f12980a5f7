"""Tasks of every library in flight at once, in one thread and in several: each works as it does alone."""

from __future__ import annotations

import threading
from functools import partial

import pydoca
from pydoca.qualify.bench import streams
from pydoca.qualify.bench.waiting import DeviceFault, Stand


def names(device: pydoca.Device) -> list[str]:
    """The streams that the device has."""
    return [name for name, (has, _) in streams.LIBRARIES.items() if has(device)]


def in_one_thread(device: pydoca.Device, count: int) -> int:
    """Runs count tasks of each library in turn; returns how many there were of all."""
    with Stand() as stand:
        running = [streams.Stream(stand, device, name) for name in names(device)]
        for _ in range(count):
            for stream in running:
                stream.step()
        for stream in running:
            stream.end()
    return count * len(running)


def in_threads(device: pydoca.Device, count: int) -> int:
    """Runs count tasks of each library, each library in its own thread; returns how many there were of all."""
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            streams.run(device, name, count)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=partial(work, name)) for name in names(device)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for failure in failures:
        raise DeviceFault(f"beside other libraries in other threads: {failure}") from failure
    return count * len(threads)
