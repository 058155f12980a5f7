"""The refusals of each library and their errors; the same call with right arguments succeeds afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pydoca
from pydoca import comch
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.sides import Sides, fresh_name
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused, until_true


def link(sides: Sides) -> None:
    """Refusals of servers, clients, messages and exports across the PCIe link."""
    with Stand() as stand:
        pe, name = stand.engine(), fresh_name()
        with duty("a server and its client"):
            server = stand.enter_context(comch.Server(pe, sides.dpu, sides.representor, name))
            client = comch.Client(pe, sides.host, name, timeout=waiting.PATIENCE)
            here = stand.enter_context(client)
            there = server.accept().wait(waiting.PATIENCE)
        second = comch.Server(pe, sides.dpu, sides.representor, name)
        stand.callback(second.close)
        _check("a second server of a name", second.start, pydoca.AlreadyExistError)
        missing = comch.Client(pe, sides.host, fresh_name(), timeout=0.05)
        stand.callback(missing.close)
        _check("a client without a server", missing.__enter__, pydoca.TimeOutError)
        longest = bytes(here.max_msg_size)
        _check("a message that is too long", lambda: here.send(longest + b"x"), pydoca.InvalidValueError)
        with duty("the longest message"):
            here.send(longest).wait(waiting.PATIENCE)
        if there.recv().wait(waiting.PATIENCE) != longest:
            raise DeviceFault("the longest message has arrived otherwise than it was sent")
        there.close()
        until_true(pe, lambda: not here.is_connected, "the end of a connection")
        gone = (pydoca.ConnectionResetError, pydoca.NotConnectedError)
        _check("a message after the end of a connection", lambda: here.send(b"x"), *gone)
        _check("a receive after the end of a connection", lambda: here.recv().wait(waiting.PATIENCE), *gone)
        _check("a message over a connection that this side ended", lambda: there.send(b"x"), pydoca.NotConnectedError)
    exports(sides)


def exports(sides: Sides) -> None:
    """Refusals of descriptions of something else, or by functions that cannot import them."""
    with Stand() as stand:
        lent = stand.enter_context(sides.host.mmap(pydoca.alloc(64), access="pci_read_only"))
        event = stand.enter_context(pydoca.SyncEvent(sides.host, publisher="remote_pci", subscriber="cpu"))
        memory, counter = lent.export_pci(), event.export_to_remote_pci()
        wrong = pydoca.InvalidValueError
        _check("a map's description as an event", lambda: sides.dpu.import_sync_event(memory), wrong)
        _check("an event's description as a map", lambda: sides.dpu.import_mmap(counter), wrong)
        _check("an import at the exporter", lambda: sides.host.import_mmap(memory), *_NOT_HERE)
        _check("an import of an event at its owner", lambda: sides.host.import_sync_event(counter), *_NOT_HERE)
        with duty("both descriptions"), sides.dpu.import_mmap(memory), sides.dpu.import_sync_event(counter) as there:
            there.update_set(5)
        if event.get() != 5:
            raise DeviceFault("an event was set by the other side, and has another value")


_NOT_HERE = (pydoca.NotSupportedError, pydoca.NotPermittedError)


def names(device: pydoca.Device) -> None:
    """Refusals of names that do not exist, and of numbers beyond the limits."""
    _check("a device that does not exist", lambda: pydoca.open_device("no-such-device"), pydoca.NotFoundError)
    if device.info.supports("representors"):
        unknown = pydoca.NotFoundError
        _check("a representor that does not exist", lambda: device.open_representor("no-such-function"), unknown)
    with Stand() as stand:
        pe = stand.engine()
        for library, most in _most_tasks(device.info).items():
            with duty(f"{library.__name__} with as many tasks as it may have"):
                library(pe, device, num_tasks=1).close()
            with refused(f"{library.__name__} with more tasks than it may have", pydoca.InvalidValueError):
                library(pe, device, num_tasks=most + 1)
        if device.info.supports("rdma"):
            _connections(stand, pe, device)


def _most_tasks(info: pydoca.DeviceInfo) -> dict[Any, int]:
    found: dict[Any, int] = {}
    if info.supports("dma"):
        found[pydoca.Dma] = pydoca.Dma.max_num_tasks(info)
    if info.supports("sha"):
        found[pydoca.Sha] = pydoca.Sha.max_num_tasks(info)
    return found


def _connections(stand: Stand, pe: pydoca.ProgressEngine, device: pydoca.Device) -> None:
    with duty("an RDMA context for two connections"):
        rdma = stand.enter_context(pydoca.Rdma(pe, device, max_num_connections=2))
        first, _ = rdma.export(), rdma.export()
    _check("one connection more than an RDMA context may have", rdma.export, pydoca.FullError)
    with duty("a connection after the end of another one"):
        first.disconnect().wait(waiting.PATIENCE)
        rdma.export()


def _check(what: str, call: Callable[[], object], *errors: type[pydoca.DocaError]) -> None:
    with refused(what, *errors):
        call()
