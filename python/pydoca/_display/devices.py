"""Devices with their capabilities and limits, and representors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydoca._core import CAPABILITIES, Device, DeviceInfo, Representor, RepresentorInfo
from pydoca._display.frame.panel import Blocks, Code, Fact, Names, Panel, Part, State, Table, Value
from pydoca._display.frame.reading import call, first, read
from pydoca._display.frame.values import code, rate, short_pci, size, word, yes

_MOST_REPRESENTORS = 40


def info_panel(info: DeviceInfo) -> Panel:
    return Panel("DeviceInfo", _name(info), facts=_facts(info), parts=_abilities(info))


def device_panel(device: Device) -> Panel:
    info = device.info
    is_open, removed = read(device, "is_open"), read(device, "removed")
    state = State("removed", "bad") if removed else State("open", "good") if is_open else State("closed")
    representors = _representors(device) if is_open and not removed else []
    return Panel("Device", _name(info), state, _facts(info), [*representors, *_abilities(info)])


def _name(info: DeviceInfo) -> str:
    return "  ".join(filter(None, (info.name, short_pci(info.pci_addr))))


def _facts(info: DeviceInfo) -> list[Fact]:
    known: list[tuple[str, Value | None]] = [
        ("function", f"{info.func_type.name}, {word(info.side)} side"),
        ("PCI address", code(info.pci_addr)),
        ("card", f"{info.profile}, {info.backend} backend" if info.profile else f"{info.backend} backend"),
        ("port", rate(info.active_rate)),
        ("interface", code(info.iface_name)),
        ("RDMA device", code(info.ibdev_name)),
        ("MAC", read(info, "mac_addr")),
        ("IPv4", read(info, "ipv4_addr")),
        ("IPv6", read(info, "ipv6_addr")),
        ("LID", read(info, "lid")),
        ("SF index", read(info, "sf_index")),
        ("VUID", code(info.vuid)),
        ("vHCA", info.vhca_id),
    ]
    addresses = {"MAC", "IPv4", "IPv6"}
    return [(label, Code(value) if label in addresses else value) for label, value in known if value is not None]


def _abilities(info: DeviceInfo) -> list[Part]:
    """The one list of capabilities, and the limits of the engines."""
    able = [name for name in CAPABILITIES if call(info.supports, name)]
    lacking = [(name, str(call(info.why_unsupported, name, default=""))) for name in CAPABILITIES if name not in able]
    limits = _limits(info.capabilities.to_dict())
    parts: list[Part] = [Names("Capabilities", able)] if able else []
    if lacking:
        parts.append(Table("Not there", ("capability", "why"), [(Code(name), reason) for name, reason in lacking]))
    return [*parts, Blocks("Limits", limits)] if limits else parts


def _limits(capabilities: Mapping[str, Any]) -> list[tuple[str, list[Fact]]]:
    engines = {name: value for name, value in capabilities.items() if isinstance(value, Mapping)}
    blocks = [(name, [(key, _limit(key, value)) for key, value in engine.items()]) for name, engine in engines.items()]
    flags: list[Fact] = [(name, yes(value)) for name, value in capabilities.items() if isinstance(value, bool)]
    return [*blocks, *([("device", flags)] if flags else [])]


def _limit(key: str, value: Any) -> Value:
    if isinstance(value, bool) or value is None:
        return yes(value)
    is_bytes = key.endswith("_size") and not key.endswith("queue_size")
    return size(value) if is_bytes else int(value)


def _representors(device: Device) -> list[Part]:
    if not device.info.supports("representors"):
        return []
    known, more = first(call(device.representors, default=[]), _MOST_REPRESENTORS)
    rows = [[Code(each.name), each.func_type.name, code(each.pci_addr), code(each.iface_name)] for each in known]
    heads = ("name", "represents", "PCI address", "interface")
    return [Table("Representors", heads, rows, more, "representors")] if rows else []


def representor_info_panel(info: RepresentorInfo) -> Panel:
    return Panel("RepresentorInfo", info.name, facts=_representor_facts(info))


def representor_panel(representor: Representor) -> Panel:
    state = State("open", "good") if read(representor, "is_open") else State("closed")
    return Panel("Representor", representor.info.name, state, _representor_facts(representor.info))


def _representor_facts(info: RepresentorInfo) -> list[Fact]:
    kinds = [kind for kind, is_so in (("emulated", info.is_emulated), ("hot-plugged", info.is_hotplug)) if is_so]
    return [
        (
            "represents",
            f"{'an' if info.func_type.name == 'SF' else 'a'} {info.func_type.name} {' '.join(kinds)}".strip(),
        ),
        ("PCI address", code(info.pci_addr)),
        ("interface", code(info.iface_name)),
        ("VUID", code(info.vuid)),
        ("vHCA", info.vhca_id),
    ]
