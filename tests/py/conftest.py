"""Fixtures and functions that several test files use."""

import asyncio
import contextlib
import ctypes
import gc
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from warm_python import Process, WarmPython

# The guest of the RDMA lab has an emulated CPU; instrumented code checks every access.
IS_GUEST = "PYDOCA_RDMA_LAB" in os.environ
IS_SANITIZED = "rt.asan" in os.environ.get("LD_PRELOAD", "")
SLOWNESS = 10 if IS_GUEST else 3 if IS_SANITIZED else 1

# Memory that the import of NumPy never frees is not a leak of the project. A list of suppressions could not name these
# allocations: the interpreter has no frame pointers, so stacks end in it.
if IS_SANITIZED:
    ctypes.CDLL(None).__lsan_disable()
    import numpy  # noqa: F401

    ctypes.CDLL(None).__lsan_enable()

# Seconds until the end of another process must be noticed. The project's own limit is one; machines under load get
# more.
PATIENCE = 5.0

# Only tests that ask for them use the machine's own RDMA devices.
os.environ.setdefault("PYDOCA_BACKEND", "sim")

_collect = gc.collect


def _collect_here(generation: int = 2) -> int:
    """Collects garbage here, also while another thread does; gc.collect() then does nothing.

    The thread through which pytest-xdist receives may be such a thread. Tests that count what a collection has freed
    need one that ran.
    """
    ran: list[int] = []

    def note(phase: str, _info: dict[str, int]) -> None:
        if phase == "stop":
            ran.append(threading.get_ident())

    gc.callbacks.append(note)
    try:
        found = _collect(generation)
        while threading.get_ident() not in ran:
            time.sleep(0)
            found = _collect(generation)
    finally:
        gc.callbacks.remove(note)
    return found


# A shell that starts the tests in the background may ignore Ctrl-C, and every child would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def device_under_test(config: pytest.Config) -> str:
    """The device that tests/py/rdma uses: rxe0 or another one by the option of pydoca's plug-in, or "sim"."""
    chosen: list[str] = config.getoption("pydoca_device")
    return chosen[0] if chosen else "sim"


def pytest_configure(config: pytest.Config) -> None:
    """Sets the environment, also for the processes that tests start."""
    gc.collect = _collect_here
    config.add_cleanup(lambda: setattr(gc, "collect", _collect))  # an object that a C module refers to is never freed
    os.environ["PYDOCA_BACKEND"] = "sim" if device_under_test(config) == "sim" else "verbs"
    os.environ.setdefault("PYDOCA_SEED", "1")  # the random drivers use this seed; script/soak uses others
    if "PYTEST_XDIST_WORKER" not in os.environ:
        # Processes of tests meet in this directory, so other files in /tmp do not matter.
        directory = tempfile.mkdtemp(prefix="pydoca-test-")
        os.environ["XDG_RUNTIME_DIR"] = directory
        config.add_cleanup(lambda: shutil.rmtree(directory, ignore_errors=True))


def pytest_report_header() -> str:
    return f"PYDOCA_SEED={os.environ['PYDOCA_SEED']} (the random drivers of tests/py/soak)"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if IS_SANITIZED:
        # asyncio's debug mode makes the module go the documented way, as uvloop does.
        deselect(config, items, {"asyncio-debug"})
    if device_under_test(config) == "sim":
        skip = pytest.mark.skip(reason="needs a real device: script/test-rdma, or --pydoca-device NAME")
        for item in items:
            if item.get_closest_marker("verbs"):
                item.add_marker(skip)
    else:
        # Loops differ only on this side of the engine, and a guest is slow.
        deselect(config, items, {"uvloop", "asyncio-debug"})


def deselect(config: pytest.Config, items: list[pytest.Item], loops: set[str]) -> None:
    """Leaves out the tests that run on one of these loops."""
    others = [item for item in items if not loops.isdisjoint(item_parameters(item))]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]


def item_parameters(item: pytest.Item) -> list[str]:
    return (
        [value for value in item.callspec.params.values() if isinstance(value, str)]
        if hasattr(item, "callspec")
        else []
    )


@pytest.fixture
def rdma_names(request: pytest.FixtureRequest) -> tuple[str, str]:
    """The names of the device under test and of the one at the other end, which may be the same."""
    name = device_under_test(request.config)
    return name, request.config.getoption("pydoca_peer") or name


@pytest.fixture
def patience() -> float:
    """Seconds in which a process must do something small and end."""
    return PATIENCE * 4 * SLOWNESS


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _argument(value: object) -> str:
    return os.fsdecode(value) if isinstance(value, bytes) else str(value)


@pytest.fixture
def bluefield2() -> Iterator[None]:
    """The simulated cards are BlueField-2 during the test."""
    from pydoca import sim

    before = sim.topology()
    sim.load_topology(sim.default_topology("bluefield2"))
    yield
    sim.load_topology(before)


