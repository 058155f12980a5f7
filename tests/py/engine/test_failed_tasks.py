"""Failed tasks that the program ignores: the log, the messages that follow, and what a task shows of its failure."""

import asyncio
import gc
import logging
import subprocess
import sys

import pytest

import pydoca
from pydoca import Status, _log


@pytest.fixture
def errors(caplog):
    """The messages of the errors that are in the log."""
    caplog.set_level(logging.ERROR, logger="pydoca")
    _log.drain()
    caplog.clear()

    def errors():
        gc.collect()
        _log.drain()
        messages = [record.getMessage() for record in caplog.records if record.name.startswith("pydoca")]
        caplog.clear()
        return messages

    return errors


def failing(rig, **options):
    """A task that fails: its destination is too small, and submit() does not check."""
    src, dst, _ = rig.bufs()
    task = rig.dma.memcpy(src, rig.inventory.get_by_addr(dst.mmap, None, 8), submit=False, **options)
    task.submit()
    return task


def progress(rig):
    while rig.pe.num_inflight_tasks:
        rig.pe.progress()


def test_a_failed_task_that_ends_unseen_is_logged_once(rig, errors):
    task = failing(rig)
    progress(rig)
    assert errors() == []
    del task
    (message,) = errors()
    assert message.startswith("dma memcpy of 64 bytes failed")
    assert "dst" in message
    assert errors() == []


def test_a_task_that_was_dropped_in_flight_is_logged(rig, errors):
    failing(rig)
    progress(rig)
    assert len(errors()) == 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda rig, task: task.result(),
        lambda rig, task: task.wait(5),
        lambda rig, task: rig.pe.run_until([task], 5),
    ],
    ids=["result", "wait", "run_until"],
)
def test_a_failure_that_was_raised_is_not_logged(rig, errors, ask):
    task = failing(rig)
    progress(rig)
    with pytest.raises(pydoca.DocaError):
        ask(rig, task)
    del task
    assert errors() == []


def test_a_status_that_was_read_is_not_logged(rig, errors):
    task = failing(rig)
    progress(rig)
    assert task.status is Status.IO_FAILED
    del task
    assert errors() == []


def test_an_awaited_failure_is_not_logged(rig, errors):
    async def main():
        with pytest.raises(pydoca.DocaError):
            await failing(rig)

    asyncio.run(main())
    assert errors() == []


def test_gather_sees_every_failure(make_rig, errors):
    async def main():
        rigs = [make_rig(), make_rig()]
        for rig in rigs:
            tasks = [failing(rig), failing(rig)]
            with pytest.raises(pydoca.DocaError):
                await rig.pe.gather(tasks)

    asyncio.run(main())
    assert errors() == []


def test_an_error_callback_has_seen_the_failure(make_rig, errors):
    seen = []
    rig = make_rig(on_error=lambda *args: seen.append(args))
    failing(rig)
    progress(rig)
    assert len(seen) == 1
    assert errors() == []


def test_tasks_that_a_stop_flushes_are_not_logged(rig, errors):
    tasks = [rig.held() for _ in range(3)]
    rig.dma.stop()
    progress(rig)
    del tasks
    assert errors() == []


def test_freeing_an_unseen_failure_logs_it(rig, errors):
    task = failing(rig)
    progress(rig)
    task.free()
    assert len(errors()) == 1
    del task
    assert errors() == []


def test_the_log_comes_without_another_call_of_pydoca(rig, caplog):
    _log.drain()
    failing(rig)
    progress(rig)
    sum(range(10))  # the interpreter takes the pending call
    assert [record.name for record in caplog.records if "no code asked" in record.getMessage()] == ["pydoca.dma"]


def test_a_failed_tasks_repr_says_so(rig):
    task = failing(rig)
    progress(rig)
    assert repr(task).startswith("<pydoca task: dma memcpy of 64 bytes, failed: IO_FAILED (")
    assert task.status is Status.IO_FAILED


