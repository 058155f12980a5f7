"""A process of one side of the fabric, which its parent sees, waits for and stops."""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pydoca import _core
from pydoca._coroutine import driven_by_asyncio
from pydoca._errors import InvalidValueError, TimeOutError
from pydoca._spawn.output import Output
from pydoca._spawn.program import FLAGS, to_arguments, to_environment, to_program
from pydoca._spawn.watcher import Watcher

if TYPE_CHECKING:
    import asyncio

_SIDES = ("host", "dpu")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
_LONGEST = 1e6  # seconds
_CHILD = str(Path(__file__).with_name("child.py"))

_running: set[Process] = set()


def _require_timeout(timeout: float) -> None:
    if not isinstance(timeout, int | float) or not 0 <= timeout <= _LONGEST:
        raise InvalidValueError(f"timeout is a number of seconds, 0 to {_LONGEST:g}, not {timeout!r}")


def _patience(number: signal.Signals, timeout: float) -> float:
    """The seconds to wait after a signal: SIGKILL ends any process, but not at once on a busy machine."""
    return max(timeout, 20.0) if number == signal.SIGKILL else timeout


class ProcessError(RuntimeError):
    """A process that was started by `spawn` has failed; a note has the process's own traceback.

    ``process`` is the Process, ``returncode`` its exit code, ``traceback`` the text of its traceback, or None.
    """

    process: Process
    returncode: int
    traceback: str | None

    def __init__(self, message: str, process: Process, returncode: int, traceback: str | None) -> None:
        super().__init__(message)
        self.process, self.returncode, self.traceback = process, returncode, traceback
        if traceback:
            self.add_note(traceback.rstrip())

    def __reduce__(self) -> tuple[Any, ...]:
        return RuntimeError, (f"{self}\n{self.traceback or ''}".rstrip(),)

    def _render_traceback_(self) -> list[str]:
        """The traceback that IPython shows: the process's, without that of the notebook's wait."""
        return [*(self.traceback or "").rstrip().splitlines(), f"{type(self).__name__}: {self}"]


@driven_by_asyncio
class Process:
    """A process of one side, which `spawn` has started. It ends with its parent, however that ends.

    An await waits for its end, as `wait` does. The end of a with block stops it.
    """

    def __init__(self, side: str, name: str | None, show: bool) -> None:
        self._side = side
        self._name = name or side
        prefix = f"[{side}] " if self._name == side else f"[{side} {self._name}] "
        self._output = Output(prefix, (sys.stdout, sys.stderr) if show else None)
        self._owner = os.getpid()
        self._waiters = 0
        self._stopped = False
        self._pid = 0
        self._watcher: Watcher

    def _launch(self, instructions: dict[str, Any], env: dict[str, str]) -> None:
        line = [sys.executable, _CHILD, "--side", self._side, "--name", self._name]
        self._watcher = Watcher(line, pickle.dumps(instructions), env, self._output.write, self._tell_end)
        _running.add(self)
        try:
            self._pid = self._watcher.launch()
        except BaseException:
            self._kill()
            raise

    def __repr__(self) -> str:
        state = "running" if self.returncode is None else f"ended, code {self.returncode}"
        return f"<pydoca.sim.Process {self._title()}, pid {self._pid}: {state}>"

    @property
    def pid(self) -> int:
        """The identifier of the process."""
        return self._pid

    @property
    def side(self) -> str:
        """The side of its devices: "host" or "dpu"."""
        return self._side

    @property
    def name(self) -> str:
        """The name that was given; by default the side."""
        return self._name

    @property
    def returncode(self) -> int | None:
        """The exit code, negative after a signal; None while the process runs."""
        return self._watcher.returncode if self._watcher.ended else None

    @property
    def output(self) -> str:
        """What it has written to standard output and standard error, the last 10,000 lines."""
        return self._output.text

    def _labelled_output(self) -> str:
        """The same as notebooks show it."""
        return self._output.labelled_text

    def wait(self, timeout: float | None = None) -> int:
        """Waits for the end of the process and returns its exit code, 0.

        Raises ProcessError when it failed, unless `stop` was called, and TimeOutError after timeout seconds.
        """
        if timeout is not None:
            _require_timeout(timeout)
        self._waiters += 1
        try:
            if not self._watcher.wait(timeout):
                raise TimeOutError(f"wait for the {self._title()}: it still runs after {timeout:g} s; stop() ends it")
            return self._outcome()
        finally:
            self._waiters -= 1

    def stop(self, timeout: float = 2.0) -> int:
        """Ends the process and returns its exit code: by SIGINT, after timeout seconds by SIGTERM, then by SIGKILL."""
        _require_timeout(timeout)
        stop_together([self], timeout)
        return self._code_after_stop()

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if error is None:
            self._outcome()

    def __await__(self) -> Generator[Any, Any, int]:
        return self._wait().__await__()

    async def __aenter__(self) -> Process:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()
        if error is None:
            self._outcome()

    async def _wait(self) -> int:
        self._waiters += 1
        try:
            await self._end(None)
            return self._outcome()
        finally:
            self._waiters -= 1

    async def _stop(self, timeout: float = 2.0) -> int:
        with self._stopping():
            for number in _SIGNALS:
                if not self._watcher.ended:
                    self._watcher.signal(number)
                    await self._end(_patience(number, timeout))
        return self._code_after_stop()

    @contextlib.contextmanager
    def _stopping(self) -> Iterator[None]:
        """An interrupt or a cancellation meanwhile ends the process without further waits."""
        if os.getpid() != self._owner:
            raise InvalidValueError(f"stop the {self._title()}: only the process that started it may do that")
        self._stopped = self._stopped or not self._watcher.ended
        try:
            yield
        except BaseException:
            self._watcher.signal(signal.SIGKILL)
            raise

    async def _end(self, timeout: float | None) -> None:
        """Waits for the end, at most so many seconds."""
        import asyncio

        from pydoca._aio.signal_pipe import SIGNAL_PIPE

        loop = asyncio.get_running_loop()
        SIGNAL_PIPE.enter(self, loop)
        ended: asyncio.Future[None] = loop.create_future()

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_set, ended)

        self._watcher.when_ended(tell)
        try:
            await asyncio.wait([ended], timeout=timeout)
        finally:
            self._watcher.forget(tell)
            SIGNAL_PIPE.leave(self)

    def _outcome(self) -> int:
        code = self._watcher.returncode
        assert code is not None
        if code == 0 or self._stopped:
            return code
        summary, text = self._watcher.report() or (_end_of(code), None)
        raise ProcessError(f"the {self._title()} failed: {summary}", self, code, text)

    def _code_after_stop(self) -> int:
        code = self.returncode
        if code is None:
            raise TimeOutError(f"stop the {self._title()}: process {self._pid} has not ended after SIGKILL")
        return code

    def _kill(self) -> None:
        """Kills the process when an interrupt comes during its start."""
        if self._watcher.ident is None or self._watcher.fault is not None:
            _running.discard(self)
            return
        self._stopped = True
        while self._pid == 0 and not self._watcher.ended and self._watcher.fault is None:
            self._watcher.signal(signal.SIGKILL)
            self._watcher.wait(0.01)

    def _title(self) -> str:
        return f"{self._side} process" if self._name == self._side else f"{self._side} process {self._name!r}"

    def _tell_end(self) -> None:
        """Shows the traceback where no caller waits for the error; runs in the watcher's thread."""
        _running.discard(self)
        report = self._watcher.report()
        if report is not None and not self._waiters:
            self._output.write(report[1], True)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _end_of(code: int) -> str:
    if code > 0:
        return f"exit code {code}"
    try:
        return f"{signal.Signals(-code).name} ended it"
    except ValueError:
        return f"signal {-code} ended it"