class Commands:
    """Runs `pydoca` in a fabric of its own, by whose name it recognises every process that belongs to a test."""

    def __init__(self, directory: Path, warm_python: WarmPython | None) -> None:
        self.directory = directory
        self._warm_python = warm_python
        self._warm: list[Process] = []  # their /proc entry lacks the environment of the program
        self.fabric = f"test-{secrets.token_hex(8)}"
        runtime = directory / "run"
        runtime.mkdir(mode=0o700)
        self.env = {**os.environ, "PYDOCA_FABRIC": self.fabric, "XDG_RUNTIME_DIR": str(runtime)}
        for name in ("PYDOCA_SIDE", "PYDOCA_DEBUG"):
            self.env.pop(name, None)

    @staticmethod
    def wait_until(condition: Callable[[], Any], what: str, timeout: float = 20.0) -> Any:
        """The condition's value as soon as it is true; bounded."""
        end = time.monotonic() + timeout * SLOWNESS
        while not (value := condition()):
            if time.monotonic() > end:
                pytest.fail(f"waited {timeout:g} s for {what}, which did not come")
            time.sleep(0.005)
        return value

    def line(self, *arguments: object) -> list[str]:
        return [sys.executable, "-P", "-m", "pydoca", *(_argument(value) for value in arguments)]

    @staticmethod
    def script() -> str:
        """The command as users call it."""
        return os.path.join(os.path.dirname(sys.executable), "pydoca")

    def start(self, *arguments: object, prefix: Sequence[str] = (), **options: Any) -> Any:
        return self.start_program([*prefix, *self.line(*arguments)], cwd=self.directory, **options)

    def start_program(self, line: list[str], env: dict[str, str] | None = None, **options: Any) -> Any:
        """Starts a program as subprocess.Popen does; by default its output comes through pipes of text."""
        env = env or self.env
        warm = self._warm_python
        if warm and line[0] == sys.executable and options.keys() <= {"cwd", "stdin"} and warm.can_have(env):
            self._warm.append(warm.start(line[1:], env, **options))
            return self._warm[-1]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(line, env=env, **{"text": True, **pipes, **options})

    def run(self, *arguments: object, timeout: float = 150.0, **options: Any) -> "subprocess.CompletedProcess[str]":
        process = self.start(*arguments, **options)
        try:
            output, errors = process.communicate(timeout=timeout * SLOWNESS)
        finally:
            process.kill()
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def processes(self) -> dict[int, str]:
        """The live processes: identifier and command line."""
        mark = f"PYDOCA_FABRIC={self.fabric}".encode()
        found = {process.pid: " ".join(process.args) for process in self._warm if process.poll() is None}
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                try:
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                except OSError:
                    pass  # it ended just now, or belongs to another user
        return found

    def process_of(self, side: str) -> int:
        """The process that is this side's half of a copy, as soon as it exists."""

        def find() -> int | None:
            return next((pid for pid, line in self.processes().items() if f"--side {side} " in line), None)

        return self.wait_until(find, f"the process of side {side}")

    def wait_for_loop(self, process: "subprocess.Popen[str]") -> None:
        """Waits until the command's event loop runs, and so until its handler of SIGTERM is set."""

        def handles_sigterm() -> bool:
            status = Path(f"/proc/{process.pid}/status").read_text()
            caught = int(next(line for line in status.splitlines() if line.startswith("SigCgt")).split()[1], 16)
            return bool(caught & 1 << (signal.SIGTERM - 1))

        self.wait_until(handles_sigterm, "the command's event loop")

    def require_no_process(self) -> None:
        self.wait_until(lambda: not self.processes(), f"the end of {self.processes()}", PATIENCE)


