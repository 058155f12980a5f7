"""Reports of progress: to a terminal, or to the front end that started this half."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
from typing import Any, Protocol

from pydoca.cli._errors import Interrupted, PeerError, describe
from pydoca.cli._log_output import log

_INTERVAL = 0.05  # seconds between two reports of progress


class Reporter(Protocol):
    def waiting(self, what: str) -> None: ...
    def progress(self, done: int, total: int) -> None: ...
    def close(self) -> None: ...


class Terminal:
    """A line while waiting and a bar during long work, on a terminal's standard error; elsewhere only the log.
    A transient bar appears after half a second, and disappears at the end."""

    def __init__(self, quiet: bool, *, transient: bool = False) -> None:
        self._silent = quiet or not sys.stderr.isatty()
        self._options: dict[str, Any] = {"leave": False, "delay": 0.5} if transient else {}
        self._bar: Any = None

    def waiting(self, what: str) -> None:
        log.info(what)
        if not self._silent:
            print(f"pydoca: {what}", file=sys.stderr)

    def progress(self, done: int, total: int) -> None:
        if self._silent:
            return
        if self._bar is None:
            try:
                self._bar = _create_bar(total, self._options)
            except ModuleNotFoundError as error:
                self.waiting(f"working; pip install 'pydoca[cli]' gets {error.name}, which shows the progress")
                self._silent = True
                return
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class FrontEnd:
    """Writes one JSON object per line into the socket of the front end."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._last = 0.0

    def waiting(self, what: str) -> None:
        log.info(what)

    def progress(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done == total or now - self._last >= _INTERVAL:
            self._last = now
            self._write(event="progress", done=done, total=total)

    def done(self, result: dict[str, Any]) -> None:
        self._write(event="done", result=result)

    def failed(self, error: BaseException) -> None:
        told = isinstance(error, PeerError)
        self._write(event="failed", message=describe(error), is_told=told, is_interrupt=isinstance(error, Interrupted))

    def close(self) -> None:
        pass

    def _write(self, **event: Any) -> None:
        with contextlib.suppress(OSError):  # the front end has ended: the end of the socket also ends this half
            self._socket.sendall(json.dumps(event).encode() + b"\n")


def _create_bar(total: int, options: dict[str, Any]) -> Any:
    import threading

    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no thread that watches the bar
    tqdm.set_lock(threading.RLock())  # the default is a lock between processes
    is_known = os.get_terminal_size(sys.stderr.fileno()).columns > 0
    width: Any = {"dynamic_ncols": True} if is_known else {"ncols": 80, "nrows": 24}
    return tqdm(total=total, unit="B", unit_scale=True, file=sys.stderr, **width, **options)