def _require_name(name: object) -> str | None:
    if name is not None and not isinstance(name, str):
        raise TypeError(f"spawn: name is a str or None, not {name!r}")
    if name is not None and not name.isprintable():
        raise InvalidValueError(f"spawn: the name {name!r} has characters that cannot be shown; leave them out")
    return name


def start(
    target: object,
    side: object,
    name: str | None,
    args: Sequence[object],
    env: Mapping[str, str] | None,
    topology: Callable[[], dict[str, Any] | None],
    show: bool,
    filename: str | None = None,
) -> Process:
    side = str(getattr(side, "name", side)).lower()
    if side not in _SIDES:
        raise InvalidValueError(f"spawn: the side is 'dpu' or 'host', not {side!r}")
    process = Process(side, _require_name(name), show)
    instructions = to_program(target, filename or f"<{process._title()}>")
    given = to_environment(env)
    machine = _machine_beside(given, topology)
    instructions |= {"args": to_arguments(args), "path": sys.path, "topology": machine, "flags": FLAGS}
    own = {"PYDOCA_FABRIC": _core.sim_fabric(), **_file_of_faults(), **given, "PYDOCA_SIDE": side}
    process._launch(instructions, {**os.environ, **own})
    return process


def _machine_beside(given: Mapping[str, str], topology: Callable[[], dict[str, Any] | None]) -> dict[str, Any] | None:
    """This process's machine, except where the new process's own variables name another one."""
    if not given.keys().isdisjoint(("PYDOCA_TOPOLOGY", "PYDOCA_PROFILE")):
        return None
    machine = topology()
    if machine is not None and "PYDOCA_TIMING" in given:
        machine.pop("timing", None)
    return machine


def _file_of_faults() -> dict[str, str]:
    """The variable with the absolute path: this process may have changed its directory since it read the file."""
    faults = sys.modules.get("pydoca.faults")
    value, path = faults._file_of_environment if faults is not None else ("", "")
    return {"PYDOCA_FAULTS": path} if value and os.environ.get("PYDOCA_FAULTS") == value else {}


def stop_together(processes: Sequence[Process], timeout: float = 2.0) -> None:
    """Stops several processes; each signal goes to all before the first is waited for."""
    with contextlib.ExitStack() as stack:
        for process in processes:
            stack.enter_context(process._stopping())
        for number in _SIGNALS:
            running = [process for process in processes if not process._watcher.ended]
            for process in running:
                process._watcher.signal(number)
            end = time.monotonic() + _patience(number, timeout)
            for process in running:
                process._watcher.wait(max(0.0, end - time.monotonic()))


def _stop_all() -> None:
    """Stops what still runs when the program ends."""
    stop_together([process for process in list(_running) if process._owner == os.getpid()], 1.0)


for _public in (Process, ProcessError):
    _public.__module__ = "pydoca.sim"
atexit.register(_stop_all)
