"""Messages in pieces that are given up, properties of SHA tasks, and one task with each algorithm in turn."""

from __future__ import annotations

import hashlib

import pydoca
from pydoca.qualify.bench import sha, waiting
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.patterns import noise, view
from pydoca.qualify.bench.waiting import Stand, duty, finish
from pydoca.qualify.bench.zones import require_equal


class _Engine:
    """A running SHA engine, memory for messages, and a place for digests."""

    def __init__(self, stand: Stand, device: pydoca.Device, size: int) -> None:
        pe, self.inventory = stand.engine(), stand.bufs(2)
        self.memory, digest = pydoca.alloc(size), pydoca.alloc(64)
        self.text, place = (stand.enter_context(device.mmap(each)) for each in (self.memory, digest))
        with duty("start the SHA engine"):
            self.sha = stand.enter_context(pydoca.Sha(pe, device, num_tasks=1))
        self.digest, self.dst = view(digest), stand.keep(self.inventory.get_by_addr(place))

    def require(self, algorithm: sha.Algorithm, message: bytes, what: str) -> None:
        """Checks that the digest is hashlib's."""
        expected = hashlib.new(algorithm, message).digest()
        require_equal(self.digest[: len(expected)], view(expected), what)

    def piece(self, task: pydoca.ShaPartialHashTask, begin: int, size: int) -> None:
        """Hashes the next piece of a message."""
        with self.inventory.get_by_data(self.text, self.text.addr + begin, size) as src:
            task.src = src
            task.submit()
            task.wait(timeout=waiting.PATIENCE)
            task.src = None


def resets(device: pydoca.Device, rounds: int) -> int:
    """A message is given up after its first pieces, and another one takes its task; returns how many."""
    with Stand() as stand:
        engine, supported = _Engine(stand, device, 4096), sha.algorithms(device)
        task = engine.sha.partial_hash(None, engine.dst, supported[0], submit=False)
        stand.callback(task.free)
        for number in range(rounds):
            algorithm = supported[number % len(supported)]
            block = pydoca.Sha.partial_hash_block_size(device.info, algorithm)
            view(engine.memory)[:] = noise(4096, number)
            engine.dst.reset_data_len()
            what = f"message {number} ({algorithm}) behind one that was given up"
            with duty(what):
                task.algorithm = algorithm
                for begin in [0] * (1 + number % 3):
                    engine.piece(task, begin, block)
                task.reset()
                told: dict[str, object] = {"final": task.is_final, "result": task.has_result}
                require_told(what, told, {"final": False, "result": False})
                engine.piece(task, 1024, block)
                task.set_is_final_buf()
                engine.piece(task, 1024 + block, 77)
            told = {"final": task.is_final, "result": task.has_result, "algorithm": task.algorithm}
            require_told(what, told, {"final": True, "result": True, "algorithm": algorithm})
            engine.require(algorithm, view(engine.memory)[1024 : 1024 + block + 77].tobytes(), what)
            task.reset()
    return rounds


def algorithms_in_turn(device: pydoca.Device, rounds: int) -> int:
    """One task hashes with each algorithm in turn; returns how often."""
    with Stand() as stand:
        engine, supported = _Engine(stand, device, 300), sha.algorithms(device)
        src = stand.keep(engine.inventory.get_by_data(engine.text))
        task = engine.sha.hash(src, engine.dst, supported[0], submit=False)
        stand.callback(task.free)
        for number in range(rounds):
            algorithm = supported[number % len(supported)]
            view(engine.memory)[:] = noise(300, number)
            engine.dst.reset_data_len()
            what = f"digest {number} ({algorithm}) behind one of another algorithm"
            with duty(what):
                task.algorithm = algorithm
                task.submit()
            finish(task, what)
            engine.require(algorithm, bytes(engine.memory), what)
    return rounds
