"""How the two halves of a command meet: the devices of both sides, and the comch connection between them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pydoca
from pydoca import comch
from pydoca.cli._errors import CommandError
from pydoca.cli._two_processes.messages import Failure, encode
from pydoca.cli._two_processes.report import Reporter


@dataclass(frozen=True)
class Meeting:
    """Where this half waits for the other one, for how long, and how a person would start that."""

    name: str
    timeout: float  # seconds
    other: str  # its command line


def open_host_device(selector: str | None) -> pydoca.Device:
    return pydoca.open_device(selector, side="host", capability=None if selector else "comch_client")


def open_dpu_device(selector: str | None, rep: str | None) -> pydoca.Device:
    """The device that is named, or the first one that holds the representor, or the first one that can serve."""
    if selector is not None or rep is None:
        return pydoca.open_device(selector, side="dpu", capability=None if selector else "comch_server")
    for info in pydoca.devices(side="dpu"):
        if not (info.supports("comch_server") and info.supports("representors")):
            continue
        device = pydoca.open_device(info)
        with contextlib.suppress(pydoca.NotFoundError), device.open_representor(rep):
            return device
        device.close()
    raise CommandError(f"no DPU device holds the representor {rep}; see pydoca devices --representors")


def open_representor(device: pydoca.Device, rep: str | None) -> pydoca.Representor:
    """The one that is named, or the device's first."""
    if rep is None and not device.representors():
        raise CommandError(f"{device.name} holds no representor; see pydoca devices --representors")
    return device.open_representor(rep or device.representors()[0])


async def accept(
    stack: AsyncExitStack,
    engine: pydoca.ProgressEngine,
    device: pydoca.Device,
    rep: pydoca.Representor,
    meeting: Meeting,
    reporter: Reporter,
) -> comch.Connection:
    """The DPU's end: the first host process that comes; later ones are told to go. It all ends with the stack."""
    server = await stack.enter_async_context(comch.Server(engine, device, rep, meeting.name))
    reporter.waiting(f"waiting for the host's half at {meeting.name!r} on {rep.pci_addr}")
    try:
        async with asyncio.timeout(meeting.timeout):
            link = await server.accept()
    except TimeoutError:
        raise CommandError(
            f"no host process came to {meeting.name!r} on {rep.pci_addr}, for {meeting.timeout:g} s: start "
            f"`{meeting.other}`, or wait longer with --timeout"
        ) from None
    stack.push_async_callback(_cancel, asyncio.create_task(_refuse_others(server)))
    return link


async def connect(
    stack: AsyncExitStack,
    engine: pydoca.ProgressEngine,
    device: pydoca.Device,
    meeting: Meeting,
    reporter: Reporter,
) -> comch.Connection:
    """The host's end, once there is a DPU process. It ends with the stack."""
    reporter.waiting(f"waiting for the DPU's half at {meeting.name!r} on {device.pci_addr}")
    try:
        async with asyncio.timeout(meeting.timeout):
            return await stack.enter_async_context(comch.Client(engine, device, meeting.name))
    except TimeoutError:
        raise CommandError(
            f"no DPU process offers {meeting.name!r} to {device.pci_addr}, for {meeting.timeout:g} s: start "
            f"`{meeting.other}`, or wait longer with --timeout"
        ) from None


@contextlib.asynccontextmanager
async def at_most(timeout: float, work: str) -> AsyncIterator[None]:
    """Ends what is done with a process that has come: it may live, and keep silent for ever."""
    try:
        async with asyncio.timeout(timeout) as limit:
            yield
    except TimeoutError:  # or pydoca's, which is one
        if not limit.expired():
            raise
        raise CommandError(f"{work} was not complete after {timeout:g} s: wait longer with --timeout") from None


async def _refuse_others(server: comch.Server) -> None:
    busy = encode(Failure.of("busy with another host process; give each pair a --name of its own"))
    async for link in server:
        with contextlib.suppress(pydoca.DocaError):
            await link.send(busy)


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})
