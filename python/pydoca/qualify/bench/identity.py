"""The identity of functions: no two are the same, and a representor has the properties of its function."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import pydoca
from pydoca.qualify.bench.waiting import DeviceFault, duty

Function = pydoca.DeviceInfo | pydoca.RepresentorInfo


def _mac(info: pydoca.DeviceInfo) -> str:
    """The MAC address; empty if there is none or none was set."""
    address: str | None = info.to_dict()["mac_addr"]
    return "" if address is None or not address.strip("0:") else address


def _address(info: pydoca.DeviceInfo) -> Hashable:
    """The PCI address. SFs have the address of their parent, and an index."""
    if not info.pci_addr:
        return ""
    return (info.side, info.pci_addr, info.sf_index if info.func_type is pydoca.PciFuncType.SF else None)


def _told(info: pydoca.DeviceInfo, name: str) -> Hashable:
    value: str | None = info.to_dict()[name]
    return value and (info.side, value)


# Properties that no two functions share; empty ones are not compared.
_OF_FUNCTIONS: dict[str, Callable[[pydoca.DeviceInfo], Hashable]] = {
    "MAC address": _mac,
    "VUID": lambda info: info.vuid,
    "PCI address": _address,
    "name": lambda info: (info.side, info.name),
    "interface": lambda info: info.iface_name and (info.side, info.iface_name),
    "RDMA device": lambda info: info.ibdev_name and (info.side, info.ibdev_name),
    "IPv4 address": lambda info: _told(info, "ipv4_addr"),
    "IPv6 address": lambda info: _told(info, "ipv6_addr"),
}
_OF_REPRESENTORS: dict[str, Callable[[pydoca.RepresentorInfo], Hashable]] = {
    "VUID": lambda info: info.vuid,
    "name": lambda info: info.name,
    "interface": lambda info: info.iface_name,
    "VHCA id": lambda info: info.vhca_id,
}
_IN_COMMON = ("vuid", "pci_addr", "func_type", "vhca_id")  # properties that a function and its representor share


def functions(backend: str) -> int:
    """Checks that all functions that this process sees differ, and stay the same in a second list; returns how many."""
    with duty("list the devices"):
        found, again = ([each for each in pydoca.devices() if each.backend == backend] for _ in range(2))
    if found != again:
        raise DeviceFault(f"two lists of the devices differ: {_named(found)}; {_named(again)}")
    for what, of in _OF_FUNCTIONS.items():
        _require_different(what, ((info, of(info)) for info in found))
    return len(found)


def gids(backend: str) -> int:
    """Checks that the GID table of each function has its own addresses, and none of another; returns how many GIDs."""
    owners: dict[Hashable, pydoca.DeviceInfo] = {}
    for info in pydoca.devices():
        if info.backend == backend and info.supports("rdma"):
            with duty(f"the GID table of {info.name}"):
                table = {gid for gid in pydoca.Rdma.gids(info) if gid.strip(":0")}
            address = info.to_dict()["ipv4_addr"]
            if backend == "sim" and address and f"::ffff:{address}" not in table:
                raise DeviceFault(f"{info.name} has the address {address}, and the GIDs {sorted(table)}")
            for gid in table:
                other = owners.setdefault((info.side, gid), info)
                if other != info:
                    raise DeviceFault(f"{other.name} and {info.name} have the same GID: {gid}")
    return len(owners)


def names(info: pydoca.DeviceInfo) -> int:
    """Each of the function's names leads to it; returns how many names it has."""
    given = [each for each in (info.name, info.iface_name, info.ibdev_name) if each]
    for name in given:
        with duty(f"find {name}"):
            found = pydoca.DeviceInfo(name, side=info.side)
        if found != info:
            raise DeviceFault(f"the name {name} of {info.name} leads to {found.name}")
    with duty(f"open {info.name}"), pydoca.open_device(info) as device:
        if device.info.to_dict() != info.to_dict():
            raise DeviceFault(f"{info.name} says something else once it is open: {device.info.to_dict()}")
    return len(given)


def representors(device: pydoca.Device) -> int:
    """Checks that representors belong to different functions, and have their properties; returns how many."""
    with duty("list the representors"):
        shown = device.representors()
    for what, of in _OF_REPRESENTORS.items():
        _require_different(what, ((info, of(info)) for info in shown))
    seen = {info.vuid: info for info in pydoca.devices() if info.vuid}
    pairs = [(info, seen[info.vuid]) for info in shown if info.vuid in seen]
    for info, function in pairs:
        _require_same(info, function, f"the representor {info.name}")
        with duty(f"open the representor {info.name}"), device.open_representor(info.name) as opened:
            _require_same(opened.info, function, f"the representor that is opened as {info.name}")
        if info.func_type is not pydoca.PciFuncType.SF:
            with duty(f"open the representor of {info.pci_addr}"), device.open_representor(info.pci_addr) as opened:
                _require_same(opened.info, function, f"the representor that is opened as {info.pci_addr}")
    return len(pairs)


def _require_same(info: pydoca.RepresentorInfo, function: pydoca.DeviceInfo, what: str) -> None:
    for name in _IN_COMMON:
        if getattr(info, name) != getattr(function, name):
            told = f"{getattr(info, name)}, and {function.name} itself {getattr(function, name)}"
            raise DeviceFault(f"{what}, of {function.name}, tells the {name} {told}")


def _require_different(what: str, pairs: Iterable[tuple[Function, Hashable]]) -> None:
    owners: dict[Hashable, Function] = {}
    for info, value in pairs:
        if value and value in owners:
            raise DeviceFault(f"{owners[value].name} and {info.name} have the same {what}: {value}")
        owners[value] = info


def _named(infos: Iterable[pydoca.DeviceInfo]) -> list[str]:
    return [info.name for info in infos]


def unrepresented() -> list[str]:
    """Functions of the host without a representor on the DPU, if this process sees both sides.

    Raises DeviceFault when two devices have a representor of one function.
    """
    with duty("list the representors of all devices"):
        shown: dict[str, str] = {}
        for info in pydoca.devices(side="dpu"):
            if info.supports("representors"):
                with pydoca.open_device(info.name, side="dpu") as device:
                    for each in device.representors():
                        if (other := shown.setdefault(each.vuid, info.name)) != info.name:
                            raise DeviceFault(
                                f"{other} and {info.name} have a representor of one function, {each.name}"
                            )
        return [info.name for info in pydoca.devices(side="host") if info.vuid and info.vuid not in shown]
