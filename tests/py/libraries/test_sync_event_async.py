"""Sync events as contexts: their operations as tasks."""

import asyncio
import contextlib
import gc
import time
import weakref

import pytest

import pydoca

TOP = 2**64 - 1
ENOUGH = 20.0  # seconds in which an event must come
OPERATIONS = ["get", "notify_set", "notify_add", "wait_gt", "wait_eq", "wait_neq"]
WAITS = ["wait_gt", "wait_eq", "wait_neq"]


@pytest.fixture
def host():
    with pydoca.open_device("0b:00.0", side="host") as device:
        yield device


class Running:
    """An event with a running context, and its engine."""

    def __init__(self, device, **options):
        self.event = pydoca.SyncEvent(device)
        self.pe = pydoca.ProgressEngine()
        self.ctx = self.event.as_context(self.pe, **options)
        self.ctx.start()

    def call(self, operation, value=1, **options):
        return getattr(self.ctx, operation)(*([] if operation == "get" else [value]), **options)


@pytest.fixture
def make_running(host):
    made = []

    def make(**options):
        made.append(Running(host, **options))
        return made[-1]

    yield make
    for running in made:
        running.pe.__exit__(None, None, None)
        running.event.close()
    gc.collect()


@pytest.fixture
def running(make_running):
    return make_running()


# ---- operations


def test_the_operations(run, host):
    async def main():
        event = pydoca.SyncEvent(host)
        async with pydoca.ProgressEngine() as pe, event.as_context(pe) as ctx:
            assert ctx.event is event
            assert await ctx.get() == 0
            assert await ctx.notify_set(7) is None
            assert await ctx.notify_add(3) == 7
            assert await ctx.wait_eq(10) == 10
            assert await ctx.wait_neq(0) == 10
            assert await ctx.wait_eq(0xA, 0xFF) == 10
            assert await ctx.notify_add(TOP) == 10
            assert await ctx.get() == 9

    run(main())


def test_the_operations_without_a_loop(running):
    ctx = running.ctx
    assert ctx.notify_set(7).wait(ENOUGH) is None
    task = ctx.notify_add(3)
    assert task.wait(ENOUGH) == 7
    assert task.result() == 7
    assert ctx.wait_eq(10).wait(ENOUGH) == 10
    late = r"wait until value == 11: the timeout has passed \(0\.01 s\): the event is on pf0, and the value "
    with pytest.raises(pydoca.TimeOutError, match=late):
        ctx.wait_eq(11).wait(0.01)
    running.pe.run_until([ctx.get(), ctx.get()], ENOUGH)


@pytest.mark.parametrize("operation", WAITS)
def test_a_wait_that_takes_time(run, running, operation):
    async def main():
        value = 3 if operation == "wait_eq" else 0
        waiting = asyncio.ensure_future(running.call(operation, value))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        await running.ctx.notify_set(3)
        assert await asyncio.wait_for(waiting, ENOUGH) == 3

    run(main())


def test_many_waits_for_many_values(run, make_running):
    running = make_running(num_tasks={"wait_eq": 200, "notify_set": 1})

    async def main():
        waiting = [asyncio.ensure_future(running.ctx.wait_eq(i)) for i in range(1, 200)]
        await asyncio.sleep(0)
        for i in range(1, 200):
            await running.ctx.notify_set(i)
            assert await asyncio.wait_for(waiting[i - 1], ENOUGH) == i

    run(main())


def test_a_task_is_used_again(run, running):
    async def main():
        task = running.ctx.notify_add(2, submit=False)
        assert (task.operation, task.operand) == ("notify_add", 2)
        for i in range(5):
            task.submit()
            assert await task == 2 * i
            assert await task == 2 * i
        task.operand = 1
        task.try_submit()
        assert await task == 10

    run(main())


def test_a_wait_gives_the_value_that_ended_it(run, running):
    async def main():
        await running.ctx.notify_set(0x1FF01)
        task = running.ctx.wait_eq(0x1FF01)
        assert await task == 0x1FF01
        task.mask = 0xFF
        task.operand = 1
        task.submit()
        assert await task == 0x1FF01
        assert await running.ctx.wait_eq(0xFF00, 0xFF00) == 0x1FF01
        await running.ctx.notify_set(1)
        assert type(await running.ctx.wait_eq(True)) is int

    run(main())


