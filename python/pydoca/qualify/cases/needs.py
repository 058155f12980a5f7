"""What a case of several libraries needs, beyond the markers that hold for all of it."""

from __future__ import annotations

import pytest

import pydoca


def require(is_there: bool, device: pydoca.Device, what: str) -> None:
    """Skips the case where the device, or what this process sees of it, lacks this."""
    if not is_there:
        pytest.skip(f"{device.name} has no {what}, or this process does not see both ends of its link")
