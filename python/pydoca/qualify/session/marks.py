"""The markers of a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest

import pydoca
from pydoca._text.nearest import did_you_mean
from pydoca.qualify.session.levels import LEVELS
from pydoca.qualify.start import SUITE

_KEYS = ("title", "levels", "seconds")


@dataclass(frozen=True)
class CaseMark:
    id: str
    title: str
    levels: tuple[str, ...]  # empty: every one
    seconds: float | None  # None: the level decides


def mark_of(item: pytest.Item) -> CaseMark:
    """The mark of a case. Raises pytest.UsageError for a marker that makes no sense."""
    marker = item.get_closest_marker("pydoca_case")
    if marker is None:
        return CaseMark(getattr(item, "originalname", None) or item.name, _first_line(item), (), None)
    given = marker.kwargs
    unknown = [key for key in given if key not in (*_KEYS, "id")]
    if unknown:
        _refuse(item, f"there is no {unknown[0]!r}{did_you_mean(unknown[0], _KEYS)}")
    id = given.get("id", marker.args[0] if marker.args else None)
    if not isinstance(id, str) or not id or len(marker.args) > 1:
        _refuse(item, f"its first argument is the id, such as 'DMA-BW', and the others have names ({', '.join(_KEYS)})")
    return CaseMark(
        id, given.get("title") or _first_line(item), _levels(item, given.get("levels", ())), _seconds(item, given)
    )


def needs_of(item: pytest.Item) -> tuple[str, ...]:
    """The needs of all markers: the module's, the class's and the test's."""
    return tuple(dict.fromkeys(need for marker in item.iter_markers("pydoca_needs") for need in marker.args))


def device_parameter(info: pydoca.DeviceInfo) -> str:
    """The part of a case's identifier that names the device, where several are tested."""
    return f"{info.backend}-{info.name}"


def node_of(item: pytest.Item) -> str:
    """pytest's identifier without the parts that depend on the machine or its other devices, because a resumed run has
    one device only; cases of pydoca begin at its folder.
    """
    path, colons, rest = item.nodeid.partition("::")
    if item.path.is_relative_to(SUITE):
        path = item.path.relative_to(SUITE).as_posix()
    return path + colons + _without_device(item, rest)


def _without_device(item: pytest.Item, rest: str) -> str:
    info = getattr(getattr(item, "callspec", None), "params", {}).get("_pydoca_choice")
    if info is None:
        return rest
    name, _, parameters = rest.partition("[")
    own = parameters.removesuffix("]").removeprefix(device_parameter(info)).removeprefix("-")
    return f"{name}[{own}]" if own else name


def _levels(item: pytest.Item, given: Any) -> tuple[str, ...]:
    levels = (given,) if isinstance(given, str) else tuple(given)
    for level in levels:
        if level not in LEVELS:
            _refuse(item, f"{level!r} is not a level{did_you_mean(str(level), LEVELS)}: {', '.join(LEVELS)}")
    return levels


def _seconds(item: pytest.Item, given: Mapping[str, Any]) -> float | None:
    seconds = given.get("seconds")
    if seconds is not None and not (isinstance(seconds, int | float) and seconds > 0):
        _refuse(item, f"seconds is a number above 0, not {seconds!r}")
    return seconds


def _refuse(item: pytest.Item, why: str) -> NoReturn:
    raise pytest.UsageError(f"{item.nodeid}: pydoca_case: {why}")


def _first_line(item: pytest.Item) -> str:
    text = getattr(getattr(item, "obj", None), "__doc__", None) or ""
    return text.strip().partition("\n")[0].rstrip(".") or (getattr(item, "originalname", None) or item.name)
