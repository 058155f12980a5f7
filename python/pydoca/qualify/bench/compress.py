"""The compression engine against zlib: streams of every kind of block, lists, checksums, streams that are damaged."""

from __future__ import annotations

import random
import time
import zlib
from collections.abc import Callable, Iterator

import numpy as np

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.maps import REFUSALS, chained
from pydoca.qualify.bench.patterns import noise, view
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused, require_value, until_true
from pydoca.qualify.bench.zones import Zoned

_LINE = 64
# What zlib makes of the same data: stored blocks, blocks with fixed codes, and blocks with codes of their own.
_PACKERS: dict[str, tuple[int, int]] = {
    "stored": (0, zlib.Z_DEFAULT_STRATEGY),
    "fixed codes": (6, zlib.Z_FIXED),
    "own codes": (9, zlib.Z_DEFAULT_STRATEGY),
    "literals alone": (6, zlib.Z_HUFFMAN_ONLY),
    "runs": (1, zlib.Z_RLE),
}


def deflated(plain: bytes, kind: str, flushes: int = 0) -> bytes:
    """A DEFLATE stream (RFC 1951) of one kind of blocks; each flush ends a block in between.

    kind: "stored", "fixed codes", "own codes", "literals alone" or "runs".
    """
    level, strategy = _PACKERS[kind]
    packer = zlib.compressobj(level, wbits=-15, strategy=strategy)
    step = len(plain) // (flushes + 1) + 1
    pieces = [
        packer.compress(plain[at : at + step]) + packer.flush(zlib.Z_FULL_FLUSH) for at in range(0, len(plain), step)
    ]
    return b"".join(pieces) + packer.flush()


def plain_data(rng: random.Random, length: int) -> bytes:
    """Noise, words that repeat, or a row of few values."""
    kind = rng.randrange(3)
    if kind == 0:
        return rng.randbytes(length)
    if kind == 1:
        words = [rng.randbytes(rng.randint(1, 300)) for _ in range(8)]
        return b"".join(rng.choices(words, k=length))[:length]
    return bytes(rng.choices(b"abcd", k=length))


class Streams:
    """A running compression engine, a source for streams, and a guarded place for plain data."""

    def __init__(self, stand: Stand, device: pydoca.Device, longest: int) -> None:
        self.most: int = min(8, pydoca.Compress.max_decompress_deflate_buf_list_len(device.info))
        self.source: Zoned = Zoned(stand, device, 2 * longest + 4096)
        self.target: Zoned = Zoned(stand, device, longest + _LINE)
        self._inventory = stand.bufs(2 * self.most)
        self.pe: pydoca.ProgressEngine = stand.engine()
        with duty("start the compression engine"):
            self.compress: pydoca.Compress = stand.enter_context(pydoca.Compress(self.pe, device, num_tasks=1))

    def pieces(self, zoned: Zoned, ends: list[int], *, data: bool) -> pydoca.Buf:
        """A list of bufs, one behind the other, which end at these places."""
        get = self._inventory.get_by_data if data else self._inventory.get_by_addr
        begins = [0, *ends[:-1]]
        bufs = [get(zoned.mmap, zoned.address(begin), end - begin) for begin, end in zip(begins, ends, strict=True)]
        return chained(bufs)

    def task(self, stream: bytes, room: int, bufs: Stand, rng: random.Random) -> pydoca.CompressDecompressDeflateTask:
        """The task that expands the stream, from and to lists of any shape; the room is guarded."""
        self.source.data(0, len(stream))[:] = view(stream)
        self.target.guard(0, room)
        src = bufs.keep(self.pieces(self.source, self._ends(len(stream), rng), data=True))
        dst = bufs.keep(self.pieces(self.target, self._ends(room, rng), data=False))
        task = self.compress.decompress_deflate(src, dst, submit=False)
        bufs.callback(task.free)
        return task

    def _ends(self, size: int, rng: random.Random) -> list[int]:
        inner = sorted({rng.randrange(1, size) for _ in range(rng.randrange(self.most))}) if size > 1 else []
        return [*inner, size]

    def check(self, plain: bytes, stream: bytes, rng: random.Random, what: str) -> None:
        """Expands the stream, and raises DeviceFault unless data, length and both checksums are zlib's."""
        with Stand() as bufs:
            with duty(what):
                task = self.task(stream, len(plain), bufs, rng)
                task.submit()
                task.wait(timeout=waiting.PATIENCE)
            assert task.dst is not None
            require_value(sum(buf.data_len for buf in task.dst), len(plain), f"{what}: the length of the plain data")
            require_value(task.crc_cs, zlib.crc32(plain), f"{what}: the CRC-32")
            require_value(task.adler_cs, zlib.adler32(plain), f"{what}: the Adler-32")
            if damage := self.target.damage(what, 0, view(plain)):
                raise DeviceFault(f"{damage} of the plain data")

    def refuse(self, stream: bytes, room: int, rng: random.Random, what: str) -> None:
        """The stream fails, with no length; then the context starts again."""
        with Stand() as bufs:
            task = self.task(stream, room, bufs, rng)
            with refused(what, *REFUSALS):
                task.submit()
                task.wait(timeout=waiting.PATIENCE)
            assert task.dst is not None
            require_value(sum(buf.data_len for buf in task.dst), 0, f"{what}: the length after a failure")
        until_true(self.pe, lambda: self.compress.state is pydoca.ContextState.IDLE, f"{what}: the end of its context")
        with duty(f"{what}: a start after it"):
            self.compress.start()


