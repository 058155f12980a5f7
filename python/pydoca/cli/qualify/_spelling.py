"""Options as this command has them, in what pytest's plug-in says."""

from __future__ import annotations

import re
from typing import Any, TextIO

_PREFIXED = re.compile(r"--pydoca-(?=\w)")
_OF_PYTEST = re.compile(r"\bpytest\b.* --pydoca-")  # a command to copy, which is not this one


class Spelled:
    """A stream that leaves out the prefix of the plug-in's options; the rest is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(text if _OF_PYTEST.search(text) else _PREFIXED.sub("--", text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
