"""Devices and representors: their properties, how they open and close, and that their capabilities are true."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any

import pydoca
from pydoca import comch
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.sides import Sides, fresh_name
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused

_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_ELSEWHERE = "ffff:fe:1e.6"
_NO_CAPABILITY: Any = "no such capability"
_LACKING = (pydoca.NotSupportedError, pydoca.NotPermittedError)


def properties(device: pydoca.Device) -> int:
    """A device, its description and its dictionary agree, each in its form; returns the properties."""
    info = device.info
    plain, whole = info.to_dict(), _said(info)
    whole["capabilities"], whole["side"] = info.capabilities.to_dict(), info.side.name.lower()
    whole["func_type"] = info.func_type.name.lower()
    require_told(f"the dictionary of {info.name}", plain, whole)
    own = {"name": device.name, "pci_addr": device.pci_addr, "side": device.side, "removed": device.removed}
    told = {"name": info.name, "pci_addr": info.pci_addr, "side": info.side, "removed": False}
    require_told(info.name, {**own, "is open": device.is_open}, {**told, "is open": True})
    if plain["mac_addr"] is not None and not _MAC.fullmatch(plain["mac_addr"]):
        raise DeviceFault(f"{info.name} has the MAC address {plain['mac_addr']!r}")
    for name, form in (("ipv4_addr", ipaddress.IPv4Address), ("ipv6_addr", ipaddress.IPv6Address)):
        try:
            form(plain[name] or 0)
        except ValueError:
            raise DeviceFault(f"{info.name} has the {name} {plain[name]!r}") from None
    if (plain["sf_index"] is not None) is not (info.func_type is pydoca.PciFuncType.SF):
        raise DeviceFault(f"{info.name} is of the type {info.func_type.name}, and its SF index is {plain['sf_index']}")
    if info.pci_addr:
        addresses(info, info.name)
    return len(plain)


_MAY_LACK: dict[str, type[pydoca.DocaError]] = {
    "mac_addr": pydoca.NotSupportedError,
    "ipv4_addr": pydoca.NotFoundError,
    "ipv6_addr": pydoca.NotFoundError,
    "lid": pydoca.NotSupportedError,
    "sf_index": pydoca.NotSupportedError,
}


def _said(info: pydoca.DeviceInfo) -> dict[str, Any]:
    """The device's properties, read one by one; None if an error says that there is none."""
    said: dict[str, Any] = {}
    for name in info.to_dict():
        try:
            said[name] = getattr(info, name)
        except pydoca.DocaError as error:
            if type(error) is not _MAY_LACK.get(name):
                raise DeviceFault(f"{info.name} answers a question for its {name} with {error}") from error
            said[name] = None
    return said


def addresses(info: pydoca.DeviceInfo | pydoca.RepresentorInfo | pydoca.Representor, what: str) -> None:
    """A device knows its address in each form, and does not accept another address."""
    domain, _, short = info.pci_addr.partition(":")
    digit = "1" if short[-1] == "0" else "0"
    fits = {info.pci_addr: True, _ELSEWHERE: False, info.pci_addr[:-1] + digit: False, f"{domain}:fe:1e.6": False}
    if domain == "0000":
        fits[short] = True
    with duty(f"compare the address of {what}"):
        found: dict[str, object] = {form: info.is_equal_pci_addr(form) for form in fits}
    require_told(f"{what}, asked for its address,", found, {**fits})
    for form in ("", "nonsense", info.pci_addr + "0", short[:-2]):
        with refused(f"{form!r} as an address", pydoca.InvalidValueError):
            info.is_equal_pci_addr(form)


def questions(device: pydoca.Device) -> int:
    """supports(), its reasons and each library's queries agree with the capabilities; returns how many."""
    info, has = device.info, device.info.capabilities
    comch_has, event, clock = has.comch, has.sync_event, has.clock
    pairs: dict[str, tuple[object, object]] = {
        "mmap_export_pci": (info.supports("mmap_export_pci"), has.mmap_export_pci),
        "mmap_create_from_export_pci": (info.supports("mmap_create_from_export_pci"), has.mmap_create_from_export_pci),
        "mmap_export_rdma": (info.supports("mmap_export_rdma"), has.mmap_export_rdma),
        "mmap_dmabuf": (info.supports("mmap_dmabuf"), pydoca.Mmap.is_dmabuf_supported(info)),
        "comch_server": (info.supports("comch_server"), bool(comch_has and comch_has.server)),
        "comch_client": (info.supports("comch_client"), bool(comch_has and comch_has.client)),
        "server": (comch.Server.is_supported(info), bool(comch_has and comch_has.server)),
        "client": (comch.Client.is_supported(info), bool(comch_has and comch_has.client)),
        "clock": (info.supports("clock"), clock is not None),
        "dpa": (info.supports("dpa"), has.dpa is not None),
        "mmap_advise": (info.supports("mmap_advise"), has.mmap_advise is not None),
        "advise": (pydoca.MmapAdvise.is_supported(info), has.mmap_advise is not None),
        "async wait": (info.supports("async_sync_event_wait"), bool(event and event.async_wait)),
        "wait tasks": (pydoca.SyncEventContext.is_supported(info, "wait_eq"), bool(event and event.async_wait)),
        "connection manager": (
            info.supports("rdma_connection_manager"),
            pydoca.Rdma.is_connection_manager_supported(info),
        ),
    }
    for name, ask in _OF_EVENTS.items():
        value = bool(event and getattr(event, name))
        capability: Any = f"sync_event_{name}"
        pairs[name] = (ask(info), info.supports(capability)), (value, value)
    for kind in ("nic_free_running", "nic_real_time", "nic_dpa_timer"):
        pairs[kind] = pydoca.Clock.is_supported(info, kind), bool(clock and getattr(clock, kind))
    _limits(info, pairs)
    require_told(
        info.name, {key: one for key, (one, _) in pairs.items()}, {key: two for key, (_, two) in pairs.items()}
    )
    for capability in pydoca.CAPABILITIES:
        if info.supports(capability) is bool(info.why_unsupported(capability)):
            raise DeviceFault(
                f"{info.name}: the capability {capability}, and a reason why not, are both there or absent"
            )
    with refused("a capability that does not exist", pydoca.InvalidValueError):
        info.supports(_NO_CAPABILITY)
    return len(pairs) + len(pydoca.CAPABILITIES)


