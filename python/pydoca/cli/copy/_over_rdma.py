"""A copy over RDMA, between processes or hosts: the half that listens reads; the half that connects lends."""

from __future__ import annotations

import argparse
import os
from contextlib import AsyncExitStack
from typing import Any

import pydoca
from pydoca.cli._two_processes.peer import Peer
from pydoca.cli._two_processes.rdma_link import Place, accept, connect, open_rdma_device
from pydoca.cli._two_processes.report import Reporter
from pydoca.cli.copy import _destination
from pydoca.cli.copy._dpu import ReadingHalf
from pydoca.cli.copy._host import LendingHalf
from pydoca.cli.copy._source import Source
from pydoca.cli.copy._transfer import Plan, RdmaReader

_HANG_UP = 1.0  # seconds that the other half has to hang up


async def run(arguments: argparse.Namespace, reporter: Reporter) -> dict[str, Any]:
    return await (_lend if arguments.connect is not None else _read)(arguments, reporter)


async def _lend(arguments: argparse.Namespace, reporter: Reporter) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        source = stack.enter_context(Source(arguments.paths[0]))
        device = stack.enter_context(open_rdma_device(arguments.device))
        engine = await stack.enter_async_context(pydoca.ProgressEngine())
        rdma = await stack.enter_async_context(pydoca.Rdma(engine, device, permissions="rdma_read"))
        address, port = arguments.connect
        place = Place("copy", address, port, arguments.timeout)
        other = f"pydoca copy --transport rdma --listen {port} DST"
        link = await connect(stack, rdma, place, other, reporter)
        peer = await stack.enter_async_context(Peer(link, "the process that listens", "copy"))
        result = await LendingHalf(source, device, peer, over_rdma=True).run()
        return {**result, "device": device.name, "pid": os.getpid()}


async def _read(arguments: argparse.Namespace, reporter: Reporter) -> dict[str, Any]:
    path = arguments.paths[0]
    _destination.check(path)
    async with AsyncExitStack() as stack:
        device = stack.enter_context(open_rdma_device(arguments.device))
        plan = Plan.of_rdma(device.info, arguments.piece_size, arguments.in_flight)
        engine = await stack.enter_async_context(pydoca.ProgressEngine())
        num_tasks: Any = {"read": plan.in_flight, "send": 8, "receive": 32}
        rdma = await stack.enter_async_context(pydoca.Rdma(engine, device, num_tasks=num_tasks))
        place = Place("copy", None, arguments.listen, arguments.timeout)
        other = f"pydoca copy --transport rdma --connect {device.info.ipv4_addr}:{arguments.listen} SRC"
        link = await accept(stack, rdma, place, other, reporter)
        assert link.connection is not None
        peer = await stack.enter_async_context(Peer(link, "the process that connected", "copy"))
        half = ReadingHalf(peer, RdmaReader(link.connection), device, plan, reporter)
        result = await peer.while_there(half.receive(path))
        await peer.wait_for_end(_HANG_UP)
        return {**result, "device": device.name, "pid": os.getpid()}
