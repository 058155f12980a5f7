"""The tasks that a context may have: all are taken, many are in flight at a time, and one more is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pydoca
from pydoca.qualify.bench.waiting import Stand, duty, finish_all, refused

IN_FLIGHT = 1 << 13  # tasks in flight at most; a context's queue may be shorter than its number of tasks


def take(stand: Stand, most: int, make: Callable[[int], pydoca.Task], what: str) -> list[pydoca.Task]:
    """Takes the most tasks, which end with the stand. make(number) allocates one without submitting it."""
    tasks: list[pydoca.Task] = []
    stand.callback(_free, tasks)
    with duty(f"take {most} {what}"):
        tasks += (make(number) for number in range(most))
    with refused(f"{what}: one more than {most}", pydoca.NoMemoryError):
        make(0)
    return tasks


def run(context: pydoca.Context, tasks: Sequence[pydoca.Task], what: str) -> None:
    """Runs all tasks in flight at a time."""
    pe = context.progress_engine
    assert pe is not None
    with duty(f"{len(tasks)} {what} in flight"):
        for task in tasks:
            task.submit(pydoca.SubmitFlags.NONE)
        context.flush_tasks()
    finish_all(pe, tasks, f"{len(tasks)} {what}")


def refuse_more(most: int, make: Callable[[int], object], what: str) -> None:
    """Checks that one more than the limit is refused; make(number) configures that number."""
    with refused(f"{most + 1} {what}, one more than the limit", pydoca.InvalidValueError, pydoca.NotSupportedError):
        make(most + 1)


def _free(tasks: list[pydoca.Task]) -> None:
    """Frees idle tasks; tasks that a failure has left in flight end with their context."""
    for task in tasks:
        if task.state == pydoca.TaskState.IDLE:
            task.free()
    tasks.clear()
