"""The SHA engine against hashlib: known answers, pieces of messages, throughput."""

from __future__ import annotations

import hashlib
import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.maps import chained
from pydoca.qualify.bench.patterns import noise, view
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish
from pydoca.qualify.bench.zones import Zoned

Algorithm = Literal["sha1", "sha256", "sha512"]
ALGORITHMS: dict[Algorithm, int] = {"sha1": 20, "sha256": 32, "sha512": 64}  # bytes of a digest

# Examples of FIPS 180: the message, and the beginning of its digest.
KNOWN: dict[tuple[Algorithm, bytes], str] = {
    ("sha1", b"abc"): "a9993e364706816aba3e25717850c26c9cd0d89d",
    ("sha256", b"abc"): "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    ("sha512", b"abc"): "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a",
}


def algorithms(device: pydoca.Device) -> list[Algorithm]:
    """The algorithms that the device computes."""
    return [name for name in ALGORITHMS if pydoca.Sha.is_algorithm_supported(device.info, name)]


_LINE = 64


class Hashes:
    """A running SHA engine, a source, and a guarded place for the digest."""

    source: Zoned
    digest: Zoned
    sha: pydoca.Sha

    def __init__(self, stand: Stand, device: pydoca.Device, capacity: int, origin: str = "pydoca.alloc") -> None:
        self.source = Zoned(stand, device, capacity + _LINE, origin=origin)
        self.digest = Zoned(stand, device, _LINE, origin=origin)
        self._inventory = stand.bufs(3)
        self._bufs = stand.enter_context(Stand())
        pe = stand.engine()
        with duty("start the SHA engine"):
            self.sha = stand.enter_context(pydoca.Sha(pe, device, num_tasks=1))

    def piece(self, begin: int, size: int) -> pydoca.Buf:
        """A buf with a part of the message."""
        return self._bufs.keep(self._inventory.get_by_data(self.source.mmap, self.source.address(begin), size))

    def place(self) -> pydoca.Buf:
        """A buf without data, for the digest."""
        return self._bufs.keep(self._inventory.get_by_addr(self.digest.mmap, self.digest.address(0), 64))

    def set(self, message: bytes, place: int = 0) -> None:
        """Writes the message into the source."""
        self.source.data(place, len(message))[:] = view(message)

    def require(self, algorithm: Algorithm, message: bytes, what: str, dst: pydoca.Buf) -> None:
        """Raises DeviceFault unless the digest of the message is in its place, and nothing else was written."""
        expected = hashlib.new(algorithm, message).digest()
        if damage := self.digest.damage(what, 0, view(expected)):
            raise DeviceFault(f"{damage} of the digest")
        if dst.data_len != len(expected):
            raise DeviceFault(f"{what}: the device says that the digest has {dst.data_len} bytes")
        self._bufs.close()

    def check(self, algorithm: Algorithm, message: bytes, what: str, place: int = 0) -> None:
        """Hashes the message at once; its place in the source is 0 to 63."""
        self.set(message, place)
        self.digest.guard(0, ALGORITHMS[algorithm])
        dst = self.place()
        with duty(what):
            task = self.sha.hash(self.piece(place, len(message)), dst, algorithm)
        finish(task, what)
        task.free()
        self.require(algorithm, message, what, dst)

    def check_pieces(self, algorithm: Algorithm, message: bytes, ends: list[int], what: str) -> None:
        """Hashes the message piece by piece; ends has the end of each piece, and the last one is the message's end."""
        self.set(message)
        self.digest.guard(0, ALGORITHMS[algorithm])
        dst = self.place()
        with duty(what):
            task = self.sha.partial_hash(self.piece(0, ends[0]), dst, algorithm, submit=False)
            task.submit()
            task.wait(timeout=waiting.PATIENCE)
            for begin, end in itertools.pairwise(ends):
                with self._inventory.get_by_data(self.source.mmap, self.source.address(begin), end - begin) as piece:
                    task.src = piece
                    if end == len(message):
                        task.set_is_final_buf()
                    task.submit()
                    task.wait(timeout=waiting.PATIENCE)
                    task.src = None
            task.free()
        self.require(algorithm, message, what, dst)


def known_answers(device: pydoca.Device, lengths: Iterable[int], seed: int = 0, origin: str = "pydoca.alloc") -> int:
    """Hashes the vectors of FIPS 180, and two messages of each length and algorithm; returns how many lengths it had.

    One message begins at a multiple of 64, and the other one anywhere.
    """
    lengths = [length for length in lengths if length > 0]
    with Stand() as stand:
        hashes, rng = Hashes(stand, device, max([*lengths, 64]), origin), random.Random(seed)
        supported = algorithms(device)
        for (algorithm, message), digest in KNOWN.items():
            assert hashlib.new(algorithm, message).hexdigest().startswith(digest), "this machine's hashlib is wrong"
            if algorithm in supported:
                hashes.check(algorithm, message, f"{algorithm} of {message!r}")
        data = noise(max([*lengths, 64]), seed).tobytes()
        for algorithm in supported:
            for length in lengths:
                for place in (0, rng.randrange(1, _LINE)):
                    hashes.check(algorithm, data[:length], f"{algorithm} of {length} bytes at {place}", place)
        return (len(lengths) + 1) * len(supported)


def pieces(device: pydoca.Device, messages: int, rng: random.Random, longest: int = 4096) -> int:
    """Hashes messages in pieces of random sizes; returns how many pieces there were."""
    count = 0
    with Stand() as stand:
        hashes = Hashes(stand, device, longest)
        for number in range(messages):
            algorithm = rng.choice(algorithms(device))
            block = pydoca.Sha.partial_hash_block_size(device.info, algorithm)
            message = rng.randbytes(rng.randint(block + 1, longest))
            blocks = (len(message) - 1) // block
            inner = sorted({block * rng.randint(1, blocks) for _ in range(rng.randint(1, 4))})
            hashes.check_pieces(algorithm, message, [*inner, len(message)], f"message {number}, {algorithm} in pieces")
            count += len(inner) + 1
    return count


