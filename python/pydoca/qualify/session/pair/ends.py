"""The two devices of a pair: the one under test, and the one at its other end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pydoca
from pydoca.qualify.session.choice import ChoiceError, choose, devices

if TYPE_CHECKING:
    from pydoca.qualify.session.settings import Settings


class NoPair(ValueError):
    """The device has no other end here."""


@dataclass(frozen=True)
class End:
    """The device and the representor that the functions of one side open."""

    device: str  # an argument of pydoca.open_device()
    side: str
    backend: str
    representor: str = ""  # the DPU's argument of open_representor(): the host's function


def ends_of(info: pydoca.DeviceInfo, settings: Settings) -> tuple[End, End]:
    """The host's end and the DPU's. Raises NoPair."""
    return _simulated(info, settings) if info.backend == "sim" else _real(info, settings)


def _real(info: pydoca.DeviceInfo, settings: Settings) -> tuple[End, End]:
    """The ends of a real device: two processes on one machine share it, unless another one is named."""
    peer = _peer(settings) or info
    return End(peer.name, "host", peer.backend), End(info.name, "dpu", info.backend, settings.rep or "")


def _simulated(info: pydoca.DeviceInfo, settings: Settings) -> tuple[End, End]:
    peer = _peer(settings) or _other_end(info, settings.rep)
    host, dpu = (peer, info) if info.side is pydoca.Side.DPU else (info, peer)
    if host.side is not pydoca.Side.HOST or dpu.side is not pydoca.Side.DPU:
        raise NoPair(f"{info.name} and {peer.name} are on the same side")
    representor = settings.rep or host.pci_addr
    return End(host.name, "host", "sim"), End(dpu.name, "dpu", "sim", representor)


def _peer(settings: Settings) -> pydoca.DeviceInfo | None:
    if settings.peer is None:
        return None
    try:
        return choose(settings.peer, devices(settings.backend))
    except ChoiceError as error:
        raise NoPair(str(error)) from None


def _other_end(info: pydoca.DeviceInfo, rep: str | None) -> pydoca.DeviceInfo:
    """The other end by the topology: a DPU's device has representors of the host's functions."""
    infos = [other for other in devices("sim") if other.side is not info.side]
    parents = {each["name"]: each.get("parent") for each in pydoca.sim.topology()["function"]}
    if info.side is pydoca.Side.HOST:
        found = [other for other in infos if other.name == parents.get(info.name)]
    else:
        found = [other for other in infos if parents.get(other.name) == info.name]
        found = [other for other in found if rep is None or rep in (other.name, other.pci_addr)] if rep else found
    if not found:
        raise NoPair(f"{info.name} has no function at the other end of its PCIe link")
    return found[0]
