"""The options of `pydoca qualify` in place of those of pytest's plug-in, in messages."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from typing import Any, TextIO

# Devices are words of the command, and a plan is a command of its own.
_OWN = {
    "by --pydoca-device": "behind 'pydoca qualify'",
    "--pydoca-device": "DEVICE",
    "--pydoca-plan": "'pydoca qualify plan'",
    "--pydoca-": "--",
}
# A command of pytest, to be copied or of another run, stays unchanged up to the end of its line or of its brackets.
_FOUND = re.compile("|".join([r"\bpytest\b[^()\n]* --pydoca-[^()\n]*", *_OWN]))


def as_command(text: str) -> str:
    """The text without the prefix of the plug-in's options."""
    return _FOUND.sub(lambda found: _OWN.get(found[0], found[0]), text)


class _Spelled:
    """A stream that writes as_command(text); the rest is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(as_command(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def spelled_output() -> Iterator[None]:
    """Has standard output and standard error write the command's options."""
    output, errors = _Spelled(sys.stdout), _Spelled(sys.stderr)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        yield
