"""Messages in pieces that are given up, and what SHA tasks tell; one task with each algorithm in turn."""

from __future__ import annotations

import hashlib

import pydoca
from pydoca.qualify.bench import sha, waiting
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.patterns import noise, view
from pydoca.qualify.bench.waiting import Stand, duty, finish
from pydoca.qualify.bench.zones import require_equal


def resets(device: pydoca.Device, rounds: int) -> int:
    """A message is given up behind its first pieces, and another one takes its task; returns how many."""
    with Stand() as stand:
        pe, inventory = stand.engine(), stand.bufs(2)
        memory, digest = pydoca.alloc(4096), pydoca.alloc(64)
        text, place = (stand.enter_context(device.mmap(each)) for each in (memory, digest))
        with duty("start the SHA engine"):
            engine = stand.enter_context(pydoca.Sha(pe, device, num_tasks=1))
        dst = stand.keep(inventory.get_by_addr(place))
        task = engine.partial_hash(None, dst, sha.algorithms(device)[0], submit=False)
        stand.callback(task.free)
        for number in range(rounds):
            algorithm = sha.algorithms(device)[number % len(sha.algorithms(device))]
            block = pydoca.Sha.partial_hash_block_size(device.info, algorithm)
            view(memory)[:] = noise(4096, number)
            dst.reset_data_len()
            what = f"message {number} ({algorithm}) behind one that was given up"
            with duty(what):
                task.algorithm = algorithm
                for begin in [0] * (1 + number % 3):
                    _piece(task, inventory, text, begin, block)
                task.reset()
                if task.is_final or task.has_result:
                    require_told(
                        what,
                        {"final": task.is_final, "result": task.has_result},
                        dict.fromkeys(("final", "result"), False),
                    )
                _piece(task, inventory, text, 1024, block)
                task.set_is_final_buf()
                _piece(task, inventory, text, 1024 + block, 77)
            told: dict[str, object] = {"final": task.is_final, "result": task.has_result, "algorithm": task.algorithm}
            require_told(what, told, {"final": True, "result": True, "algorithm": algorithm})
            expected = hashlib.new(algorithm, view(memory)[1024 : 1024 + block + 77].tobytes()).digest()
            require_equal(view(digest)[: len(expected)], view(expected), what)
            task.reset()
    return rounds


def _piece(
    task: pydoca.ShaPartialHashTask, inventory: pydoca.BufInventory, text: pydoca.Mmap, begin: int, size: int
) -> None:
    with inventory.get_by_data(text, text.addr + begin, size) as src:
        task.src = src
        task.submit()
        task.wait(timeout=waiting.PATIENCE)
        task.src = None


def algorithms_in_turn(device: pydoca.Device, rounds: int) -> int:
    """One task hashes with each algorithm in turn; returns how often."""
    with Stand() as stand:
        pe, inventory = stand.engine(), stand.bufs(2)
        memory, digest = pydoca.alloc(300), pydoca.alloc(64)
        text, place = (stand.enter_context(device.mmap(each)) for each in (memory, digest))
        with duty("start the SHA engine"):
            engine = stand.enter_context(pydoca.Sha(pe, device, num_tasks=1))
        src, dst = stand.keep(inventory.get_by_data(text)), stand.keep(inventory.get_by_addr(place))
        task = engine.hash(src, dst, "sha256", submit=False)
        stand.callback(task.free)
        supported = sha.algorithms(device)
        for number in range(rounds):
            algorithm = supported[number % len(supported)]
            view(memory)[:] = noise(300, number)
            dst.reset_data_len()
            what = f"digest {number} ({algorithm}) behind one of another algorithm"
            with duty(what):
                task.algorithm = algorithm
                task.submit()
            finish(task, what)
            expected = hashlib.new(algorithm, memory).digest()
            require_equal(view(digest)[: len(expected)], view(expected), what)
    return rounds