def test_values_and_user_data(running):
    task = running.ctx.wait_neq(5, 0xFF00, user_data="mine", submit=False)
    assert (task.operation, task.operand, task.mask, task.user_data) == ("wait_neq", 5, 0xFF00, "mine")
    assert "5" in repr(task)
    task.mask = 0xFF
    assert task.mask == 0xFF
    task.free()
    with pytest.raises(pydoca.BadStateError):
        task.submit()


@pytest.mark.parametrize("operation", OPERATIONS[1:])
@pytest.mark.parametrize(
    ("value", "error"), [(-1, ValueError), (2**64, ValueError), (1.5, TypeError), (None, TypeError)]
)
def test_bad_values(running, operation, value, error):
    with pytest.raises(error):
        running.call(operation, value)
    assert running.ctx.num_inflight_tasks == 0


@pytest.mark.parametrize(("value", "mask"), [(3, TOP), (3, 0xFF), (0, 0xFFFF), (254, 0xFF)])
def test_waiting_for_a_greater_value(run, running, value, mask):
    async def main():
        waiting = asyncio.ensure_future(running.ctx.wait_gt(value, mask))
        await running.ctx.notify_set(value)
        await asyncio.sleep(0.01)
        assert not waiting.done()
        if value < 254:
            await running.ctx.notify_add(1)
            assert await asyncio.wait_for(waiting, ENOUGH) == value + 1
            return
        waiting.cancel()

    run(main())


def test_a_wait_for_a_value_above_254_is_refused(running):
    with pytest.raises(pydoca.InvalidValueError, match=r"255.*up to 254.*wait_eq"):
        running.ctx.wait_gt(255)
    assert running.ctx.num_inflight_tasks == 0


def test_a_value_above_254_fails_a_wait_for_a_greater_one(running):
    waiting = running.ctx.wait_gt(3)
    running.ctx.notify_set(300).wait(ENOUGH)
    with pytest.raises(pydoca.IoFailedError, match=r"300.*up to 254.*wait_eq"):
        waiting.wait(ENOUGH)


@pytest.mark.parametrize(
    ("old", "new"), [("update_set", "notify_set"), ("update_add", "notify_add"), ("wait", "wait_gt")]
)
def test_old_names_of_tasks_lead_to_the_new_ones(host, old, new):
    with pydoca.ProgressEngine() as pe, pytest.raises(pydoca.InvalidValueError, match=f"'{old}'.*'{new}'"):
        pydoca.SyncEvent(host).as_context(pe, {old: 1})


def test_bad_masks(running):
    for mask in (0, 0xFF, 0xFF00, 0xFFFF, 0xFFFFFFFF, TOP, 0xFF << 56):
        running.ctx.wait_neq(1 << 63 | 1, mask).wait(ENOUGH)
    for mask in (1, 0xFFF, 0xFFFFFF, 0xFF00FF):
        with pytest.raises(pydoca.InvalidValueError, match=hex(mask)):
            running.ctx.wait_eq(1, mask)
    with pytest.raises(TypeError):
        running.ctx.get(1)
    with pytest.raises(TypeError):
        running.ctx.wait_eq()


def test_a_bad_mask_fails_in_the_device_when_it_was_not_looked_at(running):
    task = running.ctx.wait_eq(1, 0xFFF, submit=False)
    task.submit()
    with pytest.raises(pydoca.IoFailedError):
        task.wait(ENOUGH)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_pool_has_num_tasks(make_running, operation):
    running = make_running(num_tasks=2)
    tasks = [running.call(operation, submit=False) for _ in range(2)]
    with pytest.raises(pydoca.NoMemoryError, match=operation):
        running.call(operation)
    tasks.pop()
    tasks.append(running.call(operation, submit=False))
    tasks[0].free()
    running.call(operation, submit=False)


def test_kinds_that_were_not_asked_for(make_running):
    running = make_running(num_tasks={"get": 1})
    assert running.ctx.get().wait(ENOUGH) == 0
    with pytest.raises(pydoca.NoMemoryError, match="num_tasks"):
        running.ctx.notify_set(1)


