"""Reads files of TOML."""

import os
from typing import Any

MAX_SIZE = 16 << 20  # bytes


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The table of the file. Raises OSError when it cannot be read, ValueError for what is not TOML or too much."""
    import tomllib  # needed for such a file only

    with open(path, "rb") as file:
        content = file.read(MAX_SIZE + 1)
    if len(content) > MAX_SIZE:
        raise ValueError(f"the file is larger than {MAX_SIZE >> 20} MiB")
    try:
        return tomllib.loads(content.decode("utf-8-sig"))  # editors of Windows write a byte order mark
    except RecursionError:
        raise ValueError("its arrays and tables are nested too deeply") from None
