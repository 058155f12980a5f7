"""Thirty more defects of a device, written without a look at the cases and at most of the sets before.

The first run (level quick) found 27 of them.

A defect replaces methods of pydoca in the process that tests, and in those that it starts, as unseen_defects.py does.

usage: unseen_thirteenth.py list
       unseen_thirteenth.py check [NAME...]           # each is visible by the public API, and only when it is planted
       unseen_thirteenth.py run NAME LEVEL DIRECTORY  # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import select
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

from unseen_defects import (
    Defect,
    Engine,
    Function,
    Pair,
    Patch,
    Table,
    Work,
    after_each,
    copies_wrongly,
    event,
    is_writable,
    main,
    pass_by,
    pattern,
    peek,
    poke,
    replaced,
    server,
    spoiled_copies,
    together,
    watched,
    with_argument,
)
from unseen_defects import plant_in_started_process as plant_from

import pydoca
from pydoca import comch

_LINE = 64
_MIB = 1 << 20
_PACKET = 4096

Plant = AbstractContextManager[object]


# Parts that several defects use


def when_good(task: Any, act: Callable[[Any], object]) -> None:
    """Calls act with the task when it has succeeded, unless it is freed by then."""

    def end(ended: Any) -> None:
        with suppress(pydoca.DocaError):
            if not ended.status:
                act(ended)

    task.add_done_callback(end)


def end_of(dst: Any) -> int:
    """The address at which a task appends to one buf; 0 if it is a list or of another process."""
    return dst.data + dst.data_len if dst is not None and dst.list_len == 1 and is_writable(dst) else 0


def of_copies(watch: Callable[[Any], object]) -> Plant:
    """Calls watch with each submitted copy."""
    return watched(pydoca.Dma, "memcpy", lambda task: isinstance(task, pydoca.DmaMemcpyTask), quietly(watch))


def of_rdma(owner: type, kind: str, watch: Callable[[Any], object]) -> Plant:
    """Calls watch with each submitted task of this kind."""
    return watched(owner, kind, lambda task: isinstance(task, pydoca.RdmaTask) and task.kind == kind, quietly(watch))


def quietly(watch: Callable[[Any], object]) -> Callable[[Any], None]:
    """Ignores a task whose parts are gone when it has been submitted."""

    def call(task: Any) -> None:
        with suppress(pydoca.DocaError, AttributeError, TypeError):
            watch(task)

    return call


def wrapped(make_result: Callable[..., Any]) -> Callable[[Function], Function]:
    """Makes a method from a function that gets the original method, self and its arguments."""

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def call(self: Any, *arguments: Any, **keys: Any) -> Any:
            return make_result(original, self, *arguments, **keys)

        return call

    return make


def every(count: int) -> Callable[[], bool]:
    """Returns a function that is true once in count calls."""
    numbers = itertools.count(1)
    return lambda: next(numbers) % count == 0


# Copies with wrong data


def mib_seam() -> Plant:
    def spoil(work: Work) -> list[Patch]:
        if work.length <= _MIB or work.src.mmap.is_from_export:
            return []
        return [
            (work.target + place, peek(work.source + place - _LINE, min(_LINE, work.length - place)))
            for place in range(_MIB, work.length, _MIB)
        ]

    return spoiled_copies(spoil)


def third_element() -> Plant:
    def watch(task: Any) -> None:
        if task.src.list_len < 3 or not (begin := end_of(task.dst)):
            return
        lengths = [element.data_len for element in itertools.islice(task.src, 3)]
        place, length = begin + lengths[0] + lengths[1], min(4, lengths[2])
        if lengths[0] + lengths[1] >= length > 0:
            when_good(task, lambda _: poke([(place, peek(place - length, length))]))

    return of_copies(watch)


def line_of_ones() -> Plant:
    ones = b"\xff" * _LINE

    def spoil(work: Work) -> list[Patch]:
        if not _LINE <= work.length <= _MIB // 16 or work.src.mmap.is_from_export:
            return []
        place = peek(work.source, work.length).find(ones)
        return [(work.target + place + _LINE - 1, b"\xdf")] if place >= 0 else []

    return spoiled_copies(spoil)


def cut_source(src: Any, dst: Any, is_turn: Callable[[], bool]) -> int:
    """Makes the source of a copy to the other side one line shorter, if it is its turn.

    Returns its old length, or 0.
    """
    with suppress(pydoca.DocaError, AttributeError):
        is_apt = dst.mmap.is_from_export and src.list_len == dst.list_len == 1
        length = int(src.data_len)
        if is_apt and _LINE < length <= dst.tailroom and is_turn():
            src.data_len = length - _LINE
            return length
    return 0


def copy_cut(copy: Callable[[], Any], src: Any, dst: Any, is_turn: Callable[[], bool]) -> Any:
    """Submits the task that copy() returns. The source has its old length again when the copy has ended."""

    def restore(_: Any) -> None:
        with suppress(pydoca.DocaError):
            src.data_len = length

    length = cut_source(src, dst, is_turn)
    try:
        task = copy()
    except BaseException:
        if length:
            restore(None)
        raise
    if length:
        task.add_done_callback(restore)
        when_good(task, lambda ended: setattr(ended.dst, "data_len", ended.dst.data_len + _LINE))
    return task


def host_write_tail() -> Plant:
    is_turn = every(50)

    def memcpy(original: Function, self: Any, src: Any, dst: Any, *, submit: bool = True, **keys: Any) -> Any:
        def copy() -> Any:
            return original(self, src, dst, submit=submit, **keys)

        return copy_cut(copy, src, dst, is_turn) if submit else copy()

    def submit(original: Function, self: Any, *arguments: Any, **keys: Any) -> None:
        def copy() -> Any:
            original(self, *arguments, **keys)
            return self

        if isinstance(self, pydoca.DmaMemcpyTask) and self.state is pydoca.TaskState.IDLE:
            copy_cut(copy, self.src, self.dst, is_turn)
        else:
            copy()

    return together(
        replaced(pydoca.Dma, "memcpy", wrapped(memcpy)),
        replaced(pydoca.Task, "submit", wrapped(submit)),
        replaced(pydoca.Task, "try_submit", wrapped(submit)),
    )


# Copies with other faults


def unordered() -> Plant:
    wanted: weakref.WeakKeyDictionary[pydoca.Dma, bool] = weakref.WeakKeyDictionary()

    def make(original: property) -> property:
        def put(self: Any, value: bool) -> None:
            original.__set__(self, value)
            original.__set__(self, False)
            wanted[self] = bool(value)

        return property(lambda self: wanted.get(self, original.__get__(self)), put)

    return replaced(pydoca.Dma, "ordered_completions", make)


def lost_slots() -> Plant:
    made: weakref.WeakKeyDictionary[pydoca.Context, int] = weakref.WeakKeyDictionary()

    def memcpy(original: Function, self: Any, *arguments: Any, **keys: Any) -> Any:
        allocated = self._snapshot(0)[8]
        is_running = self.state is pydoca.ContextState.RUNNING
        if is_running and made.get(self, 0) // 50 + allocated >= self.num_tasks > allocated:
            raise pydoca.NoMemoryError(f"memcpy: all {self.num_tasks} tasks of the context are allocated")
        task = original(self, *arguments, **keys)
        made[self] = made.get(self, 0) + 1
        return task

    return together(
        replaced(pydoca.Dma, "memcpy", wrapped(memcpy)),
        replaced(pydoca.Context, "start", after_each(lambda context, _: made.pop(context, None))),
    )


def throttled() -> Plant:
    moved: weakref.WeakKeyDictionary[pydoca.Context, int] = weakref.WeakKeyDictionary()

    def watch(task: Any) -> None:
        length = sum(element.data_len for element in task.src)
        moved[task.context] = moved.get(task.context, 0) + length
        if moved[task.context] > 64 * _MIB:
            time.sleep(length * 2e-9)

    return of_copies(watch)


def slow_to_wake() -> Plant:
    last: dict[str, float] = {}

    def watch(task: Any) -> None:
        name, now = task.context.device.name, time.monotonic()
        if now - last.get(name, 0.0) > 0.02:
            time.sleep(0.008)
        last[name] = time.monotonic()

    return of_copies(watch)


# SHA


def final_block() -> Plant:
    def watch(task: Any) -> None:
        block = 128 if task.algorithm == "sha512" else 64
        length = sum(element.data_len for element in task.src)
        if task.is_final and length and length % block == 0 and (place := end_of(task.dst)):
            when_good(task, lambda _: poke([(place, bytes(byte ^ 0x3C for byte in peek(place, 4)))]))

    return watched(pydoca.Sha, "partial_hash", lambda task: isinstance(task, pydoca.ShaPartialHashTask), quietly(watch))


# RDMA


def second_packet() -> Plant:
    def watch(task: Any) -> None:
        length = sum(element.data_len for element in task.src)
        if length > _PACKET and (begin := end_of(task.dst)):
            count = min(4, length - _PACKET)
            place = begin + _PACKET
            when_good(task, lambda _: poke([(place, peek(place - count, count))]))

    return of_rdma(pydoca.RdmaConnection, "read", watch)


def rounded_receive() -> Plant:
    rounded: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def watch(task: Any) -> None:
        rounded.pop(task, None)
        if task.dst is not None and task.dst.list_len == 1:
            when_good(task, lengthen)

    def lengthen(task: Any) -> None:
        more = -task.result_len % 4
        if more and task.dst.tailroom >= more:
            task.dst.data_len += more
            rounded[task] = task.result_len + more

    def make(original: property) -> property:
        return property(lambda self: rounded.get(self) or original.__get__(self))

    return together(of_rdma(pydoca.Rdma, "receive", watch), replaced(pydoca.RdmaTask, "result_len", make))


def swap_not_stored() -> Plant:
    is_turn = every(32)

    def swap(original: Function, self: Any, dst: Any, result: Any, cmp_data: Any, swap_data: Any, **keys: Any) -> Any:
        return original(self, dst, result, cmp_data, cmp_data if is_turn() else swap_data, **keys)

    return replaced(pydoca.RdmaConnection, "atomic_cmp_swp", wrapped(swap))


def connection_slots() -> Plant:
    made: weakref.WeakKeyDictionary[pydoca.Context, int] = weakref.WeakKeyDictionary()

    def export(original: Function, self: Any) -> Any:
        if made.get(self, 0) >= self.max_num_connections:
            raise pydoca.FullError(f"export: the context has {self.max_num_connections} connections")
        connection = original(self)
        made[self] = made.get(self, 0) + 1
        return connection

    return together(
        replaced(pydoca.Rdma, "export", wrapped(export)),
        replaced(pydoca.Context, "start", after_each(lambda context, _: made.pop(context, None))),
    )


def slowing_writes() -> Plant:
    written: weakref.WeakKeyDictionary[pydoca.RdmaConnection, int] = weakref.WeakKeyDictionary()

    def watch(task: Any) -> None:
        count = written[task.connection] = written.get(task.connection, 0) + 1
        time.sleep(min(count * 4e-6, 5e-3))

    return of_rdma(pydoca.RdmaConnection, "write", watch)


# Comch


def sent_twice() -> Plant:
    is_turn = every(100)

    def send(original: Function, self: Any, data: Any, *, submit: bool = True, **keys: Any) -> Any:
        task = original(self, data, submit=submit, **keys)
        if submit and is_turn():
            with suppress(pydoca.DocaError):
                original(self, data)
        return task

    return replaced(comch.Connection, "send", wrapped(send))


def half_open() -> Plant:
    """Shows the server's end of a connection as connected until this side ends it."""
    known: weakref.WeakKeyDictionary[comch.Connection, weakref.ref[comch.Server]] = weakref.WeakKeyDictionary()

    def note(connection: comch.Connection) -> None:
        if (owner := connection.server) is not None and connection not in known:
            known[connection] = weakref.ref(owner)

    def seems_connected(connection: comch.Connection) -> bool:
        owner = known[connection]() if connection in known else None
        return owner is not None and owner.state is pydoca.ContextState.RUNNING

    def make(original: property) -> property:
        def get(self: comch.Connection) -> bool:
            is_connected: bool = original.__get__(self)
            if is_connected:
                note(self)
            return is_connected or seems_connected(self)

        return property(get)

    def use(original: Function, self: comch.Connection, *arguments: Any, **keys: Any) -> Any:
        note(self)
        return original(self, *arguments, **keys)

    def close(original: Function, self: comch.Connection, *arguments: Any) -> None:
        known.pop(self, None)
        original(self, *arguments)

    return together(
        replaced(comch.Connection, "is_connected", make),
        replaced(comch.Connection, "send", wrapped(use)),
        replaced(comch.Connection, "recv", wrapped(use)),
        replaced(comch.Connection, "close", wrapped(close)),
        replaced(comch.Connection, "__exit__", wrapped(close)),
    )


