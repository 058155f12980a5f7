"""Progress, its notification handle, blocking waits, and exceptions in callbacks."""

import asyncio
import math
import queue
import select
import threading

import pytest

import pydoca


def is_readable(pe: pydoca.ProgressEngine) -> bool:
    return bool(select.select([pe], [], [], 0)[0])


def test_an_engine_with_nothing_to_do_says_so():
    with pydoca.ProgressEngine() as pe:
        assert pe.progress() is False
        assert pe.drain() == 0
        assert (pe.num_contexts, pe.num_inflight_tasks) == (0, 0)


def test_progress_delivers_one_completion_a_call(rig):
    tasks = [rig.copy() for _ in range(3)]
    assert rig.pe.num_inflight_tasks == 3
    assert rig.pe.progress() is True
    assert [task.done for task in tasks] == [True, False, False]
    assert rig.pe.num_inflight_tasks == 2


def test_drain_delivers_up_to_max(rig):
    tasks = [rig.copy() for _ in range(10)]
    assert rig.pe.drain(4) == 4
    assert sum(task.done for task in tasks) == 4
    assert rig.pe.drain() == 6


def test_the_handle_is_one_descriptor_for_life():
    with pydoca.ProgressEngine() as pe:
        assert pe.fileno() == pe.notification_handle > 0
        assert not is_readable(pe)


def test_the_handle_is_readable_once_armed_and_something_is_pending(rig):
    task = rig.held()
    rig.pe.request_notification()
    assert not is_readable(rig.pe)
    rig.release()
    assert is_readable(rig.pe)
    rig.pe.clear_notification()
    assert not is_readable(rig.pe)
    assert rig.pe.progress()
    assert task.done


def test_arming_with_something_pending_makes_the_handle_readable_at_once(rig):
    rig.copy()
    assert not is_readable(rig.pe)
    rig.pe.request_notification()
    assert is_readable(rig.pe)


def test_event_mode_is_selective_until_it_is_set():
    with pydoca.ProgressEngine() as pe:
        assert pe.event_mode is pydoca.EventMode.PROGRESS_SELECTIVE
        pe.event_mode = pydoca.EventMode.PROGRESS_ALL
        assert pe.event_mode is pydoca.EventMode.PROGRESS_ALL


def test_requesting_clears_in_the_mode_that_progresses_all(rig):
    rig.pe.event_mode = pydoca.EventMode.PROGRESS_ALL
    task = rig.copy()
    rig.pe.request_notification()
    assert is_readable(rig.pe)
    rig.pe.drain()
    assert task.done
    rig.pe.request_notification()
    assert not is_readable(rig.pe)


# ---- run_until and wait


def test_run_until_a_task_has_completed(rig):
    task = rig.copy()
    rig.pe.run_until(task)
    assert task.done


def test_run_until_every_task_has_completed(rig):
    tasks = [rig.copy() for _ in range(5)]
    rig.pe.run_until(task for task in tasks)
    assert all(task.done for task in tasks)


def test_run_until_a_predicate_is_true(rig):
    done = []
    rig.copy().add_done_callback(done.append)
    rig.pe.run_until(lambda: done)
    assert done


def test_run_until_nothing_is_over_at_once():
    with pydoca.ProgressEngine() as pe:
        pe.run_until([])


def test_run_until_raises_the_first_failed_tasks_error_when_all_are_done(make_rig):
    rig = make_rig()
    good = rig.copy()
    bad = rig.copy(submit=False)
    bad.src.reset_data_len()
    bad.submit()
    with pytest.raises(pydoca.IoFailedError) as raised:
        rig.pe.run_until([good, bad])
    assert raised.value.task is bad
    assert good.done


def test_run_until_gives_up_when_the_time_is_over(rig):
    task = rig.held()
    with pytest.raises(pydoca.TimeOutError, match="dma memcpy of 64 bytes"):
        rig.pe.run_until(task, timeout=0.02)
    with pytest.raises(TimeoutError):
        rig.pe.run_until([task], timeout=0)
    rig.release()
    rig.pe.run_until(task, timeout=5)


