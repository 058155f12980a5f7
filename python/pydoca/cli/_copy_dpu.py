"""The DPU's half: reads what the host lends by DMA, and puts it in place once the host agrees that it is right."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import time
from contextlib import AsyncExitStack
from typing import Any

import pydoca
from pydoca import comch
from pydoca.cli import _destination
from pydoca.cli._errors import CommandError
from pydoca.cli._messages import Commit, Committed, Failure, Offer, Report, encode
from pydoca.cli._peer import Peer
from pydoca.cli._report import Reporter
from pydoca.cli._transfer import Plan, Transfer

_HANG_UP = 1.0  # seconds that the host has for it


async def run(arguments: argparse.Namespace, reporter: Reporter) -> dict[str, Any]:
    path = arguments.paths[0]
    _destination.check(path)
    async with AsyncExitStack() as stack:
        device = stack.enter_context(open_dpu_device(arguments.dpu_device or arguments.device, arguments.rep))
        plan = Plan.of(device.info, arguments.piece_size, arguments.in_flight)
        rep = stack.enter_context(device.open_representor(arguments.rep or _first_representor(device)))
        engine = await stack.enter_async_context(pydoca.ProgressEngine())
        server = await stack.enter_async_context(comch.Server(engine, device, rep, arguments.name))
        reporter.waiting(f"waiting for the host's half at {arguments.name!r} on {rep.pci_addr}")
        link = await _accept(server, rep, arguments)
        stack.push_async_callback(_cancel, asyncio.create_task(_refuse_others(server)))
        peer = await stack.enter_async_context(Peer(link, "the host process"))
        half = _DpuHalf(peer, engine, device, plan, reporter)
        result = await peer.while_there(half.receive(path))
        await peer.wait_for_end(_HANG_UP)
        return {**result, "dpu_device": device.pci_addr, "representor": rep.pci_addr, "dpu_pid": os.getpid()}


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
    raise CommandError(f"--rep {rep}: no DPU device holds this representor; see pydoca devices --representors")


def _first_representor(device: pydoca.Device) -> str:
    representors = device.representors()
    if not representors:
        raise CommandError(f"{device.name} holds no representor; see pydoca devices --representors")
    return str(representors[0].pci_addr)


async def _accept(server: comch.Server, rep: pydoca.Representor, arguments: argparse.Namespace) -> comch.Connection:
    try:
        async with asyncio.timeout(arguments.timeout):
            return await server.accept()
    except TimeoutError:
        raise CommandError(
            f"no host process came to {arguments.name!r} on {rep.pci_addr}, for {arguments.timeout:g} s: start "
            f"`pydoca copy --side host --name {arguments.name} SRC`, or wait longer with --timeout"
        ) from None


async def _refuse_others(server: comch.Server) -> None:
    busy = encode(Failure.of("busy with another host process; give every copy a --name of its own"))
    async for link in server:
        with contextlib.suppress(pydoca.DocaError):
            await link.send(busy)


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


class _DpuHalf:
    def __init__(
        self,
        peer: Peer,
        engine: pydoca.ProgressEngine,
        device: pydoca.Device,
        plan: Plan,
        reporter: Reporter,
    ) -> None:
        self._peer = peer
        self._engine = engine
        self._device = device
        self._plan = plan
        self._reporter = reporter

    async def receive(self, path: str) -> dict[str, Any]:
        offer = await self._peer.receive(Offer)
        with _destination.open_destination(path, offer.name) as destination:
            result = await self._transfer(offer.size, destination)
            await self._peer.send(Report(offer.size, result["sha256"]))
            await self._peer.receive(Commit)
            await destination.commit()
            await self._peer.send(Committed())
            return result

    async def _transfer(self, size: int, destination: _destination.Destination) -> dict[str, Any]:
        plan = self._plan.fitted(size)
        transfer = Transfer(self._peer, self._device, plan, size, destination)
        self._reporter.progress(0, size)
        start = time.perf_counter()
        await transfer.run(self._engine, lambda done: self._reporter.progress(done, size))
        seconds = time.perf_counter() - start
        return {
            "destination": destination.path,
            "bytes": size,
            "seconds": round(seconds, 6),
            "gigabytes_per_second": round(size / seconds / 1e9, 3),
            "sha256": transfer.sha256,
            "pieces": transfer.pieces,
            "piece_size": plan.piece_size,
            "in_flight": plan.in_flight,
        }
