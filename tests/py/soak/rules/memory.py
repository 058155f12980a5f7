"""Memory and its maps: life cycles in any order, views that outlive them, exports and imports in one process."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

import pydoca
from pydoca import Status
from soak.rules.devices import Devices
from soak.world import NUMBER, step

SIZES = (1, 8, 64, 1000, 4096, 40_000, 100_000, 700_000)
ACCESSES = ("local_read_only", "local_read_write", "local_read_write|pci_read_write", "local_read_write|pci_read_only")
BLOB_ERRORS = {
    Status.INVALID_VALUE,
    Status.UNSUPPORTED_VERSION,
    Status.NOT_PERMITTED,
    Status.NOT_CONNECTED,
    Status.BAD_STATE,
    Status.NOT_SUPPORTED,
    Status.NOT_FOUND,
}


class Source:
    """Memory whose content never changes, and its map."""

    def __init__(self, mmap: Any, content: bytes, device: Any) -> None:
        self.mmap = mmap
        self.content = content
        self.device = device
        self.is_started = True
        self.is_closed = False
        self.exporter: Source | None = None  # the source of imported memory
        self.withdrawn = 0  # how often an export of it ended
        self.seen = 0  # its exporter's number when imported memory was imported

    @property
    def is_readable(self) -> bool:
        """Tells whether a task that reads it now succeeds."""
        owner = self.exporter or self
        return owner.withdrawn == self.seen if self.exporter else self.is_started


class Memories(Devices):
    """Sources that tasks read, each in one map."""

    def set_up(self) -> None:
        super().set_up()
        self.makers["source"] = lambda number: self.add_source(
            SIZES[number % len(SIZES)], number % 3, self.device(number)
        )

    def content(self, size: int) -> bytes:
        return self.random.randbytes(size)

    def memory_of(self, kind: int, content: bytes) -> Any:
        """Memory of one of the kinds that a map takes, with that content."""
        if kind % 4 == 0:
            memory = pydoca.alloc(len(content))
            memory[:] = content
            return memory
        if kind % 4 == 1:
            return bytearray(content)
        return np.frombuffer(content, dtype=np.uint8).copy() if kind % 4 == 2 else content

    @step(size=st.sampled_from(SIZES), kind=NUMBER, device=NUMBER, access=st.sampled_from(ACCESSES))
    def map_memory(self, size: int, kind: int, device: int, access: str) -> None:
        if kind % 4 == 3 and "write" in access:
            self.refused((pydoca.InvalidValueError,), lambda: self.device(device).mmap(bytes(size), access=access))
        else:
            self.add_source(size, kind, self.device(device), access)

    def add_source(self, size: int, kind: int, device: Any, access: str = ACCESSES[2]) -> Source | None:
        content = self.content(size)
        mmap = self.attempt(set(), device.mmap, self.memory_of(kind, content), access=access)
        if mmap is None:
            return None
        assert bytes(mmap) == content
        return self.keep("source", Source(mmap, content, device))

    @step(number=NUMBER)
    def stop_map(self, number: int) -> None:
        source = self.pick("source", number)
        if source is None:
            return
        num_bufs = source.mmap.num_bufs
        self.attempt({Status.NOT_PERMITTED}, source.mmap.stop)
        stopped = not source.mmap.is_started
        assert stopped == (num_bufs == 0 or not source.is_started or source.is_closed)
        self.note_stop(source)

    def note_stop(self, source: Source) -> None:
        if not source.mmap.is_started and source.is_started:
            source.is_started = False
            source.withdrawn += 1

    @step(number=NUMBER)
    def start_map(self, number: int) -> None:
        source = self.pick("source", number)
        if source is None:
            return
        self.attempt(set() if self.can_start(source) else {Status.NOT_PERMITTED, Status.BAD_STATE}, source.mmap.start)
        source.is_started = source.mmap.is_started

    def can_start(self, source: Source) -> bool:
        return not (source.is_started or source.is_closed or source.exporter)

    @step(number=NUMBER)
    def close_map(self, number: int) -> None:
        source = self.pick("source", number)
        if source is None:
            return
        num_bufs = source.mmap.num_bufs
        self.attempt({Status.NOT_PERMITTED}, source.mmap.close)
        if num_bufs == 0:
            source.is_closed = True
        self.note_stop(source)

    @step(number=NUMBER, other=NUMBER)
    def import_map(self, number: int, other: int) -> None:
        """The other side of the link imports the memory; host and dpu are one process here."""
        source = self.pick("source", number)
        if source is None:
            return
        blob = self.attempt({Status.NOT_PERMITTED, Status.NOT_SUPPORTED, Status.BAD_STATE}, source.mmap.export_pci)
        if blob is None:
            return
        assert len(blob) < 512
        importer = self.device(other)
        mmap = self.attempt(BLOB_ERRORS, importer.import_mmap, blob)
        if importer.side != source.device.side and not self.is_removed:
            assert mmap is not None or source.device is self.host, f"{importer} did not import of {source.device}"
        if mmap is not None:
            imported = Source(mmap, source.content, importer)
            imported.exporter, imported.seen = source, source.withdrawn
            self.keep("source", imported)

    @step(number=NUMBER, bit=st.integers(0, 4095), length=st.integers(0, 511))
    def import_damaged(self, number: int, bit: int, length: int) -> None:
        source = self.pick("source", number)
        if source is None:
            return
        blob = self.attempt({Status.NOT_PERMITTED, Status.NOT_SUPPORTED, Status.BAD_STATE}, source.mmap.export_pci)
        if blob is None:
            return
        damaged = bytearray(blob)
        damaged[bit // 8 % len(blob)] ^= 1 << bit % 8
        for bad in (bytes(damaged), blob[: length % len(blob)], blob + b"\0"):
            self.refused((pydoca.DocaError,), (self.dpu if number % 2 else self.host).import_mmap, bad)

    @step(number=NUMBER)
    def look_at_memory(self, number: int) -> None:
        source = self.pick("source", number)
        if source is None or source.exporter or source.is_closed:
            return
        self.keep("view", (memoryview(source.mmap), source.content))

    @step(number=NUMBER, drop=st.booleans())
    def read_view(self, number: int, drop: bool) -> None:
        """Views outlive their maps."""
        if held := self.pick("view", number):
            view, content = held
            assert bytes(view) == content
            if drop:
                self.forget("view", held)

    @step(number=NUMBER)
    def drop_source(self, number: int) -> None:
        if source := self.pick("source", number):
            self.forget("source", source)

    @step(kind=NUMBER)
    def map_badly(self, kind: int) -> None:
        bad = (b"", bytearray(), np.zeros((4, 4))[:, 1], "text", None, 5, memoryview(bytes(8))[::2])
        self.refused((pydoca.DocaError, TypeError, BufferError, ValueError), self.dpu.mmap, bad[kind % len(bad)])
        sizes = (0, -1, 1 << 63, 1 << 64, "1", None, 1.5)
        self.refused((pydoca.DocaError, TypeError, OverflowError), pydoca.alloc, sizes[kind % len(sizes)])
