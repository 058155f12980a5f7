"""`sim.spawn`: a process of the other side, its output, its errors, and its end."""

import asyncio
import contextlib
import gc
import io
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import pydoca
from pydoca import sim
from pydoca._spawn.output import Lines, Output
from pydoca._spawn.process import stop_together

CHILD = Path(sim.__file__).with_name("_spawn") / "child.py"
FOREVER = "import time\nprint('up')\ntime.sleep(100)"
SERVER = """
import pydoca

with pydoca.open_device("03:00.0") as dev, dev.open_representor("0b:00.0") as rep:
    async with pydoca.ProgressEngine() as pe, pydoca.comch.Server(pe, dev, rep, "spawn") as server:
        link = await server.accept()
        await link.send(b"answer to " + await link.recv())
        async for _ in link:
            pass
"""


@pytest.fixture(scope="module", autouse=True)
def used_device():
    """Makes a first context on a simulated device, which opens the descriptors that stay open."""
    with pydoca.open_device("0b:00.0", side="host") as dev, pydoca.ProgressEngine() as pe, pydoca.Dma(pe, dev):
        pass


@pytest.fixture(autouse=True)
def nothing_is_left(used_device):
    """Checks that no process and no descriptor is left. Other tests may have started helpers of multiprocessing."""
    asyncio.run(sim.spawn("")._wait())  # this opens the pipe for signals, which stays open
    before, helpers = set(os.listdir("/proc/self/fd")), children()
    yield
    gc.collect()
    assert children() <= helpers
    assert set(os.listdir("/proc/self/fd")) <= before


def children() -> set[int]:
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def until(condition, what: str, patience: float) -> None:
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def up(process: sim.Process, patience: float) -> sim.Process:
    until(lambda: "up" in process.output, "the process has not begun", patience)
    return process


def test_the_text_of_a_program_may_await_and_its_output_is_shown(capfd, patience):
    process = sim.spawn(
        "import asyncio, sys\nawait asyncio.sleep(0)\nprint('to', __name__)\nprint('err', file=sys.stderr)"
    )
    assert process.wait(patience) == process.returncode == 0
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ("[dpu] to __main__\n", "[dpu] err\n")
    assert sorted(process.output.splitlines()) == ["err", "to __main__"]


def test_text_may_be_indented_and_keeps_its_lines(patience):
    text = """
        x = "a\tb"
        print(x)
        1 / 0
    """
    process = sim.spawn(text, show=False)
    with pytest.raises(sim.ProcessError) as failed:
        process.wait(patience)
    assert process.output == "a\tb\n"
    assert "line 4, in <module>" in failed.value.traceback


def test_a_process_with_a_name_shows_it(capfd, patience):
    process = sim.spawn("print('no end', end='')", side="host", name="lender")
    process.wait(patience)
    assert capfd.readouterr().out == "[host lender] no end\n"
    assert (process.side, process.name) == ("host", "lender")


def test_a_process_that_is_not_shown_keeps_its_output(capfd, patience):
    process = sim.spawn("print(1)", show=False)
    process.wait(patience)
    assert (capfd.readouterr().out, process.output) == ("", "1\n")


