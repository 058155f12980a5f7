"""A comparison of an object's properties with the expected ones."""

from __future__ import annotations

from pydoca.qualify.bench.waiting import DeviceFault


def require_told(what: str, found: dict[str, object], expected: dict[str, object]) -> None:
    """Raises DeviceFault that names the properties that differ."""
    wrong = {name: value for name, value in found.items() if value != expected[name]}
    if wrong:
        must = {name: expected[name] for name in wrong}
        raise DeviceFault(f"{what} tells {wrong}; it must be {must}")
