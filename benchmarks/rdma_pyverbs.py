"""RDMA awaited through pydoca, each figure as a ratio to the same traffic through pyverbs in the same run.

Both are Python between two processes on one device. pyverbs posts and polls all the time, as its users do; pydoca's
engines have low latency, so they look for a while before they sleep. The benchmark boots `pydoca rdma-lab` and measures
there; on a machine with a device, --device NAME measures here. A send's latency is half of a round trip; the latency of
a write or read is that of one after the other. Bandwidths are with several in flight; a send's bandwidth counts the
messages that the peer took.
"""

import argparse
import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import print_report
from print_report import arguments_of
from rdma_figure import Measurement

import pydoca

if importlib.util.find_spec("pyverbs") is None:
    sys.path.append("/usr/lib/python3/dist-packages")  # Debian installs pyverbs here

# These come from <infiniband/verbs.h>: their module in pyverbs differs between its versions.
IBV_QPT_RC, IBV_MTU_1024 = 2, 3
IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ = 1, 2, 4
IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ = 0, 2, 4
IBV_WC_SUCCESS = 0

LIBRARIES = ["pyverbs", "pydoca"]
SIZES = [64, 4096, 65536]
OPERATIONS = ["write", "read", "send"]
IN_FLIGHT = 8
RECEIVES = 64
SLOT = max(SIZES)  # bytes of memory for each operation in flight
ACCESS = "local_read_write|rdma_read|rdma_write"
PATIENCE = 120.0  # seconds, for a peer to end
TARGET = 1.0


@dataclass(frozen=True)
class Figure(Measurement):
    def value(self, seconds: float) -> float:
        """Converts the seconds of one operation."""
        return seconds * 1e6 if self.is_latency else self.size / seconds / (1 << 20)


class End(Protocol):
    """One of a connection's two ends, in a process of its own, with memory for the other."""

    def introduce(self) -> str: ...
    def meet(self, introduction: str) -> None: ...
    def measure(self, figure: Figure, rounds: int) -> Awaitable[float]:
        """Seconds of one operation."""

    def answer(self, figure: Figure, rounds: int) -> Awaitable[None]:
        """The peer's part of a measurement of sends."""


class Pydoca:
    def __init__(self, pe: pydoca.ProgressEngine, name: str) -> None:
        self.device = pydoca.open_device(name)
        options = {"num_tasks": 2 * RECEIVES, "permissions": "rdma_read|rdma_write"}
        self.rdma = pydoca.Rdma(pe, self.device, mtu=self.device.info.capabilities.rdma.max_mtu, **options)
        self.rdma.start()
        self.inventory = pydoca.BufInventory(2 * RECEIVES)
        self.mmap = self.device.mmap(pydoca.alloc(SLOT * IN_FLIGHT), access=ACCESS)
        room = self.device.mmap(pydoca.alloc(SLOT * RECEIVES))
        self.receives = self.rdma.receives(
            [self.inventory.get_by_addr(room, room.addr + slot * SLOT, SLOT) for slot in range(RECEIVES)]
        )

    def introduce(self) -> str:
        self.connection = self.rdma.export()
        return f"{self.connection.details.hex()} {self.mmap.export_rdma().hex()}"

    def meet(self, introduction: str) -> None:
        details, memory = map(bytes.fromhex, introduction.split())
        self.connection.connect(details)
        self.remote = self.device.import_mmap(memory)

    def data(self, mmap: pydoca.Mmap, slot: int, size: int) -> pydoca.Buf:
        return self.inventory.get_by_data(mmap, mmap.addr + slot * SLOT, size)

    def room(self, mmap: pydoca.Mmap, slot: int, size: int) -> pydoca.Buf:
        return self.inventory.get_by_addr(mmap, mmap.addr + slot * SLOT, size)

    def begin(self, operation: str, slot: int, size: int) -> pydoca.RdmaTask:
        if operation == "write":
            return self.connection.write(self.data(self.mmap, slot, size), self.room(self.remote, slot, size))
        if operation == "read":
            return self.connection.read(self.data(self.remote, slot, size), self.room(self.mmap, slot, size))
        return self.connection.send(self.data(self.mmap, slot, size))

    async def move(self, tasks: deque[pydoca.RdmaTask], rounds: int) -> None:
        """Submits all tasks, and each again when it is done."""
        reads = tasks[0].kind == "read"
        for _ in range(rounds - len(tasks)):
            task = tasks.popleft()
            await task
            if reads:  # reads append to the data of their bufs
                task.dst.reset_data_len()
            task.submit()
            tasks.append(task)
        for task in tasks:
            await task

    async def play(self, size: int, rounds: int) -> None:
        task = self.connection.send(self.data(self.mmap, 0, size), submit=False)
        for _ in range(rounds):
            task.submit()
            await task
            await anext(self.receives)

    async def measure(self, figure: Figure, rounds: int) -> float:
        width = 1 if figure.is_latency else IN_FLIGHT
        begin = time.perf_counter()
        if figure.is_latency and figure.operation == "send":
            await self.play(figure.size, rounds)
            return (time.perf_counter() - begin) / rounds / 2
        await self.move(deque(self.begin(figure.operation, slot, figure.size) for slot in range(width)), rounds)
        if figure.operation == "send":
            await anext(self.receives)
        return (time.perf_counter() - begin) / rounds

    async def answer(self, figure: Figure, rounds: int) -> None:
        src = self.data(self.mmap, 0, figure.size) if figure.is_latency else None  # an empty message
        task = self.connection.send(src, submit=False)
        for _ in range(rounds):
            await anext(self.receives)
            if figure.is_latency:
                task.submit()
                await task
        if not figure.is_latency:
            task.submit()
            await task


