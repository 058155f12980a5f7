"""The two ends of a PCIe link, if one process sees both, as on the simulator."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import pydoca


@dataclass(frozen=True)
class Sides:
    """A function of the host, a function of the DPU, and the DPU's representor of the host's function."""

    host: pydoca.Device
    dpu: pydoca.Device
    representor: pydoca.Representor  # it represents host, and dpu has it

    def other(self, device: pydoca.Device) -> pydoca.Device:
        """The function at the other end."""
        return self.dpu if device.side == pydoca.Side.HOST else self.host


def names_of_link(device: pydoca.Device | pydoca.DeviceInfo) -> tuple[str, str] | None:
    """The names of the host's function and of the DPU's that has its representor; None if this process sees no pair.

    The device itself is one of the two.
    """
    info = device.info if isinstance(device, pydoca.Device) else device
    try:
        dpus = [info] if info.side == pydoca.Side.DPU else pydoca.devices(side="dpu")
        hosts = [info] if info.side == pydoca.Side.HOST else pydoca.devices(side="host")
    except pydoca.NotFoundError:
        return None
    by_address = {host.pci_addr: host.name for host in hosts}
    for dpu in dpus:
        for address in _represented(dpu):
            if address in by_address:
                return by_address[address], dpu.name
    return None


def has_link(device: pydoca.Device | pydoca.DeviceInfo) -> bool:
    """Tells whether this process sees both ends of a link of the device, as on the simulator."""
    info = device.info if isinstance(device, pydoca.Device) else device
    return info.backend == "sim" and names_of_link(info) is not None


def _represented(dpu: pydoca.DeviceInfo) -> list[str]:
    try:
        with pydoca.open_device(dpu.name, side="dpu") as device:
            return [representor.pci_addr for representor in device.representors()]
    except pydoca.DocaError:
        return []


@contextlib.contextmanager
def both_sides(device: pydoca.Device) -> Iterator[Sides]:
    """Opens the function at the other end of the device's link. Raises NotFoundError when this process sees none."""
    names = names_of_link(device)
    if names is None:
        raise pydoca.NotFoundError(f"{device.name}: this process sees no function at the other end of its PCIe link")
    host, dpu = names
    with contextlib.ExitStack() as stack:
        host_device = stack.enter_context(pydoca.open_device(host, side="host"))
        dpu_device = stack.enter_context(pydoca.open_device(dpu, side="dpu"))
        representor = stack.enter_context(dpu_device.open_representor(host_device.pci_addr))
        yield Sides(host_device, dpu_device, representor)


def fresh_name() -> str:
    """A name for a comch server or an address that no other run uses."""
    return f"qualify-{secrets.token_hex(6)}"
