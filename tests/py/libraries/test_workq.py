"""Work queues: the flows, rules and codes of DOCA 2.0 to 2.2."""

import hashlib
import select
from dataclasses import replace
from itertools import pairwise

import pytest

import pydoca
from pydoca import Status, workq
from pydoca.workq import DmaMemcpyJob, Event, JobType


class Machine:
    """A device, memory of 64 slots of 64 bytes on each side, and a queue."""

    SLOT = 64

    def __init__(self, depth=4, **options):
        self.device = pydoca.open_device("03:00.0", side="dpu")
        self.queue = workq.WorkQueue(depth, **options)
        self.dma = pydoca.Dma(None, self.device)
        self.inventory = pydoca.BufInventory(256)
        self.source = pydoca.alloc(64 * self.SLOT)
        self.source[:] = bytes(range(64)) * self.SLOT
        self.target = pydoca.alloc(64 * self.SLOT)
        self.maps = [self.device.mmap(self.source), self.device.mmap(self.target)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with self.device, self.queue:
            pass

    def src(self, slot=0, size=SLOT):
        return self.inventory.get_by_data(self.maps[0], self.maps[0].addr + slot * self.SLOT, size)

    def dst(self, slot=0, size=SLOT):
        return self.inventory.get_by_addr(self.maps[1], self.maps[1].addr + slot * self.SLOT, size)

    def job(self, slot=0, user_data=None):
        return DmaMemcpyJob(self.dma, self.dst(slot), self.src(slot), user_data)

    def retrieve(self, queue=None):
        """Polls as the guides do."""
        while True:
            try:
                return (queue or self.queue).progress_retrieve()
            except pydoca.AgainError:
                continue

    def copied(self, slot=0):
        begin = slot * self.SLOT
        return self.target[begin : begin + self.SLOT] == self.source[begin : begin + self.SLOT]


@pytest.fixture
def machine():
    with Machine() as machine:
        yield machine


@pytest.fixture
def with_dma(machine):
    machine.queue.add(machine.dma)
    return machine


def ended(machine):
    """Removes the context and destroys the queue, when nothing is in flight; tells whether the engine is closed."""
    machine.queue.remove(machine.dma)
    assert machine.dma.state is pydoca.ContextState.IDLE
    machine.queue.destroy()
    return machine.queue.progress_engine.closed


# ---- the guides' flow -----------------------------------------------------------------------------------------------


def test_the_flow_of_the_guides(with_dma):
    with_dma.queue.submit(with_dma.job(user_data=5))
    assert with_dma.retrieve() == Event(JobType.DMA_MEMCPY, 5, Status.SUCCESS)
    assert with_dma.copied()
    assert ended(with_dma)


def test_every_job_gives_one_event(with_dma):
    seen = []
    for slot in range(64):
        with_dma.queue.submit(with_dma.job(slot, slot))
        if with_dma.queue.num_jobs == with_dma.queue.depth:
            seen.append(with_dma.retrieve().user_data)
    seen += [with_dma.retrieve().user_data for _ in range(with_dma.queue.num_jobs)]
    assert sorted(seen) == list(range(64))
    assert all(with_dma.copied(slot) for slot in range(64))
    with pytest.raises(pydoca.AgainError, match="no job has ended yet"):
        with_dma.queue.progress_retrieve()


def test_a_job_is_a_value(with_dma):
    job = with_dma.job(user_data="first")
    with_dma.queue.submit(job)
    job.user_data, job.dst_buff, job.src_buff = "second", with_dma.dst(1), with_dma.src(1)
    with_dma.queue.submit(job)
    assert {with_dma.retrieve().user_data for _ in range(2)} == {"first", "second"}
    assert with_dma.copied(0)
    assert with_dma.copied(1)


def test_large_jobs_end_when_the_device_has_done_them(machine):
    size = 1 << 20
    source, target = pydoca.alloc(size), pydoca.alloc(size)
    source[:] = bytes(range(256)) * (size // 256)
    machine.queue.add(machine.dma)
    with machine.device.mmap(source) as src, machine.device.mmap(target) as dst:
        job = DmaMemcpyJob(machine.dma, machine.inventory.get_by_addr(dst), machine.inventory.get_by_data(src))
        machine.queue.submit(job)
        assert machine.retrieve().result is Status.SUCCESS
        assert target[:] == source[:]


# ---- several contexts, and events of theirs -------------------------------------------------------------------------


def test_one_queue_serves_several_contexts(bluefield2):
    machine = Machine()
    sha = pydoca.Sha(None, machine.device)
    with machine, machine.queue as queue:
        queue.add(machine.dma)
        queue.add(sha)
        assert queue.contexts == [machine.dma, sha]
        queue.submit(machine.job())
        for algorithm, slot in {"sha1": 1, "sha256": 2, "sha512": 3}.items():
            queue.submit(workq.ShaJob(sha, machine.dst(slot), machine.src(), algorithm, algorithm))
        events = {machine.retrieve() for _ in range(4)}
        assert {event.type for event in events} == {
            JobType.DMA_MEMCPY, JobType.SHA1, JobType.SHA256, JobType.SHA512,
        }  # fmt: skip
        message = machine.source[:64]
        for algorithm, slot in {"sha1": 1, "sha256": 2, "sha512": 3}.items():
            digest = hashlib.new(algorithm, message).digest()
            assert machine.target[slot * 64 : slot * 64 + len(digest)] == digest


def test_a_message_is_hashed_piece_by_piece(bluefield2):
    machine = Machine()
    sha = pydoca.Sha(None, machine.device)
    with machine, machine.queue as queue:
        queue.add(sha)
        session = sha.partial_hash(None, None, submit=False)
        digest = machine.dst()
        for algorithm in ("sha1", "sha256"):
            for piece in range(3):
                job = workq.ShaPartialJob(sha, digest, machine.src(piece), session, algorithm, is_final=piece == 2)
                queue.submit(job)
                assert machine.retrieve() == Event(JobType[algorithm.upper()], None, Status.SUCCESS)
                assert session.has_result == job.is_final
            assert bytes(digest) == hashlib.new(algorithm, machine.source[: 3 * 64]).digest()
            digest.reset_data_len()
            with pytest.raises(pydoca.BadStateError):  # the message has ended
                queue.submit(job)
            session.reset()
        with pytest.raises(pydoca.InUseError, match="sessions"):
            queue.remove(sha)
        session.free()
        queue.remove(sha)


def test_a_piece_that_does_not_fit_its_session_is_refused(bluefield2):
    machine = Machine()
    sha, other = pydoca.Sha(None, machine.device), pydoca.Sha(None, machine.device)
    with machine, machine.queue as queue:
        queue.add(sha)
        queue.add(other)
        session = sha.partial_hash(None, None, submit=False)
        job = workq.ShaPartialJob(other, machine.dst(), machine.src(), session)
        with pytest.raises(pydoca.InvalidValueError, match="session"):
            queue.submit(job)
        job.ctx, job.is_final = sha, True
        with pytest.raises(pydoca.BadStateError, match="piece"):
            queue.submit(job)
        job.is_final = False
        queue.submit(job)
        assert machine.retrieve().type is JobType.SHA256
        for change in ({"algorithm": "sha1"}, {"resp_buf": machine.dst(1)}):
            with pytest.raises(pydoca.BadStateError):
                queue.submit(replace(job, **change))
        assert queue.num_jobs == 0


def test_jobs_of_sync_events(machine):
    event = pydoca.SyncEvent(machine.device)
    ctx = event.as_context(None)
    queue = machine.queue
    queue.add(ctx)
    queue.submit(workq.SyncEventUpdateSetJob(ctx, 10))
    assert machine.retrieve() == Event(JobType.SYNC_EVENT_UPDATE_SET, None, Status.SUCCESS)
    queue.submit(workq.SyncEventUpdateAddJob(ctx, 5, user_data="add"))
    assert machine.retrieve() == Event(JobType.SYNC_EVENT_UPDATE_ADD, "add", Status.SUCCESS, 10)
    queue.submit(workq.SyncEventGetJob(ctx))
    assert machine.retrieve() == Event(JobType.SYNC_EVENT_GET, None, Status.SUCCESS, 15)
    queue.submit(workq.SyncEventWaitJob(ctx, 15))
    with pytest.raises(pydoca.AgainError):
        queue.progress_retrieve()
    queue.submit(workq.SyncEventUpdateAddJob(ctx, 1))
    assert {machine.retrieve().type for _ in range(2)} == {JobType.SYNC_EVENT_WAIT, JobType.SYNC_EVENT_UPDATE_ADD}
    with pytest.raises(pydoca.InvalidValueError, match="254"):
        queue.submit(workq.SyncEventWaitJob(ctx, 255))
    assert queue.num_jobs == 0
    queue.remove(ctx)


def test_a_wait_for_a_large_value_fails_by_its_event(machine):
    ctx = pydoca.SyncEvent(machine.device).as_context(None)
    machine.queue.add(ctx)
    machine.queue.submit(workq.SyncEventUpdateSetJob(ctx, 300))
    machine.retrieve()
    machine.queue.submit(workq.SyncEventWaitJob(ctx, 254, user_data=7))
    with pytest.raises(workq.JobFailedError) as failure:
        machine.retrieve()
    assert failure.value.event == Event(JobType.SYNC_EVENT_WAIT, 7, Status.IO_FAILED)


# ---- the error flow -------------------------------------------------------------------------------------------------


def break_memory(machine):
    """A job whose memory does not permit the access: the device finds that."""
    fixed = machine.device.mmap(bytearray(64), access="local_read_only")
    return DmaMemcpyJob(machine.dma, machine.inventory.get_by_addr(fixed), machine.src(), "broken")


def test_a_job_that_fails_gives_its_event_and_the_context_starts_again(with_dma, caplog):
    with_dma.queue.submit(break_memory(with_dma))
    with pytest.raises(pydoca.IoFailedError, match="DMA_MEMCPY of user data 'broken' has failed: IO_FAILED") as failure:
        with_dma.retrieve()
    assert failure.value.event == Event(JobType.DMA_MEMCPY, "broken", Status.IO_FAILED)
    with pytest.raises(pydoca.BadStateError):
        with_dma.queue.submit(with_dma.job())
    assert with_dma.queue.num_jobs == 0
    with_dma.queue.remove(with_dma.dma)
    with_dma.queue.add(with_dma.dma)
    with_dma.queue.submit(with_dma.job())
    assert with_dma.retrieve().result is Status.SUCCESS
    assert "retrieved" not in caplog.text, "the event has told of it"


def test_the_other_jobs_of_a_failed_context_are_events_too(with_dma):
    for job in (break_memory(with_dma), with_dma.job(1, 1), with_dma.job(2, 2)):
        with_dma.queue.submit(job)
    results = {}
    for _ in range(3):
        with pytest.raises(workq.JobFailedError) as failure:
            with_dma.retrieve()
        results[failure.value.event.user_data] = failure.value.event.result
    assert results == {"broken": Status.IO_FAILED, 1: Status.SHUTDOWN, 2: Status.SHUTDOWN}
    assert ended(with_dma)


# ---- events instead of polling --------------------------------------------------------------------------------------


def test_the_event_driven_flow(machine):
    queue = machine.queue
    queue.event_driven = True
    queue.add(machine.dma)
    epoll = select.epoll()
    epoll.register(queue.event_handle, select.EPOLLIN)
    for slot in range(20):
        queue.submit(machine.job(slot, slot))
        while True:
            queue.event_handle_arm()
            assert epoll.poll(timeout=20)
            queue.event_handle_clear()
            try:
                event = queue.progress_retrieve()
            except pydoca.AgainError:
                continue
            break
        assert event.user_data == slot
    queue.event_handle_arm()
    assert not epoll.poll(timeout=0.01), "nothing is left"
    epoll.close()


def test_a_queue_polls_or_is_event_driven(machine):
    assert not machine.queue.event_driven
    for use in (
        lambda: machine.queue.event_handle,
        machine.queue.event_handle_arm,
        machine.queue.event_handle_clear,
    ):
        with pytest.raises(pydoca.BadStateError, match="the work queue polls; make it event-driven"):
            use()
    machine.queue.add(machine.dma)
    machine.queue.submit(machine.job())
    with pytest.raises(pydoca.BadStateError, match=r"1 job\(s\) are not retrieved"):
        machine.queue.event_driven = True
    machine.retrieve()
    machine.queue.event_driven = True
    machine.queue.event_handle_arm()


# ---- destinations ---------------------------------------------------------------------------------------------------


def test_results_are_appended_unless_the_queue_overwrites():
    for overwrite, data_len in {False: 128, True: 64}.items():
        machine = Machine(overwrite=overwrite)
        with machine, machine.queue as queue:
            queue.add(machine.dma)
            dst = machine.dst(0, 200)
            for slot in (0, 1):
                queue.submit(DmaMemcpyJob(machine.dma, dst, machine.src(slot)))
                machine.retrieve()
            assert dst.data_len == data_len


def test_overwriting_is_for_every_element_of_a_list():
    machine = Machine(overwrite=True)
    with machine, machine.queue as queue:
        queue.add(machine.dma)
        dst = machine.dst(0, 32)
        dst.chain(machine.dst(1, 32))
        for _ in range(3):
            queue.submit(DmaMemcpyJob(machine.dma, dst, machine.src()))
            machine.retrieve()
        assert [buf.data_len for buf in dst] == [32, 32]


# ---- graphs ---------------------------------------------------------------------------------------------------------


def test_a_graph_is_a_job(with_dma):
    queue = with_dma.queue
    order = []
    graph = queue.create_graph()
    copies = [graph.node(with_dma.dma), graph.node(with_dma.dma)]
    compare = graph.node(order.append, after=copies)
    with graph:
        instances = []
        for number in range(3):
            tasks = [queue.make_task(with_dma.job(2 * number + half)) for half in (0, 1)]
            instances.append(graph.create_instance({copies[0]: tasks[0], copies[1]: tasks[1], compare: number}))
            if number == 1:
                break
        for number, instance in enumerate(instances):
            queue.graph_submit(instance, f"run {number}")
        events = [with_dma.retrieve() for _ in instances]
        assert events == [Event(JobType.GRAPH, f"run {number}", Status.SUCCESS) for number in range(2)]
        assert order == [0, 1]
        assert all(with_dma.copied(slot) for slot in range(4))
        for instance in instances:
            instance.destroy()
        queue.remove_graph(graph)
    del tasks, instances, instance
    assert ended(with_dma)


@pytest.mark.parametrize(("copies", "functions"), [(1, 0), (1, 1), (3, 2), (2, 5)])
@pytest.mark.parametrize("sleeps", [False, True])
def test_each_node_answers_again_and_the_instance_success(with_dma, copies, functions, sleeps):
    queue, agains = with_dma.queue, 0
    queue.event_driven = sleeps
    poll = select.poll()
    if sleeps:
        poll.register(queue.event_handle, select.POLLIN)
    graph = queue.create_graph()
    data, before = {}, []
    for slot in range(copies + functions):
        is_copy = slot < copies
        before = [graph.node(with_dma.dma if is_copy else lambda _: None, after=before)]
        data[before[0]] = queue.make_task(with_dma.job(slot)) if is_copy else None
    with graph:
        queue.graph_submit(graph.create_instance(data), "run")
        while queue.num_jobs:
            if sleeps:
                queue.event_handle_arm()
                assert poll.poll(20_000)
                queue.event_handle_clear()
            try:
                assert queue.progress_retrieve() == Event(JobType.GRAPH, "run", Status.SUCCESS)
            except pydoca.AgainError:
                agains += 1
    assert agains >= copies + functions


def test_a_destroyed_instance_gives_its_tasks_back(with_dma):
    queue = with_dma.queue
    graph = queue.create_graph()
    copy = graph.node(with_dma.dma)
    with graph:
        instance = graph.create_instance({copy: queue.make_task(with_dma.job())})
        queue.graph_submit(instance)
        with_dma.retrieve()
        instance.destroy()
        queue.remove_graph(graph)
    assert ended(with_dma)
    del instance


def test_a_graph_that_fails_is_told_by_its_event(with_dma):
    def refuse(_):
        return Status.OPERATING_SYSTEM

    queue = with_dma.queue
    graph = queue.create_graph()
    copy, check = graph.node(with_dma.dma), graph.node(refuse)
    graph.add_dependency(copy, check)
    with graph:
        instance = graph.create_instance({copy: queue.make_task(with_dma.job()), check: None})
        queue.graph_submit(instance, 9)
        assert with_dma.retrieve() == Event(JobType.GRAPH, 9, Status.OPERATING_SYSTEM)
        assert instance.failed_node == check


def test_a_graph_of_another_engine_is_refused(with_dma):
    with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, with_dma.device) as dma:
        graph = pydoca.Graph(pe)
        node = graph.node(dma)
        with graph:
            instance = graph.create_instance({node: dma.memcpy(with_dma.src(), with_dma.dst(), submit=False)})
            with pytest.raises(pydoca.NotFoundError, match="create_graph"):
                with_dma.queue.graph_submit(instance)
            with pytest.raises(pydoca.NotFoundError):
                with_dma.queue.remove_graph(graph)


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_a_task_that_the_program_submits_is_not_a_job(with_dma):
    task = with_dma.queue.make_task(with_dma.job())
    task.submit()
    while with_dma.dma.num_inflight_tasks:
        with pytest.raises(pydoca.AgainError):
            with_dma.queue.progress_retrieve()
    assert with_dma.queue.num_jobs == 0
    assert with_dma.copied()


def test_depth_is_a_limit(with_dma):
    for slot in range(4):
        with_dma.queue.submit(with_dma.job(slot))
    with pytest.raises(pydoca.NoMemoryError, match="all 4 jobs of the queue are taken; retrieve an event first"):
        with_dma.queue.submit(with_dma.job(4))
    with_dma.retrieve()
    with_dma.queue.submit(with_dma.job(4))
    for _ in range(4):
        with_dma.retrieve()


def test_a_context_must_be_added_and_is_added_once(machine):
    with pytest.raises(pydoca.NotFoundError, match="was not added to this work queue"):
        machine.queue.submit(machine.job())
    with pytest.raises(pydoca.NotFoundError):
        machine.queue.remove(machine.dma)
    machine.queue.add(machine.dma)
    with pytest.raises(pydoca.BadStateError, match="it was added before"):
        machine.queue.add(machine.dma)
    with workq.WorkQueue(1) as other, pytest.raises(pydoca.NotPermittedError, match="engine for life; make another"):
        other.add(machine.dma)
    with (
        pydoca.ProgressEngine() as pe,
        pydoca.Dma(pe, machine.device) as running,
        pytest.raises(pydoca.NotPermittedError),
    ):
        machine.queue.add(running)
    with pytest.raises(TypeError, match="a Dma, a Sha or a SyncEventContext is needed, not object"):
        machine.queue.add(object())


def test_a_context_leaves_without_jobs_only(with_dma):
    with_dma.queue.submit(with_dma.job())
    with pytest.raises(pydoca.NotPermittedError, match=r"1 job\(s\) of it are not retrieved"):
        with_dma.queue.remove(with_dma.dma)
    with pytest.raises(pydoca.InUseError, match=r"1 context\(s\) or graph\(s\) are added; remove them"):
        with_dma.queue.destroy()
    with_dma.retrieve()
    assert ended(with_dma)
    with_dma.queue.destroy()


def test_a_context_leaves_without_the_programs_tasks(with_dma):
    task = with_dma.queue.make_task(with_dma.job())
    with pytest.raises(pydoca.InUseError, match=r"tasks of make_task\(\), or sessions, are not freed"):
        with_dma.queue.remove(with_dma.dma)
    task.free()
    assert ended(with_dma)


@pytest.mark.parametrize("depth", [0, -1])
def test_a_depth_is_one_or_more(depth):
    with pytest.raises(pydoca.InvalidValueError, match=f"depth must be 1 or more, not {depth}"):
        workq.WorkQueue(depth)


def test_what_is_not_a_job_is_a_type_error(with_dma):
    with pytest.raises(TypeError, match=r"a job of pydoca.workq is needed, not tuple"):
        with_dma.queue.submit((1, 2))


def test_an_unknown_algorithm_is_refused(bluefield2):
    machine = Machine()
    sha = pydoca.Sha(None, machine.device)
    with machine, machine.queue as queue:
        queue.add(sha)
        with pytest.raises(pydoca.InvalidValueError, match="md5"):
            queue.submit(workq.ShaJob(sha, machine.dst(), machine.src(), "md5"))
        assert queue.num_jobs == 0


def test_a_refused_job_takes_no_place(with_dma):
    with pytest.raises(pydoca.InvalidValueError):
        with_dma.queue.submit(DmaMemcpyJob(with_dma.dma, with_dma.dst(0, 10), with_dma.src()))
    assert with_dma.queue.num_jobs == 0
    assert ended(with_dma)


def test_the_end_of_with_releases_what_is_idle():
    machine = Machine()
    with machine, machine.queue as queue:
        queue.add(machine.dma)
        jobs = [machine.job(slot) for slot in range(4)]
        for job in jobs:
            queue.submit(job)
    assert machine.dma.closed
    assert "closed" in repr(queue)
    assert all(machine.copied(slot) for slot in range(4))


def test_jobs_are_resubmitted_without_new_tasks(with_dma):
    """The pool of a context has depth tasks, whatever names the program keeps for jobs and events."""
    jobs = [with_dma.job(slot, slot) for slot in range(4)]
    kept = []
    for _ in range(50):
        for job in jobs:
            job.dst_buff.reset_data_len()
            with_dma.queue.submit(job)
        kept += [with_dma.retrieve() for _ in jobs]
    assert len(kept) == 200
    assert all(first.result is second.result for first, second in pairwise(kept))
