"""Several waits for one sync event at once, and waits of the other side."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from functools import partial

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.events import with_tasks
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, require_value

_COUNT = 8
_RANGE = 12

_KINDS: dict[str, Callable[[int, int], bool]] = {
    "wait_eq": lambda value, operand: value == operand,
    "wait_gt": lambda value, operand: value > operand,
    "wait_neq": lambda value, operand: value != operand,
}


def together(device: pydoca.Device, rounds: int, rng: random.Random) -> int:
    """Runs wait tasks of random kinds and operands at once; returns how many there were.

    Each ends with the first value that it waits for, and not before.
    """
    with Stand() as stand:
        pe, context = with_tasks(stand, device, 2 * _COUNT)
        for number in range(rounds):
            value = rng.randrange(_RANGE)
            finish(context.notify_set(value), f"setting {value}")
            kinds = [(rng.choice(list(_KINDS)), rng.randrange(_RANGE)) for _ in range(_COUNT)]
            tasks = [getattr(context, kind)(operand) for kind, operand in kinds]
            ended: dict[int, int] = {}
            for step in (value, *rng.sample(range(_RANGE), 6), 3 * _RANGE):
                value = step
                finish(context.notify_set(value), f"setting {value}")
                due = {i for i, each in enumerate(kinds) if i not in ended and _KINDS[each[0]](value, each[1])}
                what = f"round {number}: the value is {value}, and of the waits {kinds}"
                waiting.until_true(pe, partial(_are_done, [tasks[i] for i in due]), what)
                pe.drain()
                ended |= dict.fromkeys(due, value)
                for early in (i for i, task in enumerate(tasks) if task.done and i not in ended):
                    raise DeviceFault(f"{what}, {kinds[early]} has ended")
                for i in due:
                    require_value(tasks[i].result(), value, f"{what}, the value that ended {kinds[i]}")
            for i, task in enumerate(tasks):
                _end(context, task, i in ended)
    return rounds * _COUNT


def _are_done(tasks: list[pydoca.SyncEventTask]) -> bool:
    return all(task.done for task in tasks)


def _end(context: pydoca.SyncEventContext, task: pydoca.SyncEventTask, has_ended: bool) -> None:
    """Ends the remaining waits: each waits for one value that never came, and gets it now."""
    if not has_ended:
        finish(context.notify_set(task.operand), f"setting {task.operand}")
        finish(task, "the last wait")
    task.free()


def of_the_other_side(device: pydoca.Device, other: pydoca.Device, count: int) -> int:
    """The other side waits in a thread for values that this side sets or adds on request."""
    with (
        duty("waits of the other side"),
        pydoca.SyncEvent(device, publisher="cpu", subscriber="remote_pci") as event,
        other.import_sync_event(event.export_to_remote_pci()) as there,
    ):
        asked, kinds = threading.Semaphore(0), (there.wait_eq, there.wait_gt, there.wait_eq_yield, there.wait_gt_yield)

        def answer() -> None:
            for number in range(count):
                if not asked.acquire(timeout=waiting.PATIENCE):
                    return
                event.update_add(1) if number % 2 else event.update_set(number + 1)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            for number in range(count):
                asked.release()
                kinds[number % 4](number + 1 - number % 2, timeout=waiting.PATIENCE)
                require_value(there.get(), number + 1, f"the value that ended wait {number} of the other side")
        finally:
            thread.join()
    return count