@pytest.mark.parametrize("num_tasks", [0, 2**40, -1, {"get": 0}, {"wait_ge": 1}])
def test_bad_numbers_of_tasks(host, num_tasks):
    with pydoca.ProgressEngine() as pe:
        event = pydoca.SyncEvent(host)
        with pytest.raises(pydoca.InvalidValueError):
            event.as_context(pe, num_tasks)
        event.as_context(pe).close()
        event.close()


def test_callbacks(running, host):
    seen = []
    with pydoca.ProgressEngine() as pe:
        event = pydoca.SyncEvent(host)
        ctx = event.as_context(
            pe,
            on_completion=lambda task, mine, its: seen.append((task.result(), mine, its)),
            on_error=lambda task, *_: seen.append(task.status),
            on_state_changed=lambda its, context, previous, state: seen.append(state.name),
            user_data="its",
        )
        with ctx:
            ctx.notify_add(4, user_data="mine").wait(ENOUGH)
            ctx.wait_eq(9)
    assert seen == ["RUNNING", (0, "mine", "its"), "STOPPING", pydoca.Status.SHUTDOWN, "IDLE"]


# ---- modes and states


@pytest.mark.parametrize("call", ["get", "start", "stop"])
def test_synchronous_calls_on_an_asynchronous_event(running, call):
    with pytest.raises(pydoca.BadStateError):
        getattr(running.event, call)()
    assert "asynchronous" in repr(running.event)


def test_a_context_of_a_started_event(host):
    with pydoca.ProgressEngine() as pe, pydoca.SyncEvent(host) as event, pytest.raises(pydoca.BadStateError):
        event.as_context(pe)


def test_an_event_has_one_context(running, host):
    assert running.event.as_context() is running.ctx
    assert running.event.as_context(running.pe) is running.ctx
    for again in (
        lambda: running.event.as_context(num_tasks=1),
        lambda: running.event.as_context(running.pe, on_error=print),
        lambda: running.event.as_context(None, user_data=1),
    ):
        with pytest.raises(pydoca.NotPermittedError, match="setters"):
            again()
    with pydoca.ProgressEngine() as other, pytest.raises(pydoca.BadStateError, match="running"):
        running.event.as_context(other)


def test_an_events_context_is_connected_by_a_later_call(host):
    with pydoca.ProgressEngine() as pe, pydoca.ProgressEngine() as other:
        event = pydoca.SyncEvent(host)
        ctx = event.as_context()
        assert ctx.progress_engine is None
        assert event.as_context(pe) is ctx
        assert ctx.progress_engine is pe
        with pytest.raises(pydoca.NotPermittedError, match="keeps it for life"):
            event.as_context(other)
        event.close()


def test_a_dropped_context_makes_room_for_another(host):
    with pydoca.ProgressEngine() as pe, contextlib.closing(pydoca.SyncEvent(host)) as event:
        event.as_context(pe, 1)
        gc.collect()
        assert event.as_context(pe, 2).num_tasks("get") == 2


def test_closing_a_context_closes_its_event(host):
    memory = bytearray(64)
    with (
        pydoca.ProgressEngine() as pe,
        host.mmap(memory, access="local_read_write|rdma_read|rdma_write|rdma_atomic") as mmap,
        pydoca.BufInventory(1) as inventory,
    ):
        buf = inventory.get_by_data(mmap, mmap.addr + -mmap.addr % 8, 8)
        event = pydoca.SyncEvent(host, buf=buf)
        with event.as_context(pe) as ctx:
            assert not event.closed
        assert ctx.closed
        assert event.closed
        assert "closed" in repr(event)
        event.close()
        del buf
        assert inventory.num_free_elements == 1
        with pytest.raises(pydoca.BadStateError, match="closed"):
            event.__enter__()
        assert event.as_context() is ctx


def test_closing_an_event_closes_its_context(host):
    with pydoca.ProgressEngine() as pe:
        event = pydoca.SyncEvent(host)
        ctx = event.as_context(pe)
        event.close()
        assert ctx.closed
        assert pe.num_contexts == 0
        ctx.close()
        with pytest.raises(pydoca.BadStateError, match="closed"):
            ctx.start()


