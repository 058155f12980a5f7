"""A comparison of what an object tells with what it must tell."""

from __future__ import annotations

from pydoca.qualify.bench.waiting import DeviceFault


def require_told(what: str, found: dict[str, object], expected: dict[str, object]) -> None:
    """Raises DeviceFault that names what differs."""
    wrong = {name: value for name, value in found.items() if value != expected[name]}
    if wrong:
        must = {name: expected[name] for name in wrong}
        raise DeviceFault(f"{what} tells {wrong}; it must be {must}")
