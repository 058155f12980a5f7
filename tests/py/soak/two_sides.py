"""A host and a DPU in virtual time: a handshake, exports, copies with checked data, events; and a fault of one side.

Each task must complete exactly once, each message come once and in order, and the data that an acknowledgement promises
must be there.
"""

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

import pydoca
from pydoca import Status, comch
from pydoca.faults import FaultPlan

SERVICE = f"explore-{os.getpid()}"  # other processes of this fabric may do the same
ROUNDS = 3
SIZE = 64  # bytes of a round
PATIENCE = 0.02  # seconds of virtual time; a run takes 30 us
TIMING = {"dma": {"latency": "1.5us", "jitter": {"distribution": "exponential", "spread": "500ns"}}}

LOST = {
    Status.CONNECTION_RESET,
    Status.NOT_CONNECTED,
    Status.CONNECTION_ABORTED,
    Status.SHUTDOWN,
    Status.BAD_STATE,
    Status.TIME_OUT,
    Status.IO_FAILED,
    Status.DRIVER,
    Status.NOT_FOUND,
}


@dataclass(frozen=True)
class Kind:
    """The fault of a kind's runs: a plan, or one side that leaves at any moment."""

    name: str
    plan: FaultPlan | None = None
    leaves: str | None = None

    @property
    def may_fail(self) -> bool:
        return self.leaves is not None or (self.plan is not None and self.name != "late")


def faulty(name: str, **keys: Any) -> Kind:
    return Kind(name, FaultPlan({"action": name, **keys}))


KINDS = [
    Kind("nothing"),
    Kind("host leaves", leaves="host"),
    Kind("DPU leaves", leaves="dpu"),
    Kind("late", FaultPlan({"action": "delay", "opcode": "dma.memcpy", "by": "3 us", "probability": 0.3})),
    faulty("link_down", opcode="comch", probability=0.1, times=1),
    faulty("remove_device", device="p0", probability=0.05),
    faulty("remove_device", device="pf0", probability=0.05),
    faulty("fail", opcode="dma.memcpy", probability=0.2, times=1),
]


class LedgerError(AssertionError):
    pass


class Ledger:
    """The tasks of one side: each completes once."""

    def __init__(self) -> None:
        self.submitted = 0
        self.ends: Counter[int] = Counter()

    def callbacks(self) -> dict[str, Callable[..., None]]:
        return {"on_completion": self.note, "on_error": self.note}

    def note(self, _task: object, number: int, _context: object) -> None:
        self.ends[number] += 1

    def submit(self, method: Callable[..., Any], *arguments: Any) -> Any:
        task = method(*arguments, user_data=self.submitted)
        self.submitted += 1
        return task

    def require_balance(self) -> None:
        """Checks that each task has ended once; all contexts must be idle."""
        if self.ends != Counter(range(self.submitted)):
            lost = sorted(set(range(self.submitted)) - set(self.ends))
            doubled = {number: times for number, times in self.ends.items() if times != 1}
            raise LedgerError(f"of {self.submitted} tasks {lost} were lost; ended more than once: {doubled}")


