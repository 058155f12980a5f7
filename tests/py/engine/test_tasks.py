"""The life of tasks in Python."""

import contextvars
import gc
import sys
import weakref

import pytest

import pydoca
from pydoca import Status, TaskState


@pytest.mark.parametrize("flags", ["FLUSH", 1, 10**60, None])
def test_only_submit_flags_are_flags(rig, flags):
    task = rig.copy(submit=False)
    for submit in (task.submit, task.try_submit):
        with pytest.raises(TypeError, match=r"flags.*pydoca\.SubmitFlags"):
            submit(flags)
    assert task.state is TaskState.IDLE


def test_a_task_from_its_making_to_its_freeing(rig):
    task = rig.copy(submit=False)
    assert (task.state, task.done) == (TaskState.IDLE, False)
    task.submit(pydoca.SubmitFlags.NONE)
    assert (task.state, task.done, task.status) == (TaskState.SUBMITTED, False, Status.IN_PROGRESS)
    rig.release()
    assert not task.done
    task.wait(5)
    assert (task.state, task.done, task.status) == (TaskState.IDLE, True, Status.SUCCESS)
    task.free()
    assert (task.state, task.done, task.status) == (TaskState.FREE, True, Status.SUCCESS)


def test_freeing_twice_or_in_flight_is_refused(rig):
    task = rig.held()
    with pytest.raises(pydoca.InUseError, match="in flight"):
        task.free()
    rig.release()
    task.wait(5)
    task.free()
    with pytest.raises(pydoca.BadStateError, match="freed already"):
        task.free()


def test_submitting_twice_is_refused(rig):
    task = rig.held()
    for submit in (task.submit, task.try_submit):
        with pytest.raises(pydoca.BadStateError, match="in flight"):
            submit()
    rig.release()
    task.wait(5)


def test_a_task_is_submitted_again(rig):
    task = rig.copy()
    for _ in range(5):
        task.wait(5)
        task.dst.reset_data_len()
        task.try_submit()
    task.wait(5)
    assert task.dst.data_len == 64


def test_the_outcome_is_there_when_it_is_there(rig):
    with pytest.raises(pydoca.BadStateError, match="never submitted"):
        rig.copy(submit=False).result()
    task = rig.held()
    with pytest.raises(pydoca.InProgressError):
        task.result()
    rig.release()
    task.wait(5)
    assert task.result() is None


def test_callbacks_are_called_as_doca_calls_them(make_rig):
    calls = []
    rig = make_rig(on_completion=lambda *args: calls.append(args), user_data="context's")
    task = rig.copy(user_data="task's")
    assert calls == []
    rig.pe.progress()
    assert calls == [(task, "task's", "context's")]


def test_a_callback_may_submit_its_task_again(make_rig):
    statuses = []

    def on_completion(task, task_data, context_data):
        statuses.append(task.status)
        if len(statuses) < 4:
            task.dst.reset_data_len()
            task.submit()

    rig = make_rig(on_completion=on_completion)
    task = rig.copy()
    task.wait(5)
    rig.pe.drain()
    assert statuses == [Status.SUCCESS] * 4
    assert task.done


def test_a_wait_is_for_one_completion(make_rig):
    rig = make_rig(on_completion=lambda task, *_: task.submit(pydoca.SubmitFlags.NONE))
    src, dst, _ = rig.bufs(16)
    task = rig.dma.memcpy(src, rig.inventory.get_by_addr(dst.mmap), submit=False)
    task.src.set_data(task.src.head, 4)
    task.submit()
    task.wait(5)
    assert task.state is TaskState.SUBMITTED
    with pytest.raises(pydoca.TimeOutError):
        task.wait(0.01)


def test_a_callback_may_submit_other_tasks_and_free_its_own(make_rig):
    chain = []

    def on_completion(task, left, context_data):
        chain.append(left)
        if left:
            rig.copy(user_data=left - 1)
        task.free()

    rig = make_rig(on_completion=on_completion, num_tasks=2)
    rig.copy(user_data=20)
    rig.pe.run_until(lambda: len(chain) == 21, 5)
    assert chain == list(range(20, -1, -1))