def test_a_script_has_its_arguments_its_folder_and_its_file(tmp_path, patience):
    (tmp_path / "beside.py").write_text("VALUE = 7")
    script = tmp_path / "script.py"
    script.write_text("import sys, beside\nprint(sys.argv, beside.VALUE, __file__)")
    process = sim.spawn(script, args=["a", 1])
    process.wait(patience)
    assert process.output == f"{[str(script), 'a', '1']} 7 {script}\n"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that only this process has in its path."""
    (tmp_path / "spawned.py").write_text(
        "async def add(left, right):\n    print(left + right)\n\ndef fail():\n    raise ValueError('from a function')\n"
        "def outer():\n    def inner(): pass\n    return inner\n"
        "class Argument:\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import spawned

    yield spawned
    del sys.modules["spawned"]


def test_a_function_of_a_module_runs_with_its_arguments(module, patience):
    process = sim.spawn(module.add, args=(b"\xff", b"\x00"))
    process.wait(patience)
    assert process.output == "b'\\xff\\x00'\n"


def test_it_is_in_the_same_fabric_and_topology_on_its_side(monkeypatch, patience):
    before, fabric = sim.topology(), sim.fabric()
    sim.load_topology({"function": [{"name": "odd", "pci_addr": "05:00.0", "side": "dpu"}]})
    sim.set_fabric("spawn-test")
    try:
        process = sim.spawn(
            "import pydoca, os\nprint(pydoca.devices(), pydoca.sim.fabric(), os.environ['MINE'])", env={"MINE": "x"}
        )
        process.wait(patience)
    finally:
        sim.load_topology(before)
        sim.set_fabric(fabric)
    assert process.output == "[pydoca.DeviceInfo('odd', side='dpu', pci_addr='0000:05:00.0')] spawn-test x\n"


def test_two_sides_meet(patience):
    async def ask() -> bytes:
        async with sim.spawn(SERVER), asyncio.timeout(patience):
            with pydoca.open_device("0b:00.0", side="host") as dev:
                async with pydoca.ProgressEngine() as pe, pydoca.comch.Client(pe, dev, "spawn") as link:
                    await link.send(b"a question")
                    return await link.recv()

    assert asyncio.run(ask()) == b"answer to a question"


def test_an_error_carries_the_traceback_of_the_process(capfd, patience):
    process = sim.spawn("def f():\n    raise ValueError('boom')\nf()", name="bad")
    with pytest.raises(sim.ProcessError, match=r"^the dpu process 'bad' failed: ValueError: boom") as failed:
        process.wait(patience)
    error = failed.value
    assert (error.process, error.returncode) == (process, 1)
    assert [line.strip() for line in error.traceback.splitlines() if "^" not in line and "~" not in line] == [
        "Traceback (most recent call last):",
        """File "<dpu process 'bad'>", line 3, in <module>""",
        "f()",
        """File "<dpu process 'bad'>", line 2, in f""",
        "raise ValueError('boom')",
        "ValueError: boom",
    ]
    assert error.__notes__ == [error.traceback.rstrip()]
    assert "ValueError: boom" in str(pickle.loads(pickle.dumps(error)))


def test_a_traceback_is_shown_where_nobody_waits(capfd, patience):
    process = sim.spawn("1 / 0")
    until(lambda: process.returncode is not None, "the end", patience)
    assert "[dpu] ZeroDivisionError: division by zero" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("source", "summary"),
    [
        ("raise ValueError('one\\ntwo\\n\\n')", "ValueError: one ..."),
        ("raise ValueError('\\none')", "ValueError: one"),
        ("raise KeyError", "KeyError"),
        ("e = OSError(2, 'gone')\ne.add_note('a note')\nraise e", "FileNotFoundError: [Errno 2] gone"),
        ("compile('x =', 'f', 'exec')", "SyntaxError: invalid syntax"),
        ("raise ExceptionGroup('some', [ValueError(1)])", "ExceptionGroup: some (1 sub-exception)"),
        ("import pydoca\nraise pydoca.NotFoundError('one\\ntwo')", "pydoca.NotFoundError: one ..."),
    ],
)
def test_an_error_is_summarized_by_its_type_and_first_line(source, summary, patience):
    with pytest.raises(sim.ProcessError) as failed:
        sim.spawn(source, show=False).wait(patience)
    assert str(failed.value) == f"the dpu process failed: {summary}"


def test_an_error_of_a_function_begins_at_the_function(module, patience):
    with pytest.raises(sim.ProcessError) as failed:
        sim.spawn(module.fail).wait(patience)
    assert failed.value.traceback.splitlines()[1].endswith("line 5, in fail")


@pytest.mark.parametrize(
    ("source", "end"),
    [
        ("import sys; sys.exit(3)", "exit code 3"),
        ("import os; os.kill(os.getpid(), 9)", "SIGKILL ended it"),
        ("await missing()", "NameError: name 'missing' is not defined"),
    ],
)
def test_every_end_but_exit_code_0_is_an_error(source, end, patience):
    async def wait() -> None:
        async with asyncio.timeout(patience):
            await sim.spawn(source)

    with pytest.raises(sim.ProcessError, match=end):
        asyncio.run(wait())


@pytest.mark.parametrize(
    ("target", "error", "text"),
    [
        ("x =", SyntaxError, "invalid syntax"),
        ("host.py", pydoca.InvalidValueError, r"looks like a file: give pathlib\.Path"),
        (Path("/nowhere.py"), FileNotFoundError, "nowhere"),
        (lambda: None, pydoca.InvalidValueError, "define it at the top of a module"),
        (7, TypeError, "not int"),
    ],
)
def test_what_is_not_a_program_is_refused(target, error, text):
    with pytest.raises(error, match=text):
        sim.spawn(target)


def test_a_function_of_the_program_and_an_unknown_side_are_refused(module, monkeypatch):
    with pytest.raises(pydoca.InvalidValueError, match="the side is 'dpu' or 'host', not 'card'"):
        sim.spawn("", side="card")
    monkeypatch.setattr(module.fail, "__module__", "__main__")
    with pytest.raises(pydoca.InvalidValueError, match="give the text of the program as a string"):
        sim.spawn(module.fail)


def test_stop_ends_it_in_order(patience):
    process = up(
        sim.spawn("import asyncio\ntry:\n  print('up')\n  await asyncio.sleep(100)\nfinally:\n  print('end')"), patience
    )
    assert process.stop(patience) == -signal.SIGINT
    assert process.output == "up\nend\n"
    assert process.stop() == process.wait() == -signal.SIGINT


def test_sigterm_ends_it_in_order(patience):
    source = "import asyncio\ntry:\n  print('up')\n  await asyncio.sleep(100)\nfinally:\n  print('end')"
    process = up(sim.spawn(source), patience)
    os.kill(process.pid, signal.SIGTERM)
    with pytest.raises(sim.ProcessError, match="SIGTERM ended it"):
        process.wait(patience)
    assert process.output == "up\nend\n"


def test_an_interrupt_of_stop_ends_the_process_at_once(patience):
    process = up(sim.spawn(f"import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n{FOREVER}"), patience)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        process.stop(1000)
    timer.join()
    assert process.wait(patience) == -signal.SIGKILL


def test_stop_right_after_the_start(patience):
    assert sim.spawn(FOREVER).stop(patience) == -signal.SIGINT


@pytest.mark.parametrize("ignored", ["SIGINT", "SIGINT, signal.SIGTERM"])
def test_stop_ends_what_ignores_signals(ignored, patience):
    process = up(
        sim.spawn(f"import signal\nfor n in [signal.{ignored}]: signal.signal(n, signal.SIG_IGN)\n{FOREVER}"), patience
    )
    assert process.stop(0.1) in (-signal.SIGTERM, -signal.SIGKILL)


def test_the_end_of_a_block_stops_it_and_raises_its_error(patience):
    with up(sim.spawn(FOREVER), patience) as process:
        assert process.returncode is None
    assert process.returncode == -signal.SIGINT
    with pytest.raises(sim.ProcessError), sim.spawn("1 / 0") as process:
        until(lambda: process.returncode is not None, "the end", patience)


def test_wait_that_times_out_and_an_await_that_is_cancelled_leave_it_running(patience):
    with up(sim.spawn(FOREVER), patience) as process:
        with pytest.raises(pydoca.TimeOutError, match=r"it still runs after 0\.01 s; stop\(\) ends it"):
            process.wait(0.01)

        async def wait() -> None:
            async with asyncio.timeout(0.01):
                await process

        with pytest.raises(TimeoutError):
            asyncio.run(wait())
        assert process.returncode is None
        assert "running" in repr(process)


def test_an_interrupt_ends_a_wait_and_not_the_process(patience):
    with up(sim.spawn(FOREVER), patience) as process:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            process.wait(patience)
        timer.join()
        assert process.returncode is None


def test_it_outlives_the_thread_that_started_it(patience):
    started = []
    thread = threading.Thread(target=lambda: started.append(sim.spawn(FOREVER)))
    thread.start()
    thread.join()
    process = up(started[0], patience)
    time.sleep(0.05)  # the kernel would kill it in this time
    assert process.returncode is None
    process.stop()


def test_what_it_has_started_ends_with_it(patience):
    source = "import subprocess\np = subprocess.Popen(['sleep', '100'])\nprint('up', p.pid)"
    process = sim.spawn(source)
    process.wait(patience)
    until(lambda: not is_alive(int(process.output.split()[1])), "the end of what it has started", patience)


PARENT = f"""
import os, signal, sys, time
from pydoca import sim
process = sim.spawn({FOREVER!r} + "\\n", show=False)
while "up" not in process.output:
    time.sleep(0.01)
