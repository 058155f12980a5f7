"""Work queues: how many jobs they take, and the event of each job, also of one that has failed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pydoca
from pydoca import workq
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.contracts.engines import require_refused
from pydoca.qualify.bench.contracts.places import SIZE, Places
from pydoca.qualify.bench.maps import REFUSALS
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused, require_value
from pydoca.qualify.bench.zones import require_equal

_Status = pydoca.Status


def check(device: pydoca.Device, rounds: int) -> int:
    """A work queue takes as many jobs as it is deep, and gives an event for each; returns how many there were."""
    with Stand() as stand:
        places, dma = Places(stand, device), pydoca.Dma(None, device, num_tasks=1)
        queue = stand.enter_context(workq.WorkQueue(2))
        stand.callback(dma.close)
        with duty("a work queue"):
            queue.add(dma)
        require_value(queue.depth, 2, "the depth of a work queue for two jobs")
        jobs = [workq.DmaMemcpyJob(dma, room, places.src, number) for number, room in enumerate(places.rooms)]
        for number in range(rounds):
            places.prepare(number + 1)
            events = _one_round(queue, dma, jobs)
            found: dict[str, object] = {"jobs": queue.num_jobs, "events": sorted(event.user_data for event in events)}
            found["results"] = {(event.type, event.result) for event in events}
            results = {(workq.JobType.DMA_MEMCPY, _Status.SUCCESS)}
            require_told("a work queue", found, {"jobs": 0, "events": [0, 1], "results": results})
            for place in (1, 2):
                require_equal(places.array[place], places.array[0], "a job of a work queue")
        calls: Any = {
            "no event": (queue.progress_retrieve, pydoca.AgainError),
            "add()": (lambda: queue.add(dma), pydoca.BadStateError),
        }
        calls["the end"] = queue.destroy, pydoca.InUseError
        short = workq.DmaMemcpyJob(dma, places.short, places.src)
        calls["a place that is too short"] = lambda: queue.submit(short), pydoca.InvalidValueError
        require_refused("a work queue", calls)
        with duty("the end of a work queue"):
            queue.remove(dma)
        require_refused("a context that was removed", {"a job": (lambda: queue.submit(jobs[0]), pydoca.NotFoundError)})
        found = {"jobs": queue.num_jobs, "contexts": queue.contexts, "idle": dma.state is pydoca.ContextState.IDLE}
        require_told("a work queue at its end", found, {"jobs": 0, "contexts": [], "idle": True})
    return 2 * rounds


def _one_round(queue: workq.WorkQueue, dma: pydoca.Dma, jobs: list[workq.DmaMemcpyJob]) -> list[workq.Event]:
    with duty("jobs of a work queue"):
        for job in jobs:
            queue.submit(job)
    calls: Any = {"a job too many": (lambda: queue.submit(jobs[0]), pydoca.NoMemoryError)}
    require_refused("a full work queue", {**calls, "remove()": (lambda: queue.remove(dma), pydoca.NotPermittedError)})
    events: list[workq.Event] = []
    for _ in waiting.paced(10**9):
        with contextlib.suppress(pydoca.AgainError):
            events.append(queue.progress_retrieve())
            require_value(queue.num_jobs, len(jobs) - len(events), "the number of jobs without their events")
        if len(events) == len(jobs):
            return events
    raise DeviceFault("a work queue gives no event for its jobs")


def failures(device: pydoca.Device) -> int:
    """A copy to read-only memory, as a job and in a graph: each event tells that it has failed; returns how many."""
    with Stand() as stand:
        places = Places(stand, device)
        places.prepare(1)
        fixed = stand.keep(stand.bufs(1).get_by_addr(stand.enter_context(device.mmap(bytes(SIZE)))))
        dma = pydoca.Dma(None, device, num_tasks=1)
        stand.callback(dma.close)
        queue = stand.enter_context(workq.WorkQueue(1))
        with duty("a work queue"):
            queue.add(dma)
        job = workq.DmaMemcpyJob(dma, fixed, places.src, "a job")
        _require_failure(queue, workq.JobType.DMA_MEMCPY, job.user_data, lambda: queue.submit(job))
        with duty("a context of a work queue after a job that has failed"):
            queue.remove(dma)
            queue.add(dma)
            graph = queue.create_graph(num_instances=1)
            node = graph.node(dma)
            graph.start()
            instance = graph.create_instance({node: queue.make_task(job)})
        _require_failure(queue, workq.JobType.GRAPH, "a graph", lambda: queue.graph_submit(instance, "a graph"))
        require_value(fixed.data_len, 0, "the length of data that could not be written")
        with duty("the end of a work queue whose graph has failed"):
            with refused("the removal of a graph that has an instance", pydoca.InUseError):
                queue.remove_graph(graph)
            instance.destroy()
            queue.remove_graph(graph)
            require_told("a graph that was removed", {"started": graph.is_started}, {"started": False})
            with refused("the removal of a graph that was removed", pydoca.NotFoundError):
                queue.remove_graph(graph)
            queue.remove(dma)
    return 2


def _require_failure(
    queue: workq.WorkQueue, kind: workq.JobType, user_data: object, submit: Callable[[], object]
) -> None:
    """submit() may refuse instead, on a device that knows beforehand."""
    try:
        submit()
    except REFUSALS:
        return
    event = _event_of(queue)
    is_failure = event.result in {error.status for error in REFUSALS}
    found: dict[str, object] = {"type": event.type, "user data": event.user_data, "failed": is_failure}
    require_told(f"the event of {user_data} that fails", found, {"type": kind, "user data": user_data, "failed": True})


def _event_of(queue: workq.WorkQueue) -> workq.Event:
    for _ in waiting.paced(10**9):
        try:
            return queue.progress_retrieve()
        except pydoca.AgainError:
            continue
        except workq.JobFailedError as failed:
            return failed.event
    raise DeviceFault("a work queue gives no event for a job that fails")