def test_done_callbacks_are_called_once(rig):
    calls = []
    task = rig.copy()
    task.add_done_callback(calls.append)
    task.add_done_callback(calls.append)
    rig.pe.drain()
    assert calls == [task, task]
    task.add_done_callback(calls.append)
    assert calls == [task] * 3
    task.dst.reset_data_len()
    task.submit()
    task.wait(5)
    assert len(calls) == 3


def test_done_callbacks_can_be_taken_back(rig):
    calls = []
    task = rig.copy()
    task.add_done_callback(calls.append)
    task.add_done_callback(print)
    assert task.remove_done_callback(calls.append) == 1
    assert task.remove_done_callback(calls.append) == 0
    assert task.remove_done_callback(print) == 1
    task.wait(5)
    assert calls == []


def test_callbacks_run_in_the_variables_of_the_submission(make_rig):
    variable = contextvars.ContextVar("variable", default="none")
    seen = []
    rig = make_rig(on_completion=lambda *_: seen.append(variable.get()))
    variable.set("at submission")
    task = rig.copy()
    task.add_done_callback(lambda task: seen.append(variable.get()))
    variable.set("at progress")
    rig.pe.drain()
    assert seen == ["at submission"] * 2
    assert variable.get() == "at progress"


# Python's development mode warns of the dropped task.
@pytest.mark.filterwarnings("ignore:.*dropped in flight:ResourceWarning")
def test_a_dropped_task_completes_and_its_memory_stays_until_then(rig):
    src, dst, target = rig.bufs()
    task = rig.dma.memcpy(src, dst, submit=False)
    task.submit(pydoca.SubmitFlags.NONE)
    del task, src, dst
    gc.collect()
    assert rig.inventory.num_free_elements == 1022
    rig.release()
    rig.pe.drain()
    assert bytes(target) == bytes(rig.data)
    assert rig.inventory.num_free_elements == 1024


def test_everything_dropped_in_flight_stays_until_completion(make_rig):
    done = []
    rig = make_rig(size=1 << 20, on_completion=lambda *_: done.append(1), kept=False)
    for _ in range(8):
        rig.copy()
    pe = rig.pe
    del rig
    gc.collect()
    assert pe.num_inflight_tasks == 8
    pe.run_until(lambda: len(done) == 8, 10)
    gc.collect()
    assert pe.num_contexts == 0


def test_collecting_garbage_leaves_tasks_in_flight_alone(make_rig):
    done = []

    class Data:
        pass

    rig = make_rig(on_completion=lambda task, *_: done.append(task.user_data))
    for _ in range(20):
        data = Data()
        data.task = rig.held(user_data=data)
        del data
        gc.collect()
    rig.release()
    rig.pe.drain()
    assert len(done) == 20
    assert all(isinstance(data, Data) for data in done)


def test_a_task_in_a_cycle_is_collected_and_frees_its_slot(make_rig):
    rig = make_rig(num_tasks=1)
    task = rig.copy()
    task.wait(5)
    task.user_data = [task]
    del task
    gc.collect()
    rig.copy().wait(5)


def test_a_finished_task_leaves_nothing_behind(make_rig):
    class Data:
        pass

    rig = make_rig(on_completion=lambda *_: None)
    data = Data()
    watch = weakref.ref(data)
    count = sys.getrefcount(rig.dma)
    task = rig.copy(user_data=data)
    task.add_done_callback(lambda task: None)
    task.wait(5)
    del task, data
    assert watch() is None
    after = sys.getrefcount(rig.dma)
    assert after == count


def test_an_error_that_was_handled_holds_no_task(rig):
    task = rig.copy(submit=False)
    task.src.reset_data_len()
    task.submit()
    with pytest.raises(pydoca.IoFailedError):
        task.wait(5)
    gc.collect()
    del task
    assert rig.inventory.num_free_elements == 1024


def test_repr_says_what_and_where(rig):
    task = rig.held()
    assert repr(task) == "<pydoca task: dma memcpy of 64 bytes, in flight>"
    rig.release()
    task.wait(5)
    assert repr(task) == "<pydoca task: dma memcpy of 64 bytes, done>"


def test_done_callbacks_can_be_called(rig):
    task = rig.held()
    with pytest.raises(TypeError, match="int"):
        task.add_done_callback(5)
    rig.release()
    task.wait(5)