class Session:
    """One run of a seed."""

    def __init__(self, seed: int, kind: Kind, counts: Counter[str]) -> None:
        self.random = random.Random(seed)
        self.kind = kind
        self.counts = counts
        self.data = [self.random.randbytes(SIZE) for _ in range(ROUNDS)]
        self.leaves_at = self.random.expovariate(1 / 20e-6)
        self.memory = pydoca.alloc(2 * ROUNDS * SIZE)
        self.memory[: ROUNDS * SIZE] = b"".join(self.data)

    def answer(self, number: int) -> bytes:
        """The bytes that the DPU writes to the host in a round."""
        return self.data[number][::-1]

    async def side(self, name: str, body: Callable[[Ledger], Coroutine[Any, Any, None]]) -> None:
        ledger = Ledger()
        try:
            async with asyncio.timeout(self.leaves_at if name == self.kind.leaves else PATIENCE):
                await body(ledger)
            self.counts["ends"] += 1
        except TimeoutError:
            if not self.kind.may_fail:
                raise
            self.counts["left"] += 1
        except pydoca.DocaError as error:
            if not self.kind.may_fail or error.status not in LOST:
                raise
            self.counts["losses"] += 1
        ledger.require_balance()
        self.counts["tasks"] += ledger.submitted

    # ---- the host

    async def host(self, ledger: Ledger) -> None:
        with pydoca.open_device("pf0") as device:
            async with pydoca.ProgressEngine() as pe:
                with device.mmap(self.memory, access="pci_read_write") as mmap:
                    event = pydoca.SyncEvent(device, publisher="remote_pci", subscriber="cpu", memory=pydoca.alloc(8))
                    async with event.as_context(pe, 4, **ledger.callbacks()) as context:
                        client = comch.Client(pe, device, SERVICE, timeout=PATIENCE, **ledger.callbacks())
                        async with client as link:
                            await ledger.submit(link.send, mmap.export_pci())
                            await ledger.submit(link.send, event.export_to_remote_pci())
                            await self.follow(ledger, context, link)

    async def follow(self, ledger: Ledger, context: Any, link: Any) -> None:
        for number in range(ROUNDS):
            value = await ledger.submit(context.wait_gt, number)
            assert number < value <= ROUNDS, f"the event has {value} after round {number}"
            self.require_answers(value)
        for number in range(ROUNDS):
            message = bytes(await link.recv())
            assert message == b"%d" % number, f"message {number} is {message!r}"
        await ledger.submit(link.send, b"bye")

    def require_answers(self, rounds: int) -> None:
        for number in range(rounds):
            begin = (ROUNDS + number) * SIZE
            there = self.memory[begin : begin + SIZE]
            assert there == self.answer(number), f"round {number} was announced, and its data is not there"

    # ---- the DPU

    async def dpu(self, ledger: Ledger) -> None:
        with pydoca.open_device("p0") as device, device.open_representor("0b:00.0") as rep:
            async with pydoca.ProgressEngine() as pe:
                server = comch.Server(pe, device, rep, SERVICE, **ledger.callbacks())
                async with server, pydoca.Dma(pe, device, num_tasks=4, **ledger.callbacks()) as dma:
                    link = await server.accept()
                    with device.import_mmap(await link.recv()) as remote:
                        event = device.import_sync_event(await link.recv())
                        async with event.as_context(pe, 4, **ledger.callbacks()) as context:
                            await self.work(ledger, link, (device, dma, remote, context))
                    assert bytes(await link.recv()) == b"bye"

    async def work(self, ledger: Ledger, link: Any, parts: Any) -> None:
        device, dma, remote, context = parts
        inventory, memory = pydoca.BufInventory(8), pydoca.alloc(SIZE)
        with device.mmap(memory) as local:
            for number in range(ROUNDS):
                there = remote.addr + number * SIZE
                await ledger.submit(
                    dma.memcpy, inventory.get_by_data(remote, there, SIZE), inventory.get_by_addr(local)
                )
                assert bytes(memory) == self.data[number], f"round {number}: other data arrived"
                memory[:] = self.answer(number)
                target = inventory.get_by_addr(remote, there + ROUNDS * SIZE, SIZE)
                await ledger.submit(dma.memcpy, inventory.get_by_data(local), target)
                await ledger.submit(context.notify_add, 1)
                await ledger.submit(link.send, b"%d" % number)


def explore(kind: Kind, seeds: Iterable[int], counts: Counter[str]) -> dict[int, str]:
    """The digests of the runs. Raises the error of the first run that fails, with its seed in a note."""
    sessions: dict[int, Session] = {}

    def session_of(run: Any) -> Session:
        if run.seed not in sessions:
            sessions.clear()
            sessions[run.seed] = Session(run.seed, kind, counts)
        return sessions[run.seed]

    async def host(run: Any) -> None:
        session = session_of(run)
        await session.side("host", session.host)

    async def dpu(run: Any) -> None:
        session = session_of(run)
        await session.side("dpu", session.dpu)

    done = pydoca.sim.explore([host, dpu], seeds, timing=TIMING, faults=kind.plan)
    counts["runs"] += done.runs
    counts["virtual_us"] += round(done.virtual_seconds * 1e6)
    return done.digests
