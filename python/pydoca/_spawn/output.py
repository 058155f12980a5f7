"""The output of a started process: read as bytes, kept as lines, and shown where the process was started."""

from __future__ import annotations

import codecs
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TextIO

_LINES_KEPT = 10_000
_LINE_TIME = 0.1  # seconds that a line has to end before its begin is shown


class Lines:
    """Gives on whole lines of one stream at once, and the begin of a line after a while; completes the last line."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._held: list[str] = []
        self._is_open = False
        self.due: float | None = None
        """When what is held is to be shown, by the monotonic clock; None: nothing is held."""

    def feed(self, data: bytes) -> None:
        whole, newline, rest = self._decoder.decode(data).rpartition("\n")
        if newline:
            self._held += (whole, newline)
            self._give()
        if rest:
            self._held.append(rest)
            self.due = self.due or time.monotonic() + _LINE_TIME

    def show_due(self) -> None:
        if self.due is not None and time.monotonic() >= self.due:
            self._give()

    def finish(self) -> None:
        self._held.append(self._decoder.decode(b"", final=True))
        if self._is_open or any(self._held):
            self.feed(b"\n")

    def _give(self) -> None:
        text = "".join(self._held)
        self._held.clear()
        self.due = None
        self._is_open = not text.endswith("\n")
        self._write(text)


class Output:
    """The output of a process, of both streams."""

    def __init__(self, prefix: str, streams: tuple[TextIO, TextIO] | None) -> None:
        self._prefix = prefix
        self._streams = streams
        self._lock = threading.Lock()
        self._ended: deque[str] = deque(maxlen=_LINES_KEPT)
        self._open: tuple[list[str], list[str]] = ([], [])

    @property
    def text(self) -> str:
        """The last lines, in the order of their ends; then the begins of lines."""
        with self._lock:
            return "".join([*self._ended, *self._open[0], *self._open[1]])

    @property
    def labelled_text(self) -> str:
        """The same, with the prefix before each line."""
        return "".join(self._prefix + line for line in self.text.splitlines(keepends=True))

    def write(self, text: str, is_error: bool) -> None:
        prefix = "" if self._open[is_error] else self._prefix
        self._keep(text, self._open[is_error])
        if self._streams is not None:
            whole = text.removesuffix("\n")
            shown = prefix + whole.replace("\n", "\n" + self._prefix) + text[len(whole) :]
            with contextlib.suppress(ValueError, OSError):  # the stream is closed
                self._streams[is_error].write(shown)
                self._streams[is_error].flush()

    def _keep(self, text: str, opened: list[str]) -> None:
        first, *others = text.split("\n")
        with self._lock:
            if first:
                opened.append(first)
            for line in others:
                self._ended.append("".join((*opened, "\n")))
                opened[:] = [line] if line else []