# Sync events


def cached_value() -> Plant:
    """Gives an importer the value of its last reading for 20 ms, unless it has changed the value itself."""
    read: weakref.WeakKeyDictionary[pydoca.SyncEvent, tuple[float, int]] = weakref.WeakKeyDictionary()

    def get(original: Function, self: pydoca.SyncEvent) -> int:
        now = time.monotonic()
        then, value = read.get(self, (0.0, 0))
        if now - then < 0.02:
            return value
        value = int(original(self))
        if self.is_from_export:
            read[self] = now, value
        return value

    def forget(self: pydoca.SyncEvent, _: object) -> None:
        read.pop(self, None)

    return together(
        replaced(pydoca.SyncEvent, "get", wrapped(get)),
        *(replaced(pydoca.SyncEvent, name, after_each(forget)) for name in ("update_set", "update_add", "stop")),
    )


def greater_or_equal() -> Plant:
    def less_up_to(most: int) -> Callable[[Function], Function]:
        def less(value: Any) -> Any:
            return value - 1 if isinstance(value, int) and 0 < value < most else value

        return with_argument(0, "value", less)

    return together(
        *(replaced(pydoca.SyncEvent, name, less_up_to(2**64)) for name in ("wait_gt", "wait_gt_yield")),
        replaced(pydoca.SyncEventContext, "wait_gt", less_up_to(255)),
    )


