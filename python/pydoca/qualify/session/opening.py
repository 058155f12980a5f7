"""The device under test, open while a case runs."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator

import pydoca


@contextlib.contextmanager
def opened(info: pydoca.DeviceInfo, has_failed: Callable[[], bool]) -> Iterator[pydoca.Device]:
    """What a case leaves on the device is an error of the case, unless it has failed: then its traceback holds it."""
    device = pydoca.open_device(info)
    try:
        yield device
    finally:
        try:
            _close(device)
        except pydoca.InUseError:
            if not has_failed():
                raise


def _close(device: pydoca.Device) -> None:
    try:
        device.close()
    except pydoca.InUseError:
        gc.collect()
        device.close()
