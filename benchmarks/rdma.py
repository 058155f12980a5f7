"""RDMA awaited in Python, between two processes, each figure as a ratio to the engine's own of the same run.

The engine's figures come from rdma_report, which `cmake --preset bench && cmake --build --preset bench` in cpp/
builds. A figure without a counterpart there is compared with the report's floor, memcpy. With --device both processes
use that device, and the floor, which is that of the simulator, has no meaning.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import print_report
from print_report import PROGRAMS, arguments_of

import pydoca

REPORT = PROGRAMS / "rdma_report"
SIZE = 64 << 10
IN_FLIGHT = 8
STRETCHES = 20
ACCESS = "rdma_read|rdma_write"


@dataclass(frozen=True)
class Figure:
    """One way of moving 64 KiB: the number in flight, and the figure of rdma_report to compare with."""

    name: str
    way: str
    in_flight: int
    floor: str
    is_of_memcpy: bool  # compares with the report's floor instead of its figure
    target: float | None
    rounds: int = 16_000


WRITE = "rdma write 64 KiB, 8 in flight"
READ = "rdma read 64 KiB, 8 in flight"
FIGURES = [
    Figure("await write 64 KiB, 8 in flight, against the engine", "write", IN_FLIGHT, WRITE, False, 1.5),
    Figure("await read 64 KiB, 8 in flight, against the engine", "read", IN_FLIGHT, READ, False, 1.5),
    Figure("await write 64 KiB, 1 in flight, against memcpy", "write", 1, WRITE, True, None),
    Figure("await read 64 KiB, 1 in flight, against memcpy", "read", 1, WRITE, True, None),
    Figure("await send 64 KiB and its receive, against memcpy", "send", IN_FLIGHT, WRITE, True, None, 2_000),
]


class Side:
    """One of the two processes: a context, a connection, and memory for the other."""

    def __init__(self, pe: pydoca.ProgressEngine, device: pydoca.Device) -> None:
        self.device = device
        self.rdma = pydoca.Rdma(pe, device, num_tasks=2 * IN_FLIGHT, permissions=ACCESS)
        self.inventory = pydoca.BufInventory(4 * IN_FLIGHT)
        self.memory = pydoca.alloc(SIZE * IN_FLIGHT)
        self.mmap = device.mmap(self.memory, access=f"local_read_write|{ACCESS}")

    def introduce(self) -> str:
        self.connection = self.rdma.export()
        return f"{self.connection.details.hex()} {self.mmap.export_rdma().hex()}"

    def meet(self, introduction: str) -> None:
        details, memory = map(bytes.fromhex, introduction.split())
        self.connection.connect(details)
        self.remote = self.device.import_mmap(memory)

    def part(self, mmap: pydoca.Mmap, slot: int, is_full: bool) -> pydoca.Buf:
        get = self.inventory.get_by_data if is_full else self.inventory.get_by_addr
        return get(mmap, mmap.addr + slot * SIZE, SIZE)


async def write(side: Side, slot: int, rounds: int) -> None:
    src, dst = side.part(side.mmap, slot, True), side.part(side.remote, slot, False)
    for _ in range(rounds):
        await side.connection.write(src, dst)


async def read(side: Side, slot: int, rounds: int) -> None:
    src, dst = side.part(side.remote, slot, True), side.part(side.mmap, slot, False)
    for _ in range(rounds):
        dst.reset_data_len()
        await side.connection.read(src, dst)


async def send(side: Side, slot: int, rounds: int) -> None:
    src = side.part(side.mmap, slot, True)
    for _ in range(rounds):
        await side.connection.send(src)


MOVES: dict[str, Callable[[Side, int, int], Awaitable[None]]] = {"write": write, "read": read, "send": send}


async def serve(name: str | None) -> None:
    """The peer: it lends its memory and receives messages until its standard input ends."""
    async with pydoca.ProgressEngine() as pe:
        side = Side(pe, open_device(name, "dpu"))
        async with side.rdma:
            print(side.introduce(), flush=True)
            side.meet(sys.stdin.readline())
            asyncio.get_running_loop().add_reader(0, side.connection.disconnect)
            receives = side.rdma.receives([side.part(side.mmap, slot, False) for slot in range(IN_FLIGHT)])
            taking = asyncio.create_task(take(receives))
            await side.connection.ended()
            taking.cancel()


async def take(receives: Any) -> None:
    async for _ in receives:
        pass


def open_device(name: str | None, side: str) -> pydoca.Device:
    if name is None:
        return pydoca.open_device({"host": "pf0", "dpu": "p1"}[side], side=side)
    return pydoca.open_device(name)


def engines_own(report: Path, figure: Figure) -> float:
    """Nanoseconds of one operation."""
    line = [report, "--json", "--repetitions", "3", figure.floor]
    run = subprocess.run(line, check=True, capture_output=True, text=True)
    [found] = json.loads(run.stdout)
    return float(found["floor"] if figure.is_of_memcpy else found["value"])


async def time_of(side: Side, figure: Figure) -> float:
    """Nanoseconds of one operation, in the best of several stretches, which excludes other load on the machine."""
    share = max(1, figure.rounds // figure.in_flight // STRETCHES)
    times = []
    for _ in range(STRETCHES):
        begin = time.perf_counter()
        await asyncio.gather(*(MOVES[figure.way](side, slot, share) for slot in range(figure.in_flight)))
        times.append((time.perf_counter() - begin) / (share * figure.in_flight) * 1e9)
    return min(times)


async def measure(figure: Figure, arguments: argparse.Namespace) -> print_report.Figure:
    command = [sys.executable, __file__, "--serve", arguments.device or ""]
    peer = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=1 << 20)
    assert peer.stdin is not None
    assert peer.stdout is not None
    async with pydoca.ProgressEngine() as pe:
        side = Side(pe, open_device(arguments.device, "host"))
        async with side.rdma:
            peer.stdin.write(side.introduce().encode() + b"\n")
            side.meet((await peer.stdout.readline()).decode())
            await time_of(side, figure)  # does all work that is done only once
            pairs = [
                (await time_of(side, figure), engines_own(arguments.report, figure))
                for _ in range(arguments.repetitions)
            ]
    peer.stdin.close()
    await peer.wait()
    return print_report.Figure.of_pairs(figure.name, "ns", pairs, figure.target)


def main() -> int:
    parser = arguments_of(__doc__, repetitions=5)
    parser.add_argument("--report", type=Path, default=REPORT)
    parser.add_argument("--device", help="of both processes (default: the simulator's)")
    parser.add_argument("name", nargs="?", default="", help="a part of the names of the figures to measure")
    arguments = parser.parse_args()
    os.environ.setdefault("PYDOCA_BACKEND", "verbs" if arguments.device else "sim")
    chosen = [figure for figure in FIGURES if arguments.name in figure.name]
    measured = (asyncio.run(measure(figure, arguments)) for figure in chosen)
    return print_report.print_report(measured, arguments)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        asyncio.run(serve(sys.argv[2] or None))
    else:
        sys.exit(main())