def half_timeout() -> Plant:
    half = with_argument(99, "timeout", lambda timeout: timeout / 2 if timeout else timeout)
    names = ["wait_eq", "wait_neq", "wait_gt"]
    return together(*(replaced(pydoca.SyncEvent, name + more, half) for name in names for more in ("", "_yield")))


# Graphs


def first_dependency() -> Plant:
    def node(original: Function, self: Any, source: Any, **keys: Any) -> Any:
        if "after" in keys:
            keys["after"] = list(keys["after"])[:1]
        return original(self, source, **keys)

    return replaced(pydoca.Graph, "node", wrapped(node))


# Clock


def fast_counter() -> Plant:
    begin: dict[str, int] = {}

    def timestamp(original: Function, self: pydoca.Clock, type: Any) -> int:
        now: int = original(self, type)
        name = type if isinstance(type, str) else type.name.lower()
        if name != "nic_free_running":
            return now
        first = begin.setdefault(self.device.name, now)
        return now + (now - first) // 1000

    return replaced(pydoca.Clock, "timestamp", wrapped(timestamp))


# Cache invalidation


def of_invalidations(watch: Callable[[Any], object]) -> Plant:
    kind = pydoca.MmapAdviseInvalidateCacheTask
    return watched(pydoca.MmapAdvise, "invalidate_cache", lambda task: isinstance(task, kind), quietly(watch))


