"""Tasks that are allocated, in flight, done, refused and freed: their properties and permitted operations."""

from __future__ import annotations

from typing import Any

import pydoca
from pydoca.qualify.bench import dma
from pydoca.qualify.bench.events import with_tasks
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, refused

_State = pydoca.TaskState


def _told(task: pydoca.Task) -> dict[str, object]:
    return {"state": task.state, "done": task.done}


def waits(device: pydoca.Device, rounds: int) -> int:
    """Checks a wait task that is in flight until its value comes; returns how often."""
    with Stand() as stand:
        pe, context = with_tasks(stand, device, 2)
        calls: list[object] = []
        for number in range(rounds):
            task = context.wait_eq(number + 1, submit=False, user_data=number)
            require_told(
                "a task that was allocated",
                {**_told(task), "context": task.context, "user_data": task.user_data},
                {"state": _State.IDLE, "done": False, "context": context, "user_data": number},
            )
            with refused(
                "the result of a task before its first completion", pydoca.InProgressError, pydoca.BadStateError
            ):
                task.result()
            task.submit()
            pe.drain(10)
            task.add_done_callback(calls.append)
            require_told(
                "a task in flight",
                {**_told(task), "status": task.status},
                {"state": _State.SUBMITTED, "done": False, "status": pydoca.Status.IN_PROGRESS},
            )
            for what, call in (("a second submission", task.submit), ("free()", task.free)):
                with refused(f"{what} of a task in flight", pydoca.InUseError, pydoca.BadStateError):
                    call()
            finish(context.notify_set(number + 1), "the value of a wait")
            finish(task, "a wait")
            require_told(
                "a task that is done",
                {**_told(task), "status": task.status, "calls": calls},
                {"state": _State.IDLE, "done": True, "status": pydoca.Status.SUCCESS, "calls": [task]},
            )
            calls.clear()
            task.free()
            if task.state is not _State.FREE:
                raise DeviceFault(f"a task that was freed is {task.state.name}")
            with refused("a second free() of a task", pydoca.BadStateError):
                task.free()
    return rounds


def slots(device: pydoca.Device, rounds: int) -> int:
    """A context gives as many tasks as it has, refuses one more, and gives a slot again when its task is freed."""
    with Stand() as stand:
        count = dma.depth_for(device, 8)
        pe = stand.engine()
        context = pydoca.Dma(pe, device, num_tasks=count)
        with duty(f"a DMA engine with {count} tasks"):
            stand.enter_context(context)
        if context.num_tasks != count:
            raise DeviceFault(f"a context with {count} tasks tells {context.num_tasks}")
        for number in range(rounds):
            tasks: list[Any] = [context.memcpy(None, None, submit=False, user_data=place) for place in range(count)]
            with refused(f"one task more than the {count} of a context", pydoca.NoMemoryError):
                context.memcpy(None, None, submit=False)
            tasks[number % count].free()
            with duty("a task in the place of one that was freed"):
                tasks[number % count] = context.memcpy(None, None, submit=False, user_data=number % count)
            if [task.user_data for task in tasks] != list(range(count)):
                raise DeviceFault(
                    f"tasks of a context have each other's user data: {[task.user_data for task in tasks]}"
                )
            for task in tasks:
                task.free()
    return rounds * count


def again(device: pydoca.Device, rounds: int) -> int:
    """One copy task is submitted repeatedly, and is in flight each time until the program polls."""
    with Stand() as stand:
        copies = dma.Copies(stand, device, dma.local(stand, device, 64), 64, 1)
        [task] = copies.tasks
        for number in range(rounds):
            copies.prepare()
            with duty(f"submission {number} of a task"):
                task.submit()
            require_told(
                f"a task in flight for time {number}",
                {**_told(task), "status": task.status},
                {"state": _State.SUBMITTED, "done": False, "status": pydoca.Status.IN_PROGRESS},
            )
            finish(task, f"submission {number} of a task")
            require_told(
                f"a task that is done for time {number}",
                {**_told(task), "status": task.status},
                {"state": _State.IDLE, "done": True, "status": pydoca.Status.SUCCESS},
            )
    return rounds


def settings(device: pydoca.Device) -> None:
    """A context reports its settings, and takes others while it is idle."""

    def changed(*_: object) -> None:
        pass

    with Stand() as stand:
        pe = stand.engine()
        context = pydoca.Dma(pe, device, num_tasks=3, on_state_changed=changed, user_data="mine")
        context.ordered_completions = True
        found: dict[str, object] = {"num_tasks": context.num_tasks, "user_data": context.user_data}
        found |= {"device": context.device, "engine": context.progress_engine, "state": context.state}
        found |= {"ordered": context.ordered_completions, "callback": context.on_state_changed}
        expected: dict[str, object] = {"num_tasks": 3, "user_data": "mine", "device": device, "engine": pe}
        expected |= {"state": pydoca.ContextState.IDLE, "ordered": True, "callback": changed}
        require_told("a DMA context", found, expected)
        with duty("a context with other settings"):
            context.set_memcpy_conf(None, None, 5)
            stand.enter_context(context)
        require_told(
            "a DMA context",
            {"num_tasks": context.num_tasks, "state": context.state},
            {"num_tasks": 5, "state": pydoca.ContextState.RUNNING},
        )
        with refused("other settings of a context that runs", pydoca.BadStateError, pydoca.NotPermittedError):
            context.set_memcpy_conf(None, None, 6)
