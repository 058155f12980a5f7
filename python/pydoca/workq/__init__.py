"""Work queues: jobs and events, as DOCA 2.0 to 2.2 had them before progress engines and tasks.

For programs of that time, and for readers of its guides. A queue is a thin layer over a `pydoca.ProgressEngine`; new
programs use tasks, which need no look at each result and can be awaited.

| DOCA 2.0 to 2.2 | here | since DOCA 2.5 |
|---|---|---|
| doca_workq_create(depth) | `WorkQueue(depth)` | `pydoca.ProgressEngine()`, and num_tasks of each context |
| doca_dma_create, doca_ctx_dev_add | `dma = pydoca.Dma(None, dev)` | `pydoca.Dma(pe, dev)` |
| doca_ctx_start, doca_ctx_workq_add | `queue.add(dma)` | `with pydoca.Dma(pe, dev) as dma` |
| doca_workq_set_event_driven_enable | `queue.event_driven = True` | always possible |
| struct doca_dma_job_memcpy | `DmaMemcpyJob(dma, dst, src)` | `dma.memcpy(src, dst)` |
| struct doca_sha_job | `ShaJob(sha, resp, req, "sha256")` | `sha.hash(src, dst, "sha256")` |
| doca_sha_partial_session_create | `session = sha.partial_hash(None, None, submit=False)` | the same task |
| struct doca_sha_partial_job | `ShaPartialJob(sha, resp, req, session)` | `session.src = src; session.submit()` |
| doca_sha_partial_session_destroy | `session.free()` | the same |
| doca_sync_event_job_get | `SyncEventGetJob(events)` | `events.get()` |
| doca_sync_event_job_update_set | `SyncEventUpdateSetJob(events, value)` | `events.notify_set(value)` |
| doca_sync_event_job_update_add | `SyncEventUpdateAddJob(events, value)` | `events.notify_add(value)` |
| doca_sync_event_job_wait | `SyncEventWaitJob(events, value)` | `events.wait_gt()`, `wait_eq()`, `wait_neq()` |
| doca_workq_submit | `queue.submit(job)` | `task.submit()` |
| doca_workq_progress_retrieve | `event = queue.progress_retrieve()` | `await task`, or `pe.progress()` |
| doca_workq_get_event_handle | `queue.event_handle` | `pe.notification_handle` |
| doca_workq_event_handle_arm | `queue.event_handle_arm()` | `pe.request_notification()` |
| doca_workq_event_handle_clear | `queue.event_handle_clear()` | `pe.clear_notification()` |
| doca_graph_create, doca_graph_workq_add | `graph = queue.create_graph()` | `pydoca.Graph(pe)` |
| doca_graph_instance_set_ctx_node_data | `instance[node] = queue.make_task(job)` | `instance[node] = task` |
| doca_workq_graph_submit | `queue.graph_submit(instance)` | `instance.submit()` |
| doca_ctx_workq_rm, doca_ctx_stop | `queue.remove(dma)` | the end of `with` |
| doca_workq_destroy | `queue.destroy()` | `pe.close()` |

What differs: a context joins a queue before it starts, so `add()` does both; it belongs to one queue for life. A job
that fails stops its context, as everywhere in pydoca: retrieve the other jobs' events, then `remove()` the context, and
`add()` it again. A job's buf that is missing or too small is refused by `submit()`, not by the event.
"""

from typing import get_type_hints as _get_type_hints

from pydoca._publication import publish as _publish
from pydoca.workq._dma_jobs import DmaMemcpyJob
from pydoca.workq._events import Event, JobFailedError, JobType
from pydoca.workq._jobs import Job
from pydoca.workq._jobs import JobContext as _JobContext
from pydoca.workq._queue import WorkQueue
from pydoca.workq._sha_jobs import ShaJob, ShaPartialJob
from pydoca.workq._sync_event_jobs import (
    SyncEventGetJob,
    SyncEventUpdateAddJob,
    SyncEventUpdateSetJob,
    SyncEventWaitJob,
)

__all__ = [
    "DmaMemcpyJob",
    "Event",
    "Job",
    "JobFailedError",
    "JobType",
    "ShaJob",
    "ShaPartialJob",
    "SyncEventGetJob",
    "SyncEventUpdateAddJob",
    "SyncEventUpdateSetJob",
    "SyncEventWaitJob",
    "WorkQueue",
]

for _each in list(globals().values()):
    if isinstance(_each, type):
        _each.__annotations__ = _get_type_hints(_each)  # their names are those of another module
WorkQueue.add.__annotations__["ctx"] = _JobContext  # shows the types it means, as the name is private
_publish(__name__)