def lost_line() -> Plant:
    """Reverts the line to its content at the previous invalidation."""
    seen: dict[tuple[int, int], bytes] = {}
    is_turn = every(4)

    def watch(task: Any) -> None:
        buf = task.buf
        if not buf.data_len or not is_writable(buf):
            return
        length = min(buf.data_len, _LINE)
        place = buf.data + buf.data_len - length
        before, now = seen.get((place, length)), peek(place, length)
        if len(seen) > 10_000:
            seen.clear()
        seen[place, length] = now
        if before is not None and before != now and is_turn():
            poke([(place, before)])
            seen[place, length] = before

    return of_invalidations(watch)


def small_invalidations() -> Plant:
    def invalidate(original: Function, self: Any, buf: Any, **keys: Any) -> Any:
        length, most = 0, pydoca.MmapAdvise.max_buf_size(self.device.info) // 2
        with suppress(pydoca.DocaError, AttributeError):
            length = buf.data_len
        if length > most:
            raise pydoca.InvalidValueError(f"invalidate_cache: {length} bytes are more than {most}")
        return original(self, buf, **keys)

    return replaced(pydoca.MmapAdvise, "invalidate_cache", wrapped(invalidate))


# Progress engines


def lost_arming() -> Plant:
    is_turn = every(20)

    def disarm(pe: pydoca.ProgressEngine, _: object) -> None:
        if is_turn():
            pe.clear_notification()

    return replaced(pydoca.ProgressEngine, "request_notification", after_each(disarm))


def late_wake_up() -> Plant:
    """Returns 10 ms late from calls that have slept."""
    inside = threading.local()

    def wait(original: Function, self: Any, *arguments: Any, **keys: Any) -> Any:
        is_outer = not getattr(inside, "depth", 0)
        inside.depth = getattr(inside, "depth", 0) + 1
        begin = time.monotonic()
        try:
            result = original(self, *arguments, **keys)
        finally:
            inside.depth -= 1
        if is_outer and time.monotonic() - begin > 0.001:
            time.sleep(0.01)
        return result

    owners = (pydoca.ProgressEngine, pydoca.Task, pydoca.Awaitable)
    return together(
        *(replaced(owner, "wait", wrapped(wait)) for owner in owners),
        replaced(pydoca.ProgressEngine, "run_until", wrapped(wait)),
    )


# Properties of the device


def slow_port() -> Plant:
    def make(original: property) -> property:
        return property(lambda self: original.__get__(self) // (4 if self.name == "p0" else 1))

    def to_dict(original: Function, self: pydoca.DeviceInfo) -> dict[str, Any]:
        return {**original(self), "active_rate": self.active_rate}

    return together(
        replaced(pydoca.DeviceInfo, "active_rate", make),
        replaced(pydoca.DeviceInfo, "to_dict", wrapped(to_dict)),
    )


def missing_representor() -> Plant:
    is_turn = every(5)

    def listing(original: Function, self: pydoca.Device, *arguments: Any, **keys: Any) -> list[Any]:
        infos: list[Any] = original(self, *arguments, **keys)
        return infos[:-1] if len(infos) > 1 and is_turn() else infos

    return replaced(pydoca.Device, "representors", wrapped(listing))


# Memory of other processes


def stale_export() -> Plant:
    """Keeps the key of a map's first registration."""
    blobs: weakref.WeakKeyDictionary[pydoca.Mmap, dict[tuple[str, str], bytes]] = weakref.WeakKeyDictionary()

    def exporting(kind: str) -> Callable[[Function], Function]:
        def export(original: Function, self: pydoca.Mmap, device: Any = None) -> bytes:
            blob: bytes = original(self, device)
            name = (device or self.devices[0]).name
            return blobs.setdefault(self, {}).setdefault((kind, name), blob)

        return wrapped(export)

    return together(
        replaced(pydoca.Mmap, "export_pci", exporting("pci")),
        replaced(pydoca.Mmap, "export_rdma", exporting("rdma")),
    )


@contextmanager
def descriptor_of_imports() -> Iterator[None]:
    kept: list[int] = []

    def keep(*_: object) -> None:
        if len(kept) < 400:
            kept.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))

    with together(
        replaced(pydoca.Device, "import_mmap", after_each(keep)),
        replaced(pydoca.ProgressEngine, "import_mmap", after_each(keep)),
    ):
        yield
    for number in kept:
        os.close(number)


