"""The requirements of a run: a place where simulated devices meet, and the device under test, which it opens."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pydoca


def wrong_place() -> str:
    """Why processes of a simulated machine cannot meet here, which is not the fault of the devices; else empty."""
    try:
        place = Path(pydoca.sim.fabric_directory())
    except pydoca.DocaError as error:
        return str(error)
    for directory in (place.parent, place):
        with contextlib.suppress(FileNotFoundError):
            owner = directory.lstat().st_uid
            if owner != os.geteuid():
                return (
                    f"the processes of simulated devices meet in {directory}, which belongs to user {owner}; set "
                    "PYDOCA_FABRIC_DIR to a directory of yours"
                )
    return ""


@contextlib.contextmanager
def opened(info: pydoca.DeviceInfo, has_failed: Callable[[], bool]) -> Iterator[pydoca.Device]:
    """Opens the device. Objects that a case leaves on it are its error, unless a failure's traceback has them."""
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
