"""A program of awaits has the same outcome under tools that trace, profile and count, and they see what runs."""

import asyncio
import contextlib
import cProfile
import faulthandler
import pstats
import runpy
import sys
import tracemalloc
import warnings
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("watched_program.py")
SOURCE = PROGRAM.read_text().splitlines()
NAMES = {line.split("(")[0].removeprefix("async def ") for line in SOURCE if line.startswith("async def ")}
AWAITS = {number for number, line in enumerate(SOURCE, 1) if "await " in line}
needs_monitoring = pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 brought sys.monitoring")


class Frames:
    """Checks that the frame of each event runs, and notes those of the program."""

    def __init__(self):
        self.lines, self.names, self.ends = set(), set(), set()

    def note(self, frame):
        assert frame is sys._getframe(2)
        if frame.f_code.co_filename == str(PROGRAM):
            self.names.add(frame.f_code.co_name)
            self.lines.add(frame.f_lineno)


def check_names(frames):
    assert frames.names >= NAMES


def check_lines(frames):
    check_names(frames)
    assert frames.lines >= AWAITS


@contextlib.contextmanager
def settrace():
    frames = Frames()

    def trace(frame, event, argument):
        frames.note(frame)
        if event == "exception" and issubclass(argument[0], StopIteration):
            frames.ends.add(argument[0])
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield frames
        assert sys.gettrace() is trace, "the trace function has raised"
    finally:
        sys.settrace(before)
    check_lines(frames)
    assert frames.ends == {StopIteration}


@contextlib.contextmanager
def setprofile():
    """Calls of functions in C come and go like brackets."""
    frames, called = Frames(), []

    def profile(frame, event, argument):
        frames.note(frame)
        if event == "c_call":
            called.append(argument)
        elif event in ("c_return", "c_exception") and called:
            assert called.pop() == argument

    sys.setprofile(profile)
    try:
        yield frames
        assert sys.getprofile() is profile, "the profile function has raised"
    finally:
        sys.setprofile(None)
    check_names(frames)


@contextlib.contextmanager
def monitoring():
    """Each event of sys.monitoring; the tool takes notes of lines and of errors."""
    monitoring, seen = sys.monitoring, Frames()
    events = [name for name in dir(monitoring.events) if name.isupper() and name != "NO_EVENTS"]
    monitoring.use_tool_id(monitoring.PROFILER_ID, "test")

    def note(code, *_):
        if code.co_filename == str(PROGRAM):
            seen.names.add(code.co_name)

    def line(code, number):
        if code.co_filename == str(PROGRAM):
            seen.lines.add(number)

    def raised(code, _, error):
        note(code)
        if isinstance(error, StopIteration):
            seen.ends.add(type(error))

    try:
        for name in events:
            callback = {"LINE": line, "RAISE": raised}.get(name, note)
            monitoring.register_callback(monitoring.PROFILER_ID, getattr(monitoring.events, name), callback)
        # Events of functions in C come with those of calls.
        chosen = [getattr(monitoring.events, name) for name in events if name not in ("C_RETURN", "C_RAISE")]
        monitoring.set_events(monitoring.PROFILER_ID, sum(set(chosen)))
        yield seen
    finally:
        monitoring.set_events(monitoring.PROFILER_ID, 0)
        for name in events:
            monitoring.register_callback(monitoring.PROFILER_ID, getattr(monitoring.events, name), None)
        monitoring.free_tool_id(monitoring.PROFILER_ID)
    check_lines(seen)
    assert seen.ends <= {StopIteration}


