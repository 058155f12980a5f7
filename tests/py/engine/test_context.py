"""The states of contexts, and the transitions of each library."""

import asyncio
import gc

import pytest

import pydoca
from pydoca import ContextState, Status


@pytest.fixture
def device():
    with pydoca.open_device("03:00.0", side="dpu") as device:
        yield device
        gc.collect()  # tests drop contexts; this collects those in cycles with their callbacks


@pytest.fixture
def pe():
    with pydoca.ProgressEngine() as pe:
        yield pe


def test_a_context_goes_from_idle_to_running_and_back(pe, device):
    seen = []
    dma = pydoca.Dma(pe, device, user_data="mine", on_state_changed=lambda *args: seen.append((*args, dma.state)))
    assert dma.state is ContextState.IDLE
    assert dma.start() is Status.SUCCESS
    assert dma.state is ContextState.RUNNING
    assert dma.stop() is Status.SUCCESS
    assert seen == [
        ("mine", dma, ContextState.IDLE, ContextState.RUNNING, ContextState.RUNNING),
        ("mine", dma, ContextState.RUNNING, ContextState.IDLE, ContextState.IDLE),
    ]


def test_a_context_knows_what_it_is_on(pe, device):
    dma = pydoca.Dma(pe, device, user_data=1)
    assert dma.device is device
    assert dma.progress_engine is pe
    assert pe.num_contexts == 1
    assert dma.user_data == 1
    dma.user_data = "other"
    assert dma.user_data == "other"
    assert repr(dma) == "<pydoca dma context on p0, IDLE>"


def test_a_context_keeps_its_engine_and_device_alive():
    dma = pydoca.Dma(pydoca.ProgressEngine(), pydoca.open_device("03:00.0", side="dpu"))
    gc.collect()
    with dma:
        assert dma.device.is_open
    dma.progress_engine.close()


def test_starting_twice_is_refused(pe, device):
    with pydoca.Dma(pe, device) as dma, pytest.raises(pydoca.BadStateError, match="running"):
        dma.start()


def test_stopping_an_idle_context_does_nothing(pe, device):
    assert pydoca.Dma(pe, device).stop() is Status.SUCCESS


def test_a_stopped_context_starts_again(rig):
    for _ in range(3):
        rig.copy().wait(5)
        assert rig.dma.stop() is Status.SUCCESS
        assert rig.dma.start() is Status.SUCCESS
    rig.copy().wait(5)


def test_closing_is_refused_unless_idle(rig):
    with pytest.raises(pydoca.InUseError, match="running"):
        rig.dma.close()
    rig.dma.stop()
    rig.dma.close()
    rig.dma.close()
    assert rig.dma.closed
    with pytest.raises(pydoca.BadStateError, match="closed"):
        rig.dma.start()


def test_stopping_flushes_what_is_in_flight(make_rig):
    failed = []
    rig = make_rig(on_error=lambda task, task_data, context_data: failed.append((task, task.status)))
    task = rig.held()
    assert rig.dma.stop() is Status.IN_PROGRESS
    assert rig.dma.state is ContextState.STOPPING
    assert rig.dma.num_inflight_tasks == 1
    assert "STOPPING: 1 task(s) in flight, 0 to free" in repr(rig.dma)
    rig.pe.run_until(lambda: failed, 5)
    assert failed == [(task, Status.SHUTDOWN)]
    task.free()
    rig.pe.run_until(lambda: rig.dma.state is ContextState.IDLE, 5)
    with pytest.raises(pydoca.ShutdownError, match="flushed"):
        task.result()


