"""pe.submit_many(tasks) and pe.statuses(tasks): many tasks in one call."""

import threading

import numpy as np
import pytest

import pydoca
from pydoca import Status, SubmitFlags
from pydoca.faults import FaultRule, inject


def idle_tasks(rig, count=3, dma=None):
    """Tasks that were not submitted, and the memory that they fill."""
    tasks, targets = [], []
    for _ in range(count):
        src, dst, target = rig.bufs()
        tasks.append((dma or rig.dma).memcpy(src, dst, submit=False))
        targets.append(target)
    return tasks, targets


def end(rig):
    rig.pe.run_until(lambda: rig.pe.num_inflight_tasks == 0, 20)


@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_all_are_submitted_in_their_order(rig, count):
    tasks, targets = idle_tasks(rig, count)
    order = []
    for task in tasks:
        task.add_done_callback(order.append)
    statuses = rig.pe.submit_many(iter(tasks))
    assert isinstance(statuses, memoryview)
    assert statuses.readonly
    assert np.asarray(statuses).dtype == np.int32
    assert statuses.tolist() == [Status.SUCCESS] * count
    end(rig)
    assert sorted(map(id, order)) == sorted(map(id, tasks))
    assert all(bytes(target) == bytes(rig.data) for target in targets)
    assert rig.pe.statuses(tasks).tolist() == [Status.SUCCESS] * count


def test_without_flush_the_device_does_not_see_them(rig):
    tasks, _ = idle_tasks(rig)
    assert rig.pe.submit_many(tasks, SubmitFlags.NONE).tolist() == [0, 0, 0]
    for _ in range(100):
        assert not rig.pe.progress()
    assert rig.pe.statuses(tasks).tolist() == [Status.IN_PROGRESS] * 3
    rig.release()
    end(rig)
    assert rig.pe.statuses(tuple(tasks)).tolist() == [Status.SUCCESS] * 3


@pytest.mark.parametrize("place", range(3))
def test_a_task_that_is_refused_stays_and_the_others_are_submitted(rig, place):
    tasks, targets = idle_tasks(rig)
    refused = tasks[place]
    held = rig.held()
    refused.dst = held.dst
    with pytest.raises(pydoca.InUseError):  # the held task fills the same place
        refused.submit()
    statuses = rig.pe.submit_many(tasks).tolist()
    assert statuses[place] == Status.IN_USE
    assert statuses[:place] + statuses[place + 1 :] == [Status.SUCCESS] * 2
    assert refused.state is pydoca.TaskState.IDLE
    rig.release()
    end(rig)
    others = [target for i, target in enumerate(targets) if i != place]
    assert all(bytes(target) == bytes(rig.data) for target in others)
    refused.dst.reset_data_len()
    assert rig.pe.submit_many([refused]).tolist() == [Status.SUCCESS]
    refused.wait(20)


def test_a_task_in_flight_or_freed_or_given_twice_is_refused(rig):
    held, (fresh, freed), _ = rig.held(), *idle_tasks(rig, 2)
    freed.free()
    statuses = rig.pe.submit_many([held, freed, fresh, fresh], SubmitFlags.NONE).tolist()
    assert statuses == [Status.BAD_STATE, Status.BAD_STATE, Status.SUCCESS, Status.BAD_STATE]
    rig.release()
    end(rig)


def test_tasks_of_several_contexts_are_all_posted(rig):
    with pydoca.Dma(rig.pe, rig.device, num_tasks=4) as other:
        here, there = idle_tasks(rig, 2)[0], idle_tasks(rig, 2, other)[0]
        both = [here[0], there[0], here[1], there[1]]
        assert rig.pe.submit_many(both).tolist() == [Status.SUCCESS] * 4
        rig.pe.run_until(both, 20)


def test_a_task_that_was_never_submitted_has_no_outcome(rig):
    tasks, _ = idle_tasks(rig, 2)
    assert rig.pe.submit_many(tasks[:1]).tolist() == [Status.SUCCESS]
    end(rig)
    assert rig.pe.statuses(tasks).tolist() == [Status.SUCCESS, Status.BAD_STATE]


@pytest.mark.parametrize("flags", [SubmitFlags.FLUSH, SubmitFlags.NONE])
def test_what_was_submitted_before_an_interrupt_is_posted_as_asked(rig, monkeypatch, flags):
    def interrupt(*_arguments, **_keywords):
        raise KeyboardInterrupt

    tasks, targets = idle_tasks(rig, 4)
    tasks[3].free()
    monkeypatch.setattr(pydoca.BadStateError, "__init__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        rig.pe.submit_many(tasks, flags)
    monkeypatch.undo()
    if flags == SubmitFlags.NONE:
        assert not rig.pe.progress()
        rig.release()
    end(rig)
    assert all(bytes(target) == bytes(rig.data) for target in targets[:3])


@pytest.mark.parametrize("call", ["submit_many", "statuses"])
def test_a_wrong_item_is_named_before_any_submission(rig, make_rig, call):
    tasks, _ = idle_tasks(rig)
    strange = make_rig().held()
    function = getattr(rig.pe, call)
    with pytest.raises(TypeError, match=f"{call} takes an iterable of Tasks, and one item is of type int"):
        function([*tasks, 1])
    with pytest.raises(TypeError, match="not iterable"):
        function(1)
    with pytest.raises(pydoca.InvalidValueError, match=f"{call}: .*belongs to another progress engine"):
        function([*tasks, strange])
    with pytest.raises(TypeError, match="SubmitFlags"):
        rig.pe.submit_many(tasks, "flush")
    assert all(task.state is pydoca.TaskState.IDLE for task in tasks)


def test_another_thread_and_a_closed_engine_are_refused(rig):
    tasks, _ = idle_tasks(rig)
    errors = []

    def submit():
        try:
            rig.pe.submit_many(tasks)
        except pydoca.WrongThreadError as error:
            errors.append(error)

    thread = threading.Thread(target=submit)
    thread.start()
    thread.join()
    assert len(errors) == 1
    engine = pydoca.ProgressEngine()
    engine.close()
    with pytest.raises(pydoca.BadStateError, match="closed"):
        engine.submit_many([])


def test_the_statuses_tell_which_task_has_failed(make_rig, caplog):
    with inject(FaultRule("fail", "dma.memcpy", nth=2)):
        rig = make_rig()
        tasks, _ = idle_tasks(rig)
        rig.pe.submit_many(tasks)
        end(rig)
    statuses = rig.pe.statuses(tasks).tolist()
    assert any(statuses)
    assert statuses == [task.status for task in tasks]
    tasks.clear()
    assert not [record for record in caplog.records if "no code asked" in record.getMessage()]
