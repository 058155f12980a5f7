"""The progress engine: wake-ups, idle cost, completions that must all come, tasks that are flushed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.dma import Copies, depth_for, fitting, local, pieces
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty
from pydoca.qualify.bench.zones import require_equal

BATCH = 32


def wake_ups(device: pydoca.Device, until: Callable[[], bool], size: int = 1 << 20) -> Iterator[NDArray[np.float64]]:
    """Microseconds from the submission of a copy to its completion, by an armed engine that sleeps.

    The copy is a large one, which the device does in its own time. BATCH samples at a time.
    """
    with Stand() as stand:
        copies = Copies(stand, device, local(stand, device, size), size, 1)
        while not until():
            yield np.array([_wake_up(copies) for _ in range(BATCH)]) / 1e3


def _wake_up(copies: Copies) -> int:
    copies.prepare()
    task, pe = copies.tasks[0], copies.pe
    with duty("a copy with an engine that sleeps"):
        begin = time.perf_counter_ns()
        task.submit()
        waiting.sleep_until(pe, lambda: task.done, "a copy")
        taken = time.perf_counter_ns() - begin
    require_equal(copies.ends.target, copies.ends.source, "a copy with an engine that sleeps")
    return taken


def cross_thread(device: pydoca.Device, until: Callable[[], bool]) -> Iterator[NDArray[np.float64]]:
    """Microseconds from submit_threadsafe() in another thread to the completion in the thread of a sleeping engine."""
    with Stand() as stand:
        copies = Copies(stand, device, local(stand, device, 64), 64, 1)
        while not until():
            yield np.array([_from_thread(copies) for _ in range(BATCH)]) / 1e3


def _from_thread(copies: Copies) -> int:
    copies.prepare()
    before, begin, what = copies.dma.stats().completed, 0, "a copy that another thread submits"

    def submit() -> None:
        nonlocal begin
        time.sleep(0.0005)  # the engine is asleep now
        begin = time.perf_counter_ns()
        copies.pe.submit_threadsafe(copies.tasks[0])

    thread = threading.Thread(target=submit)
    thread.start()
    try:
        with duty(what):
            waiting.sleep_until(copies.pe, lambda: copies.dma.stats().completed > before, what)
            taken = time.perf_counter_ns() - begin
    finally:
        thread.join()
    require_equal(copies.ends.target, copies.ends.source, what)
    return taken


def completions(device: pydoca.Device, count: int, depth: int = 64) -> int:
    """Submits copies with callbacks, some in one batch and some in two; each completes exactly once."""
    depth = depth_for(device, depth)
    size, seen = 64, [0] * depth
    with Stand() as stand:
        ends = local(stand, device, size * depth)
        src, dst, pe = pieces(stand, ends, size, depth)
        stamps = ends.source.view(np.uint64)[:: size // 8]

        def completed(task: pydoca.DmaMemcpyTask, index: int, _: object) -> None:
            seen[index] += 1

        with duty("start the DMA engine"):
            dma = stand.enter_context(pydoca.Dma(pe, device, num_tasks=depth, on_completion=completed))
            tasks = [dma.memcpy(*pair, user_data=i, submit=False) for i, pair in enumerate(zip(src, dst, strict=True))]
        done = 0
        for number in waiting.paced(-(-count // depth)):
            stamps[:] = number
            _one_round(pe, tasks, dst, dma if number % 2 else None)
            if seen != [number + 1] * depth:
                raise DeviceFault(f"after {number + 1} rounds of {depth} copies, their completions were {seen}")
            require_equal(ends.target, ends.source, f"round {number} of copies")
            done += depth
        return done


def _one_round(
    pe: pydoca.ProgressEngine, tasks: list[pydoca.DmaMemcpyTask], dst: list[pydoca.Buf], dma: pydoca.Dma | None
) -> None:
    """Runs the tasks once. If dma is given, its flush posts them together."""
    for buf in dst:
        buf.reset_data_len()
    with duty(f"a round of {len(tasks)} copies"):
        if dma is None:
            for task in tasks:
                task.submit()
        else:
            for task in tasks:
                task.submit(pydoca.SubmitFlags.NONE)
            dma.flush_tasks()
        pe.run_until(tasks, timeout=waiting.PATIENCE)


def stop_in_flight(device: pydoca.Device, depth: int = 16) -> tuple[int, int]:
    """A context stops with its tasks in flight, and starts again; each task ends once.

    Returns how many completed, and how many were flushed.
    """
    depth, size = depth_for(device, depth), fitting(device, (64, 4096, 1 << 16))[-1]
    with Stand() as stand:
        copies = Copies(stand, device, local(stand, device, size * depth), size, depth)
        copies.prepare()
        with duty("stop a context with tasks in flight"):
            for task in copies.tasks:
                task.submit(pydoca.SubmitFlags.NONE)
            copies.dma.stop()
            copies.pe.run_until(lambda: all(task.done for task in copies.tasks), timeout=waiting.PATIENCE)
            ended = {task.status for task in copies.tasks}
            for task in copies.tasks:
                task.free()
            copies.pe.run_until(lambda: copies.dma.state == pydoca.ContextState.IDLE, timeout=waiting.PATIENCE)
        if wrong := ended - {pydoca.Status.SUCCESS, pydoca.Status.SHUTDOWN}:
            raise DeviceFault(f"a context that stops flushes its tasks with {[status.name for status in wrong]}")
        stats = copies.dma.stats()
        if stats.completed + stats.cancelled != depth or stats.failed:
            raise DeviceFault(
                f"of {depth} tasks in flight, {stats.completed} completed, {stats.cancelled} were flushed"
            )
        with duty("start a context again"):
            copies.dma.start()
        return stats.completed, stats.cancelled
