"""How facts are read from the files of a system."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

Fact: TypeAlias = Mapping[str, Any]


class Absent(Exception):
    """A fact that cannot be read; the message is the reason."""


class Late(Absent):
    """A program did not answer in time. This is not a change of the machine."""


def content(path: Path) -> str:
    """A file's text, on one line."""
    try:
        text = path.read_bytes().decode(errors="replace")
    except FileNotFoundError:
        raise Absent(f"there is no {path}") from None
    except OSError as error:
        raise Absent(f"{path}: {error.strerror}") from None
    words = " ".join(text.replace("\0", " ").split())
    if not words:
        raise Absent(f"{path} is empty")
    return words


def folder(path: Path) -> list[Path]:
    """The entries of a folder in order. Raises Absent when it has none."""
    if not path.is_dir():
        raise Absent(f"there is no {path}")
    if not (found := sorted(path.iterdir())):
        raise Absent(f"{path} is empty")
    return found


def same(values: list[str]) -> str:
    """One word for all of them, or each with how often it occurs."""
    counts = {value: values.count(value) for value in sorted(set(values))}
    return next(iter(counts)) if len(counts) == 1 else ", ".join(f"{value} ({n})" for value, n in counts.items())
