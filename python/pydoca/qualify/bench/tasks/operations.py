"""A small operation of each library, verified, and timed from its submission to its end."""

from __future__ import annotations

import hashlib
import random
import time
import zlib
from collections.abc import Callable
from functools import partial

import numpy as np

import pydoca
from pydoca import comch
from pydoca.qualify.bench import compress, dma, waiting
from pydoca.qualify.bench.events import with_tasks
from pydoca.qualify.bench.graphs import Chain
from pydoca.qualify.bench.messages import Link, check, message
from pydoca.qualify.bench.patterns import prbs31, view
from pydoca.qualify.bench.rdma.pair import Pair
from pydoca.qualify.bench.rdma.speed import Writes
from pydoca.qualify.bench.sides import both_sides, has_link
from pydoca.qualify.bench.waiting import DeviceFault, Stand, Wait, duty, require_value
from pydoca.qualify.bench.zones import require_equal

_SIZE = 64


def operations(stand: Stand, device: pydoca.Device, wait: Wait = waiting.poll) -> dict[str, Callable[[], int]]:
    """Operations of each library that the device has; each runs once, and returns its nanoseconds.

    wait is the way in which the thread waits for the end.
    """
    return {name: make(stand, device, wait) for name, (has, make) in OPERATIONS.items() if has(device)}


def copy(stand: Stand, device: pydoca.Device, wait: Wait, size: int = _SIZE) -> Callable[[], int]:
    """A copy of size bytes within the card's memory."""
    copies = dma.Copies(stand, device, dma.local(stand, device, size), size, 1)
    return partial(copies.run_one_by, wait)


def copy_across(
    stand: Stand, device: pydoca.Device, wait: Wait, size: int = _SIZE, *, read: bool = True
) -> Callable[[], int]:
    """A copy of size bytes between the host and the card, made by the card, which reads or writes there."""
    sides = stand.enter_context(both_sides(device))
    ends = dma.remote(stand, sides.dpu, sides.host, size, read=read)
    return partial(dma.Copies(stand, sides.dpu, ends, size, 1).run_one_by, wait)


def digest(stand: Stand, device: pydoca.Device, wait: Wait, size: int = _SIZE) -> Callable[[], int]:
    """A SHA-256 digest of size bytes, compared with hashlib's."""
    data = prbs31(size, 1).tobytes()
    memory, expected = stand.enter_context(pydoca.alloc(32)), hashlib.sha256(data).digest()
    pe, inventory = stand.engine(), stand.bufs(2)
    with duty("start the SHA engine"):
        sha = stand.enter_context(pydoca.Sha(pe, device, num_tasks=1))
    src = stand.keep(inventory.get_by_data(stand.enter_context(device.mmap(data))))
    dst = stand.keep(inventory.get_by_addr(stand.enter_context(device.mmap(memory))))
    task = sha.hash(src, dst, "sha256", submit=False)
    stand.callback(task.free)

    def run_one() -> int:
        dst.reset_data_len()
        memory[:] = bytes(32)
        taken = waiting.time_by(wait, pe, task, f"a digest of {size} bytes")
        if memory[:] != expected:
            raise DeviceFault(f"a digest of {size} bytes differs from hashlib's")
        return taken

    return run_one