@pytest.mark.parametrize("timeout", [-1, -0.001, math.nan])
def test_a_timeout_is_a_time(timeout):
    with pydoca.ProgressEngine() as pe, pytest.raises(pydoca.InvalidValueError, match="seconds"):
        pe.wait(timeout)


@pytest.mark.parametrize("what", [1, [1], ["task"]])
def test_run_until_refuses_what_never_ends(what):
    with pydoca.ProgressEngine() as pe, pytest.raises(TypeError, match="a Task, an iterable of Tasks, or a predicate"):
        pe.run_until(what)


def test_run_until_refuses_a_task_that_was_never_submitted(rig):
    with pytest.raises(pydoca.BadStateError, match="never submitted"):
        rig.pe.run_until(rig.copy(submit=False))


def test_wait_returns_how_much_was_delivered(rig):
    tasks = [rig.copy() for _ in range(3)]
    assert rig.pe.wait(5) == 3
    assert all(task.done for task in tasks)


def test_wait_sleeps_until_a_worker_of_the_device_has_finished(make_rig):
    rig = make_rig(size=1 << 20)
    task = rig.copy()
    while not task.done:
        assert rig.pe.wait(5) >= 1


def test_wait_gives_up_when_the_time_is_over():
    with pydoca.ProgressEngine() as pe, pytest.raises(pydoca.TimeOutError, match="the timeout has passed"):
        pe.wait(0.01)


# ---- callbacks


def test_progress_is_refused_in_a_callback(make_rig):
    refused = []

    def on_completion(task, task_data, context_data):
        for call in (rig.pe.progress, rig.pe.drain, rig.pe.wait, lambda: rig.pe.run_until(list), rig.pe.close):
            with pytest.raises(pydoca.BadStateError, match="callback"):
                call()
            refused.append(call)
        with pytest.raises(pydoca.BadStateError):
            rig.pe.event_mode = pydoca.EventMode.PROGRESS_ALL

    rig = make_rig(on_completion=on_completion)
    rig.copy()
    rig.pe.drain()
    assert len(refused) == 5


def test_what_callbacks_raise_comes_as_one_group_after_the_batch(make_rig):
    def on_completion(task, number, context_data):
        if number % 2:
            raise ValueError(number)

    rig = make_rig(on_completion=on_completion)
    tasks = [rig.copy(user_data=number) for number in range(6)]
    with pytest.raises(ExceptionGroup) as raised:
        rig.pe.drain()
    assert [error.args for error in raised.value.exceptions] == [(1,), (3,), (5,)]
    assert raised.value.exceptions[0].__traceback__ is not None
    assert all(task.done for task in tasks)
    assert rig.pe.drain() == 0


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_a_callback_is_raised_after_the_batch(make_rig, interrupt):
    def on_completion(task, number, context_data):
        raise interrupt if number == 0 else ValueError(number)

    rig = make_rig(on_completion=on_completion)
    tasks = [rig.copy(user_data=number) for number in range(3)]
    with pytest.raises(interrupt) as raised:
        rig.pe.drain()
    assert all(task.done for task in tasks)
    assert isinstance(raised.value.__context__, ExceptionGroup)
    assert len(raised.value.__context__.exceptions) == 2


def test_a_blocking_wait_raises_what_callbacks_raise(make_rig):
    def on_completion(task, task_data, context_data):
        raise ValueError

    rig = make_rig(on_completion=on_completion)
    task = rig.copy()
    with pytest.raises(ExceptionGroup):
        task.wait(5)
    assert task.done
    task.wait(5)


# ---- life


def test_close_is_idempotent_and_final():
    pe = pydoca.ProgressEngine()
    pe.close()
    pe.close()
    assert pe.closed
    for call in (pe.progress, pe.drain, pe.wait, pe.fileno, pe.request_notification, pe.clear_notification):
        with pytest.raises(pydoca.BadStateError, match="closed"):
            call()
    with pytest.raises(pydoca.BadStateError), pe:
        pass