_OF_EVENTS: dict[str, Callable[[pydoca.DeviceInfo], bool]] = {
    "export_to_remote_pci": pydoca.SyncEvent.is_export_to_remote_pci_supported,
    "create_from_export": pydoca.SyncEvent.is_create_from_export_supported,
    "export_to_remote_net": pydoca.SyncEvent.is_export_to_remote_net_supported,
    "remote_net_create_from_export": pydoca.SyncEvent.is_remote_net_create_from_export_supported,
    "export_to_dpa": pydoca.SyncEvent.is_export_to_dpa_supported,
}


def _limits(info: pydoca.DeviceInfo, pairs: dict[str, tuple[object, object]]) -> None:
    """The limits of each library that the device has, as the library and the capabilities state them."""
    has = info.capabilities
    if has.mmap_advise:
        advise = pydoca.MmapAdvise
        pairs["advise size"] = advise.max_buf_size(info), has.mmap_advise.max_buf_size
        pairs["advise tasks"] = advise.max_num_tasks(info), has.mmap_advise.max_num_tasks
    if has.sync_event:
        pairs["event tasks"] = pydoca.SyncEventContext.max_num_tasks(info), has.sync_event.max_num_tasks
    if has.rdma:
        pairs["receive list"] = pydoca.Rdma.max_receive_dst_buf_list_len(info), has.rdma.max_recv_buf_list_len
    if has.clock and has.clock.nic_free_running:
        pairs["frequency"] = pydoca.Clock.free_running_frequency(info), has.clock.free_running_frequency
    if has.sha:
        for name in ("sha1", "sha256", "sha512"):
            pairs[name] = pydoca.Sha.is_algorithm_supported(info, name), getattr(has.sha, name)


def abilities(device: pydoca.Device) -> int:
    """A device does what its capabilities say, and refuses the rest. Returns the number of queries."""
    with Stand() as stand:
        pe, found = stand.engine(), _attempts(device)
        for name, (can, attempt) in found.items():
            what = f"{name} on {device.name}"
            if can:
                with duty(what):
                    attempt(stand, pe)
            else:
                with refused(f"{what}, which says that it cannot", *_LACKING):
                    attempt(stand, pe)
        return len(found)


def _attempts(device: pydoca.Device) -> dict[str, tuple[bool, Callable[[Stand, pydoca.ProgressEngine], object]]]:
    has = device.info.capabilities
    access = "local_read_write|pci_read_write|rdma_read"

    def lent(stand: Stand) -> pydoca.Mmap:
        return stand.enter_context(device.mmap(pydoca.alloc(64), access=access))

    def event(stand: Stand, publisher: Any) -> pydoca.SyncEvent:
        return stand.enter_context(pydoca.SyncEvent(device, publisher=publisher))

    return {
        "a copy engine": (bool(has.dma), lambda s, pe: s.enter_context(pydoca.Dma(pe, device, num_tasks=1))),
        "a SHA engine": (bool(has.sha), lambda s, pe: s.enter_context(pydoca.Sha(pe, device, num_tasks=1))),
        "an RDMA context": (bool(has.rdma), lambda s, pe: s.enter_context(pydoca.Rdma(pe, device, num_tasks=1))),
        "an engine of advice": (
            bool(has.mmap_advise),
            lambda s, pe: s.enter_context(pydoca.MmapAdvise(pe, device, num_tasks=1)),
        ),
        "a clock": (bool(has.clock), lambda s, _: s.enter_context(pydoca.Clock(device))),
        "an export over PCIe": (has.mmap_export_pci, lambda s, _: lent(s).export_pci()),
        "an export to the network": (has.mmap_export_rdma, lambda s, _: lent(s).export_rdma()),
        "a list of representors": (has.rep_filter_all, lambda s, _: device.representors()),
        "a list of network representors": (has.rep_filter_net, lambda s, _: device.representors("net")),
        "a list of emulated representors": (has.rep_filter_emulated, lambda s, _: device.representors("emulated")),
        "a comch client": (
            bool(has.comch and has.comch.client),
            lambda s, pe: comch.Client(pe, device, fresh_name(), num_send_tasks=1).close(),
        ),
        "an event for the other side": (
            bool(has.sync_event and has.sync_event.export_to_remote_pci),
            lambda s, _: event(s, "remote_pci").export_to_remote_pci(),
        ),
        "an event for the network": (
            bool(has.sync_event and has.sync_event.export_to_remote_net),
            lambda s, _: event(s, "remote_net").export_to_remote_net(),
        ),
        "a reclaim of resources": (
            has.accelerate_resource_reclaim,
            lambda s, _: device.accelerate_resource_reclaim(),
        ),
    }


