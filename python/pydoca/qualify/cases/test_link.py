"""LNK, ENV: the port, its errors, temperature and the kernel's log. These cases need hardware."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench import dma

if TYPE_CHECKING:
    from pydoca.qualify.measure import Measure

pytestmark: pytest.MarkDecorator = pytest.mark.pydoca_needs("hardware")
ALL = ("smoke", "quick", "full")
COUNTERS = (
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
)


def _port(device: pydoca.Device) -> Path:
    return Path("/sys/class/infiniband") / device.info.ibdev_name / "ports/1"


@pytest.mark.pydoca_case("LNK-1", title="the port is active, at the expected rate", levels=ALL)
def test_port(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    port = _port(pydoca_device)
    if not port.exists():
        pytest.skip(f"{pydoca_device.name} has no port in /sys/class/infiniband")
    for name in ("state", "phys_state", "rate", "link_layer"):
        if (port / name).exists():
            pydoca_measure.expect(f"link.{name}", (port / name).read_text().strip())


@pytest.mark.pydoca_case(
    "LNK-2", title="no error counter of the port grows under load", levels=("quick", "full", "soak")
)
def test_link_errors(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    folder = _port(pydoca_device) / "counters"
    if not folder.exists():
        pytest.skip(f"{pydoca_device.name} has no counters in /sys/class/infiniband")
    names = [name for name in COUNTERS if (folder / name).exists()]
    before = {name: int((folder / name).read_text()) for name in names}
    _load(pydoca_device, pydoca_measure)
    for name in names:
        grown = int((folder / name).read_text()) - before[name]
        pydoca_measure.record(f"link.errors.{name}", grown, unit="1", max=0)


def _load(device: pydoca.Device, measure: Measure) -> None:
    if not pydoca.Dma.is_supported(device.info):
        return
    with measure("link.load.bw", unit="GB/s", stat="p50", better="higher") as bandwidth:
        for value in dma.bandwidth(device, 65536, bandwidth.has_enough):
            bandwidth.add(value)


@pytest.mark.pydoca_case("ENV-1", title="the temperature under load is within its limit", levels=("full", "soak"))
def test_temperature(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    sensors = list((Path("/sys/bus/pci/devices") / pydoca_device.pci_addr).glob("hwmon/hwmon*/temp1_input"))
    if not pydoca_device.pci_addr or not sensors:
        pytest.skip(f"{pydoca_device.name} has no sensor of temperature (hwmon)")
    _load(pydoca_device, pydoca_measure)
    degrees = int(sensors[0].read_text()) / 1000
    pydoca_measure.record("environment.temperature", degrees, unit="degC", better="lower")


@pytest.mark.pydoca_case("ENV-2", title="the kernel's log has no new errors of the device", levels=ALL)
@pytest.mark.pydoca_needs("root")
def test_kernel_log(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    if shutil.which("dmesg") is None:
        pytest.skip("the program dmesg is not installed")
    before = _suspicious_lines()
    _load(pydoca_device, pydoca_measure)
    new = _suspicious_lines() - before
    pydoca_measure.record("environment.kernel_errors", len(new), unit="1", max=0)


def _suspicious_lines() -> set[str]:
    output = subprocess.run(["dmesg"], capture_output=True, text=True, timeout=30).stdout
    words = ("BUG", "WARNING", "AER:", "mlx5_core: err", "Call Trace")
    return {line for line in output.splitlines() if any(word in line for word in words)}
