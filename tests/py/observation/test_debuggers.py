"""Debuggers see an await of pydoca as they see the same await of an asyncio future."""

import asyncio
import contextlib
import io
import pdb
import re
import sys
from functools import partial

import pytest

import pydoca

CODES = {}  # of the coroutines whose events are compared, by name


def observed(function):
    CODES[function.__name__] = function.__code__
    return function


@observed
async def inner(awaitable):
    value = await awaitable
    return [value]


@observed
async def outer(awaitable):
    value = await inner(awaitable)
    return [value]


@observed
async def catches(awaitable):
    try:
        await awaitable
    except (pydoca.DocaError, asyncio.CancelledError) as error:
        return type(error)


class Await:
    """What is awaited: an object of pydoca, or with is_future an asyncio future that does the same."""

    def __init__(self, rig, context, is_future):
        self.rig, self.context, self.is_future = rig, context, is_future
        self.loop = asyncio.get_running_loop()

    def done(self):
        if not self.is_future:
            return self.context.get()
        future = self.loop.create_future()
        future.set_result(3)
        return future

    def done_later(self):
        if not self.is_future:
            self.loop.call_soon(self.context.notify_set, 4)
            return self.context.wait_eq(4)
        future = self.loop.create_future()
        self.loop.call_soon(future.set_result, 4)
        return future

    def failed(self):
        if not self.is_future:
            task = self.rig.held()
            self.rig.dma.stop()
            return task
        future = self.loop.create_future()
        future.set_exception(pydoca.ShutdownError("the same"))
        return future

    def pending(self):
        return self.loop.create_future() if self.is_future else self.context.wait_eq(99)


def run(rig, is_future, use):
    async def main():
        event = pydoca.SyncEvent(rig.device)
        async with rig.pe, event.as_context(rig.pe) as context:
            await context.notify_set(3)
            return await use(Await(rig, context, is_future))

    return asyncio.run(main())


async def gets(awaits):
    return await outer(awaits.done())


async def gets_later(awaits):
    return await outer(awaits.done_later())


async def fails(awaits):
    return await catches(awaits.failed())


async def ends_by_cancellation(awaits):
    waiting = asyncio.create_task(catches(awaits.pending()))
    await asyncio.sleep(0)
    waiting.cancel()
    return await waiting


USES = {
    gets: [[3]],
    gets_later: [[4]],
    fails: pydoca.ShutdownError,
    ends_by_cancellation: asyncio.CancelledError,
}
each_use = pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)


# ---- events


@contextlib.contextmanager
def traced(function):
    before = sys.gettrace()
    sys.settrace(function)
    try:
        yield
    finally:
        sys.settrace(before)


def without_suspensions(events, leave, enter):
    """The events without pairs of a suspension and its end: a slow await takes more turns of the loop."""
    left = []
    for event in events:
        if left and left[-1][:1] == (leave,) and event[:1] == (enter,) and left[-1][1:3] == event[1:3]:
            left.pop()
        else:
            left.append(event)
    return left


def is_end_with_none(event, argument):
    """A coroutine that ends without a value raises no exception, and a future does."""
    return event == "exception" and argument[0] is StopIteration and argument[1].value is None


def traced_events(rig, is_future, use):
    """The outcome, and the events of trace functions in the observed coroutines."""
    events = []

    def trace(frame, event, argument):
        code = frame.f_code
        if CODES.get(code.co_name) is not code:
            return None
        if not is_end_with_none(event, argument):
            kind = argument[0] if event == "exception" else argument if event == "return" else None
            kind = None if asyncio.isfuture(kind) else kind
            events.append((event, code.co_name, frame.f_lineno, kind))
        return trace

    with traced(trace):
        outcome = run(rig, is_future, use)
    return outcome, without_suspensions(events, "return", "call")


@each_use
def test_a_trace_function_has_the_same_events(make_rig, use):
    outcome, events = traced_events(make_rig(), False, use)
    assert outcome == USES[use]
    assert (outcome, events) == traced_events(make_rig(), True, use)
    assert any(event == "line" for event, *_ in events)


def monitored_events(rig, is_future, use):
    """The outcome, and the events of sys.monitoring in the observed coroutines."""
    monitoring, events, kinds = sys.monitoring, [], sys.monitoring.events
    names = ["PY_START", "PY_RESUME", "PY_THROW", "LINE", "RAISE", "PY_YIELD", "PY_UNWIND", "PY_RETURN"]
    names += ["EXCEPTION_HANDLED", "STOP_ITERATION"]

    def note(name, code, place, argument=None):
        if CODES.get(code.co_name) is code and not isinstance(argument, StopIteration):
            place = place if name in ("LINE", "PY_YIELD", "PY_RESUME") else None
            kind = type(argument) if isinstance(argument, BaseException) else None
            events.append((name, code.co_name, kind, place))
        elif isinstance(argument, StopIteration):
            assert type(argument) is StopIteration

    monitoring.use_tool_id(monitoring.DEBUGGER_ID, "test")
    try:
        for name in names:
            monitoring.register_callback(monitoring.DEBUGGER_ID, getattr(kinds, name), partial(note, name))
        monitoring.set_events(monitoring.DEBUGGER_ID, sum(getattr(kinds, name) for name in names))
        outcome = run(rig, is_future, use)
    finally:
        monitoring.set_events(monitoring.DEBUGGER_ID, 0)
        for name in names:
            monitoring.register_callback(monitoring.DEBUGGER_ID, getattr(kinds, name), None)
        monitoring.free_tool_id(monitoring.DEBUGGER_ID)
    return outcome, without_suspensions(events, "PY_YIELD", "PY_RESUME")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 brought sys.monitoring")