print(process.pid, flush=True)
"""


@pytest.mark.parametrize(
    "end", ["os.kill(os.getpid(), signal.SIGKILL)", "raise ValueError", "", "os._exit(0)", "os.abort()"]
)
def test_it_ends_with_its_parent(end, patience):
    parent = subprocess.run([sys.executable, "-c", PARENT + end], capture_output=True, text=True, timeout=60)
    pid = int(parent.stdout)
    until(lambda: not is_alive(pid), f"the end of process {pid}", patience)


def test_a_forked_child_of_the_parent_does_not_end_it(patience):
    program = PARENT + "if os.fork() == 0: sys.exit(0)\nos.wait()\nprint(process.returncode)"
    parent = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert parent.stdout.split()[1:] == ["None"], parent.stderr


def test_a_parent_that_ends_before_the_process_begins():
    """The process's parent then has another identifier than it expects."""
    line = [sys.executable, str(CHILD), "0", "1", str(os.getppid())]
    assert subprocess.run(line, stdin=subprocess.DEVNULL, timeout=60).returncode == -signal.SIGKILL


class Unpicklable:
    def __reduce__(self):
        raise RuntimeError("not this one")


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"name": 7}, TypeError, "name is a str or None, not 7"),
        ({"name": "a\0b"}, pydoca.InvalidValueError, r"the name 'a\\x00b' has characters that cannot be shown"),
        ({"env": ["A=1"]}, TypeError, r"env is a mapping .*, not \['A=1'\]"),
        ({"env": {"A": 1}}, TypeError, "env has 'A': 1, .*; write them as str"),
        ({"env": {2: "1"}}, TypeError, "env has 2: '1'"),
        ({"env": {"A=B": "1"}}, pydoca.InvalidValueError, "env has 'A=B': '1'"),
        ({"env": {"A": "\0"}}, pydoca.InvalidValueError, "env has 'A'"),
        ({"args": 5}, TypeError, r"args is a sequence of the arguments, such as \[5\], not 5"),
        ({"args": "abc"}, TypeError, r"such as \['abc'\], not 'abc'"),
        ({"args": [1, threading.Lock()]}, pydoca.InvalidValueError, r"args\[1\], of type lock, cannot be pickled"),
        ({"args": [Unpicklable()]}, pydoca.InvalidValueError, r"args\[0\], of type Unpicklable, .*: not this one"),
    ],
)
def test_arguments_that_no_process_can_have_are_refused(options, error, text):
    with pytest.raises(error, match=text):
        sim.spawn("", **options)