def test_closing_the_event_under_its_context(running):
    with pytest.raises(pydoca.InUseError):
        running.event.close()
    assert running.ctx.get().wait(ENOUGH) == 0


def test_tasks_need_a_running_context(host):
    with pydoca.ProgressEngine() as pe:
        ctx = pydoca.SyncEvent(host).as_context(pe)
        with pytest.raises(pydoca.BadStateError, match="start"):
            ctx.get()
        with ctx:
            task = ctx.get(submit=False)
        with pytest.raises(pydoca.BadStateError):
            task.submit()
        with pytest.raises(pydoca.BadStateError):
            ctx.wait_eq(1)


def test_stopping_flushes_waits(run, host):
    async def main():
        event = pydoca.SyncEvent(host)
        async with pydoca.ProgressEngine() as pe:
            async with event.as_context(pe) as ctx:
                waiting = asyncio.ensure_future(ctx.wait_eq(1))
                await asyncio.sleep(0.01)
            with pytest.raises(pydoca.ShutdownError):
                await waiting
        event.close()

    run(main())


def test_spare_tasks_do_not_keep_their_context(host):
    with pydoca.ProgressEngine() as pe:
        event = pydoca.SyncEvent(host)
        ctx = event.as_context(pe)
        ctx.start()
        for _ in range(10):
            ctx.get().wait(ENOUGH)
        assert ctx.stop() is pydoca.Status.SUCCESS
        ctx.close()
        del ctx, event
        gc.collect()
    host.close()


def test_what_a_dropped_task_held_is_dropped(running):
    class Mark:
        pass

    mark = Mark()
    running.ctx.get(user_data=mark).wait(ENOUGH)
    count = len(gc.get_referrers(mark))
    task = running.ctx.get()
    assert task.user_data is None
    task.wait(ENOUGH)
    assert count == len(gc.get_referrers(mark))


# ---- cancelling


def test_cancelling_a_wait_is_immediate(run, running):
    async def main():
        running.pe.drain_timeout = 1000
        task = running.ctx.wait_eq(1)
        waiting = asyncio.ensure_future(task)
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(pydoca.ShutdownError):
            await task
        assert running.ctx.state is pydoca.ContextState.RUNNING

    run(main())


def test_a_shielded_wait_outlives_its_waiter(run, running):
    async def main():
        task = running.ctx.wait_eq(1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(task), 0.01)
        await running.ctx.notify_set(1)
        assert await asyncio.wait_for(task, ENOUGH) == 1

    run(main())


def test_waits_that_time_out_give_their_slots_back(run, make_running):
    running = make_running(num_tasks=1)

    async def main():
        for _ in range(5):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(running.ctx.wait_eq(1), 0.005)
        await running.ctx.notify_set(1)
        assert await asyncio.wait_for(running.ctx.wait_eq(1), ENOUGH) == 1

    run(main())


def test_cancelling_one_of_two_waiters(run, running):
    async def main():
        task = running.ctx.wait_eq(1)
        one, other = asyncio.ensure_future(task), asyncio.ensure_future(task)
        await asyncio.sleep(0.01)
        one.cancel()
        await asyncio.sleep(0)
        await running.ctx.notify_set(1)
        assert await asyncio.wait_for(other, ENOUGH) == 1
        assert one.cancelled()

    run(main())


def test_cancelling_gather_of_waits_is_immediate(run, running):
    async def main():
        running.pe.drain_timeout = 1000
        waiting = asyncio.ensure_future(running.pe.gather([running.ctx.wait_eq(1), running.ctx.wait_eq(2)]))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    run(main())


# ---- awaiting, in general


def test_an_await_is_an_iterator_with_the_methods_of_one(running):
    task = running.ctx.notify_add(5)
    task.wait(ENOUGH)
    awaiter = task.__await__()
    assert iter(awaiter) is awaiter
    with pytest.raises(StopIteration) as stopped:
        awaiter.send(None)
    assert stopped.value.value == 0
    with pytest.raises(StopIteration):
        next(task.__await__())
    awaiter = task.__await__()
    awaiter.close()
    with pytest.raises(RuntimeError, match="await"):
        awaiter.send(None)
    with pytest.raises(KeyError, match="thrown"):
        task.__await__().throw(KeyError("thrown"))
    with pytest.raises(KeyError):
        task.__await__().throw(KeyError)