@pytest.fixture(scope="module", autouse=True)
def _quick_collections() -> None:
    """Makes later collections skip the objects that exist now: pytest alone has some 250,000."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def warm_python() -> Iterator[WarmPython | None]:
    """The interpreter that forks programs in a guest; elsewhere programs are started as users start them."""
    warm_python = WarmPython() if IS_GUEST else None
    yield warm_python
    if warm_python:
        warm_python.close()


@pytest.fixture
def commands(tmp_path: Path, warm_python: WarmPython | None) -> Iterator[Commands]:
    """Fails if a process of the test remains; sockets and memory end with their processes."""
    commands = Commands(tmp_path, warm_python)
    yield commands
    commands.require_no_process()
    assert not list(tmp_path.rglob(".*.pydoca")), "a temporary file is left"


class Rig:
    """A device of the DPU with a progress engine, a running Dma, and copies to make with it."""

    def __init__(self, size: int = 64, **options: Any) -> None:
        import pydoca

        self.device = pydoca.open_device("03:00.0", side="dpu")
        self.pe = pydoca.ProgressEngine()
        self.dma = pydoca.Dma(self.pe, self.device, **{"num_tasks": 256, **options})
        self.inventory = pydoca.BufInventory(1024)
        self.data = pydoca.alloc(size)
        memoryview(self.data).cast("B")[:] = bytes(range(256)) * (size // 256) + bytes(range(size % 256))
        self.source = self.device.mmap(self.data)
        self.dma.start()

    def bufs(self, size: int | None = None) -> tuple[Any, Any, Any]:
        """A source, a destination of its own, and the destination's memory."""
        import pydoca

        target = pydoca.alloc(size or len(self.data))
        src = self.inventory.get_by_data(self.source, None, size)
        return src, self.inventory.get_by_addr(self.device.mmap(target)), target

    def copy(self, **options: Any) -> Any:
        """A submitted task, which the device has done or is about to do."""
        src, dst, _ = self.bufs()
        return self.dma.memcpy(src, dst, **options)

    def held(self, **options: Any) -> Any:
        """A task in flight, until `release` lets the device see it."""
        import pydoca

        task = self.copy(submit=False, **options)
        task.submit(pydoca.SubmitFlags.NONE)
        return task

    def release(self) -> None:
        self.dma.flush_tasks()

    def close(self) -> None:
        """Closes everything, in any state, so that the next test can open its device."""
        import pydoca

        for give_back in (
            self.release,
            lambda: self.pe.__exit__(None, None, None),
            self.source.close,
            self.device.close,
        ):
            with contextlib.suppress(pydoca.DocaError, RuntimeError, AttributeError, ExceptionGroup):
                give_back()

    @staticmethod
    async def turns(count: int = 3) -> None:
        """Lets a running event loop go round."""
        for _ in range(count):
            await asyncio.sleep(0)


@pytest.fixture
def make_rig() -> Iterator[Callable[..., Rig]]:
    """Makes rigs, and closes them after the test; with kept=False the test closes them itself."""
    rigs: list[Rig] = []

    def make(*arguments: Any, kept: bool = True, **options: Any) -> Rig:
        rig = Rig(*arguments, **options)
        if kept:
            rigs.append(rig)
        return rig

    yield make
    for rig in rigs:
        rig.close()
    rigs.clear()
    gc.collect()


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    return make_rig()


def uvloop_factory() -> asyncio.AbstractEventLoop:
    uvloop = pytest.importorskip("uvloop", reason="uvloop is not installed")
    return uvloop.new_event_loop()


LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop_factory}


@pytest.fixture(params=LOOPS)
def new_loop(request: pytest.FixtureRequest) -> Callable[[], asyncio.AbstractEventLoop]:
    """Makes event loops of every implementation."""
    return LOOPS[request.param]


@pytest.fixture(params=[*LOOPS, "asyncio-debug"])
def run(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """The equivalent of `asyncio.run`, with every implementation of the loop."""
    name, _, debug = request.param.partition("-")

    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(debug=bool(debug), loop_factory=LOOPS[name]) as runner:
            return runner.run(coroutine)

    return run


class Ends:
    """Devices of both sides, and a name that no other test uses."""

    def __init__(self) -> None:
        import pydoca

        self.host = pydoca.open_device("0b:00.0", side="host")
        self.dpu = pydoca.open_device("03:00.0", side="dpu")
        self.rep = self.dpu.open_representor("0b:00.0")
        self.name = f"test-{secrets.token_hex(6)}"

    def close(self) -> None:
        self.rep.close()
        self.dpu.close()
        self.host.close()

    def server(self, pe: Any, **options: Any) -> Any:
        from pydoca import comch

        return comch.Server(pe, self.dpu, self.rep, self.name, **options)

    def client(self, pe: Any, **options: Any) -> Any:
        from pydoca import comch

        return comch.Client(pe, self.host, self.name, **options)

    @contextlib.asynccontextmanager
    async def linked(self, client: Any = None, **options: Any) -> AsyncIterator[Any]:
        """A server, its end of a connection, and the client's end; one engine for both."""
        import pydoca

        async with (
            pydoca.ProgressEngine() as pe,
            self.server(pe, **options) as server,
            self.client(pe, **(client or {})) as link,
        ):
            yield server, await server.accept(), link

    @contextlib.contextmanager
    def linked_without_loop(self, client: Any = None, **options: Any) -> Iterator[Any]:
        import pydoca

        with (
            pydoca.ProgressEngine() as pe,
            self.server(pe, **options) as server,
            self.client(pe, **(client or {})) as link,
        ):
            yield server, server.accept().wait(timeout=10), link


@pytest.fixture
def ends() -> Iterator[Ends]:
    ends = Ends()
    yield ends
    gc.collect()  # collects contexts that a test has dropped
    ends.close()