def test_arguments_may_be_of_modules_that_only_the_path_of_the_program_has(module, patience):
    assert sim.spawn("import sys\nassert 'Argument' in sys.argv[1]", args=[module.Argument()]).wait(patience) == 0


def test_arguments_that_the_process_cannot_load_are_its_error(module, monkeypatch, patience):
    monkeypatch.setattr(module.Argument, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "Argument", module.Argument, raising=False)
    with pytest.raises(sim.ProcessError, match=r"AttributeError: .* attribute 'Argument'"):
        sim.spawn("", args=[module.Argument()], show=False).wait(patience)


def test_the_begin_of_a_line_is_shown_before_its_end(capfd, tmp_path, patience):
    go = tmp_path / "go"
    source = (
        "import os, sys, time\nprint('first')\nprint('50 %', end='', flush=True)\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\nprint(', 100 %')\nprint('last', end='')"
    )
    with sim.spawn(source, args=[go]) as process:
        until(lambda: "50 %" in process.output, "the begin of a line", patience)
        assert capfd.readouterr().out == "[dpu] first\n[dpu] 50 %"
        go.touch()
        process.wait(patience)
    assert capfd.readouterr().out == ", 100 %\n[dpu] last\n"
    assert process.output == "first\n50 %, 100 %\nlast\n"