def expansion(stand: Stand, device: pydoca.Device, wait: Wait, size: int = _SIZE) -> Callable[[], int]:
    """The decompression of a deflate stream to size bytes, compared with the plain data and their CRC-32."""
    plain, what = (prbs31(4096, 5).tobytes() * (size // 4096 + 1))[:size], f"an expansion to {size} bytes"
    streams = compress.Streams(stand, device, size)
    task = streams.task(compress.deflated(plain, "own codes"), size, stand, random.Random(1))
    dst = task.dst
    assert dst is not None

    def run_one() -> int:
        for buf in dst:
            buf.reset_data_len()
        taken = waiting.time_by(wait, streams.pe, task, what)
        require_value(task.crc_cs, zlib.crc32(plain), f"the CRC-32 of {what}")
        if streams.target.data(0, size).tobytes() != plain:
            raise DeviceFault(f"{what}: the plain data differ from zlib's")
        return taken

    return run_one


def _invalidate(stand: Stand, device: pydoca.Device, wait: Wait) -> Callable[[], int]:
    """An invalidation of the cache, which must not change the memory."""
    memory = stand.enter_context(pydoca.alloc(4096))
    array = view(memory)
    array[:] = prbs31(4096, 3)
    pe, inventory = stand.engine(), stand.bufs(1)
    with duty("start the engine of advice"):
        advise = stand.enter_context(pydoca.MmapAdvise(pe, device, num_tasks=1))
    buf = stand.keep(inventory.get_by_data(stand.enter_context(device.mmap(memory))))
    task = advise.invalidate_cache(buf, submit=False)
    stand.callback(task.free)

    def run_one() -> int:
        array[7] = (int(array[7]) + 1) % 251
        before = int(array[7])
        taken = waiting.time_by(wait, pe, task, "an invalidation of the cache")
        require_value(int(array[7]), before, "a byte whose cache was invalidated")
        return taken

    return run_one


def _add(stand: Stand, device: pydoca.Device, wait: Wait) -> Callable[[], int]:
    pe, context = with_tasks(stand, device, 1)
    task = context.notify_add(1, submit=False)
    stand.callback(task.free)
    return lambda: waiting.time_by(wait, pe, task, "an addition to a sync event")


def _wait_task(stand: Stand, device: pydoca.Device, wait: Wait) -> Callable[[], int]:
    """A wait that an addition ends."""
    pe, context = with_tasks(stand, device, 2)
    value = 0

    def run_one() -> int:
        nonlocal value
        value += 1
        waits = context.wait_eq(value)
        with duty("a wait for a sync event"):
            begin = time.perf_counter_ns()
            added = context.notify_add(1)
            wait(pe, lambda: waits.done and added.done, "a wait for a sync event")
            taken = time.perf_counter_ns() - begin
            require_value(waits.result(), value, "the value that ended a wait")
        waits.free()
        added.free()
        return taken

    return run_one


def _write(stand: Stand, device: pydoca.Device, wait: Wait) -> Callable[[], int]:
    return partial(Writes(stand, device, device, _SIZE).run_one_by, wait)


def _read(stand: Stand, device: pydoca.Device, wait: Wait) -> Callable[[], int]:
    pair = Pair(stand, device, device, _SIZE)
    room = pair.room(pair.here.mmap, pair.here.address(0), _SIZE)
    here, theirs = (zoned.data(0, _SIZE) for zoned in (pair.here, pair.theirs))
    task = pair.ab.read(pair.data(pair.there, pair.theirs.address(0), _SIZE), room, submit=False)
    stand.callback(task.free)

    def run_one() -> int:
        room.reset_data_len()
        theirs[:] = (int(theirs[0]) + 1) % 251
        taken = waiting.time_by(wait, pair.pe, task, "a read")
        require_equal(here, theirs, "a read")
        return taken

    return run_one


def _add_there(stand: Stand, device: pydoca.Device, wait: Wait) -> Callable[[], int]:
    pair = Pair(stand, device, device, _SIZE)
    room = pair.room(pair.here.mmap, pair.here.address(0), 8)
    word = pair.theirs.data(0, 8).view(np.uint64)
    word[0] = 0
    task = pair.ab.atomic_fetch_add(pair.data(pair.there, pair.theirs.address(0), 8), room, 1, submit=False)
    stand.callback(task.free)

    def run_one() -> int:
        room.reset_data_len()
        before = int(word[0])
        taken = waiting.time_by(wait, pair.pe, task, "an atomic addition")
        require_value(int(word[0]), before + 1, "the word after an atomic addition")
        return taken

    return run_one


def _message(stand: Stand, device: pydoca.Device, wait: Wait) -> Callable[[], int]:
    """An RDMA message, timed from its send to the end of its receive."""
    pair = Pair(stand, device, device, _SIZE)
    source, target = (zoned.data(0, _SIZE) for zoned in (pair.here, pair.theirs))
    room = pair.room(pair.theirs.mmap, pair.theirs.address(0), _SIZE)
    send = pair.ab.send(pair.data(pair.here.mmap, pair.here.address(0), _SIZE), submit=False)
    receive = pair.b.receive(room, submit=False)
    for task in (send, receive):
        stand.callback(task.free)

    def run_one() -> int:
        room.reset_data_len()
        source[:] = (int(source[0]) + 1) % 251
        with duty("a message"):
            receive.submit()
            begin = time.perf_counter_ns()
            send.submit()
            wait(pair.pe, lambda: receive.done and send.done, "a message")
            taken = time.perf_counter_ns() - begin
            receive.result(), send.result()
        require_equal(target, source, "a message")
        return taken

    return run_one


def _send(
    stand: Stand, device: pydoca.Device, wait: Wait, *, back: bool = False, longest: bool = False
) -> Callable[[], int]:
    """A comch message, timed from its send to its arrival."""
    sides = stand.enter_context(both_sides(device))
    link = Link(stand, sides)
    text = message(1, link.at_host.max_msg_size if longest else _SIZE)
    ends: tuple[comch.Connection, comch.Connection] = link.at_host, link.at_dpu
    sender, receiver = reversed(ends) if back else ends

    def run_one() -> int:
        arrived = receiver.recv_messages
        with duty("a message"):
            begin = time.perf_counter_ns()
            sent = sender.send(text)
            wait(link.pe, lambda: receiver.recv_messages > arrived and sent.done, "a message")
            taken = time.perf_counter_ns() - begin
            check(receiver.recv().wait(waiting.PATIENCE), text, "a message")
        return taken

    return run_one


def _graph(stand: Stand, device: pydoca.Device, wait: Wait) -> Callable[[], int]:
    """Two copies in a row, and a function after each."""
    chain = Chain(stand, device, 2)
    return lambda: chain.run(1, wait)


_Has = Callable[[pydoca.Device], bool]
_Make = Callable[[Stand, pydoca.Device, Wait], Callable[[], int]]
OPERATIONS: dict[str, tuple[_Has, _Make]] = {
    "copy": (lambda device: device.info.supports("dma"), copy),
    "copy.across": (lambda device: device.info.supports("dma") and has_link(device), copy_across),
    "digest": (lambda device: device.info.supports("sha"), digest),
    "expansion": (lambda device: device.info.supports("compress"), expansion),
    "invalidation": (lambda device: device.info.supports("mmap_advise"), _invalidate),
    "addition": (lambda device: device.info.supports("sync_event"), _add),
    "wait": (lambda device: device.info.supports("async_sync_event_wait"), _wait_task),
    "rdma.write": (lambda device: device.info.supports("rdma"), _write),
    "rdma.read": (lambda device: device.info.supports("rdma"), _read),
    "rdma.message": (lambda device: device.info.supports("rdma"), _message),
    "rdma.addition": (lambda device: device.info.supports("rdma_atomics"), _add_there),
    "message": (has_link, _send),
    "message.back": (has_link, partial(_send, back=True)),
    "message.longest": (has_link, partial(_send, longest=True)),
    "graph": (lambda device: device.info.supports("dma"), _graph),
}
