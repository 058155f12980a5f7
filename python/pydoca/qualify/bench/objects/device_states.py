"""The properties of a device, its capabilities and its representors, read in every possible way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pydoca
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.waiting import DeviceFault, duty

_RATES = {round(each * 1e9) for each in (1, 2.5, 5, 10, 14, 20, 25, 40, 50, 56, 100, 200, 400, 800)}  # bits a second


def capabilities(device: pydoca.Device) -> int:
    """Each library's own queries agree with the list of capabilities; returns how many there were."""
    info, all_of_them = device.info, device.info.capabilities
    asked: dict[str, tuple[object, object]] = {}
    for name, library in _LIBRARIES.items():
        limits: Any = getattr(all_of_them, name)
        asked[f"{name} is there"] = library.is_supported(info), limits is not None
        asked[f"supports {name}"] = info.supports(name), limits is not None
        for limit in _LIMITS.get(name, ()) if limits is not None else ():
            asked[f"{name}.{limit}"] = getattr(library, limit)(info), getattr(limits, limit)
    require_told(
        device.name, {key: one for key, (one, _) in asked.items()}, {key: two for key, (_, two) in asked.items()}
    )
    if device.info.to_dict() != pydoca.open_device(info).info.to_dict():
        raise DeviceFault(f"{device.name} tells other properties when it is opened again")
    return len(asked)


_LIBRARIES: dict[Any, Any] = {"dma": pydoca.Dma, "sha": pydoca.Sha, "rdma": pydoca.Rdma, "sync_event": pydoca.SyncEvent}
_LIMITS: dict[str, tuple[str, ...]] = {
    "dma": ("max_buf_size", "max_buf_list_len", "max_num_tasks"),
    "sha": ("max_src_buf_size", "max_list_buf_num_elem", "max_num_tasks"),
    "rdma": ("max_send_queue_size", "max_recv_queue_size", "max_message_size"),
}


def rates(info: pydoca.DeviceInfo) -> int:
    """The port's rate is a usual one, and the same as that of the card's other ports; returns the number of ports."""
    ports = [
        each
        for each in pydoca.devices(side=info.side)
        if each.func_type is pydoca.PciFuncType.PF and each.pci_addr[:-1] == info.pci_addr[:-1]
    ]
    told = {each.name: each.active_rate for each in ports}
    for name, rate in told.items():
        if rate and rate not in _RATES:
            raise DeviceFault(f"{name} tells a rate of {rate:,} bit/s, which no port has")
    if len({rate for rate in told.values() if rate}) > 1:
        raise DeviceFault(f"the ports of the card tell different rates, in bit/s: {told}")
    return len(ports)


def representors(device: pydoca.Device) -> int:
    """Each opened representor has the properties of its list entry; a list by a filter is a part of the full list."""
    with duty("list the representors"):
        whole = device.representors()
    for listed in whole:
        with duty(f"open the representor {listed.name}"), device.open_representor(listed) as opened:
            names = ("name", "pci_addr", "func_type", "vuid", "iface_name", "vhca_id", "is_hotplug", "is_emulated")
            found = {name: getattr(opened, name) for name in names}
            require_told(f"the representor {listed.name}", found, {name: getattr(listed, name) for name in names})
            if not opened.is_equal_pci_addr(listed.pci_addr) or opened.info != listed or not opened.is_open:
                raise DeviceFault(f"the representor {listed.name} does not know its own address, or that it is open")
    for rep_filter, fits in _FILTERS.items():
        if not getattr(device.info.capabilities, f"rep_filter_{str(rep_filter.name).lower()}"):
            continue
        with duty(f"list the representors by the filter {rep_filter.name}"):
            part = device.representors(rep_filter)
        if part != [each for each in whole if fits(each)]:
            raise DeviceFault(f"the filter {rep_filter.name} lists {[each.name for each in part]}")
    return len(whole)


def lists(device: pydoca.Device, rounds: int) -> int:
    """Lists of functions and of representors are the same each time; returns how many there were."""
    read: list[tuple[str, Callable[[], list[str]]]] = [
        ("devices", lambda: [each.vuid for each in pydoca.devices(side=device.side)])
    ]
    if device.info.supports("representors"):
        read.append(("representors", lambda: [each.vuid for each in device.representors()]))
    for what, names in read:
        with duty(f"list the {what}"):
            first = names()
            for number in range(rounds):
                if (again := names()) != first:
                    raise DeviceFault(f"list {number} of the {what} is {again}; the first one was {first}")
    return rounds * len(read)


_FILTERS: dict[pydoca.RepFilter, Callable[[pydoca.RepresentorInfo], bool]] = {
    pydoca.RepFilter.ALL: lambda _: True,
    pydoca.RepFilter.NET: lambda each: not each.is_emulated,
    pydoca.RepFilter.EMULATED: lambda each: each.is_emulated,
}
