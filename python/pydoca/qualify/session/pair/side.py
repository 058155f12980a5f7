"""The case's end of a pair: it starts the two processes, calls their functions, and ends them whatever happens."""

from __future__ import annotations

import contextlib
import inspect
import pickle
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, Listener, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pydoca
from pydoca.qualify.session.pair.child import serve
from pydoca.qualify.session.pair.ends import End, NoPair, ends_of

if TYPE_CHECKING:
    from pydoca.qualify.session.case_run import CaseRun

_START_TIMEOUT = 60.0
_CALL_TIMEOUT = 60.0
_GRACE = 1.0  # seconds for an idle process to end by itself


class PairError(RuntimeError):
    """A function of one side has failed, or its process has ended.

    ``side`` is "host" or "dpu", ``traceback`` the text of the other process's traceback, or None.
    """

    def __init__(self, side: str, what: str, traceback: str | None = None) -> None:
        super().__init__(
            f"{side}: {what}" + (f"\n\nthe traceback of the {side} process:\n{traceback}" if traceback else "")
        )
        self.side: str = side
        self.traceback: str | None = traceback


class Call:
    """A call that runs in the other process."""

    def __init__(self, side: SideProcess, name: str) -> None:
        self._side, self._name = side, name

    def result(self, timeout: float = _CALL_TIMEOUT) -> Any:
        """The function's result. Raises PairError, caused by the function's own exception where that is known."""
        return self._side._finish(self._name, timeout)


class SideProcess:
    """One process of a pair. ``end``, ``device`` and ``representor`` name what its functions open."""

    def __init__(self, end: End) -> None:
        self.end = end
        self._process: pydoca.sim.Process | None = None
        self._connection: Connection | None = None
        self._busy = ""

    def __repr__(self) -> str:
        return f"<the {self.side} process of a pair, pid {self.pid}, on {self.device}>"

    @property
    def side(self) -> str:
        return self.end.side

    @property
    def device(self) -> str:
        """The argument of pydoca.open_device()."""
        return self.end.device

    @property
    def representor(self) -> str:
        """The argument of Device.open_representor(), on a DPU."""
        return self.end.representor

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def output(self) -> str:
        """The text that the process has written."""
        return self._process.output if self._process else ""

    def call(self, function: Callable[..., Any], *arguments: Any, timeout: float = _CALL_TIMEOUT) -> Any:
        """Calls a function of a module, also a coroutine function, in this process, and returns its result."""
        return self.start(function, *arguments).result(timeout)

    def start(self, function: Callable[..., Any], *arguments: Any) -> Call:
        """Begins a call, so that the other side can be called meanwhile; one at a time."""
        if self._busy:
            raise PairError(self.side, f"{self._busy}() still runs: take its result() before the next call")
        name = getattr(function, "__qualname__", "")
        if not inspect.isroutine(function) or "<" in name or function.__module__ == "__main__":
            raise TypeError(f"{self.side}: {function!r} is not a function at the top of a module")
        request = (function.__module__, inspect.getfile(function), name, pickle.dumps(arguments))
        try:
            self._required().send(request)
        except OSError:
            raise self._ended(name) from None
        self._busy = name
        return Call(self, name)

    def kill(self) -> None:
        """Ends the process as a crash does; `restart()` starts another one."""
        if self._process is not None:
            self._process.stop(0)
        self._close()

    def restart(self) -> None:
        """Ends the process, and starts a new one."""
        self.kill()
        self._begin()

    def _begin(self) -> None:
        with tempfile.TemporaryDirectory(prefix="pydoca-pair-") as folder:
            address, key = str(Path(folder, "socket")), secrets.token_bytes(32)
            with Listener(address, "AF_UNIX", authkey=key) as listener:
                arguments = (address, key, self.end.backend != "sim")
                self._process = pydoca.sim.spawn(serve, side=self.side, name=self.side, args=arguments)
                self._connection = self._accept(listener)

    def _accept(self, listener: Listener) -> Connection:
        """Accepts the process's connection. A thread connects when the process has ended: accept() has no timeout."""
        address = str(listener.address)
        done = threading.Event()
        watch = threading.Thread(target=self._give_up, args=(address, done), daemon=True)
        watch.start()
        try:
            return listener.accept()
        except (EOFError, OSError, ConnectionError) as error:
            raise PairError(self.side, f"the process has not started: {self.output or error}") from None
        finally:
            done.set()
            watch.join()

    def _give_up(self, address: str, done: threading.Event) -> None:
        end = time.monotonic() + _START_TIMEOUT
        while not done.wait(0.05):
            if not self.is_running or time.monotonic() > end:
                with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
                    probe.connect(address)
                return

    def _finish(self, name: str, timeout: float) -> Any:
        connection = self._required()
        try:
            if not connection.poll(timeout):
                raise PairError(self.side, f"{name}() has not returned after {timeout:g} s")
            answer = pickle.loads(connection.recv_bytes())
        except (EOFError, OSError):
            raise self._ended(name) from None
        self._busy = ""
        if answer[0]:
            return answer[1]
        _, summary, text, cause = answer
        raise PairError(self.side, f"{name}(): {summary}", text) from cause

    def _required(self) -> Connection:
        if self._connection is None:
            raise PairError(self.side, "its process has ended; restart() starts another one")
        return self._connection

    def _ended(self, name: str) -> PairError:
        process = self._process
        assert process is not None
        with contextlib.suppress(pydoca.TimeOutError, pydoca.sim.ProcessError):
            process.wait(_GRACE)
        code = process.returncode
        self._close()
        return PairError(self.side, f"the process ended during {name}() (exit code {code})", process.output or None)

    def _end(self) -> None:
        """Ends the process: an idle one ends with its connection, any other one is killed."""
        process, idle = self._process, not self._busy
        self._close()
        if process is None:
            return
        if idle:
            with contextlib.suppress(pydoca.TimeOutError, pydoca.sim.ProcessError):
                process.wait(_GRACE)
        process.stop(0)

    def _close(self) -> None:
        self._busy = ""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Pair:
    """Two real processes. A failure of either one has its side and its traceback in the message."""

    def __init__(self, host: End, dpu: End) -> None:
        self.host: SideProcess = SideProcess(host)
        self.dpu: SideProcess = SideProcess(dpu)

    def both(
        self, host: Callable[..., Any], dpu: Callable[..., Any], *arguments: Any, timeout: float = _CALL_TIMEOUT
    ) -> tuple[Any, Any]:
        """Calls a function on each side at the same time, with the same arguments."""
        calls = {self.dpu: self.dpu.start(dpu, *arguments), self.host: self.host.start(host, *arguments)}
        results: dict[SideProcess, Any] = {}
        end = time.monotonic() + timeout
        while len(results) < len(calls):
            waiting = [side for side in calls if side not in results]
            left = max(0.0, end - time.monotonic())
            ready = wait([side._required() for side in waiting], left)
            for side in [side for side in waiting if side._connection in ready] or waiting:
                results[side] = calls[side].result(0 if ready == [] else timeout)  # the first failure ends both
        return results[self.host], results[self.dpu]


@contextlib.contextmanager
def open_pair(run: CaseRun) -> Iterator[Pair]:
    """A pair for a with block, at whose end both processes have ended."""
    try:
        pair = Pair(*ends_of(run.require_device(), run.settings))
    except NoPair as error:
        import pytest

        pytest.skip(str(error))
    sides = (pair.host, pair.dpu)
    try:
        for side in sides:
            side._begin()
        yield pair
    finally:
        with contextlib.ExitStack() as stack:
            for side in sides:
                stack.callback(side._end)