def forgotten_failure() -> Plant:
    return replaced(pydoca.Context, "failure", lambda _: property(lambda _: pydoca.Status.SUCCESS))


# Checks that show a defect without the suite


def device_and_engine(stack: ExitStack) -> tuple[pydoca.Device, pydoca.ProgressEngine]:
    return stack.enter_context(pydoca.open_device("p0")), stack.enter_context(pydoca.ProgressEngine())


def gathers_wrongly() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        target = pydoca.alloc(300)
        src = stack.enter_context(engine.device.mmap(pattern(300)))
        dst = stack.enter_context(engine.device.mmap(target))
        with engine.bufs.get_by_data(src, src.addr, 100) as source, engine.bufs.get_by_addr(dst) as sink:
            for number in (1, 2):
                source.chain(engine.bufs.get_by_data(src, src.addr + 100 * number, 100))
            engine.dma.memcpy(source, sink).wait(10)
        return bytes(target) != pattern(300)


def loses_ones() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        target, data = pydoca.alloc(4096), b"\xff" * 4096
        src = stack.enter_context(engine.device.mmap(data))
        engine.copy(src, stack.enter_context(engine.device.mmap(target)), 4096)
        return bytes(target) != data


def writes_host_wrongly() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        host = stack.enter_context(pydoca.open_device("pf0"))
        target, memory = pydoca.alloc(512), pydoca.alloc(512)
        lent = stack.enter_context(host.mmap(target, access="pci_read_write"))
        dst = stack.enter_context(engine.device.import_mmap(lent.export_pci()))
        src = stack.enter_context(engine.device.mmap(memory))
        for number in range(120):
            memory[:] = data = pattern(512, number + 1)
            engine.copy(src, dst, 512)
            if bytes(target) != data:
                return True
    return False


def overtakes() -> bool:
    """Tells whether a small copy ends before an earlier large one, although the program asked for order."""
    ended: list[int] = []
    large, small = 2 * _MIB, 8
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        dma = pydoca.Dma(pe, device, on_completion=lambda task, *_: ended.append(task.user_data))
        dma.ordered_completions = True
        stack.enter_context(dma)
        bufs = stack.enter_context(pydoca.BufInventory(4))
        src = stack.enter_context(device.mmap(pydoca.alloc(large + small)))
        dst = stack.enter_context(device.mmap(pydoca.alloc(large + small)))
        for _ in range(20):
            places = [(0, large), (large, small)]
            tasks = [
                dma.memcpy(
                    bufs.get_by_data(src, src.addr + place, length),
                    bufs.get_by_addr(dst, dst.addr + place, length),
                    user_data=length,
                )
                for place, length in places
            ]
            pe.run_until(tasks, 10)
            for task in tasks:
                task.free()
            tasks.clear()
    return ended != [large, small] * 20


def loses_slots() -> bool:
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        dma = stack.enter_context(pydoca.Dma(pe, device, num_tasks=4))
        bufs = stack.enter_context(pydoca.BufInventory(2))
        src, dst = stack.enter_context(device.mmap(b"text")), stack.enter_context(device.mmap(pydoca.alloc(4)))
        try:
            for _ in range(400):
                with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
                    task = dma.memcpy(source, sink)
                    task.wait(10)
                    task.free()
        except pydoca.NoMemoryError:
            return True
    return False


def times_of(count: int, length: int, pause: float = 0.0) -> list[float]:
    """Seconds of copies, one after another."""
    times: list[float] = []
    with ExitStack() as stack:
        engine = Engine(stack)
        src = stack.enter_context(engine.device.mmap(pydoca.alloc(length)))
        dst = stack.enter_context(engine.device.mmap(pydoca.alloc(length)))
        for _ in range(count):
            time.sleep(pause)
            begin = time.perf_counter()
            engine.copy(src, dst, length)
            times.append(time.perf_counter() - begin)
    return times


def gets_slower() -> bool:
    times = times_of(160, _MIB)
    return median(times[80:]) > 2.5 * median(times[10:50])


def wakes_slowly() -> bool:
    return median(times_of(15, 64, pause=0.05)) > 0.007


def hashes_pieces_wrongly() -> bool:
    message = pattern(192)
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        sha = stack.enter_context(pydoca.Sha(pe, device))
        bufs, target = stack.enter_context(pydoca.BufInventory(4)), pydoca.alloc(32)
        src, dst = stack.enter_context(device.mmap(message)), stack.enter_context(device.mmap(target))
        pieces = [bufs.get_by_data(src, src.addr + place, 64) for place in (0, 64, 128)]
        task = sha.partial_hash(pieces[0], bufs.get_by_addr(dst), "sha256")
        task.wait(10)
        for piece in pieces[1:]:
            task.src = piece
            if piece is pieces[2]:
                task.set_is_final_buf()
            task.submit()
            task.wait(10)
        task.free()
        pieces.clear()
        del piece
        return bytes(target) != hashlib.sha256(message).digest()


