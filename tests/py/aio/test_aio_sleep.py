"""An await that sleeps in its loop's place does everything that the loop would have done."""

import asyncio
import contextlib
import itertools
import os
import resource
import signal
import sys
import threading

import pytest

import pydoca

ENOUGH = 20  # seconds, for an event that must come
HAS_EAGER_TASKS = pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 brought eager tasks")


class Events:
    """A context that waits, and the same event for other threads to set: awaits of tasks."""

    def __init__(self, device, stack, latency):
        self.event = pydoca.SyncEvent(device, publisher="remote_pci")
        stack.callback(self.event.close)
        self.pe = stack.enter_context(pydoca.ProgressEngine(latency=latency))
        self.ctx = self.event.as_context(self.pe)
        self.ctx.start()
        dpu = stack.enter_context(pydoca.open_device("03:00.0", side="dpu"))
        self.other_end = stack.enter_context(dpu.import_sync_event(self.event.export_to_remote_pci()))

    def set(self, value=1):
        self.other_end.update_set(value)


class Messages:
    """The same with numbers in messages, which other threads send: awaits of events."""

    def __init__(self, device, stack, latency):
        dpu = stack.enter_context(pydoca.open_device("03:00.0", side="dpu"))
        rep = stack.enter_context(dpu.open_representor("0b:00.0"))
        name = f"sleep-{os.getpid()}"
        self.other_pe = stack.enter_context(pydoca.ProgressEngine())
        server = stack.enter_context(pydoca.comch.Server(self.other_pe, dpu, rep, name))
        self.pe = stack.enter_context(pydoca.ProgressEngine(latency=latency))
        client = pydoca.comch.Client(self.pe, device, name)
        client.start()
        self.pe.run_until(lambda: self.other_pe.progress() == 0 and server.connections, timeout=ENOUGH)
        self.link = stack.enter_context(client)
        self.other_end = server.accept().wait(ENOUGH)
        self.other_pe.release_thread()
        self.value = 0
        self.ctx = self

    def set(self, value=1):
        self.other_end.send(str(value).encode()).wait(ENOUGH)
        self.other_pe.release_thread()

    async def wait_eq(self, value):
        while self.value != value:
            self.value = int(await self.link.recv())
        return value

    async def get(self):
        return self.value


@pytest.fixture
def latency():
    return "power"


def of_kind(kind, latency):
    with contextlib.ExitStack() as stack:
        yield kind(stack.enter_context(pydoca.open_device("0b:00.0", side="host")), stack, latency)


@pytest.fixture
def tasks(latency):
    yield from of_kind(Events, latency)


@pytest.fixture(params=[Events, Messages])
def events(request, latency):
    yield from of_kind(request.param, latency)


def after(seconds, call, *args):
    timer = threading.Timer(seconds, call, args)
    timer.start()
    return timer


async def asleep(events, setter):
    """Waits for the value that setter sets, from an await that is the only one in its loop."""
    async with asyncio.timeout(ENOUGH):
        await events.ctx.wait_eq(0)
        await setter()
        assert await events.ctx.wait_eq(1) == 1


@pytest.mark.parametrize("seconds", [0.002, 0.1])
def test_a_thread_wakes_it(run, events, seconds):
    async def setter():
        after(seconds, events.set)

    run(asleep(events, setter))


@pytest.mark.parametrize("seconds", [0, 0.002, 0.1])
def test_a_timer_of_the_loop_is_kept(run, events, seconds):
    async def setter():
        asyncio.get_running_loop().call_later(seconds, events.set)

    run(asleep(events, setter))


def test_a_callback_of_the_loop_is_called(run, events):
    async def setter():
        asyncio.get_running_loop().call_soon(events.set)

    run(asleep(events, setter))


@pytest.mark.parametrize("seconds", [0.002, 0.1])
def test_a_callback_from_a_thread_is_called(run, events, seconds):
    async def setter():
        after(seconds, asyncio.get_running_loop().call_soon_threadsafe, events.set)

    run(asleep(events, setter))


@pytest.mark.parametrize("seconds", [0.002, 0.1])
def test_a_descriptor_is_watched(run, events, seconds):
    reader, writer = os.pipe()
    loop = None

    def read():
        loop.remove_reader(reader)
        events.set()

    async def setter():
        nonlocal loop
        loop = asyncio.get_running_loop()
        loop.add_reader(reader, read)
        after(seconds, os.write, writer, b"x")

    run(asleep(events, setter))
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("seconds", [0, 0.002, 0.1])
def test_another_coroutine_goes_on(run, events, seconds):
    async def set_later():
        await asyncio.sleep(seconds)
        events.set()

    others = []

    async def setter():
        others.append(asyncio.create_task(set_later()))

    run(asleep(events, setter))


def test_another_await_of_the_same_engine_goes_on(run, tasks):
    async def set_after(value):
        await tasks.ctx.wait_eq(value)
        tasks.set(value + 1)

    async def main():
        async with asyncio.timeout(ENOUGH):
            other = asyncio.create_task(set_after(5))
            await asyncio.sleep(0)
            after(0.01, tasks.set, 5)
            assert await tasks.ctx.wait_eq(6) == 6
            await other

    run(main())