class Pyverbs:
    """Requests are made once and posted again and again, as tasks are."""

    def __init__(self, name: str, gid_index: int) -> None:
        from pyverbs.cq import CQ
        from pyverbs.device import Context
        from pyverbs.mr import MR
        from pyverbs.pd import PD
        from pyverbs.qp import QP, QPCap, QPInitAttr
        from pyverbs.wr import SGE, RecvWR

        self.gid_index = gid_index
        self.context = Context(name=name)
        self.pd = PD(self.context)
        self.sent, self.received = CQ(self.context, IN_FLIGHT), CQ(self.context, RECEIVES)
        cap = QPCap(max_send_wr=IN_FLIGHT, max_recv_wr=RECEIVES)
        init = QPInitAttr(qp_type=IBV_QPT_RC, scq=self.sent, rcq=self.received, cap=cap)
        self.queue_pair = QP(self.pd, init)
        access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ
        self.memory = MR(self.pd, SLOT * IN_FLIGHT, access)
        self.room = MR(self.pd, SLOT * RECEIVES, IBV_ACCESS_LOCAL_WRITE)
        self.receives = [
            RecvWR(wr_id=slot, num_sge=1, sg=[SGE(self.room.buf + slot * SLOT, SLOT, self.room.lkey)])
            for slot in range(RECEIVES)
        ]

    def introduce(self) -> str:
        gid = self.context.query_gid(1, self.gid_index).gid
        return json.dumps([self.queue_pair.qp_num, gid, self.memory.buf, self.memory.rkey])

    def meet(self, introduction: str) -> None:
        from pyverbs.addr import GID, AHAttr, GlobalRoute
        from pyverbs.qp import QPAttr

        number, gid, self.remote_addr, self.remote_key = json.loads(introduction)
        port, limits = self.context.query_port(1), self.context.query_device()
        route = GlobalRoute(dgid=GID(gid), sgid_index=self.gid_index)
        attributes = QPAttr(port_num=1, path_mtu=port.active_mtu)
        attributes.ah_attr = AHAttr(gr=route, is_global=1, port_num=1, dlid=port.lid)
        attributes.dest_qp_num = number
        attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ
        attributes.max_rd_atomic = attributes.max_dest_rd_atomic = min(16, limits.max_qp_rd_atom)
        attributes.timeout, attributes.retry_cnt = 17, 7
        attributes.min_rnr_timer, attributes.rnr_retry = 12, 7
        self.queue_pair.to_rts(attributes)
        for receive in self.receives:
            self.queue_pair.post_recv(receive)

    def request(self, operation: str, slot: int, size: int) -> Any:
        from pyverbs.wr import SGE, SendWR

        codes = {
            "write": IBV_WR_RDMA_WRITE,
            "read": IBV_WR_RDMA_READ,
            "send": IBV_WR_SEND,
        }
        local = SGE(self.memory.buf + slot * SLOT, size, self.memory.lkey)
        request = SendWR(wr_id=slot, opcode=codes[operation], num_sge=1, sg=[local])
        if operation != "send":
            request.set_wr_rdma(self.remote_key, self.remote_addr + slot * SLOT)
        return request

    def done(self, queue: Any) -> list[Any]:
        """Waits for at least one completion, and requires that none failed."""
        poll = queue.poll
        while not (found := poll(IN_FLIGHT)[1]):
            pass
        for completion in found:
            if completion.status != IBV_WC_SUCCESS:
                raise RuntimeError(f"completion with status {completion.status}")
        return found

    def take(self) -> int:
        """Returns the number of messages that came, and posts their receives again."""
        found = self.done(self.received)
        for completion in found:
            self.queue_pair.post_recv(self.receives[completion.wr_id])
        return len(found)

    def move(self, requests: list[Any], rounds: int) -> None:
        """Posts all requests, and each again when it is done."""
        post = self.queue_pair.post_send
        for request in requests:
            post(request)
        left = rounds - len(requests)
        ahead = rounds
        while ahead > 0:
            found = self.done(self.sent)
            ahead -= len(found)
            for completion in found[:left]:
                post(requests[completion.wr_id])
            left = max(0, left - len(found))

    def play(self, request: Any, rounds: int) -> None:
        for _ in range(rounds):
            self.queue_pair.post_send(request)
            self.done(self.sent)
            self.take()

    async def measure(self, figure: Figure, rounds: int) -> float:
        width = 1 if figure.is_latency else IN_FLIGHT
        requests = [self.request(figure.operation, slot, figure.size) for slot in range(width)]
        begin = time.perf_counter()
        if figure.is_latency and figure.operation == "send":
            self.play(requests[0], rounds)
            return (time.perf_counter() - begin) / rounds / 2
        self.move(requests, rounds)
        if figure.operation == "send":
            self.take()
        return (time.perf_counter() - begin) / rounds

    async def answer(self, figure: Figure, rounds: int) -> None:
        request = self.request("send", 0, figure.size if figure.is_latency else 0)
        taken = 0
        while taken < rounds:
            taken += self.take()
            if figure.is_latency:
                self.queue_pair.post_send(request)
                self.done(self.sent)
        if not figure.is_latency:
            self.queue_pair.post_send(request)
            self.done(self.sent)


