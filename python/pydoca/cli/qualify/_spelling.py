"""Options as this command has them, in what pytest's plug-in says."""

from __future__ import annotations

import re
from typing import Any, TextIO

# Devices are words of this command, and a plan is a command of its own.
_OWN = {
    "by --pydoca-device": "behind 'pydoca qualify'",
    "--pydoca-device": "DEVICE",
    "--pydoca-plan": "'pydoca qualify plan'",
    "--pydoca-": "--",
}
_OPTION = re.compile("|".join(_OWN))
_OF_PYTEST = re.compile(r"\bpytest\b.* --pydoca-")  # a command to copy, which is not this one


def _own(found: re.Match[str]) -> str:
    return _OWN[found[0]]


class Spelled:
    """A stream that leaves out the prefix of the plug-in's options; the rest is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(text if _OF_PYTEST.search(text) else _OPTION.sub(_own, text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