def test_an_error_that_follows_names_the_first_failure(rig):
    idle = rig.copy(submit=False)
    first = failing(rig)
    progress(rig)
    cause = str(first._outcome()).partition("failed: ")[2]
    for attempt in (rig.copy, idle.submit):
        with pytest.raises(pydoca.BadStateError) as raised:
            attempt()
        assert cause in str(raised.value)
        assert "stopping because of a failure" in str(raised.value)
    idle.free()
    first.free()
    rig.dma.stop()
    with pytest.raises(pydoca.BadStateError, match="has stopped because of a failure"):
        rig.copy()
    rig.dma.start()
    rig.copy().wait(5)


PROGRAM = """
import pydoca
device = pydoca.open_device("03:00.0", side="dpu")
pe = pydoca.ProgressEngine()
dma = pydoca.Dma(pe, device, num_tasks=4)
dma.start()
inventory = pydoca.BufInventory(4)
src, dst = device.mmap(pydoca.alloc(64)), device.mmap(pydoca.alloc(8))
task = dma.memcpy(inventory.get_by_data(src), inventory.get_by_addr(dst), submit=False)
task.submit()
while pe.num_inflight_tasks:
    pe.progress()
"""


@pytest.mark.parametrize("end", ["", "del task\n"])
def test_a_program_without_logging_sees_it_on_standard_error(end):
    result = subprocess.run([sys.executable, "-c", PROGRAM + end], capture_output=True, text=True, timeout=150)
    assert result.returncode == 0
    assert result.stderr.count("dma memcpy of 64 bytes failed") == 1


# ---- instances of graphs


def fail(_cookie):
    raise ValueError("the function's reason")


def failed_run(rig, **callbacks):
    """A graph and its run, whose function failed."""
    graph = pydoca.Graph(rig.pe, **callbacks)
    copying = graph.node(rig.dma)
    graph.node(fail, after=[copying])
    graph.start()
    src, dst, _ = rig.bufs()
    instance = graph.run({copying: rig.dma.memcpy(src, dst, submit=False)})
    while instance.is_running:
        rig.pe.progress()
    return graph, instance


def test_a_failed_instance_that_ends_unseen_is_logged_once(rig, errors):
    _graph, instance = failed_run(rig)
    assert errors() == []
    del instance
    (message,) = errors()
    assert message.startswith("an instance of a graph failed")
    assert 'ValueError("the function\'s reason")' in message
    assert errors() == []


def test_an_instance_that_is_submitted_again_is_logged(rig, errors):
    graph, instance = failed_run(rig)
    instance[graph.nodes[0]].dst.reset_data_len()
    instance.submit()
    assert len(errors()) == 1
    with pytest.raises(ValueError, match="reason"):
        instance.wait(10)


@pytest.mark.parametrize("asks", ["status", "wait"])
def test_an_instance_of_which_the_outcome_was_asked_is_not_logged(rig, errors, asks):
    _graph, instance = failed_run(rig)
    if asks == "wait":
        with pytest.raises(ValueError, match="reason"):
            instance.wait()
    else:
        assert instance.status is Status.UNEXPECTED
    del instance
    assert errors() == []


def test_a_graphs_error_callback_has_seen_the_failure(rig, errors):
    seen = []
    _graph, instance = failed_run(rig, on_error=lambda *_: seen.append("error"))
    del instance
    assert (seen, errors()) == (["error"], [])


def test_the_failed_task_of_a_graph_is_logged_with_its_instance_only(rig, errors):
    graph = pydoca.Graph(rig.pe)
    first = graph.node(rig.dma)
    second = graph.node(rig.dma, after=[first])
    graph.start()
    src, dst, _ = rig.bufs()
    too_small = rig.inventory.get_by_addr(dst.mmap, None, 8)
    tasks = [rig.dma.memcpy(src, to, submit=False) for to in (dst, too_small)]
    instance = graph.run(dict(zip((first, second), tasks, strict=True)))
    while instance.is_running:
        rig.pe.progress()
    assert tasks[1].done
    del instance, tasks
    (message,) = errors()
    assert "dma memcpy of 64 bytes failed" in message