def make_end(library: str, pe: pydoca.ProgressEngine, name: str) -> End:
    if library == "pydoca":
        return Pydoca(pe, name)
    return Pyverbs(name, pydoca.open_device(name).info.capabilities.rdma.default_gid_index)


async def serve(library: str, name: str) -> None:
    """The peer: it lends its memory, and takes and answers messages when told to, until its standard input ends."""
    async with pydoca.ProgressEngine(latency="low") as pe:
        end = make_end(library, pe, name)
        print(end.introduce(), flush=True)
        end.meet(sys.stdin.readline())
        print("ready", flush=True)
        while line := sys.stdin.readline():
            is_latency, size, rounds = map(int, line.split())
            await end.answer(Figure("send", bool(is_latency), size), rounds)


class Peer:
    """A process at the other end."""

    def __init__(self, end: End, library: str, name: str) -> None:
        self.end = end
        line = [sys.executable, __file__, "--serve", library, "--device", name]
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.tell(end.introduce())
        end.meet(self.hear())
        self.hear()  # the peer is also connected

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    async def stretch(self, figure: Figure, rounds: int) -> float:
        if figure.operation == "send":
            self.tell(f"{figure.is_latency:d} {figure.size} {rounds}")
        return await self.end.measure(figure, rounds)

    def close(self) -> None:
        try:
            self.process.communicate(timeout=PATIENCE)
        finally:
            self.process.kill()


async def measure(figure: Figure, peers: dict[str, Peer], arguments: argparse.Namespace) -> print_report.Figure:
    """Measures stretches of both in turn, and takes the best of each: other load only makes them worse."""
    best: dict[str, float] = {}
    for number in range(arguments.repetitions + 1):
        for library, peer in peers.items():
            seconds = await peer.stretch(figure, arguments.rounds)
            if number > 0:  # the first one does all work that is done only once
                best[library] = min(seconds, best.get(library, seconds))
    value, floor = (figure.value(best[library]) for library in ("pydoca", "pyverbs"))
    score = best["pydoca"] / best["pyverbs"]
    return print_report.Figure(f"{figure.name}, against pyverbs", figure.unit, value, floor, TARGET, score, rule="<")


def figures(arguments: argparse.Namespace) -> Iterator[Figure]:
    for is_latency in (True, False):
        for operation in OPERATIONS:
            for size in SIZES:
                figure = Figure(operation, is_latency, size)
                if arguments.filter in figure.name:
                    yield figure


async def run(arguments: argparse.Namespace) -> list[print_report.Figure]:
    async with pydoca.ProgressEngine(latency="low") as pe:
        peers = {name: Peer(make_end(name, pe, arguments.device), name, arguments.device) for name in LIBRARIES}
        try:
            return [await measure(figure, peers, arguments) for figure in figures(arguments)]
        finally:
            for peer in peers.values():
                peer.close()


def run_in_lab() -> int:
    line = [sys.executable, "-P", "-m", "pydoca", "rdma-lab", "--timeout", "1200", "--"]
    return subprocess.run([*line, sys.executable, __file__, *sys.argv[1:], "--device", "rxe0"]).returncode


def main() -> int:
    parser = arguments_of(__doc__, repetitions=8)
    parser.add_argument("--device", help="measure here, on this device")
    parser.add_argument("--rounds", type=int, default=200, help="operations in a stretch of measuring (default: 200)")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only figures with this in their name")
    parser.add_argument("--serve", choices=LIBRARIES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.device is None and "PYDOCA_RDMA_LAB" not in os.environ:
        return run_in_lab()
    os.environ["PYDOCA_BACKEND"] = "verbs"
    arguments.device = arguments.device or "rxe0"
    if arguments.serve:
        asyncio.run(serve(arguments.serve, arguments.device))
        return 0
    return print_report.print_report(asyncio.run(run(arguments)), arguments)


if __name__ == "__main__":
    sys.exit(main())
