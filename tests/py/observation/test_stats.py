"""The counters of contexts and of progress engines."""

import threading

import pytest

import pydoca
from pydoca import EngineStats, TaskStats


def failing(rig):
    src, dst, _ = rig.bufs()
    task = rig.dma.memcpy(src, rig.inventory.get_by_addr(dst.mmap, None, 8), submit=False)
    task.submit()
    return task


def test_a_new_engine_and_a_new_context_have_counted_nothing(rig):
    assert rig.dma.stats() == TaskStats(0, 0, 0, 0)
    assert rig.pe.stats()[:4] == (0, 0, 0, 0)


def test_tasks_are_counted_by_their_outcome(rig):
    for _ in range(5):
        rig.copy().wait(5)
    assert rig.dma.stats() == TaskStats(submitted=5, completed=5, failed=0, cancelled=0)
    held = rig.held()
    assert rig.dma.stats().submitted == 6
    rig.dma.stop()
    rig.release()
    with pytest.raises(pydoca.ShutdownError):
        held.wait(5)
    assert rig.dma.stats() == TaskStats(submitted=6, completed=5, failed=0, cancelled=1)


def test_the_numbers_survive_a_stop_and_a_failure(rig):
    rig.copy().wait(5)
    task = failing(rig)
    with pytest.raises(pydoca.DocaError):
        task.wait(5)
    task.free()
    rig.dma.stop()
    rig.dma.start()
    rig.copy().wait(5)
    assert rig.dma.stats() == TaskStats(submitted=3, completed=2, failed=1, cancelled=0)


def test_a_refused_submission_is_not_counted(rig):
    with pytest.raises(pydoca.InvalidValueError):
        rig.dma.memcpy(None, None)
    assert rig.dma.stats().submitted == 0


def test_a_submission_from_another_thread_that_fails_is_a_failed_task(rig):
    task = rig.dma.memcpy(None, None, submit=False)
    thread = threading.Thread(target=lambda: rig.pe.submit_threadsafe(task))
    thread.start()
    thread.join()
    with pytest.raises(pydoca.InvalidValueError):
        task.wait(5)
    assert rig.dma.stats() == TaskStats(submitted=1, completed=0, failed=1, cancelled=0)


def test_an_engine_counts_the_tasks_of_closed_contexts_too(rig):
    rig.copy().wait(5)
    with pydoca.Dma(rig.pe, rig.device) as other:
        src, dst, _ = rig.bufs()
        other.memcpy(src, dst).wait(5)
    assert rig.pe.stats()[:4] == (2, 2, 0, 0)


def test_looks_that_find_nothing_are_counted(rig):
    before = rig.pe.stats().vain_looks
    for _ in range(10):
        assert not rig.pe.progress()
    assert rig.pe.stats().vain_looks == before + 10


def test_sleeps_and_wake_ups_are_counted(rig):
    with pytest.raises(pydoca.TimeOutError):
        rig.pe.wait(0.03)
    slept = rig.pe.stats()
    assert slept.sleeps >= 1
    assert slept.wake_ups == 0
    task = rig.copy(submit=False)
    rig.pe.request_notification()
    thread = threading.Thread(target=lambda: rig.pe.submit_threadsafe(task))
    thread.start()
    thread.join()
    rig.pe.clear_notification()
    task.wait(5)
    assert rig.pe.stats().wake_ups == 1
    assert rig.pe.stats().sleeps > slept.sleeps


def test_counters_can_be_read_in_any_thread(rig):
    read = []
    thread = threading.Thread(target=lambda: read.append((rig.pe.stats(), rig.dma.stats())))
    thread.start()
    thread.join()
    assert isinstance(read[0][0], EngineStats)
    assert read[0][0]._asdict().keys() == set(EngineStats._fields)