def test_a_context_is_stopping_until_its_tasks_are_freed(rig):
    finished, fresh = rig.copy(), rig.copy(submit=False)
    dropped = rig.copy()
    rig.pe.run_until([finished, dropped], 5)
    assert rig.dma.stop() is Status.IN_PROGRESS
    for _ in range(10):
        rig.pe.progress()
    assert "STOPPING: 0 task(s) in flight, 3 to free" in repr(rig.dma)
    finished.free()
    fresh.free()
    rig.pe.progress()
    assert rig.dma.state is ContextState.STOPPING
    del dropped  # this frees the task
    rig.pe.progress()
    assert rig.dma.state is ContextState.IDLE
    assert finished.status is Status.SUCCESS
    assert finished.result() is None
    for task in (finished, fresh):
        assert task.state is pydoca.TaskState.FREE
        with pytest.raises(pydoca.BadStateError, match="freed"):
            task.submit()
    assert rig.inventory.num_free_elements == 1024
    rig.dma.start()
    with pytest.raises(pydoca.BadStateError, match="freed"):
        finished.submit()


def test_stopping_in_a_callback_is_in_progress(make_rig):
    answers = []

    def on_completion(task, task_data, context_data):
        answers.append(rig.dma.stop())

    rig = make_rig(on_completion=on_completion)
    rig.copy()  # no name refers to the task, so it is freed at its completion
    rig.pe.run_until(lambda: rig.dma.state is ContextState.IDLE, 5)
    assert answers == [Status.IN_PROGRESS]


def test_a_failed_task_stops_its_context_and_flushes_the_rest(make_rig):
    events = []
    rig = make_rig(
        on_completion=lambda task, number, context: events.append((number, task.status)),
        on_error=lambda task, number, context: events.append((number, task.status)),
        on_state_changed=lambda data, context, previous, current: events.append(current),
    )
    events.clear()
    tasks = [rig.copy(user_data=number, submit=False) for number in range(5)]
    tasks[2].src.reset_data_len()
    for task in tasks:
        task.submit()
    rig.pe.run_until(lambda: rig.dma.num_inflight_tasks == 0, 5)
    assert rig.dma.state is ContextState.STOPPING, "as tasks are not freed"
    for task in tasks:
        task.free()
    rig.pe.run_until(lambda: rig.dma.state is ContextState.IDLE, 5)
    assert events == [
        (0, Status.SUCCESS),
        (1, Status.SUCCESS),
        ContextState.STOPPING,
        (2, Status.IO_FAILED),
        (3, Status.SHUTDOWN),
        (4, Status.SHUTDOWN),
        ContextState.IDLE,
    ]
    assert rig.dma.failure is Status.IO_FAILED
    assert rig.dma.stop() is Status.SUCCESS
    assert rig.dma.start() is Status.SUCCESS
    assert rig.dma.failure is Status.SUCCESS


def test_the_end_of_a_with_block_frees_its_tasks(make_rig):
    rig = make_rig()
    kept = [rig.copy(), rig.copy(submit=False)]
    rig.dma.__exit__(None, None, None)
    assert rig.dma.closed
    assert [task.state for task in kept] == [pydoca.TaskState.FREE] * 2
    assert kept[0].status in (Status.SUCCESS, Status.SHUTDOWN)


@pytest.mark.parametrize("with_flight", [False, True])
def test_a_task_that_is_freed_while_its_context_stops_calls_nobody_back(make_rig, with_flight):
    called = []
    rig = make_rig(on_completion=lambda *args: called.append(args), on_error=lambda *args: called.append(args))
    task = rig.held() if with_flight else rig.copy()
    task.add_done_callback(called.append)
    assert rig.dma.stop() is Status.IN_PROGRESS
    task.free()
    rig.pe.run_until(lambda: rig.dma.state is ContextState.IDLE, 5)
    assert called == []
    assert task.state is pydoca.TaskState.FREE
    assert task.status in (Status.SUCCESS, Status.SHUTDOWN)
    with pytest.raises(pydoca.BadStateError, match="freed"):
        task.free()


def test_a_task_that_fails_in_an_await_is_freed(make_rig):
    rig = make_rig()

    async def fail():
        src, dst, _ = rig.bufs()
        src.reset_data_len()
        task = rig.dma.memcpy(src, dst, submit=False)
        task.submit()
        with pytest.raises(pydoca.IoFailedError):
            await task
        return task

    task = asyncio.run(fail())
    rig.pe.run_until(lambda: rig.dma.state is ContextState.IDLE, 5)
    assert task.state is pydoca.TaskState.FREE