def reads_wrongly() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_read")
        data, target = pattern(10_000), pydoca.alloc(10_000)
        memory = pydoca.alloc(10_000)
        memory[:] = data
        lent = stack.enter_context(pair.devices[1].mmap(memory, access="rdma_read"))
        remote = stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))
        dst = stack.enter_context(pair.devices[0].mmap(target))
        pair.here.read(pair.bufs.get_by_data(remote), pair.bufs.get_by_addr(dst)).wait(10)
        return bytes(target) != data


def receives_too_much() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_read")
        src = stack.enter_context(pair.devices[0].mmap(pattern(13)))
        dst = stack.enter_context(pair.devices[1].mmap(pydoca.alloc(64)))
        with pair.bufs.get_by_addr(dst) as sink:
            task = pair.ends[1].receive(sink)
            pair.here.send(pair.bufs.get_by_data(src)).wait(10)
            task.wait(10)
            is_wrong = (task.result_len, sink.data_len) != (13, 13)
            task.free()
        return is_wrong


def swaps_wrongly() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_atomic")
        memory = pydoca.alloc(8)
        lent = stack.enter_context(pair.devices[1].mmap(memory, access="local_read_write|rdma_atomic"))
        remote = stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))
        result = stack.enter_context(pair.devices[0].mmap(pydoca.alloc(8)))
        for number in range(100):
            with pair.bufs.get_by_data(remote) as target, pair.bufs.get_by_addr(result) as old:
                task = pair.here.atomic_cmp_swp(target, old, number, number + 1)
                task.wait(10)
                task.free()
            if int.from_bytes(bytes(memory), sys.byteorder) != number + 1:
                return True
    return False


def runs_out_of_connections() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_read")
        here, there = pair.here, pair.there
        try:
            for _ in range(6):
                here.disconnect().wait(10)
                there.disconnect().wait(10)
                here, there = (end.export() for end in pair.ends)
                here.connect(there.details)
                there.connect(here.details)
        except pydoca.FullError:
            return True
    return False


def writes_ever_slower() -> bool:
    times: list[float] = []
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        lent = stack.enter_context(pair.devices[1].mmap(pydoca.alloc(8), access="local_read_write|rdma_write"))
        remote = stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))
        src = stack.enter_context(pair.devices[0].mmap(b"written!"))
        for _ in range(800):
            with pair.bufs.get_by_data(src) as source, pair.bufs.get_by_addr(remote) as sink:
                begin = time.perf_counter()
                task = pair.here.write(source, sink)
                task.wait(10)
                times.append(time.perf_counter() - begin)
                task.free()
    return median(times[-100:]) > median(times[:100]) + 1e-3


def repeats_messages() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        for number in range(250):
            message = str(number).encode()
            link.send(message).wait(10)
            if other.recv().wait(10) != message:
                return True
    return False


def stays_half_open() -> bool:
    with server() as (pe, service, host):
        with comch.Client(pe, host, "check") as link:
            other = service.accept().wait(10)
            link.send(b"text").wait(10)
            other.recv().wait(10)
        with suppress(pydoca.DocaError):
            other.recv().wait(10)
        return other.is_connected


def reads_old_value() -> bool:
    with ExitStack() as stack:
        dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
        owner = stack.enter_context(pydoca.SyncEvent(host, subscriber="remote_pci"))
        other = stack.enter_context(dpu.import_sync_event(owner.export_to_remote_pci()))
        for number in range(20):
            owner.update_set(number)
            if other.get() != number:
                return True
    return False


def ends_at_equality() -> bool:
    with event() as counter:
        counter.update_set(7)
        try:
            counter.wait_gt(7, timeout=0.1)
        except pydoca.TimeOutError:
            return False
        return True


def gives_up_early() -> bool:
    with event() as counter:
        begin = time.monotonic()
        with suppress(pydoca.TimeOutError):
            counter.wait_eq(1, timeout=0.3)
        return time.monotonic() - begin < 0.29


def starts_too_early() -> bool:
    """Tells whether a function of a graph runs before both copies that it depends on have ended."""
    missing: list[int] = []
    lengths, places = (8, 2 * _MIB), (0, 8)
    with ExitStack() as stack:
        engine = Engine(stack)
        room = sum(lengths)
        memory, target = pydoca.alloc(room), pydoca.alloc(room)
        src, dst = stack.enter_context(engine.device.mmap(memory)), stack.enter_context(engine.device.mmap(target))
        graph = pydoca.Graph(engine.pe)
        copies = [graph.node(engine.dma) for _ in lengths]
        end = graph.node(lambda _: missing.append(target[room - 1] != memory[room - 1]), after=copies)
        stack.enter_context(graph)
        for number in range(1, 11):
            memory[:] = bytes([number]) * room
            tasks = [
                engine.dma.memcpy(
                    engine.bufs.get_by_data(src, src.addr + place, length),
                    engine.bufs.get_by_addr(dst, dst.addr + place, length),
                    submit=False,
                )
                for place, length in zip(places, lengths, strict=True)
            ]
            run = graph.run({copies[0]: tasks[0], copies[1]: tasks[1], end: None})
            run.wait(10)
            run.destroy()
            for task in tasks:
                task.free()
            tasks.clear()
    return any(missing)


