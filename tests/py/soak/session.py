"""The work of two sides with one another over one link, until one of them leaves or dies."""

import asyncio
import contextlib
import os
import time
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pydoca
from soak.lent import PATTERN, SLOT, SLOTS, Borrowed, Lent

BOUND = 60.0  # seconds; a lost peer is noticed within one, but the machine may be busy

# The results of an operation whose peer is gone or leaves.
GONE = (
    pydoca.ConnectionResetError,
    pydoca.ConnectionAbortedError,
    pydoca.NotConnectedError,
    pydoca.ShutdownError,
    pydoca.BadStateError,
    pydoca.IoFailedError,
)
MAX_MESSAGE = 4000
HEADER = 9  # bytes: kind, number, checksum
BLOB, DATA, FILLED, TAKEN, ADDED, BYE = range(6)  # kinds of messages


class Finding(AssertionError):
    """A fault that the driver has found."""


def require(condition: object, what: str) -> None:
    if not condition:
        raise Finding(what)


class Session:
    def __init__(self, peer: Any, link: Any) -> None:
        self.peer = peer
        self.link = link
        self.random = peer.random
        self.counts: Counter[str] = Counter()
        self.num_sent = 0
        self.num_received = 0
        self.is_over = False
        self.taken = [asyncio.Event() for _ in range(SLOTS)]
        self.sending = asyncio.Lock()

    async def run(self) -> None:
        """Runs until the link ends; every await of it must then end as well."""
        try:
            async with Lent(self.peer) as lent:
                self.lent = lent
                await self.exchange_and_work(lent)
        except GONE as error:
            await self.require_end_of_link(error)

    async def exchange_and_work(self, lent: Lent) -> None:
        blobs = [str(os.getpid()).encode(), *lent.blobs()]
        for blob in blobs:
            await self.send(BLOB, blob)
        received = [await self.receive() for _ in blobs]
        require(all(kind == BLOB for kind, _ in received), "another message came than a blob")
        pid, *theirs = (payload for _, payload in received)
        self.borrowed = Borrowed(self.peer, lent, theirs)
        print(f'{{"linked": {int(pid)}}}', flush=True)
        await self.work()
        self.borrowed.close()
        lent.require_balance()

    async def work(self) -> None:
        works = [self.send_messages, self.copy_from, self.copy_to, self.add_to_event, self.follow_event]
        works += [self.use_rdma, self.take_rdma_messages, self.give_up_copy, self.leave_child]
        jobs = [asyncio.create_task(self.until_over(work), name=work.__name__) for work in works]
        listening = asyncio.create_task(self.listen(), name="listen")
        leaving = asyncio.create_task(self.leave_in_order(), name="leave")
        try:
            await asyncio.wait([listening, *jobs], return_when=asyncio.FIRST_COMPLETED)
            await self.require_ends([listening])  # the link is over, whichever was first
            self.finish()
            await self.require_ends(jobs)
        finally:
            for job in (listening, leaving, *jobs):
                job.cancel()
            await asyncio.gather(listening, leaving, *jobs, return_exceptions=True)

    def finish(self) -> None:
        self.is_over = True
        self.link.close()
        self.borrowed.disconnect()
        self.lent.end_waits()
        for taken in self.taken:
            taken.set()

    async def require_ends(self, jobs: list[asyncio.Task[None]]) -> None:
        _, pending = await asyncio.wait(jobs, timeout=BOUND)
        require(not pending, f"{BOUND:g} s after the peer has gone, these do not end: {pending}")
        for job in jobs:
            job.result()

    async def require_end_of_link(self, error: Exception) -> None:
        """Checks that the peer is gone, after an operation failed with that reason."""
        try:
            async with asyncio.timeout(BOUND):
                while True:
                    kind, _ = await self.receive()
                    if kind == BYE:
                        return
        except GONE:
            return
        except TimeoutError:
            raise Finding(f"the peer is there, but {error!r}") from error

    async def leave_in_order(self) -> None:
        await self.peer.leaving.wait()
        with contextlib.suppress(*GONE):
            await self.send(BYE)
        self.is_over = True
        self.link.close()

    # ---- messages

    async def send(self, kind: int, payload: bytes = b"") -> None:
        """Sends one message at a time, so that the numbers are in order."""
        async with self.sending:
            head = bytes([kind]) + self.num_sent.to_bytes(4, "big") + zlib.crc32(payload).to_bytes(4, "big")
            self.num_sent += 1
            await self.link.send(head + payload)
        self.counts["messages"] += 1
        self.counts["bytes"] += len(payload)

    async def next_message(self) -> bytes:
        """Receives a message. Some waits are given up first, which must not take a message."""
        while self.random.random() < 0.2:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.random.random() * 0.001):
                    return await self.link.recv()
        return await self.link.recv()

    async def receive(self) -> tuple[int, bytes]:
        message = await self.next_message()
        kind, number, payload = message[0], int.from_bytes(message[1:5], "big"), message[HEADER:]
        require(number == self.num_received, f"message {number} came instead of {self.num_received}")
        require(zlib.crc32(payload) == int.from_bytes(message[5:HEADER], "big"), f"message {number} is damaged")
        self.num_received += 1
        return kind, payload

    async def listen(self) -> None:
        try:
            while True:
                kind, payload = await self.receive()
                if kind == BYE:
                    return
                await self.answer(kind, payload)
        except GONE:
            pass

    async def answer(self, kind: int, payload: bytes) -> None:
        if kind == FILLED:
            slot, crc = payload[0], int.from_bytes(payload[1:5], "big")
            require(zlib.crc32(self.lent.slot(slot)) == crc, f"slot {slot} has other bytes than the peer wrote")
            await self.send(TAKEN, bytes([slot]))
        elif kind == TAKEN:
            self.taken[payload[0]].set()
        elif kind == ADDED:
            value, told = self.lent.added(), int.from_bytes(payload, "big")
            require(value >= told, f"the event is {value}, but the peer has added {told}")

    # ---- work that is repeated

    async def until_over(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            while not self.is_over:
                await work()
                self.counts["operations"] += 1
                await asyncio.sleep(0 if self.random.random() < 0.9 else self.random.random() * 0.01)
        except GONE as error:
            if not self.is_over:
                await self.wait_for_end(error)

    async def wait_for_end(self, error: Exception) -> None:
        """Ends the wait for work when the link ends; the listener also learns of the end."""
        end = asyncio.get_running_loop().time() + BOUND
        while self.link.is_connected and not self.is_over:
            require(asyncio.get_running_loop().time() < end, f"the peer is there, but {error!r}")
            await asyncio.sleep(0.01)

    async def send_messages(self) -> None:
        await self.send(DATA, self.random.randbytes(self.random.choice((0, 1, 100, MAX_MESSAGE))))

    async def copy_from(self) -> None:
        """Reads memory that the peer lends: it has a known content."""
        begin = self.random.randrange(len(PATTERN))
        size = self.random.randrange(1, min(len(PATTERN) - begin, self.random.choice((64, 4096, 1 << 20))) + 1)
        content = await self.borrowed.read(begin, size, by_dma=self.random.random() < 0.7)
        require(content == PATTERN[begin : begin + size], f"a copy of {size} bytes at {begin} is wrong")

    async def copy_to(self) -> None:
        """Fills a slot by DMA or RDMA; the peer checks it."""
        slot = self.random.randrange(SLOTS)
        content = self.random.randbytes(SLOT)
        self.taken[slot].clear()
        await self.borrowed.write(slot, content, by_dma=self.random.random() < 0.5)
        await self.send(FILLED, bytes([slot]) + zlib.crc32(content).to_bytes(4, "big"))
        if not self.is_over:
            await self.taken[slot].wait()

    async def add_to_event(self) -> None:
        value = self.random.randrange(5)
        self.borrowed.add(value)
        await self.send(ADDED, self.borrowed.total.to_bytes(8, "big"))

    async def follow_event(self) -> None:
        await self.lent.next_value()

    async def give_up_copy(self) -> None:
        """Gives up a copy at any point; its memory belongs to this side again afterwards."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.random.random() * 0.002):
                await self.borrowed.read(0, len(PATTERN), by_dma=self.random.random() < 0.7)
        await asyncio.sleep(self.random.random() * 0.1)

    async def leave_child(self) -> None:
        """Forks a child that has all descriptors for some time, even after the death of this process."""
        await asyncio.sleep(0.1)
        if self.random.random() < 0.03 and os.fork() == 0:
            os.close(1)  # the driver reads this pipe to its end
            time.sleep(3)
            os._exit(0)

    async def use_rdma(self) -> None:
        await self.borrowed.use_rdma(self.random)

    async def take_rdma_messages(self) -> None:
        await self.lent.take_message()
