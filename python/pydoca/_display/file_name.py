"""Names of files that functions of the package are given."""

from __future__ import annotations

import os
from pathlib import Path

from pydoca._errors import InvalidValueError


def to_path(attempt: str, name: object, example: str) -> Path:
    """The path of a file to write; the error names attempt and example, such as "save a trace" and "trace.json"."""
    if not isinstance(name, str | os.PathLike):
        raise TypeError(
            f"{attempt}: the file is given by a str or a pathlib.Path, such as {example!r}, not by {name!r}"
        )
    text = os.fsdecode(name)
    if not text or "\0" in text:
        raise InvalidValueError(f"{attempt}: {text!r} is not the name of a file; give one, such as {example!r}")
    return Path(text)
