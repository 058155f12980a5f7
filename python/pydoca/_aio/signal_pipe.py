"""Lets a signal wake an event loop, however late it comes.

The interpreter runs a signal's handler between two instructions of Python. A signal that comes after the last of them
and before the loop's epoll_wait() is noticed at the next event, which may be never. asyncio prevents this for the
handlers that were given to add_signal_handler(), but not for Ctrl-C: asyncio.Runner uses signal.signal(). So the first
engine in a loop of the main thread gives the interpreter a pipe to write signals to, unless the program has done so.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from weakref import WeakSet


class SignalPipe:
    """A pipe for the life of the process: a descriptor that was closed could be another file's when a signal comes."""

    def __init__(self) -> None:
        self._ends: tuple[int, int] | None = None
        self._users: WeakSet[object] = WeakSet()

    def enter(self, user: object, loop: asyncio.AbstractEventLoop) -> None:
        """Wakes loop at signals until user leaves."""
        if self._ends is None:
            self._ends = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._replace(-1, self._ends[1]):
            loop.add_reader(self._ends[0], self._drain)
            self._users.add(user)

    def leave(self, user: object) -> None:
        """Takes the descriptor back from the interpreter when its last user leaves."""
        self._users.discard(user)
        if self._ends is not None and not self._users:
            self._replace(self._ends[1], -1)

    def after_fork(self) -> None:
        """Gives up the pipe, which a forked child shares with its parent."""
        if self._ends is not None:
            self._replace(self._ends[1], -1)
            for end in self._ends:
                os.close(end)
        self._ends = None
        self._users = WeakSet()

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            assert self._ends is not None
            os.read(self._ends[0], 4096)

    def _replace(self, expected: int, descriptor: int) -> bool:
        """Sets the interpreter's descriptor if it is the expected one; tells whether it is the wanted one now."""
        try:
            before = signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
        except ValueError:
            return False  # only the main thread runs handlers, and may set the descriptor
        if before not in (expected, descriptor):
            signal.set_wakeup_fd(before)
            return False
        return True


SIGNAL_PIPE = SignalPipe()
os.register_at_fork(after_in_child=SIGNAL_PIPE.after_fork)