def test_awaiters_and_tasks_are_used_again_without_leaks(run, running):
    async def main():
        for _ in range(100):
            await running.ctx.get()
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(1000):
            await running.ctx.get()
        gc.collect()
        assert len(gc.get_objects()) < before + 50

    run(main())


def test_inline_awaits_give_the_loop_its_turns(run, running):
    async def main():
        turned = []

        async def count():
            while True:
                turned.append(1)
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            await running.ctx.get()
        counting.cancel()
        assert len(turned) > 10

    run(main())


def test_two_loops_at_once_are_refused_however_quick_the_await(new_loop, running):
    one, other = new_loop(), new_loop()

    async def get():
        return await running.ctx.get()

    try:
        assert one.run_until_complete(get()) == 0
        with pytest.raises(pydoca.BadStateError, match="another event loop"):
            other.run_until_complete(get())
        assert one.run_until_complete(get()) == 0
    finally:
        one.close()
        other.close()


def test_one_engine_in_one_loop_after_another(run, running):
    async def main():
        return await running.ctx.notify_add(1)

    assert [run(main()) for _ in range(3)] == [0, 1, 2]


# ---- devices without wait tasks


def test_without_wait_tasks(run, bluefield2):
    device = pydoca.open_device("03:00.0", side="dpu")
    assert not device.info.supports("async_sync_event_wait")
    assert not pydoca.SyncEventContext.is_supported(device.info, "wait_eq")
    assert pydoca.SyncEventContext.is_supported(device.info, "get")

    async def main():
        event = pydoca.SyncEvent(device)
        async with pydoca.ProgressEngine() as pe:
            with pytest.raises(pydoca.NotSupportedError, match="poll_until"):
                event.as_context(pe, {"wait_eq": 1})
            async with event.as_context(pe) as ctx:
                with pytest.raises(pydoca.NotSupportedError, match=r"poll_until\(lambda value: value == 5\)"):
                    ctx.wait_eq(5)
                polling = asyncio.create_task(ctx.poll_until(lambda value: value == 5))
                slowly = asyncio.create_task(ctx.poll_until(lambda value: value > 3, interval=0.001))
                await asyncio.sleep(0.01)
                assert not polling.done()
                await ctx.notify_set(5)
                assert await asyncio.wait_for(polling, ENOUGH) == 5
                assert await asyncio.wait_for(slowly, ENOUGH) == 5

    run(main())
    device.close()


async def asynchronous(value):
    return value == 5


@pytest.mark.parametrize("predicate", [asynchronous, lambda value: asynchronous(value)], ids=["function", "result"])
def test_polling_takes_a_plain_function_only(run, predicate):
    device = pydoca.open_device("03:00.0", side="dpu")

    async def main():
        async with pydoca.ProgressEngine() as pe, pydoca.SyncEvent(device).as_context(pe) as ctx:
            with pytest.raises(TypeError, match=r"poll_until: .*(a plain function|would not run it)"):
                await asyncio.wait_for(ctx.poll_until(predicate), ENOUGH)

    run(main())
    device.close()


def test_capabilities(host):
    for operation in OPERATIONS:
        assert pydoca.SyncEventContext.is_supported(host.info, operation)
    assert pydoca.SyncEventContext.max_num_tasks(host.info) == host.info.capabilities.sync_event.max_num_tasks
    with pytest.raises(pydoca.InvalidValueError, match="wait_eq"):
        pydoca.SyncEventContext.is_supported(host.info, "wait_eqq")


# ---- found by use


def test_a_wait_that_begins_after_the_owner_has_stopped(run, host):
    async def main():
        dpu = pydoca.open_device("03:00.0", side="dpu")
        owner = pydoca.SyncEvent(host, publisher="remote_pci")
        owner.start()
        imported = dpu.import_sync_event(owner.export_to_remote_pci())
        async with pydoca.ProgressEngine() as pe, imported.as_context(pe, 2) as context:
            owner.stop()
            await asyncio.sleep(0.1)
            with pytest.raises(pydoca.NotConnectedError):
                async with asyncio.timeout(ENOUGH):
                    await context.wait_eq(1)
        owner.close()

    run(main())


