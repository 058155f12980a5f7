"""A scene for every object that has a display, in every state; the tests and script/screenshots show them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from scenes import engines, errors, events, graphs, links, machine, measurements, memory  # noqa: F401  adds their scenes
from scenes.stack import SCENES, Stack

__all__ = ["SCENES", "Stack", "shown"]


@contextlib.contextmanager
def shown(name: str) -> Iterator[Any]:
    """The object of the scene of that name."""
    with Stack() as stack:
        yield SCENES[name](stack)
