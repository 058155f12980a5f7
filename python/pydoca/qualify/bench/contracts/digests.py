"""Promises of the SHA engine's tasks: their properties, their refusals, and the memory that they leave unchanged."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import pydoca
from pydoca.qualify.bench import sha, waiting
from pydoca.qualify.bench.maps import chained
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.patterns import noise, view
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, refused, require_value
from pydoca.qualify.bench.zones import Zoned, require_equal

_TASKS = 4
_PLACE = 512  # bytes of memory for digests
_MAPS = 4
_MANY = 32  # pieces of a long message


class _Engine:
    """A running SHA engine, memory maps with a piece of the message each, and guarded memory for digests."""

    def __init__(self, stand: Stand, device: pydoca.Device, size: int) -> None:
        self.device, self.pe, self.calls = device, stand.engine(), list[tuple[Any, ...]]()
        self.inventory, self.bufs = stand.bufs(16), stand.enter_context(Stand())
        self.texts = [Zoned(stand, device, size) for _ in range(_MAPS)]
        for number, text in enumerate(self.texts):
            text.data(0, size)[:] = noise(size, number)
        self.place = Zoned(stand, device, _PLACE)
        self.place.guard(0, _PLACE)
        self._fresh = self.place.array.copy()
        self.tasks = min(_TASKS, pydoca.Sha.max_num_tasks(device.info))
        options: dict[str, Any] = {"num_tasks": self.tasks, "user_data": "owner", "on_completion": self._note}
        with duty("start the SHA engine"):
            self.sha = stand.enter_context(pydoca.Sha(self.pe, device, **options))

    def _note(self, *told: Any) -> None:
        self.calls.append(told)

    def src(self, size: int, number: int = 0, begin: int = 0) -> pydoca.Buf:
        """A buf with a part of one of the texts."""
        text = self.texts[number]
        return self.bufs.keep(self.inventory.get_by_data(text.mmap, text.address(begin), size))

    def dst(self, begin: int, size: int, length: int = 0) -> pydoca.Buf:
        """A buf in the memory for digests that has length bytes of data already."""
        address = self.place.address(begin)
        return self.bufs.keep(self.inventory.get_by_args(self.place.mmap, address, size, address, length))

    def list_of(self, sizes: list[int]) -> tuple[pydoca.Buf, bytes]:
        """A list with an element in each of the maps, and its data."""
        get = self.inventory.get_by_data
        elements = [get(text.mmap, text.address(0), size) for text, size in zip(self.texts, sizes, strict=False)]
        data = b"".join(text.data(0, size).tobytes() for text, size in zip(self.texts, sizes, strict=False))
        return self.bufs.keep(chained(elements)), data

    def require(self, digests: dict[int, bytes], what: str) -> None:
        """Checks that the memory for digests has these digests at their places, and is untouched elsewhere."""
        expected, begin = self._fresh.copy(), self.place.address(0) - self.place.mmap.addr
        for at, digest in digests.items():
            expected[begin + at : begin + at + len(digest)] = view(digest)
        require_equal(self.place.array, expected, what)

    def renew(self) -> None:
        """Releases the bufs, and removes the digests."""
        self.bufs.close()
        self.place.array[:] = self._fresh


def digest_of(algorithm: sha.Algorithm, message: bytes) -> bytes:
    """The correct digest."""
    return hashlib.new(algorithm, message).digest()


def at_once(device: pydoca.Device) -> int:
    """Checks tasks that hash at once, in each state and with each algorithm; returns how many algorithms."""
    found = sha.algorithms(device)
    for algorithm in found:
        size = sha.ALGORITHMS[algorithm]
        require_value(pydoca.Sha.min_dst_buf_size(device.info, algorithm), size, f"the room for {algorithm}")
        with Stand() as stand:
            engine = _Engine(stand, device, 256)
            _one(engine, algorithm, size)
            engine.renew()
            _slots(engine, algorithm)
    return len(found)


def _one(engine: _Engine, algorithm: sha.Algorithm, size: int) -> None:
    """Checks a task that is refused with wrong bufs, runs twice, and is freed."""
    what, message = f"a task of {algorithm}", engine.texts[0].data(0, 200).tobytes()
    src, dst, short = engine.src(200), engine.dst(7, 9 + 2 * size, 9), engine.dst(300, 9 + size - 1, 9)
    with duty(what):
        task = engine.sha.hash(src, short, algorithm, user_data="mine", submit=False)
    for wrong in ({"dst": short}, {"dst": None}, {"dst": dst, "src": None}):
        for name, value in wrong.items():
            setattr(task, name, value)
        with refused(f"{what} with wrong bufs", pydoca.InvalidValueError):
            task.try_submit()
        told: dict[str, object] = {"state": task.state, "data": (dst.data_len, short.data_len)}
        require_told(f"{what} that is refused", told, {"state": pydoca.TaskState.IDLE, "data": (9, 9)})
    engine.require({}, f"{what} that is refused")
    task.src = src
    for number in (1, 2):  # the second digest follows the first one
        with duty(what):
            task.submit()
            _require_in_flight(engine, task)
        finish(task, what)
        told = {"algorithm": task.algorithm, "bufs": (task.src, task.dst), "room": dst.data_len, "text": src.data_len}
        must: dict[str, object] = {"algorithm": algorithm, "bufs": (src, dst), "room": 9 + number * size, "text": 200}
        require_told(what, {**told, "value": task.result(), "status": task.status}, {**must, **_SUCCESS})
        require_equal(engine.texts[0].data(0, 200), view(message), f"the source of {what}")
    with refused(f"{what} without room for a third digest", pydoca.InvalidValueError):
        task.try_submit()
    engine.require({7 + 9: 2 * digest_of(algorithm, message)}, what)
    if engine.calls != 2 * [(task, "mine", "owner")]:
        raise DeviceFault(f"the callback of {what}, which ran twice, was called with {engine.calls}")
    _require_freed(task)


_SUCCESS: dict[str, object] = {"value": None, "status": pydoca.Status.SUCCESS}


def _require_in_flight(engine: _Engine, task: pydoca.ShaHashTask | pydoca.ShaPartialHashTask) -> None:
    """Checks that a task in flight cannot be changed, and that the context counts it."""
    what = "a digest in flight"
    require_value(engine.sha.num_inflight_tasks, 1, "the number of digests in flight")
    if (task.state, task.status) != (pydoca.TaskState.SUBMITTED, pydoca.Status.IN_PROGRESS):
        raise DeviceFault(f"{what} is {task.state.name}, {task.status.name}")
    for name in ("src", "dst", "algorithm"):
        with refused(f"to set {name} of {what}", pydoca.InUseError):
            setattr(task, name, getattr(task, name))
    changes = [task.free]
    if isinstance(task, pydoca.ShaPartialHashTask):
        changes += [task.reset, task.set_is_final_buf]
    for change in changes:
        with refused(f"to change {what}", pydoca.InUseError):
            change()
    with refused(f"to submit {what}", pydoca.BadStateError):
        task.submit()
    with refused(f"the result of {what}", pydoca.InProgressError):
        task.result()


def _require_freed(task: pydoca.ShaHashTask | pydoca.ShaPartialHashTask) -> None:
    task.free()
    told = {"state": task.state, "bufs": (task.src, task.dst)}
    require_told("a digest that is freed", told, {"state": pydoca.TaskState.FREE, "bufs": (None, None)})
    for call in (task.free, task.submit):
        with refused("to use a digest that is freed", pydoca.BadStateError):
            call()


def _slots(engine: _Engine, algorithm: sha.Algorithm) -> None:
    """Checks that both kinds of tasks have the stated number, all in flight at once, and not one more."""
    context, count = engine.sha, engine.tasks
    require_told(
        "a SHA context", {"tasks": (context.num_tasks, context.num_partial_hash_tasks)}, {"tasks": (count, count)}
    )
    src, room = engine.src(64), sha.ALGORITHMS[algorithm]
    with duty(f"{count} tasks of SHA of each kind"):
        pieces = [context.partial_hash(None, None, algorithm, submit=False) for _ in range(count)]
        hashes: list[Any] = [
            context.hash(src, engine.dst(place * room, room), algorithm, submit=False) for place in range(count)
        ]
    for make in (context.hash, context.partial_hash):
        with refused(f"a task of SHA behind {count} others", pydoca.NoMemoryError):
            make(None, None, algorithm, submit=False)
    with duty(f"{count} digests at once"):
        for task in hashes:
            task.submit()
        require_value(context.num_inflight_tasks, count, "the number of digests in flight")
    waiting.finish_all(engine.pe, hashes, f"{count} digests at once")
    require_value(context.num_inflight_tasks, 0, "the number of digests in flight after their ends")
    engine.require({0: count * digest_of(algorithm, engine.texts[0].data(0, 64).tobytes())}, f"{count} digests")
    for task in (*pieces, *hashes):
        task.free()
    engine.calls.clear()


def over_maps(device: pydoca.Device, rounds: int, rng: random.Random) -> int:
    """Hashes lists whose elements lie in several memory maps, at once and as pieces; returns how many."""
    most = min(_MAPS, pydoca.Sha.max_list_buf_num_elem(device.info))
    with Stand() as stand:
        engine = _Engine(stand, device, 256)
        for number in range(rounds):
            algorithm = rng.choice(sha.algorithms(device))
            block = pydoca.Sha.partial_hash_block_size(device.info, algorithm)
            what = f"message {number} ({algorithm}) in {most} memory maps"
            dst = engine.dst(0, 64), engine.dst(128, 64)
            sizes = [rng.randint(1, block - 1) for _ in range(most)]
            first = [*sizes[:-1], block - sum(sizes[:-1]) % block] if most > 1 else [block]
            (list_, text), (begin, opening) = engine.list_of(sizes), engine.list_of(first)
            with duty(what):
                whole, parts = (
                    engine.sha.hash(list_, dst[0], algorithm),
                    engine.sha.partial_hash(begin, dst[1], algorithm),
                )
                whole.wait(waiting.PATIENCE), parts.wait(waiting.PATIENCE)
                parts.src = list_
                parts.set_is_final_buf()
                parts.submit()
                parts.wait(waiting.PATIENCE)
                whole.free()
                parts.free()
            engine.require({0: digest_of(algorithm, text), 128: digest_of(algorithm, opening + text)}, what)
            engine.renew()
    return 2 * rounds


def in_pieces(device: pydoca.Device) -> int:
    """A message in pieces shows its progress in each state, and refuses wrong pieces; returns how many pieces."""
    found, lasts = sha.algorithms(device), (1, 0)  # bytes of the last piece; 0 means a block
    for algorithm in found:
        with Stand() as stand:
            engine = _Engine(stand, device, 512)
            block = pydoca.Sha.partial_hash_block_size(device.info, algorithm)
            what, dst = f"a message in pieces ({algorithm})", engine.dst(3, 2 + 2 * 64, 2)
            with duty(what):
                task = engine.sha.partial_hash(None, dst, algorithm, submit=False)
            digests = b""
            for last in lasts:
                digests += _message(engine, task, block, last or block, what)
                require_value(dst.data_len, 2 + len(digests), f"the length of {what}")
                engine.require({3 + 2: digests}, what)
                task.reset()
            require_told(
                f"{what} after reset()", _told(task), {"final": False, "result": False, "algorithm": algorithm}
            )
            _require_freed(task)
    return len(found) * len(lasts) * 3


def _told(task: pydoca.ShaPartialHashTask) -> dict[str, object]:
    return {"final": task.is_final, "result": task.has_result, "algorithm": task.algorithm}


def _message(engine: _Engine, task: pydoca.ShaPartialHashTask, block: int, last: int, what: str) -> bytes:
    """Hashes two blocks and a last piece; returns the digest."""
    algorithm, dst, sizes = task.algorithm, task.dst, (block, block, last)
    must: dict[str, object] = {"final": False, "result": False, "algorithm": algorithm}
    assert dst is not None
    before = dst.data_len
    with refused(f"{what}: its first piece as the last one", pydoca.BadStateError):
        task.set_is_final_buf()
    for number, size in enumerate(sizes):
        _refuse_pieces(engine, task, block, what)
        task.src = engine.src(size, number)
        if number == 2:
            task.set_is_final_buf()
            must["final"] = True
        require_told(f"{what} before piece {number}", _told(task), must)
        with duty(f"{what}: piece {number}"):
            task.submit()
            _require_in_flight(engine, task)
        finish(task, f"{what}: piece {number}")
        must["result"] = number == 2
        require_told(f"{what} after piece {number}", _told(task), must)
        require_value(dst.data_len - before, sha.ALGORITHMS[algorithm] * (number == 2), f"the growth of dst, {what}")
        _refuse_changes(task, algorithm, what)
    for call, error in ((task.set_is_final_buf, pydoca.BadStateError), (task.try_submit, pydoca.InvalidValueError)):
        with refused(f"{what}: a piece behind the last one", error):
            call()
    require_told(f"{what} after its end", {**_told(task), "room": task.dst}, {**must, "room": dst})
    message = b"".join(engine.texts[number].data(0, size).tobytes() for number, size in enumerate(sizes))
    return digest_of(algorithm, message)


def _refuse_pieces(engine: _Engine, task: pydoca.ShaPartialHashTask, block: int, what: str) -> None:
    """Empty pieces and pieces that are not whole blocks are refused, and leave the message as it was."""
    told, text = _told(task), engine.texts[0]
    for size in (0, 1, block - 1, block + 1):
        with Stand() as stand:
            task.src = None
            if size:
                task.src = stand.keep(engine.inventory.get_by_data(text.mmap, text.address(0), size))
            with refused(f"{what}: a piece that is not a multiple of a block", pydoca.InvalidValueError):
                task.try_submit()
            task.src = None
        require_told(f"{what} with a piece that is refused", _told(task), told)


def _refuse_changes(task: pydoca.ShaPartialHashTask, algorithm: sha.Algorithm, what: str) -> None:
    """Checks that the settings of a message cannot be changed once it has begun."""
    for name, value in (("algorithm", algorithm), ("dst", None)):
        with refused(f"{what}: to set {name} once it has begun", pydoca.BadStateError):
            setattr(task, name, value)


def long_message(device: pydoca.Device, size: int) -> int:
    """Hashes a message whose length takes many bits, in equal pieces and a last byte: the engine counts all bits."""
    with Stand() as stand:
        piece = min(size // _MANY, pydoca.Sha.max_src_buf_size(device.info)) // 128 * 128
        engine = _Engine(stand, device, piece)
        text, count = engine.texts[0].data(0, piece).tobytes(), size // piece
        for algorithm in sha.algorithms(device):
            what, dst = f"{algorithm} of {count * piece + 1} bytes in {count} pieces and a byte", engine.dst(0, 64)
            right = hashlib.new(algorithm)
            with duty(what):
                task = engine.sha.partial_hash(engine.src(piece), dst, algorithm, submit=False)
                for _ in range(count):
                    task.submit()
                    task.wait(waiting.PATIENCE)
                    right.update(text)
                task.src = engine.src(1)
                task.set_is_final_buf()
                task.submit()
                task.wait(waiting.PATIENCE)
                task.free()
            right.update(text[:1])
            engine.require({0: right.digest()}, what)
            engine.renew()
    return count * piece + 1
