"""The objects that each side lends the other (memory, an event, an RDMA context), and the other's objects in use."""

import contextlib
import random
from collections.abc import Callable
from typing import Any, Self

import pydoca

PATTERN = random.Random(0).randbytes(2 << 20)  # every process has the same bytes
SLOTS = 8  # the other side fills these
SLOT = 30_000
WORD = 8  # bytes of memory before the slots, for atomics
RECEIVES = 16
MESSAGE = 200  # bytes of an RDMA message
PERMISSIONS = "rdma_read|rdma_write|rdma_atomic"


class WrongDataError(AssertionError):
    """The data is not what the peer sent."""


class Lent:
    """The objects that this side lends. Their end withdraws all of them."""

    def __init__(self, peer: Any) -> None:
        self.peer = peer
        self.device = peer.device
        self.inventory = pydoca.BufInventory(256)
        self.num_messages = 0
        self.seen = 0

    async def __aenter__(self) -> Self:
        self.stack = contextlib.AsyncExitStack()
        enter = self.stack.enter_async_context
        device, pe = self.device, self.peer.pe
        memory = pydoca.alloc(len(PATTERN))
        memory[:] = PATTERN
        # The memory is the engine's own or foreign: the two take different ways.
        self.is_foreign = self.peer.random.random() < 0.5
        space = (bytearray if self.is_foreign else pydoca.alloc)(WORD + SLOT * SLOTS)
        access = f"local_read_write|pci_read_write|{PERMISSIONS}"
        self.stack.enter_context(self.inventory)
        self.pattern = self.stack.enter_context(device.mmap(memory, access="local_read_write|pci_read_only|rdma_read"))
        self.slots = self.stack.enter_context(device.mmap(space, access=access))
        self.view = memoryview(space).cast("B")
        self.event = pydoca.SyncEvent(device, publisher="remote_pci", subscriber="cpu")
        self.stack.callback(self.event.close)
        # An interrupt gives copies up; the device has their maps until the contexts below have stopped.
        self.borrowed = self.stack.enter_context(contextlib.ExitStack())
        self.waits = await enter(self.event.as_context(pe))
        self.dma = await enter(pydoca.Dma(pe, device, num_tasks=16))
        self.rdma = await enter(pydoca.Rdma(pe, device, permissions=PERMISSIONS, num_tasks=2 * RECEIVES))
        self.connection = self.rdma.export()
        self.post_receives()
        return self

    async def __aexit__(self, *error: Any) -> None:
        self.received.clear()
        self.view.release()
        await self.stack.aclose()
        self.require_balance()

    def post_receives(self) -> None:
        self.received = []
        for _ in range(RECEIVES):
            room = self.inventory.get_by_addr(self.device.mmap(bytearray(MESSAGE)))
            self.received.append((self.rdma.receive(room), room))

    def blobs(self) -> list[bytes]:
        """The DPU's memory is lent over the network only, as a DPU does not export over PCIe."""
        is_host = self.peer.side == "host"
        maps = (self.pattern, self.slots)
        over_pci = [mmap.export_pci() for mmap in maps] if is_host else [b"", b""]
        over_rdma = [mmap.export_rdma() for mmap in maps]
        kind = b"foreign" if self.is_foreign else b"own"
        return [self.event.export_to_remote_pci(), self.connection.details, kind, *over_rdma, *over_pci]

    def slot(self, number: int) -> memoryview:
        begin = WORD + number * SLOT
        return self.view[begin : begin + SLOT]

    def added(self) -> int:
        """The value of the event, which only the peer changes."""
        task = self.waits.get()
        return int(task.wait(60))

    async def next_value(self) -> None:
        """Waits until the event is above the last value: it never goes back."""
        value = await self.waits.wait_neq(self.seen)
        if value <= self.seen:
            raise WrongDataError(f"the event went from {self.seen} to {value}")
        self.seen = value

    def end_waits(self) -> None:
        self.waits.stop()

    async def take_message(self) -> None:
        """Takes the next message: messages come in order, into the receives in order."""
        task, room = self.received[0]
        size = await self.connection.while_connected(task)
        number = int.from_bytes(bytes(room[:4]), "big")
        if number != self.num_messages or bytes(room) != rdma_message(number) or size != len(room):
            raise WrongDataError(f"RDMA message {self.num_messages}: {number}, {size} bytes")
        self.num_messages += 1
        room.reset_data_len()
        self.received.append(self.received.pop(0))
        task.submit()

    def require_balance(self) -> None:
        for context in (self.waits, self.dma, self.rdma):
            stats = context.stats()
            ended = stats.completed + stats.failed + stats.cancelled
            if stats.submitted != ended + context.num_inflight_tasks:
                raise WrongDataError(f"{context!r}: {stats}")


