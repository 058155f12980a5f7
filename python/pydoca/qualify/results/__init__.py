"""A run on disk: its directory, and the forms in which others read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydoca.qualify.results.directory import RunDirectory

__all__ = ["RunDirectory"]


def __getattr__(name: str) -> Any:
    """Imports the directory late: it needs NumPy, and tests without a run, which use the codec, do without NumPy."""
    if name == "RunDirectory":
        from pydoca.qualify.results.directory import RunDirectory

        return RunDirectory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