def lists(device: pydoca.Device, messages: int, rng: random.Random, longest: int = 4096) -> int:
    """Hashes messages whose pieces, of any size, lie anywhere in a list of bufs; returns how many pieces there were."""
    most, count = min(16, pydoca.Sha.max_list_buf_num_elem(device.info)), 0
    with Stand() as stand:
        inventory, pe, source = stand.bufs(most + 1), stand.engine(), Zoned(stand, device, 2 * longest)
        digest = Zoned(stand, device, _LINE)
        with duty("start the SHA engine"):
            sha = stand.enter_context(pydoca.Sha(pe, device, num_tasks=1))
        for number in range(messages):
            algorithm, pieces = rng.choice(algorithms(device)), rng.randint(1, most)
            source.data(0, 2 * longest)[:] = noise(2 * longest, rng.getrandbits(32))
            digest.guard(0, ALGORITHMS[algorithm])
            sizes = [rng.randint(1, longest // pieces) for _ in range(pieces)]
            places = [rng.randrange(2 * longest - size) for size in sizes]
            what = f"message {number}, {algorithm} of a list of {pieces}"
            with Stand() as bufs, duty(what):
                data = [
                    inventory.get_by_data(source.mmap, source.address(at), n)
                    for at, n in zip(places, sizes, strict=True)
                ]
                dst = bufs.keep(inventory.get_by_addr(digest.mmap, digest.address(0), _LINE))
                task = sha.hash(bufs.keep(chained(data)), dst, algorithm)
                task.wait(timeout=waiting.PATIENCE)
                task.free()
            text = b"".join(source.data(at, n).tobytes() for at, n in zip(places, sizes, strict=True))
            if damage := digest.damage(what, 0, view(hashlib.new(algorithm, text).digest())):
                raise DeviceFault(f"{damage} of a digest")
            count += pieces
    return count


def interleaved(device: pydoca.Device, rounds: int, rng: random.Random, messages: int = 3) -> int:
    """Hashes messages whose pieces take turns in one engine; each digest is hashlib's. Returns how many there were."""
    with Stand() as stand:
        pe, inventory = stand.engine(), stand.bufs(2 * messages)
        sources = [Zoned(stand, device, 4096) for _ in range(messages)]
        digests = [Zoned(stand, device, _LINE) for _ in range(messages)]
        with duty("start the SHA engine"):
            sha = stand.enter_context(pydoca.Sha(pe, device, num_tasks=messages))
        for number in range(rounds):
            algorithm = rng.choice(algorithms(device))
            block = pydoca.Sha.partial_hash_block_size(device.info, algorithm)
            texts = [rng.randbytes(3 * block + rng.randint(1, block)) for _ in range(messages)]
            what = f"round {number} of {messages} messages whose pieces take turns, {algorithm}"
            with Stand() as bufs:
                _take_turns(sha, inventory, bufs, list(zip(texts, sources, digests, strict=True)), algorithm, what)
            for text, digest in zip(texts, digests, strict=True):
                if damage := digest.damage(what, 0, view(hashlib.new(algorithm, text).digest())):
                    raise DeviceFault(f"{damage} of a digest")
    return rounds * messages


def _take_turns(
    sha: pydoca.Sha,
    inventory: pydoca.BufInventory,
    bufs: Stand,
    messages: list[tuple[bytes, Zoned, Zoned]],
    algorithm: Algorithm,
    what: str,
) -> None:
    """Hashes four pieces of each message, one of each at a time."""
    block, tasks = pydoca.Sha.partial_hash_block_size(sha.device.info, algorithm), []
    for text, source, digest in messages:
        source.data(0, len(text))[:] = view(text)
        digest.guard(0, ALGORITHMS[algorithm])
        dst = bufs.keep(inventory.get_by_addr(digest.mmap, digest.address(0), _LINE))
        tasks.append(sha.partial_hash(None, dst, algorithm, submit=False))
        bufs.callback(tasks[-1].free)
    for piece in range(4):
        for task, (text, source, _) in zip(tasks, messages, strict=True):
            begin = piece * block
            size = block if piece < 3 else len(text) - begin
            with duty(what), inventory.get_by_data(source.mmap, source.address(begin), size) as src:
                task.src = src
                if piece == 3:
                    task.set_is_final_buf()
                task.submit()
                task.wait(timeout=waiting.PATIENCE)
                task.src = None


def bandwidth(device: pydoca.Device, algorithm: Algorithm, size: int, until: Callable[[], bool]) -> Iterator[float]:
    """GB/s of one message after the other; each digest is compared with hashlib's."""
    with Stand() as stand:
        hashes = Hashes(stand, device, size)
        message = noise(size, 1).tobytes()
        hashes.set(message)
        expected = hashlib.new(algorithm, message).digest()
        dst, src = hashes.place(), hashes.piece(0, size)
        what = f"{algorithm} of {size} bytes"
        with duty(what):
            task = hashes.sha.hash(src, dst, algorithm, submit=False)
        while not until():
            dst.reset_data_len()
            hashes.digest.guard(0, len(expected))
            with duty(what):
                begin = time.perf_counter_ns()
                task.submit()
                task.wait(waiting.PATIENCE)
                taken = time.perf_counter_ns() - begin
            if hashes.digest.data(0, len(expected)).tobytes() != expected:
                raise DeviceFault(f"{what}: the digest differs from hashlib's")
            yield size / taken
        task.free()
