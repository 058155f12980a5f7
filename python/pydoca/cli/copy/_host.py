"""The host's half: lends a file, window by window, and compares the DPU's digest with its own."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shlex
from collections import deque
from contextlib import AsyncExitStack
from typing import Any

import pydoca
from pydoca.cli._errors import CommandError, PeerError
from pydoca.cli._two_processes.comch_link import Meeting, connect, open_host_device
from pydoca.cli._two_processes.event_loop import together
from pydoca.cli._two_processes.messages import Commit, Committed, Offer, Report, Returned, Window
from pydoca.cli._two_processes.peer import Peer
from pydoca.cli._two_processes.report import Reporter
from pydoca.cli.copy._source import Source

# Registering memory loads it. So a file is lent in parts, the next one while the DPU reads one.
WINDOW_SIZE = 64 << 20
_WINDOWS_AHEAD = 2


async def run(arguments: argparse.Namespace, reporter: Reporter) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        source = stack.enter_context(Source(arguments.paths[0]))
        device = stack.enter_context(open_host_device(arguments.device))
        engine = await stack.enter_async_context(pydoca.ProgressEngine())
        which = f" --rep {device.pci_addr}" if arguments.device else ""
        other = f"pydoca copy --side dpu --name {shlex.quote(arguments.name)}{which} DST"
        link = await connect(stack, engine, device, Meeting(arguments.name, arguments.timeout, other), reporter)
        peer = await stack.enter_async_context(Peer(link, "the DPU process", "copy"))
        result = await LendingHalf(source, device, peer).run()
        return {**result, "host_device": device.pci_addr, "host_pid": os.getpid()}


class LendingHalf:
    """Lends the file to the peer: over PCIe, or over RDMA."""

    def __init__(self, source: Source, device: pydoca.Device, peer: Peer, over_rdma: bool = False) -> None:
        self._source = source
        self._device = device
        self._peer = peer
        self._over_rdma = over_rdma
        self._lent: deque[tuple[int, pydoca.Mmap]] = deque()

    async def run(self) -> dict[str, Any]:
        try:
            digest = await self._peer.while_there(self._lend())
        except PeerError:
            self._source.require_whole()  # explains the error better, if it is the cause
            raise
        return {"source": self._source.path, "bytes": self._source.size, "sha256": digest}

    async def _lend(self) -> str:
        """Returns the digest of the file, to which the peer's is equal."""
        try:
            await self._peer.send(Offer(self._source.name, self._source.size))
            digest, report = await together(asyncio.to_thread(self._source.sha256), self._lend_windows())
            self._compare(report, digest)
            await self._peer.send(Commit())
            await self._peer.receive(Committed)
            return str(digest)
        finally:
            self._source.stop()
            self._take_all_back()

    async def _lend_windows(self) -> Report:
        for offset in range(0, self._source.size, WINDOW_SIZE):
            if len(self._lent) == _WINDOWS_AHEAD:
                await self._take_back()
            await self._lend_window(offset, min(WINDOW_SIZE, self._source.size - offset))
        while self._lent:
            await self._take_back()
        return await self._peer.receive(Report)

    async def _lend_window(self, offset: int, size: int) -> None:
        self._source.require_whole()
        access = "rdma_read" if self._over_rdma else "pci_read_only"
        mmap = self._device.mmap(self._source.view(offset, size), access=access)
        self._lent.append((offset, mmap))
        blob = mmap.export_rdma() if self._over_rdma else mmap.export_pci()
        await self._peer.send(Window.of(offset, size, mmap.addr, blob))

    async def _take_back(self) -> None:
        """Takes the oldest window back, as the peer returns them in order."""
        returned = await self._peer.receive(Returned)
        offset, mmap = self._lent[0]
        if returned.offset != offset:
            raise pydoca.InvalidValueError(f"the other half returned {returned.offset} where {offset} was expected")
        mmap.close()
        self._lent.popleft()

    def _take_all_back(self) -> None:
        while self._lent:  # the loop runs only after an error, which a second one must not hide
            with contextlib.suppress(pydoca.DocaError):
                self._lent.pop()[1].close()

    def _compare(self, report: Report, digest: str) -> None:
        self._source.require_whole()
        if (report.size, report.sha256) != (self._source.size, digest):
            raise CommandError(
                f"{self._source.path}: the other half read {report.size} bytes with SHA-256 {report.sha256}, the file "
                f"has {self._source.size} with {digest}; was it written to meanwhile? The copy is discarded"
            )
