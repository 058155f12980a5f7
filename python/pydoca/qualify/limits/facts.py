"""The facts about a device that limits files can match, as texts."""

from __future__ import annotations

from pathlib import Path

import pydoca

_PCI, _RDMA = Path("/sys/bus/pci/devices"), Path("/sys/class/infiniband")


def facts_of(info: pydoca.DeviceInfo) -> dict[str, str]:
    """The facts; one that is not known is an empty text. Reads files of the kernel; the device is not opened."""
    real = info.backend != "sim"
    return {
        "backend": info.backend,
        "name": info.name,
        "profile": info.profile,
        "side": info.side.name.lower(),
        "serial": info.vuid,
        "vendor": _read(_PCI / info.pci_addr / "vendor").removeprefix("0x") if real and info.pci_addr else "",
        "part": _read(_RDMA / info.ibdev_name / "board_id") if real and info.ibdev_name else "",
        "firmware": _read(_RDMA / info.ibdev_name / "fw_ver") if real and info.ibdev_name else "",
    }


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
