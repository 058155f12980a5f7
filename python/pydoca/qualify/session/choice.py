"""The device that a name means: `p0`, `03:00.0`, `mlx5_0`, a serial number, `sim:p0`, `dpu:mlx5_0`, `sim:0`."""

from __future__ import annotations

from collections.abc import Sequence

import pydoca
from pydoca._text.nearest import did_you_mean

_SHORTEST_SERIAL = 6
_LONGEST_NUMBER = 9  # digits: no machine has so many devices, and int() refuses thousands


class ChoiceError(ValueError):
    """No device has that name, or several have; or the devices cannot be listed."""


def devices(backend: str | None = None) -> list[pydoca.DeviceInfo]:
    """The devices of this machine; looks, and opens none. Raises ChoiceError for what the environment names wrongly."""
    try:
        infos = pydoca.devices()
    except pydoca.NotFoundError:
        infos = []
    except pydoca.InvalidValueError as error:  # the first look loads PYDOCA_TOPOLOGY and the like
        raise ChoiceError(str(error)) from None
    return [info for info in infos if backend in (None, info.backend)]


def label(info: pydoca.DeviceInfo) -> str:
    """The shortest name that means this device only: "sim:p0"."""
    return f"{info.backend}:{info.name}"


def choose(selector: str, infos: Sequence[pydoca.DeviceInfo]) -> pydoca.DeviceInfo:
    """The device of that name. Raises ChoiceError, whose message lists what can be chosen."""
    prefixes, name = _split(selector)
    among = [info for info in infos if all(each in (info.backend, info.side.name.lower()) for each in prefixes)]
    found = _named(name, among)
    if len(found) == 1:
        return found[0]
    if found:
        raise ChoiceError(f"the device {selector!r} is ambiguous: it may be {_listed(found)}")
    raise ChoiceError(f"there is no device {selector!r}{_hint(selector, infos)}")


def only(infos: Sequence[pydoca.DeviceInfo]) -> pydoca.DeviceInfo:
    """The machine's only device."""
    if len(infos) == 1:
        return infos[0]
    if not infos:
        raise ChoiceError("this machine has no device; `pydoca devices` says why")
    raise ChoiceError(f"choose a device by --pydoca-device: {_listed(infos)}")


def _split(selector: str) -> tuple[list[str], str]:
    """Separates the prefixes "sim", "verbs", "host" and "dpu" from the name; PCI addresses also have colons."""
    prefixes, name = [], selector
    while (head := name.partition(":"))[0] in ("sim", "verbs", "host", "dpu"):
        prefixes.append(head[0])
        name = head[2]
    return prefixes, name


def _named(name: str, infos: Sequence[pydoca.DeviceInfo]) -> list[pydoca.DeviceInfo]:
    if not name:
        return list(infos)
    if name.isascii() and name.isdecimal():
        return list(infos[int(name) : int(name) + 1]) if len(name) <= _LONGEST_NUMBER else []
    for fits in (_is_name, _is_address, _is_serial):
        if found := [info for info in infos if fits(info, name)]:
            return found
    return []


def _is_name(info: pydoca.DeviceInfo, name: str) -> bool:
    return name in (info.name, info.ibdev_name, info.iface_name, info.vuid)


def _is_address(info: pydoca.DeviceInfo, name: str) -> bool:
    """Whether the name is the device's PCI address. An SF has that of its parent, which is the one that is meant."""
    try:
        return info.func_type is not pydoca.PciFuncType.SF and info.is_equal_pci_addr(name)
    except pydoca.InvalidValueError:
        return False


def _is_serial(info: pydoca.DeviceInfo, name: str) -> bool:
    """Whether the name is the card's serial number, with which the identifier of each of its functions begins."""
    return len(name) >= _SHORTEST_SERIAL and info.vuid.startswith(name)


def _listed(infos: Sequence[pydoca.DeviceInfo]) -> str:
    shown = [f"{label(info)} ({info.pci_addr or info.iface_name or 'no address'})" for info in infos[:20]]
    more = [f"and {len(infos) - 20} more"] if len(infos) > 20 else []
    return ", ".join([*shown, *more])


def _hint(selector: str, infos: Sequence[pydoca.DeviceInfo]) -> str:
    if not infos:
        return ", nor any other; `pydoca devices` says why"
    names = [name for info in infos for name in (label(info), info.name, info.pci_addr, info.vuid) if name]
    return f"{did_you_mean(selector, names)}; there are {_listed(infos)}"