def test_the_slot_of_a_cancelled_wait_is_free_at_once(run, make_running):
    running = make_running(num_tasks=1)

    async def main():
        await running.ctx.get()
        for _ in range(5):
            with contextlib.suppress(TimeoutError):  # unlike pytest.raises, this keeps no frame that has the task
                async with asyncio.timeout(0.01):
                    await running.ctx.wait_eq(1)

    run(main())


class Made:
    """Starts waits, and counts those whose objects live."""

    def __init__(self, ctx):
        self.ctx = ctx
        self.references = []

    def wait_eq(self):
        task = self.ctx.wait_eq(1)
        self.references.append(weakref.ref(task))
        return task

    @property
    def num_alive(self):
        return sum(reference() is not None for reference in self.references)


async def wait_for_one(pe, made):
    await made.wait_eq()


async def wait_for_all(pe, made):
    await pe.gather([made.wait_eq(), made.wait_eq()])


async def wait_for_each(pe, made):
    async for _ in pe.as_completed([made.wait_eq(), made.wait_eq()]):
        pass


@pytest.mark.parametrize("wait", [wait_for_one, wait_for_all, wait_for_each])
@pytest.mark.parametrize("is_bound", [False, True])
def test_the_error_of_a_wait_that_times_out_does_not_keep_its_task(run, running, wait, is_bound):
    made = Made(running.ctx)

    async def main():
        if is_bound:  # otherwise the first await binds the engine to the loop, which is another path of the code
            await running.ctx.get()
        # asyncio keeps the error that this one replaces until the coroutine suspends again.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await wait(running.pe, made)
        return made.num_alive

    gc.disable()
    try:
        assert run(main()) == 0
    finally:
        gc.enable()


def test_a_wait_without_an_await_can_be_cancelled(running):
    task = running.ctx.wait_eq(1)
    task.cancel()
    with pytest.raises(pydoca.ShutdownError, match="cancelled"):
        task.wait(ENOUGH)
    for other in (task, running.ctx.get()):
        with pytest.raises(pydoca.BadStateError, match="not a wait in flight"):
            other.cancel()
    assert running.ctx.num_inflight_tasks <= 1


def stop_of(task):
    with pytest.raises(StopIteration) as stopped:
        next(task.__await__())
    return stopped.value


def test_the_stops_of_awaits_that_are_driven_by_hand_are_apart(running):
    ctx = running.ctx
    tasks = [ctx.notify_add(1) for _ in range(30)]
    running.pe.run_until(tasks, ENOUGH)
    stops = [stop_of(task) for task in tasks]
    assert sorted(stop.value for stop in stops) == list(range(30))
    assert all(stop.__context__ is None and stop.__traceback__ is not None for stop in stops)
    stops[0].add_note("kept")
    del stops
    again = [stop_of(task) for task in tasks]
    assert sorted(stop.value for stop in again) == list(range(30))
    assert not any(hasattr(stop, "__notes__") for stop in again)
    with pytest.raises(StopIteration) as raised:
        next(tasks[0].__await__())
    assert isinstance(raised.value, StopIteration)
    with pytest.raises(TypeError):
        type(raised.value)()


def step_beside(task):
    """Takes the task's first step, and returns a weak reference to an object in the frame that StopIteration passes."""
    neighbour = Running.__new__(Running)
    with contextlib.suppress(StopIteration):
        next(task.__await__())
    return weakref.ref(neighbour)


def test_a_stop_of_an_await_keeps_nothing(running):
    task = running.ctx.notify_add(1)
    task.wait(ENOUGH)
    assert step_beside(task)() is None


def test_num_tasks_by_something_else_than_a_name(host):
    with pydoca.ProgressEngine() as pe, pytest.raises(TypeError, match="1 is not the name"):
        pydoca.SyncEvent(host).as_context(pe, {1: 2})
