"""A random walk over memory, copies, hashes and events of one device, compared with a model of every byte."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.patterns import Bytes, view
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused
from pydoca.qualify.bench.zones import require_equal

SIZE = 4096


class Walk:
    """Three maps, a Dma, a SyncEvent and, if the device has one, a Sha; and their expected content."""

    rng: random.Random
    device: pydoca.Device
    steps: int
    arrays: list[Bytes]
    maps: list[pydoca.Mmap]
    model: list[Bytes]
    inventory: pydoca.BufInventory
    bufs: Stand
    value: int
    dma: pydoca.Dma
    event: pydoca.SyncEvent | None
    sha: pydoca.Sha | None
    choices: list[Callable[[], None]]

    def __init__(self, stand: Stand, device: pydoca.Device, rng: random.Random) -> None:
        self.rng, self.device, self.steps = rng, device, 0
        memories = [stand.enter_context(pydoca.alloc(SIZE)) for _ in range(3)]
        self.arrays = [view(memory) for memory in memories]
        self.maps = [stand.enter_context(device.mmap(memory)) for memory in memories]
        self.model = [array.copy() for array in self.arrays]
        self.inventory, pe = stand.bufs(4), stand.engine()
        self.bufs = stand.enter_context(Stand())
        self.value = 0
        with duty("start the engines"):
            self.dma = stand.enter_context(pydoca.Dma(pe, device, num_tasks=2))
            self.event = stand.enter_context(pydoca.SyncEvent(device)) if device.info.supports("sync_event") else None
            self.sha = stand.enter_context(pydoca.Sha(pe, device, num_tasks=1)) if device.info.supports("sha") else None
        self.choices = [self.write, self.copy, self.copy, self.restart, self.remap, self.misuse, self.signal, self.hash]

    def step(self) -> None:
        """Makes one random step; then each byte of memory must be that of the model."""
        choice = self.rng.choice(self.choices)
        self.steps += 1
        with duty(f"step {self.steps}, {choice.__name__}"):
            choice()
        self.bufs.close()
        for number, (array, model) in enumerate(zip(self.arrays, self.model, strict=True)):
            require_equal(array, model, f"step {self.steps}, {choice.__name__}: memory {number}")

    def _place(self) -> tuple[int, int, int]:
        """A random map, offset and length."""
        begin = self.rng.randrange(SIZE)
        return self.rng.randrange(3), begin, self.rng.randint(1, SIZE - begin)

    def _source(self, number: int, begin: int, size: int) -> pydoca.Buf:
        mmap = self.maps[number]
        return self.bufs.keep(self.inventory.get_by_data(mmap, mmap.addr + begin, size))

    def write(self) -> None:
        """Writes random bytes, by the processor."""
        number, begin, size = self._place()
        data = view(self.rng.randbytes(size))
        self.arrays[number][begin : begin + size] = data
        self.model[number][begin : begin + size] = data

    def copy(self) -> None:
        """Copies between two random places."""
        (from_, begin, size), (to, place, room) = self._place(), self._place()
        size = min(size, room)
        if from_ == to and begin < place + size and place < begin + size:
            return  # the result of a copy between overlapping ranges is not defined
        dst = self.bufs.keep(self.inventory.get_by_addr(self.maps[to], self.maps[to].addr + place, size))
        task = self.dma.memcpy(self._source(from_, begin, size), dst)
        task.wait(timeout=waiting.PATIENCE)
        task.free()
        self.model[to][place : place + size] = self.model[from_][begin : begin + size]

    def restart(self) -> None:
        """Stops and starts the copy engine."""
        self.dma.stop()
        self.dma.start()

    def remap(self) -> None:
        """Stops a map, which then refuses a buf, and starts it."""
        mmap = self.maps[self.rng.randrange(3)]
        mmap.stop()
        with refused("a buf of a stopped map", pydoca.BadStateError):
            self.inventory.get_by_data(mmap)
        mmap.start()

    def misuse(self) -> None:
        """Makes two calls that must be refused."""
        mmap = self.maps[self.rng.randrange(3)]
        with refused("a buf beyond its map", pydoca.InvalidValueError):
            self.inventory.get_by_addr(mmap, mmap.addr + SIZE, self.rng.randint(1, SIZE))
        with refused("a second start", pydoca.BadStateError):
            self.dma.start()

    def signal(self) -> None:
        """Adds to the sync event."""
        if self.event is None:
            return
        amount = self.rng.getrandbits(64)
        before = self.event.update_add(amount)
        if before != self.value:
            raise DeviceFault(f"step {self.steps}: the event was {before:#x}; it must be {self.value:#x}")
        self.value = (self.value + amount) % 2**64
        self.event.wait_eq(self.value, timeout=waiting.PATIENCE)

    def hash(self) -> None:
        """A digest of random bytes, if the device has the engine."""
        if self.sha is None:
            return
        number, begin, size = self._place()
        to = self.rng.randrange(3)
        if to == number:
            return
        dst = self.bufs.keep(self.inventory.get_by_addr(self.maps[to], self.maps[to].addr, 32))
        task = self.sha.hash(self._source(number, begin, size), dst, "sha256")
        task.wait(timeout=waiting.PATIENCE)
        task.free()
        digest = hashlib.sha256(self.model[number][begin : begin + size].tobytes()).digest()
        self.model[to][:32] = view(digest)


def walk(device: pydoca.Device, rng: random.Random, until: Callable[[int], bool]) -> int:
    """Makes steps until until(steps) is true; returns how many."""
    with Stand() as stand:
        walker = Walk(stand, device, rng)
        while not until(walker.steps):
            walker.step()
        return walker.steps