def rdma_message(number: int) -> bytes:
    return number.to_bytes(4, "big") + random.Random(number).randbytes(MESSAGE - 4 - number % 100)


def answered(call: Callable[[bytes], Any], blob: bytes) -> Any:
    """Repeats an import until its owner answers. The owner may be stopped longer than one import waits."""
    for _ in range(9):
        with contextlib.suppress(pydoca.TimeOutError):
            return call(blob)
    return call(blob)


class Borrowed:
    """The objects that the other side lends."""

    def __init__(self, peer: Any, lent: Lent, blobs: list[bytes]) -> None:
        self.lent = lent
        self.device = peer.device
        self.total = 0  # the sum of additions to the event
        self.word = 0  # the sum of additions to the word
        self.num_messages = 0
        self.stack = lent.borrowed
        self.take(blobs)

    def take(self, blobs: list[bytes]) -> None:
        event, details, kind, *maps = blobs
        # The simulated device asks the owner to change foreign memory; a stopped process does not answer.
        self.has_atomics = kind == b"own"
        self.event = answered(self.device.import_sync_event, event)
        self.stack.callback(self.event.close)
        self.event.start()
        answered(self.lent.connection.connect, details)
        imported = [self.stack.enter_context(answered(self.device.import_mmap, blob)) for blob in maps if blob]
        self.rdma_pattern, self.rdma_slots = imported[:2]
        self.pci_pattern, self.pci_slots = imported[2:] or (None, None)

    def close(self) -> None:
        self.stack.close()

    def disconnect(self) -> None:
        self.lent.connection.disconnect()

    def room(self, size: int) -> Any:
        return self.lent.inventory.get_by_addr(self.device.mmap(bytearray(size)))

    def data(self, content: bytes) -> Any:
        return self.lent.inventory.get_by_data(self.device.mmap(content))

    async def read(self, begin: int, size: int, by_dma: bool) -> bytes:
        dst = self.room(size)
        if by_dma and self.pci_pattern:
            await self.lent.dma.memcpy(self.piece(self.pci_pattern, begin, size), dst)
        else:
            await self.lent.connection.read(self.piece(self.rdma_pattern, begin, size), dst)
        return bytes(dst)

    def piece(self, mmap: Any, begin: int, size: int) -> Any:
        return self.lent.inventory.get_by_data(mmap, mmap.addr + begin, size)

    async def write(self, slot: int, content: bytes, by_dma: bool) -> None:
        mmap = self.pci_slots if by_dma and self.pci_slots else self.rdma_slots
        dst = self.lent.inventory.get_by_addr(mmap, mmap.addr + WORD + slot * SLOT, SLOT)
        if mmap is self.pci_slots:
            await self.lent.dma.memcpy(self.data(content), dst)
        else:
            await self.lent.connection.write(self.data(content), dst)

    def add(self, value: int) -> None:
        before = self.event.update_add(value)
        if before != self.total:
            raise WrongDataError(f"the event was {before}, but {self.total} was added to it")
        self.total += value

    async def use_rdma(self, chance: random.Random) -> None:
        if chance.random() < 0.5 or not self.has_atomics:
            message = rdma_message(self.num_messages)
            self.num_messages += 1
            await self.lent.connection.send(self.data(message))
        else:
            await self.add_to_word(chance.randrange(1000))

    async def add_to_word(self, value: int) -> None:
        word = self.piece(self.rdma_slots, 0, WORD)
        before = await self.lent.connection.atomic_fetch_add(word, self.room(WORD), value)
        if before != self.word:
            raise WrongDataError(f"the word was {before}, but {self.word} was added to it")
        self.word += value
