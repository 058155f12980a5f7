"""The tasks that a context may have: all are taken, many are in flight at a time, and one more is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pydoca
from pydoca.qualify.bench.waiting import Stand, duty, finish_all, refused

IN_FLIGHT = 1 << 13  # of the tasks of a context, at most; its queue may be shorter than they are many


def take(stand: Stand, most: int, make: Callable[[int], pydoca.Task], what: str) -> list[pydoca.Task]:
    """So many tasks, which end with the stand. make(number) allocates one, and does not submit it."""
    tasks: list[pydoca.Task] = []
    stand.callback(_free, tasks)
    with duty(f"take {most} {what}"):
        tasks += (make(number) for number in range(most))
    with refused(f"{what}: one more than {most}", pydoca.NoMemoryError):
        make(0)
    return tasks


def run(context: pydoca.Context, tasks: Sequence[pydoca.Task], what: str) -> None:
    """All of these in flight at a time."""
    pe = context.progress_engine
    assert pe is not None
    with duty(f"{len(tasks)} {what} in flight"):
        for task in tasks:
            task.submit(pydoca.SubmitFlags.NONE)
        context.flush_tasks()
    finish_all(pe, tasks, f"{len(tasks)} {what}")


def refuse_more(most: int, make: Callable[[int], object], what: str) -> None:
    """make(number) configures so much; one more than the limit is refused."""
    with refused(f"{most + 1} {what}, one more than the limit", pydoca.InvalidValueError, pydoca.NotSupportedError):
        make(most + 1)


def _free(tasks: list[pydoca.Task]) -> None:
    """Those that are still in flight, after a failure, end with their context."""
    for task in tasks:
        if task.state == pydoca.TaskState.IDLE:
            task.free()
    tasks.clear()
