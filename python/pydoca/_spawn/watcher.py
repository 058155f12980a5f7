"""The thread beside each started process: it starts it, reads what it writes, and takes it from the system at its end.

The kernel kills the process when the thread that started it ends, so that thread must live as long as the process.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import pickle
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

from pydoca._spawn.output import Lines

_CHUNK = 65536  # bytes


class Report:
    """The process's report of the exception that ended it."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        self._data += data

    def finish(self) -> None:
        pass

    def read(self) -> tuple[str, str] | None:
        """A summary and the traceback; None where no exception did."""
        with contextlib.suppress(EOFError, pickle.UnpicklingError):
            summary, text = pickle.loads(self._data)
            return str(summary), str(text)
        return None


class Watcher(threading.Thread):
    """Runs in the context of its maker, so that Jupyter shows the output in the cell that started the process."""

    def __init__(
        self,
        line: list[str],
        instructions: bytes,
        env: dict[str, str],
        write: Callable[[str, bool], None],
        tell_end: Callable[[], None],
    ) -> None:
        super().__init__(name="pydoca-process", daemon=True)
        self._line, self._instructions, self._env = line, instructions, env
        self._out, self._err, self._report = (
            Lines(lambda text: write(text, False)),
            Lines(lambda text: write(text, True)),
            Report(),
        )
        self._tell_end = tell_end
        self._maker_context = contextvars.copy_context()  # "_context" is a name of Thread's since Python 3.14
        self._lock = threading.Lock()  # a process that was taken from the system has no identifier to signal
        self._callbacks: list[Callable[[], None]] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._settled = threading.Event()
        self._ended = threading.Event()
        self.fault: BaseException | None = None
        self.returncode: int | None = None

    def launch(self) -> int:
        """Starts the process and returns its identifier; raises OSError when the system refuses."""
        self.start()
        self._settled.wait()
        if self.fault is not None:
            raise self.fault
        assert self._process is not None
        return self._process.pid

    def wait(self, timeout: float | None) -> bool:
        return self._ended.wait(timeout)

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    def report(self) -> tuple[str, str] | None:
        return self._report.read()

    def when_ended(self, callback: Callable[[], None]) -> None:
        """Calls it in this thread at the end, or at once when the process has ended."""
        with self._lock:
            if not self.ended:
                self._callbacks.append(callback)
                return
        callback()

    def forget(self, callback: Callable[[], None]) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._callbacks.remove(callback)

    def signal(self, number: int) -> None:
        with self._lock:
            if self._process is not None and self.returncode is None:
                os.kill(self._process.pid, number)

    def run(self) -> None:
        self._maker_context.run(self._watch)

    def _watch(self) -> None:
        # The process inherits the mask: it is not to be interrupted before it runs its program.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        try:
            report = self._start()
        except BaseException as error:
            self.fault = error
            self._settled.set()
            return
        self._settled.set()
        try:
            self._read(report)
        finally:
            self._end()

    def _start(self) -> int:
        instructions = os.memfd_create("instructions")
        report, reporting = os.pipe()
        try:
            os.pwrite(instructions, self._instructions, 0)
            descriptors = (instructions, reporting)
            self._process = subprocess.Popen(
                [*self._line[:2], *map(str, descriptors), str(os.getpid()), *self._line[2:]],
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=descriptors,
                process_group=0,  # an interrupt of this program's group is not one of the process
            )
        except BaseException:
            os.close(report)
            raise
        finally:
            os.close(instructions)
            os.close(reporting)
        return report

    def _read(self, report: int) -> None:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        assert process.stderr is not None
        end = os.pidfd_open(process.pid)
        sinks = {process.stdout.fileno(): self._out, process.stderr.fileno(): self._err, report: self._report}
        try:
            _read_until(end, sinks, [self._out, self._err])
            with contextlib.suppress(OSError):  # the processes that it has started
                os.killpg(process.pid, signal.SIGKILL)
            _drain(sinks)
        finally:
            os.close(end)
            os.close(report)
            process.stdout.close()
            process.stderr.close()

    def _end(self) -> None:
        assert self._process is not None
        with self._lock:
            self.returncode = self._process.wait()
        self._tell_end()
        with self._lock:
            callbacks, self._callbacks = self._callbacks, []
            self._ended.set()
        for callback in callbacks:
            callback()


def _read_until(end: int, sinks: dict[int, Any], lines: list[Lines]) -> None:
    """Passes on what comes until the process ends; processes that it has started may hold its pipes open."""
    with selectors.DefaultSelector() as selector:
        for descriptor in sinks:
            os.set_blocking(descriptor, False)
            selector.register(descriptor, selectors.EVENT_READ)
        selector.register(end, selectors.EVENT_READ)
        ready: list[int] = []
        while end not in ready:
            ready = [key.fd for key, _ in selector.select(_time_to_due(lines))]
            for descriptor in set(ready) - {end}:
                if not _pass_on(descriptor, sinks[descriptor]):
                    selector.unregister(descriptor)
            for stream in lines:
                stream.show_due()


def _time_to_due(lines: list[Lines]) -> float | None:
    due = [stream.due for stream in lines if stream.due is not None]
    return max(0.0, min(due) - time.monotonic()) if due else None


def _drain(sinks: dict[int, Any]) -> None:
    for descriptor, sink in sinks.items():
        while _pass_on(descriptor, sink):
            pass
        sink.finish()


def _pass_on(descriptor: int, sink: Any) -> bool:
    """Passes on what has come; returns False when there is nothing more."""
    try:
        data = os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return False
    sink.feed(data)
    return bool(data)