def test_a_cancellation_by_a_timer_ends_it(run, events):
    async def main():
        await events.ctx.wait_eq(0)
        for seconds in (0.001, 0.05):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(seconds):
                    await events.ctx.wait_eq(1)
        assert await events.ctx.get() == 0

    run(main())


def test_signal_handlers_run(run, events):
    def handle(_number, _frame):
        events.set()

    async def setter():
        after(0.02, os.kill, os.getpid(), signal.SIGUSR1)

    previous = signal.signal(signal.SIGUSR1, handle)
    try:
        run(asleep(events, setter))
    finally:
        signal.signal(signal.SIGUSR1, previous)


def test_a_loop_that_is_stopped_ends(new_loop, events):
    loop = new_loop()
    ended = []

    async def main():
        await events.ctx.wait_eq(0)
        loop.call_later(0.02, loop.stop)
        ended.append(await events.ctx.wait_eq(1))

    task = loop.create_task(main())
    loop.run_forever()
    assert not ended
    events.set()
    loop.run_until_complete(task)
    assert ended == [1]
    loop.close()


def test_a_coroutine_that_is_driven_by_hand_comes_back(run, events):
    async def wait():
        return await events.ctx.wait_eq(1)

    def step(coroutine):
        return coroutine.send(None)

    async def main():
        await events.ctx.wait_eq(0)
        coroutine = wait()
        assert asyncio.isfuture(step(coroutine))
        coroutine.close()
        coroutine = wait()
        assert asyncio.isfuture(coroutine.send(None))
        coroutine.close()

    run(main())


def make_eager_task(loop, coroutine, **options):
    """The same as asyncio's own factory, which accepts uvloop's arguments only since Python 3.14."""
    return asyncio.Task(coroutine, loop=loop, **{**options, "eager_start": True})


@HAS_EAGER_TASKS
def test_an_eager_task_comes_back(run, events):
    async def main():
        asyncio.get_running_loop().set_task_factory(make_eager_task)
        await events.ctx.wait_eq(0)
        waiter = asyncio.create_task(wait())
        events.set()
        assert await waiter == 1

    async def wait():
        return await events.ctx.wait_eq(1)

    run(main())


@pytest.fixture
def turns():
    """asyncio's own loop, and a counter of its turns, which are its calls of select()."""
    loop = asyncio.SelectorEventLoop()
    loop.set_debug(False)
    select = loop._selector.select
    calls = itertools.count()

    def counted(timeout=None):
        next(calls)
        return select(timeout)

    loop._selector.select = counted
    yield loop, calls
    loop.close()


async def step_by_hand(coroutine):
    coroutine.send(None)
    return coroutine.close


async def start_eagerly(coroutine):
    return asyncio.Task(coroutine, loop=asyncio.get_running_loop(), eager_start=True).cancel


@pytest.mark.parametrize("start", [step_by_hand, pytest.param(start_eagerly, marks=HAS_EAGER_TASKS)])
def test_what_a_coroutine_steps_does_not_sleep_in_the_loops_place(events, turns, start):
    loop, _ = turns
    rounds = 20

    async def wait():
        await events.ctx.wait_eq(1)

    def num_sleeps():
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw

    async def main():
        await events.ctx.wait_eq(0)
        slept = 0
        for _ in range(rounds):
            await asyncio.sleep(0)
            before = num_sleeps()
            stop = await start(wait())
            slept += num_sleeps() - before
            stop()
        return slept

    # The stepping coroutine continues before the loop does; otherwise the loop would sleep for the rest of the turn.
    assert loop.run_until_complete(main()) < rounds / 2


def test_it_saves_turns_of_the_loop(tasks, turns):
    loop, calls = turns
    rounds = 200

    def answer():
        for value in range(1, 2 * rounds, 2):
            tasks.other_end.wait_eq(value, timeout=ENOUGH)
            tasks.set(value + 1)

    async def main():
        begin = next(calls)
        for value in range(1, 2 * rounds, 2):
            await tasks.ctx.notify_set(value)
            await tasks.ctx.wait_eq(value + 1)
        return next(calls) - begin

    answering = threading.Thread(target=answer)
    answering.start()
    try:
        assert loop.run_until_complete(main()) < rounds
    finally:
        answering.join()


@pytest.mark.parametrize("latency", ["power", "balanced", "low"])
def test_awaits_that_are_done_at_once_take_few_turns(tasks, turns):
    loop, calls = turns

    async def main():
        await tasks.ctx.wait_eq(0)
        await asyncio.sleep(0.01)  # the engine's handle is armed now
        begin, at = next(calls), loop.time()
        for _ in range(50_000):
            await tasks.ctx.wait_eq(0)
        return next(calls) - begin, loop.time() - at

    num_turns, seconds = loop.run_until_complete(main())
    assert num_turns < 10 + seconds * 1000  # one turn in 10 ms is expected; a defect gives more than one in 0.1 ms
