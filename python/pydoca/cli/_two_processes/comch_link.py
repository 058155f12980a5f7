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
    """The place where this half waits for the other one, the time, and the command that starts the other one."""

    name: str
    timeout: float  # seconds
    other: str  # the command line of the other half


def open_host_device(selector: str | None) -> pydoca.Device:
    return pydoca.open_device(selector, side="host", capability=None if selector else "comch_client")


def open_dpu_device(selector: str | None, rep: str | None) -> pydoca.Device:
    """Opens the named device, or else the first that holds the representor, or else the first that can serve."""
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
    """Opens the named representor, or else the device's first."""
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
    """The DPU's end: accepts the first host process and refuses later ones. The stack ends the connection."""
    server = await stack.enter_async_context(comch.Server(engine, device, rep, meeting.name))
    reporter.waiting(f"waiting for the host's half at {meeting.name!r} on {rep.pci_addr}{_place(device)}")
    try:
        async with asyncio.timeout(meeting.timeout):
            link = await server.accept()
    except TimeoutError:
        raise CommandError(
            f"no host process connected to {meeting.name!r} on {rep.pci_addr}, for {meeting.timeout:g} s: "
            f"{_remedies(device, meeting)}"
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
    """The host's end: waits for a DPU process. The stack ends the connection."""
    reporter.waiting(f"waiting for the DPU's half at {meeting.name!r} on {device.pci_addr}{_place(device)}")
    try:
        async with asyncio.timeout(meeting.timeout):
            return await stack.enter_async_context(comch.Client(engine, device, meeting.name))
    except TimeoutError:
        raise CommandError(
            f"no DPU process offers {meeting.name!r} to {device.pci_addr}, for {meeting.timeout:g} s: "
            f"{_remedies(device, meeting)}"
        ) from None


def _place(device: pydoca.Device) -> str:
    """The place where simulated devices meet: a process with another environment waits in another directory."""
    return f", in {pydoca.sim.fabric_directory()}" if device.info.backend == "sim" else ""


def _remedies(device: pydoca.Device, meeting: Meeting) -> str:
    place = _place(device)
    same = "with the same PYDOCA_FABRIC and PYDOCA_FABRIC_DIR"
    other_place = f"; if it runs, both must wait{place}, {same}" if place else ""
    return f"start `{meeting.other}`, or wait longer with --timeout{other_place}"


@contextlib.asynccontextmanager
async def at_most(timeout: float, work: str) -> AsyncIterator[None]:
    """Limits the time of work with the other process, which may live and never send anything."""
    try:
        async with asyncio.timeout(timeout) as limit:
            yield
    except TimeoutError:  # or a pydoca.TimeOutError
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
