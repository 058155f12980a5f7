"""The DPU's half: reads the host's file by DMA, and puts DST in place once the host agrees to the digest."""

from __future__ import annotations

import argparse
import os
import shlex
import time
from contextlib import AsyncExitStack
from typing import Any

import pydoca
from pydoca.cli._two_processes.comch_link import Meeting, accept, open_dpu_device, open_representor
from pydoca.cli._two_processes.messages import Commit, Committed, Offer, Report
from pydoca.cli._two_processes.peer import Peer
from pydoca.cli._two_processes.report import Reporter
from pydoca.cli.copy import _destination
from pydoca.cli.copy._transfer import DmaReader, Plan, Reader, Transfer

_HANG_UP = 1.0  # seconds that the host has to hang up


async def run(arguments: argparse.Namespace, reporter: Reporter) -> dict[str, Any]:
    path = arguments.paths[0]
    _destination.check(path)
    async with AsyncExitStack() as stack:
        device = stack.enter_context(open_dpu_device(arguments.dpu_device or arguments.device, arguments.rep))
        plan = Plan.of(device.info, arguments.piece_size, arguments.in_flight)
        rep = stack.enter_context(open_representor(device, arguments.rep))
        engine = await stack.enter_async_context(pydoca.ProgressEngine())
        other = f"pydoca copy --side host --name {shlex.quote(arguments.name)} SRC"
        meeting = Meeting(arguments.name, arguments.timeout, other)
        link = await accept(stack, engine, device, rep, meeting, reporter)
        peer = await stack.enter_async_context(Peer(link, "the host process", "copy"))
        half = ReadingHalf(peer, DmaReader(engine, device), device, plan, reporter)
        result = await peer.while_there(half.receive(path))
        await peer.wait_for_end(_HANG_UP)
        return {**result, "dpu_device": device.pci_addr, "representor": rep.pci_addr, "dpu_pid": os.getpid()}


class ReadingHalf:
    """Reads the file that the peer lends: by DMA, or over RDMA."""

    def __init__(
        self,
        peer: Peer,
        reader: Reader,
        device: pydoca.Device,
        plan: Plan,
        reporter: Reporter,
    ) -> None:
        self._peer = peer
        self._reader = reader
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
        await transfer.run(self._reader, lambda done: self._reporter.progress(done, size))
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