def test_tasks_are_refused_unless_the_context_runs(rig):
    src, dst, _ = rig.bufs()
    rig.dma.stop()
    with pytest.raises(pydoca.BadStateError, match="not running"):
        rig.dma.memcpy(src, dst)


def test_with_starts_stops_and_closes(pe, device):
    with pydoca.Dma(pe, device) as dma:
        assert dma.state is ContextState.RUNNING
    assert dma.state is ContextState.IDLE
    assert dma.closed
    with pytest.raises(pydoca.BadStateError), dma:
        pass


def test_with_accepts_a_context_that_runs(pe, device):
    dma = pydoca.Dma(pe, device)
    dma.start()
    with dma:
        assert dma.state is ContextState.RUNNING


def test_with_closes_also_when_the_block_raised(rig):
    tasks = []

    def body():
        with rig.dma:
            tasks.append(rig.held())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        body()
    assert tasks[0].status is Status.SHUTDOWN
    assert rig.dma.closed
    assert rig.pe.num_inflight_tasks == 0


def test_with_closes_a_context_that_its_block_closed(pe, device):
    with pydoca.Dma(pe, device) as dma:
        dma.stop()
        dma.close()


def test_what_a_state_callback_raises_is_raised_by_the_call_that_changed_the_state(pe, device):
    def on_state_changed(*args):
        raise ValueError

    dma = pydoca.Dma(pe, device, on_state_changed=on_state_changed)
    with pytest.raises(ExceptionGroup):
        dma.start()
    assert dma.state is ContextState.RUNNING
    with pytest.raises(ExceptionGroup) as raised:
        dma.stop()
    assert len(raised.value.exceptions) == 1
    assert dma.state is ContextState.IDLE


@pytest.mark.parametrize("num_tasks", [0, 1 << 30])
def test_the_number_of_tasks_is_within_the_devices_limit(pe, device, num_tasks):
    with pytest.raises(pydoca.InvalidValueError, match=r"1\.\."):
        pydoca.Dma(pe, device, num_tasks=num_tasks)
    assert pe.num_contexts == 0


def test_a_context_needs_an_open_engine_and_an_open_device(pe, device):
    closed = pydoca.ProgressEngine()
    closed.close()
    with pytest.raises(pydoca.BadStateError, match="closed"):
        pydoca.Dma(closed, device)
    shut = pydoca.open_device("03:00.1", side="dpu")
    shut.close()
    with pytest.raises(pydoca.BadStateError):
        pydoca.Dma(pe, shut)
    with pytest.raises(TypeError):
        pydoca.Dma(device, device)
    with pytest.raises(TypeError):
        pydoca.Dma(pe, pe)


def test_several_contexts_share_an_engine(pe, device):
    with pydoca.Dma(pe, device) as one, pydoca.Dma(pe, device) as two:
        assert pe.num_contexts == 2
        assert one.state is two.state is ContextState.RUNNING


def test_a_context_that_its_own_user_data_refers_to_is_collected(pe, device):
    dma = pydoca.Dma(pe, device)
    dma.user_data = [dma]
    dma.start()
    del dma
    gc.collect()
    assert pe.num_contexts == 0


@pytest.mark.parametrize("num_tasks", [-1, 0, 10**9, 1 << 32])
def test_an_impossible_number_of_tasks_is_named(pe, device, num_tasks):
    with pytest.raises(pydoca.InvalidValueError, match=rf"num_tasks must be in 1\.\.\d+, not {num_tasks}"):
        pydoca.Dma(pe, device, num_tasks=num_tasks)


@pytest.mark.parametrize("name", ["on_completion", "on_error", "on_state_changed"])
def test_callbacks_can_be_called(pe, device, name):
    with pytest.raises(TypeError, match=f"{name} must be callable, or None, not int"):
        pydoca.Dma(pe, device, **{name: 5})
    assert pe.num_contexts == 0
