"""Facts of the device, as its PCI function in sysfs tells them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydoca.qualify.machine.facts import Absent, content

Device = Mapping[str, Any]


def function_folder(root: Path, device: Device) -> Path:
    if device.get("backend") == "sim":
        raise Absent("the device is simulated")
    address = str(device.get("pci_address") or "")
    if not address:
        raise Absent("the device has no PCI address")
    path = root / "sys/bus/pci/devices" / (address if address.count(":") == 2 else f"0000:{address}")
    if not path.is_dir():
        raise Absent(f"there is no {path}")
    return path


def _file(name: str) -> Callable[[Path, Device], str]:
    return lambda root, device: content(function_folder(root, device) / name)


def _linked(name: str) -> Callable[[Path, Device], str]:
    def read(root: Path, device: Device) -> str:
        path = function_folder(root, device) / name
        if not path.exists():
            raise Absent(f"there is no {path}")
        return path.resolve().name

    return read


def _driver_version(root: Path, device: Device) -> str:
    return content(function_folder(root, device) / "driver/module/version")


def _of_ibdev(name: str) -> Callable[[Path, Device], str]:
    """Reads a fact of the RDMA device that belongs to the function."""

    def read(root: Path, device: Device) -> str:
        found = sorted(function_folder(root, device).glob(f"infiniband/*/{name}"))
        if not found:
            raise Absent("the function has no RDMA device")
        return content(found[0])

    return read


def _errors(name: str) -> Callable[[Path, Device], str]:
    """The total of the counters of advanced error reporting."""

    def read(root: Path, device: Device) -> str:
        words = content(function_folder(root, device) / name).split()
        totals = [words[index + 1] for index, word in enumerate(words[:-1]) if word.startswith("TOTAL_ERR")]
        if not totals:
            raise Absent(f"{name} has no total")
        return totals[0]

    return read


def _temperature(root: Path, device: Device) -> float:
    found = sorted(function_folder(root, device).glob("hwmon/hwmon*/temp*_input"))
    if not found:
        raise Absent("the device has no sensor in hwmon")
    return int(content(found[0])) / 1000


PCI: dict[str, Callable[[Path, Device], Any]] = {
    "device.link_speed": _file("current_link_speed"),
    "device.link_width": _file("current_link_width"),
    "device.max_link_speed": _file("max_link_speed"),
    "device.max_link_width": _file("max_link_width"),
    "device.numa_node": _file("numa_node"),
    "device.iommu_group": _linked("iommu_group"),
    "device.driver": _linked("driver"),
    "device.driver_version": _driver_version,
    "device.firmware": _of_ibdev("fw_ver"),
    "device.psid": _of_ibdev("board_id"),
    "device.vendor_id": _file("vendor"),
    "device.device_id": _file("device"),
    "device.aer_correctable": _errors("aer_dev_correctable"),
    "device.aer_nonfatal": _errors("aer_dev_nonfatal"),
    "device.aer_fatal": _errors("aer_dev_fatal"),
    "device.temperature": _temperature,
}
