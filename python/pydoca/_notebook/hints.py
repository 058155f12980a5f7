"""Hints that a notebook shows below an error whose remedy differs from that of a program."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from pydoca._core import Connection, ContextState, Server
from pydoca._errors import AlreadyExistError

_RUNNING_LOOP = (
    "asyncio.run() cannot be called from a running event loop",
    "This event loop is already running",
    "Runner.run() cannot be called from a running event loop",
)


class Hints:
    """Called by IPython after each cell."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace

    def show(self, result: Any) -> None:
        error = getattr(result, "error_in_exec", None)
        text = self._hint(error) if error is not None else ""
        if text:
            print(f"pydoca: {text}", file=sys.stderr)

    def _hint(self, error: BaseException) -> str:
        if isinstance(error, RuntimeError) and str(error) in _RUNNING_LOOP:
            return "a notebook's event loop runs already, so a cell awaits: write `await f()`, not `asyncio.run(f())`"
        if isinstance(error, AlreadyExistError):
            return self._servers()
        return ""

    def _servers(self) -> str:
        """The servers of earlier cells, by what leads to them: one lives as long as its connections."""
        found: dict[int, str] = {}
        for name, value in _named(self._namespace):
            server, path = (value.server, f"{name}.server") if isinstance(value, Connection) else (value, name)
            if isinstance(server, Server) and server.state is not ContextState.IDLE:
                found.setdefault(id(server), path)
        if not found:
            return ""
        names = list(found.values())
        return (
            f"earlier cells have left servers that run: {', '.join(names)}. `{names[0]}.stop()` stops one; "
            "`async with` stops what it starts at its end, and a restart of the kernel ends all"
        )


def _named(namespace: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """The notebook's variables, and the results of its cells."""
    yield from ((name, value) for name, value in list(namespace.items()) if name[0] != "_")
    yield from ((f"Out[{count}]", value) for count, value in list(namespace.get("Out", {}).items()))
