"""Ctrl-C, or SIGTERM as of CI servers. Once: the current sample ends, and everything is written. Twice: at once."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

_NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


class Interrupt:
    """The handler of both signals, from the wait for a device, or the first case, to the end of pytest's reports."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._before: dict[int, Any] = {}
        self._process = 0
        self._at_once = self._only_noted = False
        self.requested: bool = False

    def take(self, *, at_once: bool = False) -> None:
        """at_once: whether the process runs no case, so that nothing could end first."""
        self._at_once, self._process = at_once, os.getpid()
        if threading.current_thread() is threading.main_thread() and not self._before:
            self._before = {number: signal.signal(number, self._received) for number in _NAMES}

    @contextlib.contextmanager
    def only_noted(self) -> Iterator[None]:
        """Has a signal only set `requested`, for a wait that looks at it; also after a block that has raised."""
        self.take()
        self._only_noted = True
        yield
        self._only_noted = False

    def give_back(self) -> None:
        for number, before in self._before.items():
            if before is not None:  # None: not Python's
                signal.signal(number, before)
        self._before = {}

    def _received(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._process:
            _end_child(number)
            return
        if self._only_noted:
            self.requested = True
            return
        if self.requested or self._at_once:
            self.requested = True
            raise KeyboardInterrupt
        self.requested = True
        name = _NAMES[signal.Signals(number)]
        with contextlib.suppress(RuntimeError):  # the interrupted code is writing just now
            self._tell(f"{name}: the current case ends after its sample; {name} again ends it at once")


def _end_child(number: int) -> None:
    """Ends a process that a case has forked and that has the handler: the signal has its usual effect there."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