@each_use
def test_a_tool_of_monitoring_has_the_same_events(make_rig, use):
    outcome, events = monitored_events(make_rig(), False, use)
    assert outcome == USES[use]
    assert (outcome, events) == monitored_events(make_rig(), True, use)
    assert any(event == "LINE" for event, *_ in events)


# ---- trace functions that begin, or raise, in the middle


@pytest.mark.parametrize("in_flight", [False, True])
def test_a_trace_that_begins_within_an_await_sees_the_next_line(rig, in_flight):
    """A callback runs in the middle of the await, as one does that calls breakpoint()."""
    lines = []

    def trace(frame, event, _):
        if frame.f_code is wait.__code__ and event == "line":
            lines.append(frame.f_lineno - frame.f_code.co_firstlineno)
        return trace

    async def wait(task):
        frames.append(sys._getframe())
        await task
        return "done"

    def begin(_):
        frames[0].f_trace = trace
        sys.settrace(trace)

    async def main():
        async with rig.pe:
            task = rig.held() if in_flight else rig.copy()
            task.add_done_callback(begin)
            asyncio.get_running_loop().call_soon(rig.release)
            return await wait(task)

    frames = []
    with traced(sys.gettrace()):
        assert asyncio.run(main()) == "done"
    assert lines == [3]


class TraceError(Exception):
    pass


def trace_that_raises(number):
    """A trace function that raises at the event of that number in the observed coroutines."""
    left = number

    def trace(frame, *_):
        nonlocal left
        if CODES.get(frame.f_code.co_name) is frame.f_code:
            left -= 1
            if left == 0:
                raise TraceError
        return trace

    return trace


@pytest.mark.parametrize("begin", ["copy", "held"])
def test_a_trace_function_that_raises_at_any_event(rig, begin):
    """The await ends with its error, and the engine, its task and later awaits are as they are after any error."""

    async def main(number):
        task = getattr(rig, begin)()
        asyncio.get_running_loop().call_soon(rig.release)
        if number:
            sys.settrace(trace_that_raises(number))
        await outer(task)

    for number in range(1, 100):
        with traced(None):
            try:
                asyncio.run(main(number))
            except TraceError:
                assert sys.gettrace() is None
            else:
                break
        rig.release()
        rig.pe.run_until(lambda: rig.pe.num_inflight_tasks == 0, 10)
        asyncio.run(main(0))
    assert number > 6  # a call, lines and a return of each coroutine, at least


# ---- pdb


@observed
async def debugged(awaitable, debugger):
    debugger.set_trace()
    before = "a name"
    value = await inner(awaitable)
    return [before, value]


def scripted_pdb(commands):
    """A debugger that reads these commands, and where it prints."""
    output = io.StringIO()
    script = io.StringIO("".join(f"{command}\n" for command in commands))
    return pdb.Pdb(stdin=script, stdout=output, nosigint=True, readrc=False), output


def session(rig, is_future, awaits, commands):
    """What pdb prints of this file's coroutines."""
    debugger, output = scripted_pdb(commands)

    async def use(given):
        return await debugged(getattr(given, awaits)(), debugger)

    with traced(sys.gettrace()):
        outcome = run(rig, is_future, use)
    return outcome, re.sub(r"<.*?>", "<>", output.getvalue())


FIRST = ["next"] * (2 if sys.version_info >= (3, 13) else 1)  # since 3.13, set_trace() stops at its own line
AFTERWARDS = ["p value", "up", "p before", "down", "return", "next", "p value", "continue"]
SESSIONS = {
    "done": ([*FIRST, "step", "step", "step", *AFTERWARDS], 3),
    "done_later": ([*FIRST, "step", "step", "next", *AFTERWARDS], 4),  # a step would go to the loop
}


@pytest.mark.parametrize("awaits", SESSIONS)
def test_pdb_steps_through_an_await(make_rig, awaits):
    commands, value = SESSIONS[awaits]
    outcome, printed = session(make_rig(), False, awaits, commands)
    assert outcome == ["a name", [value]]
    assert (outcome, printed) == session(make_rig(), True, awaits, commands)
    # The step after the await's line shows the next one, and no exception.
    step = rf"-> value = await awaitable\n\(Pdb\) > .*inner\(\)\n-> return \[value\]\n\(Pdb\) {value}\n"
    assert re.search(step, printed)
    assert "'a name'" in printed


def test_pdb_shows_where_a_coroutine_awaits(make_rig):
    _, printed = session(make_rig(), False, "done", [*FIRST, "step", "step", "where", "continue"])
    places = re.findall(rf"^[> ] {re.escape(__file__)}\(\d+\)(\w+)\(\)", printed, re.MULTILINE)
    assert places[-3:] == ["use", "debugged", "inner"]


@observed
async def waits_for(awaitable):
    before = "a name"
    await awaitable
    return before


@pytest.mark.parametrize("in_flight", [False, True])
def test_a_post_mortem_begins_at_the_await_that_failed(rig, in_flight):
    async def use(awaits):
        failed = awaits.failed()
        if not in_flight:
            rig.pe.run_until(lambda: failed.done, 10)
        await waits_for(failed)

    with pytest.raises(pydoca.ShutdownError) as raised:
        run(rig, False, use)
    debugger, output = scripted_pdb(["p before", "up", "p in_flight", "quit"])
    debugger.reset()
    debugger.interaction(None, raised.value.__traceback__)
    printed = output.getvalue()
    assert re.match(r"> .*waits_for\(\)\n-> await awaitable\n\(Pdb\) 'a name'\n", printed)
    assert re.search(rf"use\(\)\n-> await waits_for\(failed\)\n\(Pdb\) {in_flight}\n", printed)
