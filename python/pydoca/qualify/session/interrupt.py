"""Ctrl-C once: the current sample ends, and everything is written. Twice: at once."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class Interrupt:
    """Takes SIGINT while cases run."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._before: Any = None
        self.requested = False

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._received)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        with contextlib.suppress(RuntimeError):  # the interrupted code is writing just now
            self._tell("Ctrl-C: the current case ends after its sample; Ctrl-C again ends it at once")