def given_by(feed: list[bytes]) -> list[str]:
    given: list[str] = []
    lines = Lines(given.append)
    for data in feed:
        lines.feed(data)
        if lines.due is not None:
            lines.due = 0.0
        lines.show_due()
    lines.finish()
    return given


@pytest.mark.parametrize(
    ("feed", "given"),
    [
        ([], []),
        ([b"a\nb\nc", b"d\n"], ["a\nb\n", "c", "d\n"]),
        ([b"a", b"\n"], ["a", "\n"]),
        ([b"a"], ["a", "\n"]),
        (["\u00e9".encode()[:1], "\u00e9".encode()[1:]], ["\u00e9", "\n"]),
        ([b"a", "\u00e9".encode()[:1]], ["a", "\\xc3\n"]),
    ],
)
def test_lines_are_given_on_whole_or_in_parts_of_whole_characters(feed, given):
    assert given_by(feed) == given


@pytest.mark.timeout(20)
def test_the_time_of_a_long_line_grows_with_its_length():
    given: list[str] = []
    lines = Lines(given.append)
    for _ in range(400_000):  # copying what came before each time takes minutes
        lines.feed(b"x")
    lines.finish()
    assert given == ["x" * 400_000 + "\n"]


def test_both_streams_keep_lines_of_their_own():
    streams = (io.StringIO(), io.StringIO())
    output = Output("[dpu] ", streams)
    for text, is_error in (("a", False), ("x\ny", True), ("b\nc\nd", False), ("\n", True)):
        output.write(text, is_error)
    assert [stream.getvalue() for stream in streams] == ["[dpu] ab\n[dpu] c\n[dpu] d", "[dpu] x\n[dpu] y\n"]
    assert output.text == "x\nab\nc\ny\nd"


def test_stop_of_several_waits_for_them_together(patience):
    source = f"import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n{FOREVER}"
    processes = [up(sim.spawn(source, show=False), patience) for _ in range(3)]
    begin = time.monotonic()
    stop_together(processes, 1.0)
    assert time.monotonic() - begin < 2.9  # one after another takes 3 s at least
    assert [process.returncode for process in processes] == [-signal.SIGTERM] * 3


def test_asyncio_takes_a_process_where_it_takes_a_coroutine(patience):
    async def main() -> list[int]:
        async with asyncio.timeout(patience), asyncio.TaskGroup() as group:
            tasks = [asyncio.create_task(sim.spawn("")), group.create_task(sim.spawn(""))]
            return [*await asyncio.gather(*tasks, sim.spawn("")), await asyncio.wait_for(sim.spawn(""), patience)]

    assert asyncio.run(main()) == [0, 0, 0, 0]


def test_a_cancelled_asyncio_task_of_a_process_leaves_it_running(patience):
    async def main(process: sim.Process) -> None:
        task = asyncio.create_task(process)
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with up(sim.spawn(FOREVER), patience) as process:
        asyncio.run(main(process))
        assert process.returncode is None


@pytest.mark.parametrize("timeout", [-1, float("nan"), 1e300, "a"])
def test_times_that_are_none_are_refused(timeout, patience):
    with up(sim.spawn(FOREVER), patience) as process:
        for call in (process.wait, process.stop):
            with pytest.raises(pydoca.InvalidValueError, match="timeout is a number of seconds"):
                call(timeout)
        assert process.returncode is None


def test_stop_without_patience_ends_a_process_that_ignores_signals(patience):
    ignoring = "import signal\nfor number in (2, 15):\n    signal.signal(number, signal.SIG_IGN)\n"
    with up(sim.spawn(ignoring + FOREVER), patience) as process:
        assert process.stop(0) == -9
