"""What a run needs of its devices: a place where simulated ones meet, and the device under test open."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pydoca


def wrong_place() -> str:
    """Why no process of a simulated machine can meet another one here, which is not its devices' fault; else empty."""
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
