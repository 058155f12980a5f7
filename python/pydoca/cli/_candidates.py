"""The values of arguments that only the machine knows: what offer() takes. Shells ask for them while the user types.

Each function gives the candidates for a word, with a description of each; those that do not fit are left out later.
It opens a device only to list its representors.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

import pydoca
from pydoca._selectors import of_devices, of_representors

Candidates: TypeAlias = Callable[[str], Iterable[tuple[str, str]]]

_PREFIXES = ("sim", "verbs", "host", "dpu")  # `pydoca qualify` takes them before the name of a device


def devices(word: str) -> Iterator[tuple[str, str]]:
    return of_devices(pydoca.devices(), word)


def dpu_devices(word: str) -> Iterator[tuple[str, str]]:
    return of_devices(pydoca.devices(side="dpu"), word)


def devices_under_test(word: str) -> Iterator[tuple[str, str]]:
    """Names of devices, also with a backend or a side before them: "sim:p0"."""
    prefix, colon, rest = word.partition(":")
    if not colon or prefix not in _PREFIXES:
        return devices(word)
    infos = [info for info in pydoca.devices() if prefix in (info.backend, info.side.name.lower())]
    return ((f"{prefix}:{name}", description) for name, description in of_devices(infos, rest) if name)


def representors(word: str) -> Iterator[tuple[str, str]]:
    for info in pydoca.devices(side="dpu"):
        if info.supports("representors"):
            with pydoca.open_device(info) as device:
                known = device.representors()
            yield from of_representors(known, info.name, word)


def cases(word: str) -> Iterator[tuple[str, str]]:
    """The ids of the qualification's cases; for "DMA-1,SHA" the lists that go on so. No case is imported."""
    listed = word[: word.rfind(",") + 1]
    for path in sorted((Path(pydoca.__file__).parent / "qualify" / "cases").glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "pydoca_case":
                title = next((each.value for each in node.keywords if each.arg == "title"), None)
                yield listed + ast.literal_eval(node.args[0]), ast.literal_eval(title) if title else ""