@contextlib.contextmanager
def coverage_by(core):
    """No line of the program is reported as missing."""
    coverage = pytest.importorskip("coverage", minversion="7.4", reason="coverage is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COVERAGE_CORE", core)
        measured = coverage.Coverage(data_file=None, config_file=False, include=[str(PROGRAM)], messages=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", coverage.exceptions.CoverageWarning)  # a tool may be active already
            measured.start()
            try:
                yield None
            finally:
                measured.stop()
    _, executable, _, missing, _ = measured.analysis2(str(PROGRAM))
    assert len(executable) > len(AWAITS)
    assert missing == []


@contextlib.contextmanager
def profile():
    """Each coroutine was called, and the calls in C that made tasks are there."""
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        yield None
    finally:
        profiler.disable()
    functions = {name for _, _, name in pstats.Stats(profiler).stats}
    assert functions >= NAMES
    assert any("memcpy" in name for name in functions)


@contextlib.contextmanager
def memory_trace():
    tracemalloc.start(5)
    try:
        yield None
        here = tracemalloc.Filter(True, str(PROGRAM), all_frames=True)
        assert tracemalloc.take_snapshot().filter_traces([here]).traces
    finally:
        tracemalloc.stop()


def fresh_outcome(make_rig, **options):
    """The outcome of the program, which is loaded anew: tools see its first line, too."""
    rig = make_rig()
    return asyncio.run(runpy.run_path(str(PROGRAM))["program"](rig), **options)


@pytest.fixture
def expected(make_rig):
    outcome = fresh_outcome(make_rig)
    for fault in ("failed at once", "failed in flight"):
        _, line, is_last = outcome[fault]
        assert (SOURCE[line - 1].strip(), is_last) == ("await task", True)
    return outcome


TOOLS = {
    "settrace": settrace,
    "setprofile": setprofile,
    "monitoring": monitoring,
    "coverage-ctrace": lambda: coverage_by("ctrace"),
    "coverage-sysmon": lambda: coverage_by("sysmon"),
    "cProfile": profile,
    "tracemalloc": memory_trace,
}
MARKS = {"monitoring": needs_monitoring, "coverage-sysmon": needs_monitoring}


@pytest.mark.parametrize("tool", [pytest.param(name, marks=MARKS.get(name, ())) for name in TOOLS])
def test_the_outcome_is_that_without_the_tool(make_rig, expected, tool):
    with TOOLS[tool]():
        outcome = fresh_outcome(make_rig)
    assert outcome == expected


def test_the_outcome_is_that_without_debug_mode(make_rig, expected):
    assert fresh_outcome(make_rig, debug=True) == expected


def test_all_tools_at_once(make_rig, expected):
    with memory_trace(), setprofile(), settrace():
        outcome = fresh_outcome(make_rig, debug=True)
    assert outcome == expected


# ---- where a program waits


def test_a_dump_within_an_await_names_the_awaiting_line(rig, tmp_path):
    def dump(_):
        with (tmp_path / "stack").open("w") as file:
            faulthandler.dump_traceback(file, all_threads=False)

    async def main():
        async with rig.pe:
            task = rig.copy()
            task.add_done_callback(dump)
            await task

    asyncio.run(main())
    first, second = (tmp_path / "stack").read_text().splitlines()[1:3]
    assert first.endswith(" in dump")
    assert second.endswith(f"line {main.__code__.co_firstlineno + 4} in main")


def test_the_stack_of_a_waiting_task_ends_at_its_await(rig):
    async def wait():
        await rig.held()

    async def main():
        async with rig.pe:
            waiting = asyncio.create_task(wait())
            await rig.turns()
            [frame] = waiting.get_stack()
            assert (frame.f_code, frame.f_lineno) == (wait.__code__, wait.__code__.co_firstlineno + 1)
            assert waiting.get_coro().cr_await is not None
            rig.release()
            await waiting

    asyncio.run(main())


def test_an_allocation_of_a_task_is_that_of_its_line(rig):
    """A task that is a used object again counts as allocated where it is made."""

    async def main():
        async with rig.pe:
            for _ in range(3):
                await rig.copy()
            src, dst, _ = rig.bufs()
            task = rig.dma.memcpy(src, dst)
            made = tracemalloc.get_object_traceback(task)
            await task
            return made

    tracemalloc.start(1)
    try:
        [made] = asyncio.run(main())
    finally:
        tracemalloc.stop()
    assert (made.filename, made.lineno) == (__file__, main.__code__.co_firstlineno + 5)
