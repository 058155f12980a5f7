"""The cards of a worker's machine, as its worker tells them."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import pydoca
from pydoca.qualify.limits.facts import facts_of
from pydoca.qualify.session.choice import ChoiceError, choose, devices, label

# The identifier of a function begins with the serial number of its card: MT2125X03152ECMLNXS0D0F0.
_FUNCTION = re.compile(r"(?P<serial>.+?)(?:EC)?(?:MLNX)?S\d+D\d+F\d+(?:VF\d+|SF\d+)?")


@dataclass(frozen=True)
class Card:
    """One device under test. key is the same wherever it is seen; serial is that of the whole card."""

    key: str
    serial: str
    host: str
    device: str  # the name that chooses it on its host: "sim:p0"
    name: str
    pci_address: str
    backend: str
    side: str
    profile: str
    part: str
    firmware: str

    @property
    def kind(self) -> str:
        """Cards of one kind are equal."""
        return f"{self.part or self.profile or 'unknown part'}, {self.backend}, {self.side}"

    @property
    def title(self) -> str:
        return f"{self.host} {self.device}"

    @property
    def resource(self) -> str:
        """The name of the card as a resource of Dask."""
        return f"pydoca:{self.key}"


def list_cards(selectors: Sequence[str] = (), backend: str | None = None) -> list[Card]:
    """Those with these names, or one device of each card; a name that this machine does not have gives none."""
    infos = devices(backend)
    chosen = _one_each(infos) if not selectors else _named(selectors, infos)
    return [card_of(info) for info in chosen]


def card_of(info: pydoca.DeviceInfo) -> Card:
    host, facts = socket.gethostname(), facts_of(info)
    place = "" if info.backend != "sim" else f"{host}/{pydoca.sim.fabric()}/"
    return Card(
        key=f"{place}{info.vuid}" if info.vuid else f"{host}/{info.name}",
        serial=f"{place}{serial_of(info)}",
        host=host,
        device=label(info),
        name=info.name,
        pci_address=info.pci_addr,
        backend=info.backend,
        side=info.side.name.lower(),
        profile=info.profile,
        part=facts["part"],
        firmware=facts["firmware"],
    )


def serial_of(info: pydoca.DeviceInfo) -> str:
    match = _FUNCTION.fullmatch(info.vuid)
    return match["serial"] if match else info.vuid or f"{socket.gethostname()}/{info.name}"


def _one_each(infos: Iterable[pydoca.DeviceInfo]) -> list[pydoca.DeviceInfo]:
    """The first physical function of each card; the DPU's, where both sides are seen."""
    found: dict[str, pydoca.DeviceInfo] = {}
    for info in infos:
        if info.func_type is pydoca.PciFuncType.PF:
            other = found.setdefault(serial_of(info), info)
            if _rank(info) < _rank(other):
                found[serial_of(info)] = info
    return list(found.values())


def _rank(info: pydoca.DeviceInfo) -> tuple[bool, str]:
    return info.side is not pydoca.Side.DPU, info.pci_addr


def _named(selectors: Sequence[str], infos: Sequence[pydoca.DeviceInfo]) -> list[pydoca.DeviceInfo]:
    found: dict[str, pydoca.DeviceInfo] = {}
    for selector in selectors:
        for info in _matching(selector, infos):
            found.setdefault(label(info), info)
    return list(found.values())


def _matching(selector: str, infos: Sequence[pydoca.DeviceInfo]) -> list[pydoca.DeviceInfo]:
    """Raises ChoiceError for a name that several devices of this machine have."""
    if any(character in selector for character in "*?["):
        names = [(info, (label(info), info.name, info.pci_addr, info.vuid)) for info in infos]
        return [info for info, each in names if any(fnmatchcase(name, selector) for name in each)]
    try:
        return [choose(selector, infos)]
    except ChoiceError as error:
        if "ambiguous" in str(error):
            raise
        return []
