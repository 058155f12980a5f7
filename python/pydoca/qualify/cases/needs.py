"""Needs of a part of a case, beyond the markers that hold for all of it."""

from __future__ import annotations

import pytest

import pydoca


def require(is_there: bool, device: pydoca.Device, what: str) -> None:
    """Skips the case if the device does not have this, or this process does not see it."""
    if not is_there:
        pytest.skip(f"{device.name} has no {what}, or this process does not see both ends of its link")