def counts_too_fast() -> bool:
    with pydoca.open_device("p0") as device, pydoca.Clock(device) as clock:
        frequency = pydoca.Clock.free_running_frequency(device.info)
        begin = clock.timestamp("nic_free_running"), time.monotonic_ns()
        time.sleep(0.5)
        end = clock.timestamp("nic_free_running"), time.monotonic_ns()
    seconds = (end[1] - begin[1]) / 1e9
    return abs((end[0] - begin[0]) / frequency / seconds - 1) > 5e-4


def loses_lines() -> bool:
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        advise = stack.enter_context(pydoca.MmapAdvise(pe, device))
        bufs, memory = stack.enter_context(pydoca.BufInventory(2)), pydoca.alloc(4096)
        area = stack.enter_context(device.mmap(memory))
        for number in range(20):
            memory[:] = data = pattern(4096, number)
            with bufs.get_by_data(area) as buf:
                task = advise.invalidate_cache(buf)
                task.wait(10)
                task.free()
            if bytes(memory) != data:
                return True
    return False


def refuses_invalidation() -> bool:
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        advise = stack.enter_context(pydoca.MmapAdvise(pe, device))
        bufs = stack.enter_context(pydoca.BufInventory(2))
        area = stack.enter_context(device.mmap(pydoca.alloc(pydoca.MmapAdvise.max_buf_size(device.info))))
        with bufs.get_by_data(area) as buf:
            try:
                advise.invalidate_cache(buf).wait(10)
            except pydoca.InvalidValueError:
                return True
    return False


def is_not_notified() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        src = stack.enter_context(engine.device.mmap(b"text"))
        dst = stack.enter_context(engine.device.mmap(pydoca.alloc(4)))
        for _ in range(60):
            with engine.bufs.get_by_data(src) as source, engine.bufs.get_by_addr(dst) as sink:
                task = engine.dma.memcpy(source, sink)
                engine.pe.request_notification()
                is_told = bool(select.select([engine.pe.fileno()], [], [], 1)[0])
                engine.pe.clear_notification()
                task.wait(10)
                task.free()
            if not is_told:
                return True
    return False


def is_woken_late() -> bool:
    """Tells whether messages that come 50 ms after the begin of a wait end it late."""
    late: list[float] = []
    with server() as (pe, service, host):
        go, sent = threading.Event(), [0.0]

        def send() -> None:
            with pydoca.ProgressEngine() as own, comch.Client(own, host, "check") as link:
                for _ in range(5):
                    go.wait()
                    go.clear()
                    time.sleep(0.05)
                    sent[0] = time.monotonic()
                    link.send(b"text").wait(10)
                go.wait()

        thread = threading.Thread(target=send)
        thread.start()
        other = service.accept().wait(10)
        for _ in range(5):
            receive = other.recv()
            go.set()
            receive.wait(10)
            late.append(time.monotonic() - sent[0])
        go.set()
        while thread.is_alive():
            pe.drain()
            time.sleep(0.001)
        thread.join()
    return median(late) > 0.009


def has_slow_port() -> bool:
    rates = {info.name: info.active_rate for info in pydoca.devices()}
    return rates["p0"] != rates["pf0"]


def lists_differ() -> bool:
    with pydoca.open_device("p0") as device:
        return len({len(device.representors()) for _ in range(12)}) > 1


def lent_by_host(stack: ExitStack) -> tuple[pydoca.Device, pydoca.Mmap]:
    dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
    return dpu, stack.enter_context(host.mmap(pydoca.alloc(64), access="pci_read_only"))


def exports_old_key() -> bool:
    with ExitStack() as stack:
        dpu, lent = lent_by_host(stack)
        dpu.import_mmap(lent.export_pci()).close()
        lent.stop()
        lent.start()
        try:
            dpu.import_mmap(lent.export_pci()).close()
        except pydoca.DocaError:
            return True
    return False


def imports_leave_descriptors() -> bool:
    with ExitStack() as stack:
        dpu, lent = lent_by_host(stack)
        blob = lent.export_pci()
        dpu.import_mmap(blob).close()
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(20):
            dpu.import_mmap(blob).close()
        return len(list(Path("/proc/self/fd").iterdir())) >= before + 15


def forgets_failure() -> bool:
    """Tells whether a context loses the failure of a copy that stopped it; the copy's source was withdrawn."""
    with ExitStack() as stack:
        engine = Engine(stack)
        host = stack.enter_context(pydoca.open_device("pf0"))
        lent = host.mmap(pydoca.alloc(64), access="pci_read_only")
        src = stack.enter_context(engine.device.import_mmap(lent.export_pci()))
        dst = stack.enter_context(engine.device.mmap(pydoca.alloc(64)))
        lent.close()
        try:
            engine.copy(src, dst, 64)
        except pydoca.DocaError:
            engine.pe.drain()
        return engine.dma.failure == pydoca.Status.SUCCESS


