"""Thirty other defects of a device than those of unseen_defects, also written without a look at the cases.

usage: unseen_again.py list
       unseen_again.py check [NAME...]              # each is visible by the public API, and only when it is planted
       unseen_again.py run NAME LEVEL DIRECTORY     # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import select
import statistics
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Any, NamedTuple

import unseen_defects
from unseen_defects import (
    AT_ONCE,
    Defect,
    Engine,
    Function,
    Pair,
    Patch,
    Spoil,
    Table,
    Work,
    after_each,
    before_each,
    event,
    is_writable,
    look_at,
    main,
    pattern,
    peek,
    poke,
    replaced,
    server,
    spoiled,
    spoiled_copies,
    together,
    with_argument,
)

import pydoca
from pydoca import comch, faults

_PACKET = 4096
_SEGMENT = 32 << 20  # the memory that one entry of the card's table of addresses reaches
_SLOW_LINK = 50e6  # bytes per second
_Pieces = Callable[[list[bytes], bytes], bytes]  # maps the source's pieces and the bytes there to the written bytes


# Lists of bufs


def spoiled_lists(is_met: Callable[[Any], bool], change: _Pieces) -> AbstractContextManager[None]:
    """Copies from some lists write the bytes that change makes of their pieces."""

    def look(_: Spoil, src: Any, dst: Any, __: str) -> tuple[list[Patch], int]:
        with suppress(pydoca.DocaError):
            if src is not None and dst is not None and is_met(src):
                return _of_lists(list(src), list(dst), change)
        return [], 0

    return spoiled(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, lambda _: [], look)


def _of_lists(src: list[Any], dst: list[Any], change: _Pieces) -> tuple[list[Patch], int]:
    total = sum(buf.data_len for buf in src)
    is_far = any(buf.mmap.is_from_export for buf in src)
    if is_far or total > sum(buf.tailroom for buf in dst) or not all(is_writable(buf) for buf in dst):
        return [], 0
    places = _places(dst, total)
    data = change([peek(buf.data, buf.data_len) for buf in src], b"".join(peek(*place) for place in places))
    patches, begin = [], 0
    for place, length in places:
        patches.append((place, data[begin : begin + length]))
        begin += length
    return patches, total


def _places(dst: list[Any], total: int) -> list[tuple[int, int]]:
    """Addresses and lengths that total bytes fill."""
    places = []
    for buf in dst:
        length = min(buf.tailroom, total)
        total -= length
        places.append((buf.data + buf.data_len, length))
    return places


def reversed_list() -> AbstractContextManager[None]:
    return spoiled_lists(lambda src: src.list_len >= 3, lambda pieces, _: b"".join([pieces[0], *reversed(pieces[1:])]))


def longest_list() -> AbstractContextManager[None]:
    def is_longest(src: Any) -> bool:
        return bool(src.list_len > 1 and src.list_len == pydoca.Dma.max_buf_list_len(src.mmap.devices[0].info))

    def without_last(pieces: list[bytes], before: bytes) -> bytes:
        data = b"".join(pieces[:-1])
        return data + before[len(data) :]

    return spoiled_lists(is_longest, without_last)


# Copies


def before_copies(act: Callable[[Any, Any, Any], object]) -> AbstractContextManager[None]:
    """Calls act with the context, the source and the destination of each submitted copy."""

    def act_on(context: Any, src: Any, dst: Any) -> None:
        with suppress(pydoca.DocaError):  # the submission raises the error
            act(context, src, dst)

    def make_call(original: Function) -> Function:
        @functools.wraps(original)
        def memcpy(self: Any, src: Any, dst: Any, *, submit: bool = True, **keys: Any) -> Any:
            if submit:
                act_on(self, src, dst)
            return original(self, src, dst, submit=submit, **keys)

        return memcpy

    def of_task(task: Any) -> None:
        if isinstance(task, pydoca.DmaMemcpyTask):
            act_on(task.context, task.src, task.dst)

    return together(
        replaced(pydoca.Dma, "memcpy", make_call),
        replaced(pydoca.Task, "submit", before_each(of_task)),
        replaced(pydoca.Task, "try_submit", before_each(of_task)),
    )


def slow_link() -> AbstractContextManager[None]:
    def take_time(_: Any, src: Any, dst: Any) -> None:
        if src is not None and dst is not None and (src.mmap.is_from_export or dst.mmap.is_from_export):
            length = sum(buf.data_len for buf in src)
            time.sleep(length / _SLOW_LINK if length >= 1024 else 0)

    return before_copies(take_time)


def throttled() -> AbstractContextManager[None]:
    begin = last = 0.0

    def take_time(*_: Any) -> None:
        nonlocal begin, last
        now = time.monotonic()
        begin = now if now - last > 1 else begin
        if now - begin > 3:
            time.sleep(0.0003)
        last = time.monotonic()

    return before_copies(take_time)


def deep_queue() -> AbstractContextManager[None]:
    count, depth = itertools.count(1), 0

    def note(context: Any, *_: Any) -> None:
        nonlocal depth
        depth = context.num_inflight_tasks

    def spoil(work: Work) -> list[Patch]:
        if depth < 64 or next(count) % 32:
            return []
        return [(work.target, peek(work.target, work.length))]

    return together(spoiled_copies(spoil), before_copies(note))


def far_end() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        origin = work.src.mmap
        begin = max(work.source, origin.addr + _SEGMENT)
        length = work.source + work.length - begin
        if origin.is_from_export or length <= 0:
            return []
        return [(work.target + begin - work.source, peek(begin - _SEGMENT, length))]

    return spoiled_copies(spoil)


def order_ignored() -> AbstractContextManager[None]:
    told: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()

    def make(original: property) -> property:
        def set_told(self: Any, value: bool) -> None:
            original.__set__(self, value)
            original.__set__(self, False)
            told[self] = value

        return property(lambda self: told.get(self, False), set_told)

    return replaced(pydoca.Dma, "ordered_completions", make)


def user_data_of_another() -> AbstractContextManager[None]:
    last: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def memcpy(self: Any, src: Any, dst: Any, **keys: Any) -> Any:
            mine = keys.get("user_data")
            if mine is not None:
                before, last[self] = last.get(self), mine
                if before is not None and self.num_inflight_tasks and next(count) % 100 == 0:
                    keys["user_data"] = before
            return original(self, src, dst, **keys)

        return memcpy

    return replaced(pydoca.Dma, "memcpy", make)


def lost_completion() -> AbstractContextManager[object]:
    return faults.inject(faults.FaultRule("drop", "dma.memcpy", every=1200))


# Contexts and engines


@contextmanager
def descriptor_of_starts() -> Iterator[None]:
    kept: list[int] = []

    def leave_one(*_: object) -> None:
        if len(kept) < 400:
            kept.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))

    try:
        with replaced(pydoca.Context, "start", after_each(leave_one)):
            yield
    finally:
        for descriptor in kept:
            os.close(descriptor)


def no_recovery() -> AbstractContextManager[None]:
    def refuse(context: pydoca.Context) -> None:
        if context.failure:
            raise pydoca.DriverError(f"start: the queue of {context.device.name} is in its error state")

    return replaced(pydoca.Context, "start", before_each(refuse))


def lost_arming() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def make(original: Function) -> Function:
        return lambda self: None if next(count) % 50 == 0 else original(self)

    return replaced(pydoca.ProgressEngine, "request_notification", make)


# Memory of other processes


def shared_end() -> AbstractContextManager[None]:
    imports: dict[bytes, weakref.WeakSet[pydoca.Mmap]] = {}
    close = pydoca.Mmap.close

    def make_import(original: Function) -> Function:
        @functools.wraps(original)
        def import_mmap(self: Any, blob: Any, **keys: Any) -> Any:
            made = original(self, blob, **keys)
            imports.setdefault(bytes(blob), weakref.WeakSet()).add(made)
            return made

        return import_mmap

    def end_others(self: pydoca.Mmap, _: object) -> None:
        for same in imports.values():
            if self in same:
                same.discard(self)
                for other in same:
                    with suppress(pydoca.DocaError):
                        close(other)

    return together(
        replaced(pydoca.Device, "import_mmap", make_import),
        replaced(pydoca.Mmap, "close", after_each(end_others)),
        replaced(pydoca.Mmap, "__exit__", after_each(end_others)),
    )


def wrong_refusal() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def import_mmap(*arguments: Any, **keys: Any) -> Any:
            try:
                return original(*arguments, **keys)
            except pydoca.NotConnectedError as error:
                raise pydoca.InvalidValueError(str(error)) from None

        return import_mmap

    return replaced(pydoca.Device, "import_mmap", make)


# SHA


def swapped_word() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        if work.algorithm != "sha1" or work.src.mmap.is_from_export:
            return []
        digest = hashlib.sha1(peek(work.source, work.length)).digest()
        return [(work.target + 16, digest[:15:-1])]

    return spoiled(pydoca.Sha, "hash", pydoca.ShaHashTask, spoil)


class Messages:
    """Messages in pieces that have begun and not ended; a message that ends during another has a wrong digest."""

    def __init__(self) -> None:
        self._unfinished: weakref.WeakSet[Any] = weakref.WeakSet()

    def begin(self, task: Any, _: object = None) -> None:
        """Notes that a piece is in flight."""
        if not isinstance(task, pydoca.ShaPartialHashTask):
            return
        if not task.is_final:
            self._unfinished.add(task)
            return
        self._unfinished.discard(task)
        if any(other.context is task.context for other in self._unfinished):
            task.add_done_callback(self._spoil)

    def forget(self, task: Any) -> None:
        if isinstance(task, pydoca.ShaPartialHashTask):
            self._unfinished.discard(task)

    @staticmethod
    def _spoil(ended: Any) -> None:
        if ended.dst is not None and not ended.status and is_writable(ended.dst):
            last = ended.dst.data + ended.dst.data_len - 1
            poke([(last, bytes([peek(last, 1)[0] ^ 0xFF]))])


def mixed_messages() -> AbstractContextManager[None]:
    messages = Messages()

    def make_call(original: Function) -> Function:
        @functools.wraps(original)
        def partial_hash(self: Any, *arguments: Any, submit: bool = True, **keys: Any) -> Any:
            task = original(self, *arguments, submit=submit, **keys)
            if submit:
                messages.begin(task)
            return task

        return partial_hash

    return together(
        replaced(pydoca.Sha, "partial_hash", make_call),
        replaced(pydoca.Task, "submit", after_each(messages.begin)),
        replaced(pydoca.Task, "try_submit", after_each(messages.begin)),
        replaced(pydoca.Task, "free", before_each(messages.forget)),
        replaced(pydoca.ShaPartialHashTask, "reset", before_each(messages.forget)),
    )


# RDMA


def last_packet() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        rest = work.length % _PACKET
        if work.length < _PACKET or not rest or work.length > work.dst.tailroom:
            return []
        place = work.target + work.length - rest
        return [(place, peek(place, rest))]

    def look(spoil: Spoil, src: Any, dst: Any, algorithm: str) -> tuple[list[Patch], int]:
        """Adds to the length, so that the data comes later than submit() returns."""
        patches, length = look_at(spoil, src, dst, algorithm)
        return patches, length + AT_ONCE

    return spoiled(pydoca.RdmaConnection, "read", pydoca.RdmaTask, spoil, look)


def lost_number() -> AbstractContextManager[None]:
    met: weakref.WeakKeyDictionary[Any, tuple[int, bool]] = weakref.WeakKeyDictionary()
    count = itertools.count(1)
    opcodes = pydoca.RdmaOpcode

    def is_lost(task: Any) -> bool:
        """Decides once for each message whether it is lost."""
        if met.get(task, (-1, False))[0] != task._completions:
            met[task] = task._completions, next(count) % 300 == 0
        return met[task][1]

    def make(original: property, lost: Any, is_met: Callable[[Any], bool]) -> property:
        def get(self: Any) -> Any:
            value = original.__get__(self)
            return lost if is_met(value) and is_lost(self) else value

        return property(get)

    def is_number(value: Any) -> bool:
        return value is not None

    def is_with_number(value: Any) -> bool:
        return bool(value == opcodes.RECV_SEND_WITH_IMM)

    return together(
        replaced(pydoca.RdmaTask, "result_immediate_data", lambda original: make(original, None, is_number)),
        replaced(pydoca.RdmaTask, "result_opcode", lambda original: make(original, opcodes.RECV_SEND, is_with_number)),
    )


def added_twice() -> AbstractContextManager[object]:
    return faults.inject(faults.FaultRule("duplicate", "rdma.atomic_fetch_add", every=400))


def no_retry() -> AbstractContextManager[None]:
    told: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
    real: Any = vars(pydoca.Rdma)["rnr_retry_count"]

    def give_up_at_once(self: Any, _: object = None) -> None:
        told[self] = real.__get__(self)
        real.__set__(self, 0)

    def set_told(self: Any, value: int) -> None:
        real.__set__(self, value)
        give_up_at_once(self)

    return together(
        replaced(pydoca.Rdma, "__init__", after_each(give_up_at_once)),
        replaced(pydoca.Rdma, "rnr_retry_count", lambda _: property(lambda self: told[self], set_told)),
    )


def lost_rejection() -> AbstractContextManager[None]:
    kept: list[pydoca.RdmaConnection] = []
    return replaced(pydoca.RdmaConnection, "reject", lambda _: lambda self: kept.append(self))


# Comch


def padded() -> AbstractContextManager[None]:
    def pad(data: Any) -> Any:
        message = memoryview(data).cast("B")
        return bytes(message).ljust(8, b"\0") if 0 < len(message) < 8 else data

    return replaced(comch.Connection, "send", with_argument(0, "data", pad))


def lost_message() -> AbstractContextManager[object]:
    return faults.inject(faults.FaultRule("drop", "comch.send", every=1000))


def untold_end() -> AbstractContextManager[None]:
    return replaced(comch.Server, "__init__", with_argument(99, "on_disconnect", lambda _: None))


# Sync events


def value_after() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def update_add(self: pydoca.SyncEvent, value: Any) -> int:
            return int(original(self, value) + int(value)) % 2**64

        return update_add

    return replaced(pydoca.SyncEvent, "update_add", make)


def late_wake() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def wait(*arguments: Any, **keys: Any) -> None:
            begin = time.perf_counter()
            original(*arguments, **keys)
            if time.perf_counter() - begin > 50e-6:
                time.sleep(0.02)

        return wait

    names = ["wait_eq", "wait_neq", "wait_gt"]
    return together(
        *(replaced(pydoca.SyncEvent, name, make) for name in [*names, *(f"{name}_yield" for name in names)])
    )


# Graphs


def first_dependency() -> AbstractContextManager[None]:
    def make_node(original: Function) -> Function:
        @functools.wraps(original)
        def node(self: Any, source: Any, *, after: Any = ()) -> Any:
            return original(self, source, after=list(after)[:1])

        return node

    def make_add(original: Function) -> Function:
        @functools.wraps(original)
        def add_dependency(self: pydoca.Graph, from_: Any, to: Any) -> None:
            if not any(to in node.successors for node in self.nodes if node != from_):
                original(self, from_, to)

        return add_dependency

    return together(replaced(pydoca.Graph, "node", make_node), replaced(pydoca.Graph, "add_dependency", make_add))


def lost_error() -> AbstractContextManager[None]:
    def forgiving(function: Function) -> Function:
        @functools.wraps(function)
        def call(cookie: Any) -> None:
            with suppress(Exception):
                function(cookie)

        return call

    def change(source: Any) -> Any:
        return source if isinstance(source, pydoca.Context | pydoca.Graph) else forgiving(source)

    return replaced(pydoca.Graph, "node", with_argument(0, "source", change))


# Properties of the device


def missing_representor() -> AbstractContextManager[None]:
    def is_lost(each: Any) -> bool:
        return bool(each.pci_addr == "0000:0b:00.3")

    def make_list(original: Function) -> Function:
        @functools.wraps(original)
        def representors(*arguments: Any, **keys: Any) -> Any:
            return [each for each in original(*arguments, **keys) if not is_lost(each)]

        return representors

    def make_open(original: Function) -> Function:
        @functools.wraps(original)
        def open_representor(self: Any, selector: Any) -> Any:
            opened = original(self, selector)
            if is_lost(opened):
                opened.close()
                raise pydoca.NotFoundError(f"open_representor: {self.name} has none of {selector!r}")
            return opened

        return open_representor

    return together(
        replaced(pydoca.Device, "representors", make_list), replaced(pydoca.Device, "open_representor", make_open)
    )


class _Moment(NamedTuple):
    host: int
    nic: int
    accuracy: int


def fast_counter() -> AbstractContextManager[None]:
    def is_counter(type: Any) -> bool:
        return (type if isinstance(type, str) else type.name.lower()) == "nic_free_running"

    def faster(cycles: int) -> int:
        return cycles + cycles // 100

    def make_one(original: Function) -> Function:
        @functools.wraps(original)
        def timestamp(self: Any, type: Any) -> int:
            now: int = original(self, type)
            return faster(now) if is_counter(type) else now

        return timestamp

    def make_two(original: Function) -> Function:
        @functools.wraps(original)
        def crosstimestamp(self: Any, host: Any, nic: Any) -> Any:
            both = original(self, host, nic)
            return _Moment(both.host, faster(both.nic), both.accuracy) if is_counter(nic) else both

        return crosstimestamp

    return together(replaced(pydoca.Clock, "timestamp", make_one), replaced(pydoca.Clock, "crosstimestamp", make_two))


# Checks that show a defect without the suite


def gathers_wrongly(count: int) -> bool:
    """Tells whether a copy from a list of count bufs of 16 bytes differs."""
    with ExitStack() as stack:
        engine, bufs = Engine(stack), stack.enter_context(pydoca.BufInventory(count))
        target = pydoca.alloc(16 * count)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (pattern(16 * count), target))
        head = bufs.get_by_data(src, src.addr, 16)
        for number in range(1, count):
            head.chain(bufs.get_by_data(src, src.addr + 16 * number, 16))
        engine.dma.memcpy(head, engine.bufs.get_by_addr(dst)).wait(10)
        del head
        return bytes(target) != pattern(16 * count)


def is_slow_across_link() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        host = stack.enter_context(pydoca.open_device("pf0"))
        lent = stack.enter_context(host.mmap(pydoca.alloc(1 << 20), access="pci_read_only"))
        src = stack.enter_context(engine.device.import_mmap(lent.export_pci()))
        dst = stack.enter_context(engine.device.mmap(pydoca.alloc(1 << 20)))
        begin = time.perf_counter()
        for _ in range(10):
            engine.copy(src, dst, 1 << 20)
        return time.perf_counter() - begin > 0.1


def gets_slower() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        src, dst = (stack.enter_context(engine.device.mmap(pydoca.alloc(64))) for _ in range(2))

        def median() -> float:
            times = []
            for _ in range(200):
                begin = time.perf_counter()
                engine.copy(src, dst, 64)
                times.append(time.perf_counter() - begin)
            return statistics.median(times)

        first, end = median(), time.monotonic() + 4
        while time.monotonic() < end:
            engine.copy(src, dst, 64)
        return median() > first + 2e-4


class Slots:
    """Memory in pieces of 64 bytes, and copies of them that are in flight together."""

    def __init__(self, stack: ExitStack, count: int, **options: Any) -> None:
        self.device = stack.enter_context(pydoca.open_device("p0"))
        self.pe = stack.enter_context(pydoca.ProgressEngine())
        self.dma = stack.enter_context(pydoca.Dma(self.pe, self.device, num_tasks=count, **options))
        self.data, self.target = pattern(64 * count), pydoca.alloc(64 * count)
        self.src, self.dst = (stack.enter_context(self.device.mmap(each)) for each in (self.data, self.target))
        self.bufs = stack.enter_context(pydoca.BufInventory(2 * count))

    def submit(self, number: int) -> pydoca.DmaMemcpyTask:
        place = 64 * number
        source = self.bufs.get_by_data(self.src, self.src.addr + place, 64)
        return self.dma.memcpy(source, self.bufs.get_by_addr(self.dst, self.dst.addr + place, 64), user_data=number)


def loses_data_in_depth() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 256)
        slots.pe.run_until([slots.submit(number) for number in range(256)], 10)
        return bytes(slots.target) != slots.data


def mixes_user_data() -> bool:
    told: list[int] = []
    with ExitStack() as stack:
        slots = Slots(stack, 256, on_completion=lambda task, *_: told.append(task.user_data))
        slots.pe.run_until([slots.submit(number) for number in range(256)], 10)
    return sorted(told) != list(range(256))


def ends_wrong() -> bool:
    with ExitStack() as stack:
        engine, length = Engine(stack), _SEGMENT + 4096
        memory, target = pydoca.alloc(length), pydoca.alloc(64)
        memory[length - 64 : length] = pattern(64)
        src, dst = stack.enter_context(engine.device.mmap(memory)), stack.enter_context(engine.device.mmap(target))
        with engine.bufs.get_by_data(src, src.addr + length - 64, 64) as end, engine.bufs.get_by_addr(dst) as sink:
            engine.dma.memcpy(end, sink).wait(10)
        return bytes(target) != pattern(64)


def overtakes() -> bool:
    """Tells whether small copies overtake large ones, which they must not."""
    seen: list[int] = []
    large = 1 << 20
    with ExitStack() as stack:
        device, pe = stack.enter_context(pydoca.open_device("p0")), stack.enter_context(pydoca.ProgressEngine())
        dma = pydoca.Dma(pe, device, num_tasks=16, on_completion=lambda task, *_: seen.append(task.user_data))
        dma.ordered_completions = True
        stack.enter_context(dma)
        memory, bufs = stack.enter_context(device.mmap(pydoca.alloc(2 * large))), pydoca.BufInventory(32)
        stack.enter_context(bufs)
        for number in range(16):
            src = bufs.get_by_data(memory, data_len=64 if number % 2 else large)
            dma.memcpy(src, bufs.get_by_addr(memory, memory.addr + large), user_data=number)
        del src
        pe.run_until(lambda: len(seen) == 16, 10)
    return seen != list(range(16))


def loses_completions() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (b"text", pydoca.alloc(4)))
        for _ in range(1300):
            with engine.bufs.get_by_data(src) as source, engine.bufs.get_by_addr(dst) as sink:
                task = engine.dma.memcpy(source, sink)
                with suppress(pydoca.TimeOutError):
                    task.wait(2)
                    task.free()
                    continue
                engine.dma.stop()
                task.free()
                engine.pe.run_until(lambda: engine.dma.state is pydoca.ContextState.IDLE, 10)
                return True
    return False


def starts_leave_descriptors() -> bool:
    with pydoca.open_device("p0") as device, pydoca.ProgressEngine() as pe:
        dma = pydoca.Dma(pe, device)
        counts = []
        for _ in range(12):
            dma.start()
            dma.stop()
            counts.append(len(os.listdir("/proc/self/fd")))
        dma.close()
    return counts[-1] >= counts[1] + 10


def stays_failed() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        src, dst = (stack.enter_context(engine.device.mmap(pydoca.alloc(size))) for size in (64, 8))
        with engine.bufs.get_by_data(src) as source, engine.bufs.get_by_addr(dst) as sink:
            task = engine.dma.memcpy(source, sink, submit=False)
            task.submit()
            with suppress(pydoca.DocaError):
                task.wait(10)
            task.free()
        engine.pe.run_until(lambda: engine.dma.state is pydoca.ContextState.IDLE, 10)
        try:
            engine.dma.start()
        except pydoca.DriverError:
            return True
        return False


def sleeps_on() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        for _ in range(120):
            task = slots.submit(0)
            slots.pe.request_notification()
            is_awake = bool(select.select([slots.pe], [], [], 1)[0])
            slots.pe.clear_notification()
            task.wait(10)
            task.free()
            if not is_awake:
                return True
    return False


def ends_both_imports() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        host = stack.enter_context(pydoca.open_device("pf0"))
        lent = stack.enter_context(host.mmap(pydoca.alloc(64), access="pci_read_only"))
        blob = lent.export_pci()
        first, second = (stack.enter_context(engine.device.import_mmap(blob)) for _ in range(2))
        first.close()
        try:
            engine.copy(second, stack.enter_context(engine.device.mmap(pydoca.alloc(64))), 64)
        except pydoca.BadStateError:
            return True
        return False


def refuses_wrongly() -> bool:
    with pydoca.open_device("p0") as device, pydoca.open_device("pf0") as host:
        lent = host.mmap(pydoca.alloc(64), access="pci_read_only")
        blob = lent.export_pci()
        lent.stop()
        try:
            device.import_mmap(blob)
        except pydoca.InvalidValueError:
            return True
        except pydoca.DocaError:
            return False
    raise AssertionError("what was withdrawn can be imported")


@contextmanager
def sha_engine(target: Any) -> Iterator[tuple[pydoca.Sha, pydoca.Mmap, pydoca.Mmap, pydoca.BufInventory]]:
    with ExitStack() as stack:
        device, pe = stack.enter_context(pydoca.open_device("p0")), stack.enter_context(pydoca.ProgressEngine())
        sha, bufs = stack.enter_context(pydoca.Sha(pe, device)), stack.enter_context(pydoca.BufInventory(8))
        src, dst = stack.enter_context(device.mmap(pattern(256))), stack.enter_context(device.mmap(target))
        yield sha, src, dst, bufs


def hashes_wrongly() -> bool:
    target = pydoca.alloc(20)
    with sha_engine(target) as (sha, src, dst, bufs):
        sha.hash(bufs.get_by_data(src), bufs.get_by_addr(dst), "sha1").wait(10)
    return bytes(target) != hashlib.sha1(pattern(256)).digest()


def mixes_messages() -> bool:
    """Hashes two messages of two pieces each in turns, and compares the digests."""
    target = pydoca.alloc(64)
    with sha_engine(target) as (sha, src, dst, bufs):
        block = pydoca.Sha.partial_hash_block_size(sha.device.info, "sha256")
        pieces = [bufs.get_by_data(src, src.addr + block * number, block) for number in range(2)]
        tasks = []
        for number in range(2):
            sink = bufs.get_by_addr(dst, dst.addr + 32 * number, 32)
            tasks.append(sha.partial_hash(pieces[number], sink, "sha256"))
            tasks[number].wait(10)
        for task in tasks:
            task.src = pieces[1]
            task.set_is_final_buf()
            task.submit()
            task.wait(10)
            task.free()
        del pieces, sink
    message = pattern(256)
    first, second = message[:block], message[block : 2 * block]
    return bytes(target) != b"".join(hashlib.sha256(begin + second).digest() for begin in (first, second))


def reads_too_little() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_read")
        memory, target = pydoca.alloc(10_000), pydoca.alloc(10_000)
        memory[:] = pattern(10_000)
        lent = stack.enter_context(pair.devices[1].mmap(memory, access="local_read_write|rdma_read"))
        remote = stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))
        here = stack.enter_context(pair.devices[0].mmap(target))
        pair.here.read(pair.bufs.get_by_data(remote), pair.bufs.get_by_addr(here)).wait(10)
        return bytes(target) != pattern(10_000)


def loses_numbers() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        for number in range(400):
            receive = pair.ends[1].receive(None)
            send = pair.here.send_imm(None, number)
            send.wait(10)
            receive.wait(10)
            if receive.result_immediate_data != number:
                return True
            send.free()
            receive.free()
    return False


def adds_twice() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_atomic")
        memory = pydoca.alloc(8)
        lent = stack.enter_context(pair.devices[1].mmap(memory, access="local_read_write|rdma_atomic"))
        remote = stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))
        result = stack.enter_context(pair.devices[0].mmap(pydoca.alloc(8)))
        target, old = pair.bufs.get_by_data(remote), pair.bufs.get_by_addr(result)
        for _ in range(500):
            task = pair.here.atomic_fetch_add(target, old, 1)
            task.wait(10)
            task.free()
            old.reset_data_len()
        del target, old
        return int.from_bytes(bytes(memory), sys.byteorder) != 500


def gives_up_at_once() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        send = pair.here.send(None)
        with suppress(pydoca.TimeOutError):
            pair.pe.run_until(lambda: False, 0.5)
        with suppress(pydoca.DocaError):
            receive = pair.ends[1].receive(None)
            send.wait(10)
            receive.wait(10)
            return False
        return True


def forgets_rejections() -> bool:
    with ExitStack() as stack:
        here, there = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "p1"))
        pe = stack.enter_context(pydoca.ProgressEngine())
        caller = stack.enter_context(pydoca.Rdma(pe, here, connection_request_timeout=500))
        listener = stack.enter_context(stack.enter_context(pydoca.Rdma(pe, there)).listen(5036))
        attempt = caller.connect(there.info.ipv4_addr, 5036)
        listener.request().wait(10).reject()
        try:
            attempt.wait(10)
        except pydoca.TimeOutError:
            return True
        except pydoca.ConnectionAbortedError:
            return False
    raise AssertionError("what was rejected is connected")


def pads_messages() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        link.send(b"abc")
        return other.recv().wait(10) != b"abc"


def loses_messages() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        for number in range(1100):
            link.send(str(number).encode()).wait(10)
            try:
                if other.recv().wait(1) != str(number).encode():
                    return True
            except pydoca.TimeOutError:
                return True
    return False


def leaves_unnoticed() -> bool:
    ends: list[comch.Connection] = []
    with server(on_disconnect=lambda connection, *_: ends.append(connection)) as (pe, service, host):
        with comch.Client(pe, host, "check"):
            service.accept().wait(10)
        with suppress(pydoca.TimeOutError):
            pe.run_until(lambda: bool(ends), 1)
        return not ends


def tells_value_after() -> bool:
    with event() as counter:
        counter.update_set(7)
        return counter.update_add(5) != 7


def wakes_late() -> bool:
    def lateness() -> float:
        begins: list[float] = []
        with event() as counter:

            def wake() -> None:
                time.sleep(0.02)
                begins.append(time.perf_counter())
                counter.update_set(1)

            setter = threading.Thread(target=wake)
            setter.start()
            counter.wait_gt_yield(0, timeout=10)
            now = time.perf_counter()
            setter.join()
        return now - begins[0]

    return statistics.median(lateness() for _ in range(5)) > 0.015


@contextmanager
def graph_and_copy() -> Iterator[tuple[pydoca.Graph, pydoca.DmaMemcpyTask]]:
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        source, sink = slots.bufs.get_by_data(slots.src), slots.bufs.get_by_addr(slots.dst)
        yield pydoca.Graph(slots.pe), slots.dma.memcpy(source, sink, submit=False)


def starts_too_early() -> bool:
    order: list[str] = []
    with graph_and_copy() as (graph, copy):
        first = graph.node(order.append)
        moved = graph.node(copy.context, after=[first])
        second = graph.node(order.append, after=[moved])
        last = graph.node(order.append, after=[first, second])
        with graph:
            graph.run({first: "first", moved: copy, second: "second", last: "last"}).wait(10)
    return order != ["first", "second", "last"]


def forgives_failures() -> bool:
    def fail(_: Any) -> None:
        raise ValueError("a check fails")

    with graph_and_copy() as (graph, copy):
        moved = graph.node(copy.context)
        check = graph.node(fail, after=[moved])
        with graph:
            run = graph.run({moved: copy, check: None})
            with suppress(Exception):
                run.wait(10)
            return run.status is pydoca.Status.SUCCESS


def lacks_representor() -> bool:
    with pydoca.open_device("p0") as device:
        present = {each.vuid for each in device.representors()}
    functions = {info.vuid for info in pydoca.devices(side="host") if info.name.startswith("pf0")}
    return not functions <= present


def counts_too_fast() -> bool:
    with pydoca.open_device("p0") as device, pydoca.Clock(device) as clock:

        def read() -> tuple[int, int]:
            both = clock.crosstimestamp("host_monotonic_raw", "nic_free_running")
            return both.host, both.nic

        begin = read()
        time.sleep(0.3)
        end = read()
        seconds = (end[0] - begin[0]) / 1e9
        return (end[1] - begin[1]) / seconds > 1.005 * pydoca.Clock.free_running_frequency(device.info)


DEFECTS = [
    Defect(
        "dma-list-reversed",
        "A copy from a list of three bufs or more takes those behind the first in reverse order.",
        reversed_list,
        lambda: gathers_wrongly(3),
    ),
    Defect(
        "dma-longest-list",
        "A copy from a list of the greatest length that the device claims leaves out the last buf.",
        longest_list,
        lambda: gathers_wrongly(64),
    ),
    Defect(
        "pci-slow-link",
        "Copies across the PCIe link run at 50 MB/s.",
        slow_link,
        is_slow_across_link,
    ),
    Defect(
        "dma-throttled",
        "Each copy takes 0.3 ms longer after three seconds of copies without a pause of a second.",
        throttled,
        gets_slower,
    ),
    Defect(
        "dma-deep-queue",
        "One in 32 copies that are submitted while 64 or more are in flight succeeds, and writes nothing.",
        deep_queue,
        loses_data_in_depth,
    ),
    Defect(
        "map-far-end",
        "Copies from a place 32 MiB behind the beginning of a memory map, or farther, take what is 32 MiB before it.",
        far_end,
        ends_wrong,
    ),
    Defect(
        "dma-order-ignored",
        "A context with ordered completions lets small copies overtake large ones all the same.",
        order_ignored,
        overtakes,
    ),
    Defect(
        "dma-other-user-data",
        "One in 100 copies that are submitted while others are in flight completes with the user data of the one "
        "before it.",
        user_data_of_another,
        mixes_user_data,
    ),
    Defect(
        "dma-lost-completion",
        "The completion of one in 1,200 copies never comes.",
        lost_completion,
        loses_completions,
    ),
    Defect(
        "context-descriptors",
        "Each start of a context leaves a file descriptor open.",
        descriptor_of_starts,
        starts_leave_descriptors,
    ),
    Defect(
        "context-no-recovery",
        "A context that has stopped because a task failed cannot be started again.",
        no_recovery,
        stays_failed,
    ),
    Defect(
        "pe-lost-arming",
        "One in 50 armings of an engine's notification handle has no effect.",
        lost_arming,
        sleeps_on,
    ),
    Defect(
        "import-shared-end",
        "The end of an imported memory map ends the other maps of the same description, too.",
        shared_end,
        ends_both_imports,
    ),
    Defect(
        "import-wrong-error",
        "The import of memory that its owner has withdrawn fails with INVALID_VALUE in place of NOT_CONNECTED.",
        wrong_refusal,
        refuses_wrongly,
    ),
    Defect(
        "sha-swapped-word",
        "The last word of a SHA-1 digest has its bytes in reverse order.",
        swapped_word,
        hashes_wrongly,
        profile="bluefield2",
    ),
    Defect(
        "sha-mixed-messages",
        "The digest of a message in pieces is wrong while another message of the engine is unfinished.",
        mixed_messages,
        mixes_messages,
        profile="bluefield2",
    ),
    Defect(
        "rdma-last-packet",
        "Reads over the network that are longer than a packet of 4,096 bytes leave out what the last packet has, "
        "unless it is full.",
        last_packet,
        reads_too_little,
    ),
    Defect(
        "rdma-lost-number",
        "One in 300 messages with immediate data arrives without it.",
        lost_number,
        loses_numbers,
    ),
    Defect(
        "rdma-added-twice",
        "One in 400 atomic additions is done twice.",
        added_twice,
        adds_twice,
    ),
    Defect(
        "rdma-no-retry",
        "A message to a peer that has no receive posted fails at once, whatever rnr_retry_count is.",
        no_retry,
        gives_up_at_once,
    ),
    Defect(
        "rdma-lost-rejection",
        "A peer whose request was rejected does not hear of it, and waits until its time is over.",
        lost_rejection,
        forgets_rejections,
    ),
    Defect(
        "comch-padded",
        "Messages of less than eight bytes arrive with zeros up to eight bytes.",
        padded,
        pads_messages,
    ),
    Defect(
        "comch-lost-message",
        "One in 1,000 messages is lost on its way.",
        lost_message,
        loses_messages,
    ),
    Defect(
        "comch-untold-end",
        "A server's on_disconnect is not called when a client goes.",
        untold_end,
        leaves_unnoticed,
    ),
    Defect(
        "sync-value-after",
        "An addition to a sync event gives the value after it in place of the one before.",
        value_after,
        tells_value_after,
    ),
    Defect(
        "sync-late-wake",
        "A wait for a sync event that has to wait ends 20 ms late.",
        late_wake,
        wakes_late,
    ),
    Defect(
        "graph-first-dependency",
        "A node of a graph waits for the first of its dependencies, and not for the others.",
        first_dependency,
        starts_too_early,
    ),
    Defect(
        "graph-lost-error",
        "A function that fails in a graph counts as one that has succeeded.",
        lost_error,
        forgives_failures,
    ),
    Defect(
        "representor-missing",
        "The second VF of the host has no representor.",
        missing_representor,
        lacks_representor,
    ),
    Defect(
        "clock-fast",
        "The free-running counter counts faster by 1 % than the device says.",
        fast_counter,
        counts_too_fast,
    ),
]

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    """Plants the defect of the run, first of all in each process."""
    unseen_defects.plant_in_started_process(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