def openings(device: pydoca.Device) -> None:
    """Openings of a function are equal, and each ends separately; a closed one refuses everything."""
    info = device.info
    choices: list[Any] = [info, info.name, lambda each: each == info]
    for choice in choices:
        with duty(f"open {info.name} again"):
            again = pydoca.open_device(choice, side=info.side)
        if again != device or hash(again) != hash(device) or not again.is_open or again.info != info:
            raise DeviceFault(f"{info.name} and its second opening are not equal, or it is not open")
        with duty(f"close {info.name}"):
            again.close()
            again.close()
        if again.is_open or not device.is_open:
            raise DeviceFault(f"one of two openings of {info.name} was closed: {again.is_open} and {device.is_open}")
        with refused("memory of an opening that is closed", pydoca.BadStateError):
            again.mmap(bytearray(64))
    with duty(f"memory of {info.name} after the end of other openings"):
        device.mmap(bytearray(64)).close()
    for capability in pydoca.CAPABILITIES:
        if not info.supports(capability):
            with refused(f"{info.name} for {capability}, which it lacks", pydoca.NotSupportedError):
                pydoca.open_device(info, capability=capability).close()
        else:
            with duty(f"open {info.name} for {capability}"):
                pydoca.open_device(info, capability=capability).close()


def in_use(sides: Sides) -> None:
    """A device and a representor that are in use refuse to close, and close afterwards."""
    with Stand() as stand:
        with duty("open a device and a representor again"):
            representor = sides.dpu.open_representor(sides.representor.info)
            stand.callback(representor.close)
            server = comch.Server(stand.engine(), sides.dpu, representor, fresh_name(), num_send_tasks=1)
            stand.callback(server.close)
        addresses(representor, "a representor")
        addresses(representor.info, "a representor's description")
        if not representor.is_equal_pci_addr(sides.host.pci_addr) or representor.info != sides.representor.info:
            raise DeviceFault("two openings of a representor tell different functions")
        for is_running in (False, True):
            if is_running:
                with duty("a server on a representor that was not closed"):
                    server.start()
            with refused("closing a representor with a server", pydoca.InUseError):
                representor.close()
            if not representor.is_open:
                raise DeviceFault("a representor was not closed, as it is in use, and says that it is closed")
        with duty("close a server and its representor"):
            server.stop()
            server.close()
            representor.close()
            representor.close()
        if representor.is_open or not sides.representor.is_open:
            raise DeviceFault("one of two openings of a representor was closed, and the other one with it, or none")
        with refused("a server on a representor that is closed", pydoca.BadStateError):
            comch.Server(None, sides.dpu, representor, fresh_name(), num_send_tasks=1)
        for device in (sides.host, sides.dpu):
            _misplaced(sides, device)


def _misplaced(sides: Sides, device: pydoca.Device) -> None:
    """Makes servers and clients at the wrong end, which is refused."""
    if not device.info.supports("comch_server"):
        with refused(f"a server on {device.name}", *_LACKING):
            comch.Server(None, device, sides.representor, fresh_name(), num_send_tasks=1)
    if device.info.supports("representors"):
        with refused("a representor of no function", pydoca.NotFoundError):
            device.open_representor(_ELSEWHERE)


def last_opening(device: pydoca.Device) -> None:
    """The only opening of a function stays open while memory or a context is on it; its memory still works."""
    with Stand() as stand:
        with duty("memory of a device"):
            mmap = stand.enter_context(device.mmap(pydoca.alloc(64)))
        with refused("closing a device with a memory map", pydoca.InUseError):
            device.close()
        if not device.is_open or not mmap.is_started:
            raise DeviceFault(f"{device.name} was not closed, as it is in use, and says that it is closed")
        with duty("memory of a device that was not closed"), pydoca.BufInventory(1) as bufs, bufs.get_by_addr(mmap):
            pass
        with duty("more memory of a device that was not closed"):
            stand.enter_context(device.mmap(pydoca.alloc(64)))
