"""The device's counters and its temperature: numbers that a run follows from case to case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydoca.qualify.machine.facts import Absent, content
from pydoca.qualify.machine.pci import PCI, Device, function_folder

_PCI = ("device.aer_correctable", "device.aer_nonfatal", "device.aer_fatal", "device.temperature")


def counters(device: Device, *, root: Path = Path("/")) -> dict[str, float]:
    """The counters by name; empty for a simulated device. A counter that cannot be read is left out."""
    try:
        folder = function_folder(root, device)
    except Absent:
        return {}
    return dict([*_of_function(root, device), *_of_ports(folder)])


def _of_function(root: Path, device: Device) -> Iterator[tuple[str, float]]:
    for name in _PCI:
        try:
            yield name.removeprefix("device."), float(PCI[name](root, device))
        except (Absent, ValueError):
            continue


def _of_ports(folder: Path) -> Iterator[tuple[str, float]]:
    """The counters of the RDMA device: "mlx5_0/1/hw_counters/out_of_sequence"."""
    for file in sorted(folder.glob("infiniband/*/ports/*/*counters/*")):
        name = "/".join((file.parts[-5], *file.parts[-3:]))
        try:
            yield name, float(content(file))
        except (Absent, ValueError):
            continue