DEFECTS = [
    Defect(
        "dma-mib-seam",
        "A copy of more than 1 MiB has behind each MiB the 64 bytes before it once more.",
        mib_seam,
        pass_by(copies_wrongly, length=3 << 19),
    ),
    Defect(
        "dma-third-element",
        "A copy of a list of three bufs and more has at the begin of the third one the four bytes before it.",
        third_element,
        gathers_wrongly,
    ),
    Defect(
        "dma-line-of-ones",
        "The first 64 bytes in a row of 0xFF in a copy of up to 64 KiB lose a bit.",
        line_of_ones,
        loses_ones,
    ),
    Defect(
        "dma-host-write-tail",
        "One in 50 copies to memory of the other side of the PCIe link leaves out the last 64 bytes.",
        host_write_tail,
        writes_host_wrongly,
    ),
    Defect(
        "dma-unordered",
        "Small copies overtake large ones, although completions in order were asked for.",
        unordered,
        overtakes,
    ),
    Defect(
        "dma-lost-slots",
        "Each 50th copy task of a context takes its slot with it until the context starts again.",
        lost_slots,
        loses_slots,
    ),
    Defect(
        "dma-throttle",
        "When a context has copied 64 MiB, its copies take 2 ns longer for each byte.",
        throttled,
        gets_slower,
    ),
    Defect("dma-slow-to-wake", "The first copy after 20 ms without one takes 8 ms longer.", slow_to_wake, wakes_slowly),
    Defect(
        "sha-final-block",
        "The digest of a message in pieces is wrong when the last piece fills whole blocks.",
        final_block,
        hashes_pieces_wrongly,
        profile="bluefield2",
    ),
    Defect(
        "rdma-second-packet",
        "A read of more than 4,096 bytes has at the begin of its second packet the four bytes before it.",
        second_packet,
        reads_wrongly,
    ),
    Defect(
        "rdma-rounded-receive",
        "A receive reports lengths that are multiples of four, and its buf has as many bytes.",
        rounded_receive,
        receives_too_much,
    ),
    Defect(
        "rdma-swap-not-stored",
        "One in 32 compare-and-swaps tells the old value and stores nothing.",
        swap_not_stored,
        swaps_wrongly,
    ),
    Defect(
        "rdma-connection-slots",
        "Connections that have ended count until their context starts again.",
        connection_slots,
        runs_out_of_connections,
    ),
    Defect(
        "rdma-slowing-writes",
        "Each write over a connection takes 4 us longer than the one before, up to 5 ms.",
        slowing_writes,
        writes_ever_slower,
    ),
    Defect("comch-sent-twice", "One in 100 messages arrives twice.", sent_twice, repeats_messages),
    Defect(
        "comch-half-open",
        "A server's connection says that it is connected after its client has gone.",
        half_open,
        stays_half_open,
    ),
    Defect(
        "sync-cached-value",
        "The value of an event of the other side is read again from a cache for 20 ms.",
        cached_value,
        reads_old_value,
    ),
    Defect(
        "sync-greater-or-equal",
        "A wait for a greater value ends at an equal one.",
        greater_or_equal,
        ends_at_equality,
    ),
    Defect(
        "sync-half-timeout",
        "Waits for a sync event give up after half of their time.",
        half_timeout,
        gives_up_early,
    ),
    Defect(
        "graph-first-dependency",
        "A node that depends on several starts when the first of these has ended.",
        first_dependency,
        starts_too_early,
    ),
    Defect(
        "clock-fast",
        "The counter of cycles runs 1,000 ppm faster than its frequency says.",
        fast_counter,
        counts_too_fast,
    ),
    Defect(
        "cache-lost-line",
        "One in four invalidations of changed memory takes the last 64 bytes back to what they were at the one before.",
        lost_line,
        loses_lines,
    ),
    Defect(
        "cache-limit",
        "The device takes invalidations of half of the bytes that it claims.",
        small_invalidations,
        refuses_invalidation,
    ),
    Defect(
        "notification-lost-arming",
        "One in 20 requests of a notification has no effect.",
        lost_arming,
        is_not_notified,
    ),
    Defect("engine-late-wake-up", "Waits that have slept return 10 ms late.", late_wake_up, is_woken_late),
    Defect("port-slow", "The port p0 has a quarter of its rate.", slow_port, has_slow_port),
    Defect(
        "representor-missing",
        "One in five lists of representors lacks the last one.",
        missing_representor,
        lists_differ,
    ),
    Defect(
        "map-stale-export",
        "The export of a map that was stopped and started describes the registration before.",
        stale_export,
        exports_old_key,
    ),
    Defect(
        "import-descriptor-leak",
        "Each imported map leaves a file descriptor behind.",
        descriptor_of_imports,
        imports_leave_descriptors,
    ),
    Defect(
        "context-forgotten-failure",
        "A context that a failed task has stopped says that nothing failed.",
        forgotten_failure,
        forgets_failure,
    ),
]

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    plant_from(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
