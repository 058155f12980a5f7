"""Runs one scenario again and again while each of its allocations fails in turn.

sweep.py SCENARIO FIRST STRIDE PERSISTENT prints each n before its run. It ends with the first end that is not a
MemoryError, or when a run completes untouched.
"""

import asyncio
import ctypes
import faulthandler
import gc
import os
import sys
import traceback

os.environ["PYDOCA_FABRIC"] = f"failure-{os.getpid()}"
import pydoca

failing = ctypes.CDLL(os.environ["PYDOCA_FAILING"])
failing.disarm.restype = ctypes.c_uint64


async def dma() -> None:
    with pydoca.open_device("03:00.0") as dev:
        async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, dev, num_tasks=2) as dma:
            for size in (64, 1 << 20):
                target = pydoca.alloc(size)
                with pydoca.BufInventory(2) as inv, dev.mmap(b"x" * size) as src, dev.mmap(target) as dst:
                    await dma.memcpy(inv.get_by_data(src), inv.get_by_addr(dst))
                    assert bytes(target) == b"x" * size


async def event() -> None:
    with pydoca.open_device("0b:00.0", side="host") as host, pydoca.open_device("03:00.0", side="dpu") as dpu:
        event = pydoca.SyncEvent(host, publisher="remote_pci", subscriber="cpu")
        with event, dpu.import_sync_event(event.export_to_remote_pci()) as imported:
            imported.update_set(3)
            event.wait_eq(3)
        event = pydoca.SyncEvent(host, publisher="cpu", subscriber="cpu")
        async with pydoca.ProgressEngine() as pe, event.as_context(pe, num_tasks=2) as context:
            wait = asyncio.ensure_future(context.wait_eq(7))
            await asyncio.sleep(0)
            await context.notify_set(7)
            await wait


async def comch() -> None:
    host, dpu = pydoca.open_device("0b:00.0", side="host"), pydoca.open_device("03:00.0", side="dpu")
    with host, dpu, dpu.open_representor("0b:00.0") as rep:
        async with (
            pydoca.ProgressEngine() as pe,
            pydoca.comch.Server(pe, dpu, rep, "copy") as server,
            pydoca.comch.Client(pe, host, "copy") as client,
        ):
            link = await asyncio.wait_for(server.accept(), 1)
            await client.send(b"ping")
            assert await asyncio.wait_for(link.recv(), 5) == b"ping"
            await link.send(b"pong")
            assert await asyncio.wait_for(client.recv(), 5) == b"pong"


async def rdma() -> None:
    with pydoca.open_device("0b:00.0", side="host") as host, pydoca.open_device("03:00.0", side="dpu") as dpu:
        async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, host) as a, pydoca.Rdma(pe, dpu) as b:
            at_a, at_b = a.export(), b.export()
            at_a.connect(at_b.details)
            at_b.connect(at_a.details)
            target = pydoca.alloc(8)
            with pydoca.BufInventory(2) as inv, host.mmap(b"12345678") as src, dpu.mmap(target) as dst:
                received = b.receive(inv.get_by_addr(dst))
                await at_a.send(inv.get_by_data(src))
                await asyncio.wait_for(received, 5)
            assert bytes(target) == b"12345678"


async def graph() -> None:
    target = pydoca.alloc(8)
    steps = []
    with pydoca.open_device("03:00.0") as dev:
        async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, dev, num_tasks=1) as dma:
            graph = pydoca.Graph(pe)
            copying = graph.node(dma)
            checking = graph.node(steps.append, after=[copying])
            with pydoca.BufInventory(2) as inv, dev.mmap(b"12345678") as src, dev.mmap(target) as dst, graph:
                copy = dma.memcpy(inv.get_by_data(src), inv.get_by_addr(dst), submit=False)
                await graph.run({copying: copy, checking: 1})
    assert steps == [1]


# Errors that a failure at the other end, or in a thread of the engine, may cause here.
OTHER_ENDS = (pydoca.ConnectionResetError, pydoca.ConnectionAbortedError, pydoca.ShutdownError, TimeoutError)
SCENARIOS = {scenario.__name__: scenario for scenario in (dma, event, comch, rdma, graph)}


def run(scenario) -> BaseException | None:
    try:
        asyncio.run(scenario())
    except Exception as error:
        return error
    finally:
        gc.collect()
    return None


def main() -> int:
    name, first, stride, persistent = sys.argv[1], *map(int, sys.argv[2:])
    scenario = SCENARIOS[name]
    faulthandler.enable()
    for _ in range(2):
        error = run(scenario)
        if error is not None:
            traceback.print_exception(error)
            return 1
    n = first
    while True:
        print(n, flush=True)
        faulthandler.dump_traceback_later(30, exit=True)
        failing.arm_allocation(ctypes.c_uint64(n), persistent)
        error = run(scenario)
        if failing.disarm() < n:
            return 0
        if error is not None and not isinstance(error, (MemoryError, *OTHER_ENDS)):
            print(f"n = {n}: ended with {error!r}", file=sys.stderr)
            traceback.print_exception(error)
            return 1
        if (next_error := run(scenario)) is not None:
            print(f"n = {n}: the next run ended with {next_error!r}", file=sys.stderr)
            traceback.print_exception(next_error)
            return 1
        n += stride


sys.exit(main())
