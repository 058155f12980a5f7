"""The words by which a device or a representor is opened, for those who complete what a user types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydoca._core import DeviceInfo, RepresentorInfo, Side


def of_devices(infos: Iterable[DeviceInfo], word: str) -> Iterator[tuple[str, str]]:
    """Each name with its description. Names of devices come first, then addresses, then names that the system has."""
    described = [(info, f"{info.func_type.name} of the {_side(info)}") for info in infos]
    yield from ((info.name, f"{text}, {info.pci_addr or info.backend}") for info, text in described)
    yield from ((_address(info.pci_addr, word), f"{text}, {info.name}") for info, text in described)
    for info, text in described:
        yield from ((name, f"{text}, {info.name}") for name in (info.iface_name, info.ibdev_name))


def of_representors(infos: Iterable[RepresentorInfo], device: str, word: str) -> Iterator[tuple[str, str]]:
    """Each name of a device's representors with its description."""
    for info in infos:
        described = f"{info.func_type.name} behind {device}"
        yield info.name, f"{described}, {info.pci_addr}"
        yield _address(info.pci_addr, word), f"{described}, {info.name}"
        yield info.iface_name, f"{described}, {info.name}"


def fitting(candidates: Iterable[tuple[str, str]], word: str) -> Iterator[tuple[str, str]]:
    """Those that begin with the word, each once. Upper and lower case are the same."""
    begin, known = word.casefold(), set()
    for value, description in candidates:
        if value and value not in known and value.casefold().startswith(begin):
            known.add(value)
            yield value, description


def _side(info: DeviceInfo) -> str:
    return "DPU" if info.side is Side.DPU else "host"


def _address(address: str, word: str) -> str:
    """The PCI address, without its domain where the word begins without it."""
    short = address.partition(":")[2]
    return short if not address.startswith(word) and short.startswith(word.casefold()) else address
