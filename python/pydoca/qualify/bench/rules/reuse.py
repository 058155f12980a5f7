"""One task, submitted repeatedly with other bufs each time: it uses the current bufs, not the earlier ones."""

from __future__ import annotations

import random

import numpy as np

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.patterns import noise, view
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty
from pydoca.qualify.bench.zones import require_equal

_SIZE = 8192


def copies(device: pydoca.Device, rounds: int, rng: random.Random) -> int:
    """Copies random ranges by one task whose source, destination and user data change; compares all memory."""
    with Stand() as stand:
        seen: list[tuple[object, object]] = []
        pe, inventory = stand.engine(), stand.bufs(2)
        memories = [stand.enter_context(pydoca.alloc(_SIZE)) for _ in range(2)]
        source, target = (view(memory) for memory in memories)
        source[:] = noise(_SIZE, rng.getrandbits(32))
        maps = [stand.enter_context(device.mmap(memory)) for memory in memories]
        dma = pydoca.Dma(pe, device, num_tasks=1, on_completion=lambda task, data, _: seen.append((task, data)))
        with duty("start the DMA engine"):
            stand.enter_context(dma)
            task = dma.memcpy(None, None, submit=False)
        stand.callback(task.free)
        model, kept = target.copy(), source.copy()
        for number in range(rounds):
            size = rng.randint(1, 512)
            begin, to = (rng.randrange(_SIZE - size) for _ in range(2))
            what = f"use {number} of a task"
            with (
                duty(what),
                inventory.get_by_data(maps[0], maps[0].addr + begin, size) as src,
                inventory.get_by_addr(maps[1], maps[1].addr + to, size) as dst,
            ):
                task.src, task.dst, task.user_data = src, dst, number
                task.submit()
                task.wait(timeout=waiting.PATIENCE)
                task.src = task.dst = None
            model[to : to + size] = source[begin : begin + size]
            require_equal(target, model, what)
            if seen != [(task, number)]:
                raise DeviceFault(f"{what}: its completions were {[data for _, data in seen]}")
            seen.clear()
        require_equal(source, kept, "the source of copies, which only the program writes")
    return rounds


def two_devices(device: pydoca.Device, other: pydoca.Device) -> None:
    """A map of two devices is a source and a destination for both."""
    with Stand() as stand:
        memory = stand.enter_context(pydoca.alloc(_SIZE))
        array = view(memory)
        with duty("a map of two devices"):
            mmap = stand.enter_context(pydoca.Mmap(memory, devices=[device, other]))
        inventory = stand.bufs(2)
        for number, each in enumerate((device, other)):
            array[: _SIZE // 2] = np.arange(_SIZE // 2) % 251 + number
            array[_SIZE // 2 :] = 0
            what = f"a copy by {each.name} in a map of two devices"
            with (
                duty(what),
                pydoca.Dma(stand.engine(), each, num_tasks=1) as dma,
                inventory.get_by_data(mmap, mmap.addr, _SIZE // 2) as src,
                inventory.get_by_addr(mmap, mmap.addr + _SIZE // 2, _SIZE // 2) as dst,
            ):
                dma.memcpy(src, dst).wait(timeout=waiting.PATIENCE)
            require_equal(array[_SIZE // 2 :], array[: _SIZE // 2], what)