def streams(device: pydoca.Device, count: int, rng: random.Random, longest: int = 20_000) -> int:
    """Expands so many streams of each kind of block; returns how many there were."""
    with Stand() as stand:
        bench = Streams(stand, device, longest)
        for number in waiting.paced(count):
            for kind in _PACKERS:
                plain = plain_data(rng, rng.choice((1, rng.randint(1, 300), rng.randint(1, longest))))
                stream = deflated(plain, kind, rng.randrange(4)) + rng.choice((b"", b"what follows is ignored"))
                bench.check(plain, stream, rng, f"stream {number} of {len(plain)} bytes, {kind}")
    return count * len(_PACKERS)


def large(device: pydoca.Device, size: int, rng: random.Random) -> int:
    """Expands one stream of each kind to so many bytes; returns how many there were."""
    with Stand() as stand:
        bench = Streams(stand, device, size)
        for kind in _PACKERS:
            plain = (plain_data(rng, 1000) * (size // 1000 + 1))[:size]
            bench.check(plain, deflated(plain, kind), rng, f"a stream of {size} bytes, {kind}")
    return len(_PACKERS)


def damaged(device: pydoca.Device, rounds: int, rng: random.Random) -> int:
    """Streams that are cut, have no such block, or more data than the room: none succeeds; returns how many."""
    with Stand() as stand:
        bench = Streams(stand, device, 4096)
        for number in waiting.paced(rounds):
            for kind in _PACKERS:
                plain = plain_data(rng, rng.randint(200, 4096))
                stream = deflated(plain, kind)
                what = f"round {number}, {kind}"
                bench.refuse(
                    stream[: rng.randrange(1, len(stream) - 4)], len(plain), rng, f"{what}: a stream that is cut"
                )
                bench.refuse(stream, len(plain) - 1, rng, f"{what}: a place that is too short")
                bench.refuse(b"\x07" + stream, len(plain), rng, f"{what}: a block of the type that does not exist")
                bench.check(plain, stream, rng, f"{what}: a stream after others that were refused")
    return 3 * rounds * len(_PACKERS)


def bandwidth(device: pydoca.Device, size: int, until: Callable[[], bool]) -> Iterator[float]:
    """GB/s of plain data, one stream after the other; each is compared with zlib's."""
    plain = np.repeat(noise(size // 4, 1), 4).tobytes()
    stream = deflated(plain, "own codes")
    with Stand() as stand:
        bench = Streams(stand, device, len(plain))
        bench.source.data(0, len(stream))[:] = view(stream)
        what, bufs = f"a stream of {len(plain)} bytes", stand.enter_context(Stand())
        src = bufs.keep(bench.pieces(bench.source, [len(stream)], data=True))
        dst = bufs.keep(bench.pieces(bench.target, [len(plain)], data=False))
        with duty(what):
            task = bench.compress.decompress_deflate(src, dst, submit=False)
            bufs.callback(task.free)
        while not until():
            dst.reset_data_len()
            with duty(what):
                begin = time.perf_counter_ns()
                task.submit()
                task.wait(waiting.PATIENCE)
                taken = time.perf_counter_ns() - begin
            if bench.target.data(0, len(plain)).tobytes() != plain:
                raise DeviceFault(f"{what}: the plain data differ from zlib's")
            yield len(plain) / taken