def test_close_is_refused_while_a_context_is_open(rig):
    with pytest.raises(pydoca.InUseError):
        rig.pe.close()
    rig.dma.stop()
    with pytest.raises(pydoca.InUseError):
        rig.pe.close()
    rig.dma.close()
    rig.pe.close()


def test_a_context_that_was_dropped_does_not_hold_the_engine_open(rig):
    rig.dma = None
    rig.pe.close()


def test_leaving_a_with_block_closes_the_contexts_newest_first(rig):
    closed = []

    def on_state_changed(name, context, previous, current):
        if current is pydoca.ContextState.IDLE:
            closed.append(name)

    with rig.pe:
        contexts = [
            pydoca.Dma(rig.pe, rig.device, on_state_changed=on_state_changed, user_data=number) for number in range(3)
        ]
        for context in contexts:
            context.start()
        task = rig.copy()
    assert closed == [2, 1, 0]
    assert all(context.closed for context in [*contexts, rig.dma])
    assert rig.pe.closed
    assert task.done


def test_another_thread_takes_over_what_was_released(rig):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as other:
        task = rig.held()
        with pytest.raises(pydoca.InUseError):
            rig.pe.release_thread()
        rig.release()
        task.wait(5)
        rig.pe.release_thread()
        other.submit(lambda: rig.copy().wait(5)).result()
        with pytest.raises(pydoca.WrongThreadError):
            rig.pe.progress()
        other.submit(rig.pe.release_thread).result()
    rig.copy().wait(5)


def test_repr_says_what_is_on_it(rig):
    task = rig.held()
    assert repr(rig.pe) == "<pydoca.ProgressEngine of 1 context(s), 1 task(s) in flight>"
    rig.release()
    task.wait(5)
    closed = pydoca.ProgressEngine()
    closed.close()
    assert repr(closed) == "<pydoca.ProgressEngine, closed>"


@pytest.mark.parametrize("latency", ["low", "balanced", "power"])
def test_every_latency_passes_a_value_back_and_forth(latency):
    """One loop waits in its own thread, the other here; each sleeps and wakes."""

    async def play(event, first):
        async with pydoca.ProgressEngine(latency=latency) as pe, event.as_context(pe, num_tasks=4) as ctx:
            assert pe.latency == latency
            if first:
                blobs.put(event.export_to_remote_pci())
            for number in range(1, 200, 2):
                if first:
                    await ctx.notify_set(number)
                    await asyncio.wait_for(ctx.wait_eq(number + 1), 30)
                else:
                    await asyncio.wait_for(ctx.wait_eq(number), 30)
                    await ctx.notify_set(number + 1)

    def answer():
        with pydoca.open_device("03:00.0", side="dpu") as dpu:
            asyncio.run(play(dpu.import_sync_event(blobs.get(timeout=30)), first=False))

    blobs = queue.Queue()
    other = threading.Thread(target=answer)
    other.start()
    with pydoca.open_device("0b:00.0", side="host") as host:
        asyncio.run(play(pydoca.SyncEvent(host, publisher="remote_pci"), first=True))
    other.join(timeout=30)
    assert not other.is_alive()


def test_latency_comes_from_the_environment_unless_it_is_given(monkeypatch):
    assert pydoca.ProgressEngine().latency == "balanced"
    monkeypatch.setenv("PYDOCA_LATENCY", "power")
    assert pydoca.ProgressEngine().latency == "power"
    assert pydoca.ProgressEngine(latency="low").latency == "low"
    with pytest.raises(pydoca.InvalidValueError, match=r"fast.*low, balanced, power"):
        pydoca.ProgressEngine(latency="fast")
    monkeypatch.setenv("PYDOCA_LATENCY", "")
    assert pydoca.ProgressEngine().latency == "balanced"
    monkeypatch.setenv("PYDOCA_LATENCY", "slow")
    with pytest.raises(pydoca.InvalidValueError, match="PYDOCA_LATENCY"):
        pydoca.ProgressEngine()
