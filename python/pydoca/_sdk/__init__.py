"""The C API that the package carries: headers, a library, and what pkg-config and CMake read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

FILES = Path(__file__).with_name("files")  # the build writes them; `pydoca sdk` copies this tree below its prefix

_NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|^\s*#\s*include[^\n]*', re.DOTALL | re.MULTILINE)
_NAME = re.compile(r"\b(?:(?:doca|DOCA)_\w+|log_flush_callback\b)")
_SIDES = {"DOCA_ARCH_HOST", "DOCA_ARCH_DPU"}  # these files have the one, `pydoca sdk` makes the other
_FUNCTION = re.compile(r"\b(doca_\w+)\s*\(")


def headers() -> list[Path]:
    """The headers, by name; none where the package was built without the C API."""
    return sorted((FILES / "include").glob("doca_*.h"))


@cache
def names() -> frozenset[str]:
    """DOCA's names that the headers have in their code."""
    found = {name for header in headers() for name in _NAME.findall(code_of(header))}
    return frozenset(found | _SIDES if found & _SIDES else found)


def functions(header: Path) -> Iterator[str]:
    """The functions that a header declares or defines, macros that take arguments among them."""
    return iter(dict.fromkeys(_FUNCTION.findall(code_of(header))))


def code_of(header: Path) -> str:
    """The header's text without comments, string literals and the names of other headers."""
    return _NOT_CODE.sub(" ", header.read_text())
