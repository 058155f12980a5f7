"""Thirty defects of a device, written without a look at the cases and at most of the sets before.

The first run (level quick) found 28 of them.

usage: unseen_eleventh.py list
       unseen_eleventh.py check [NAME...]             # each is visible by the public API, and only when it is planted
       unseen_eleventh.py run NAME LEVEL DIRECTORY    # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import mmap
import os
import select
import statistics
import sys
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import Any

import unseen_defects
from unseen_defects import (
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
    copies_wrongly,
    event,
    is_writable,
    look_at,
    main,
    pass_by,
    pattern,
    peek,
    poke,
    replaced,
    server,
    spoiled,
    together,
    watched,
    with_argument,
)

import pydoca
from pydoca import comch

_PAGE = 4096
_MIB = 1 << 20


def inverted(data: bytes) -> bytes:
    return bytes(byte ^ 0xFF for byte in data)


def is_plain(function: Any) -> bool:
    return callable(function) and not inspect.iscoroutinefunction(function)


def is_steady(which: pydoca.Mmap) -> bool:
    """Tells whether the memory is of this process, and not of a file, which may be cut short."""
    if which.is_from_export:
        return False
    owner = which.memory
    while (inner := owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)) is not None:
        owner = inner
    return not isinstance(owner, mmap.mmap)


def is_local(work: Work) -> bool:
    return is_steady(work.src.mmap) and is_steady(work.dst.mmap)


def with_property(owner: Any, name: str, change: Callable[[Any, Any], Any]) -> AbstractContextManager[None]:
    """Replaces a property; change gets the object and its value."""

    def make(original: Any) -> property:
        return property(lambda self: change(self, original.__get__(self)), getattr(original, "__set__", None))

    return replaced(owner, name, make)


# Copies with wrong data


def spoiled_copies(spoil: Spoil) -> AbstractContextManager[None]:
    def of_fitting(work: Work) -> list[Patch]:
        return spoil(work) if work.length <= work.dst.tailroom else []

    def look(of: Spoil, src: Any, dst: Any, algorithm: str) -> tuple[list[Patch], int]:
        is_given = isinstance(src, pydoca.Buf) and isinstance(dst, pydoca.Buf)
        return look_at(of, src, dst, algorithm) if is_given else ([], 0)

    return spoiled(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, of_fitting, look)


def pieces_of(src: Any) -> list[tuple[int, int]]:
    return [(each.data, each.data_len) for each in src]


def list_element() -> AbstractContextManager[None]:
    def look(_: Spoil, src: Any, dst: Any, algorithm: str) -> tuple[list[Patch], int]:
        with suppress(pydoca.DocaError, AttributeError, TypeError, ValueError):
            if src is None or dst is None or src.list_len < 3 or dst.list_len != 1 or not is_writable(dst):
                return [], 0
            if not all(is_steady(each.mmap) for each in [*src, dst]):
                return [], 0
            pieces = pieces_of(src)
            length = sum(size for _, size in pieces)
            (address, size), place = pieces[2], pieces[0][1] + pieces[1][1]
            if address % 8 and size and length <= dst.tailroom:
                return [(dst.data + dst.data_len + place, inverted(peek(address, 1)))], length
        return [], 0

    return spoiled(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, lambda _: [], look)


def zero_page() -> AbstractContextManager[None]:
    zeros = bytes(_PAGE)

    def spoil(work: Work) -> list[Patch]:
        if not is_local(work):
            return []
        for place in range(0, min(work.length, _MIB) - _PAGE + 1, _PAGE):
            if peek(work.source + place, _PAGE) == zeros:
                return [(work.target + place, peek(work.target + place, _PAGE))]
        return []

    return spoiled_copies(spoil)


def same_offset() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        offset = work.source % _PAGE
        if not offset or offset != work.target % _PAGE or work.length < 256 or not is_local(work):
            return []
        end = work.length - 4
        return [(work.target + end, inverted(peek(work.source + end, 4)))]

    return spoiled_copies(spoil)


def line_at_mib() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        if work.length < _MIB + 64 or not is_local(work):
            return []
        return [(work.target + _MIB, peek(work.source + _MIB - 64, 64))]

    return spoiled_copies(spoil)


# Copies: limits, times, results


def short_lists() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def memcpy(self: pydoca.Dma, src: Any, dst: Any, **keys: Any) -> Any:
            is_refused = False
            with suppress(pydoca.DocaError, AttributeError):
                most = pydoca.Dma.max_buf_list_len(self.device.info)
                is_running = self.state is pydoca.ContextState.RUNNING
                is_refused = is_running and most // 2 < src.list_len <= most and src.list_len > 1
            if is_refused:
                raise pydoca.InvalidValueError("memcpy: the list has more elements than the device takes")
            return original(self, src, dst, **keys)

        return memcpy

    return replaced(pydoca.Dma, "memcpy", make)


def slow_odd_target() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        if work.target % 2 and work.length >= 1024:
            time.sleep(0.0006)
        return []

    return spoiled_copies(spoil)


def throttled() -> AbstractContextManager[None]:
    count, last = 0, 0.0

    def spoil(_: Work) -> list[Patch]:
        nonlocal count, last
        now = time.monotonic()
        count = count + 1 if now - last < 0.1 else 0
        if count > 600:
            time.sleep(0.0003)
        last = time.monotonic()
        return []

    return spoiled_copies(spoil)


def mixed_user_data() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def mixed(function: Any) -> Any:
        if not is_plain(function):
            return function
        before: Any = None

        def call(task: Any, user_data: Any, *rest: Any) -> None:
            nonlocal before
            given = user_data
            if isinstance(user_data, int | str):
                given = before if before is not None and next(count) % 200 == 0 else user_data
                before = user_data
            function(task, given, *rest)

        return call

    return together(
        replaced(pydoca.Dma, "__init__", with_argument(99, "on_completion", mixed)),
        replaced(pydoca.Dma, "set_memcpy_conf", with_argument(0, "on_completion", mixed)),
    )


def never_ordered() -> AbstractContextManager[None]:
    said: weakref.WeakKeyDictionary[pydoca.Dma, bool] = weakref.WeakKeyDictionary()

    def make(original: Any) -> property:
        def put(self: pydoca.Dma, value: bool) -> None:
            original.__set__(self, value)
            said[self] = original.__get__(self)
            original.__set__(self, False)

        return property(lambda self: said.get(self, original.__get__(self)), put)

    return replaced(pydoca.Dma, "ordered_completions", make)


# Progress engines and contexts


def not_armed() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def request_notification(self: pydoca.ProgressEngine) -> None:
            if self.closed or next(count) % 50:
                original(self)

        return request_notification

    return replaced(pydoca.ProgressEngine, "request_notification", make)


def uncounted_failures() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def stats(self: Any) -> Any:
            numbers = original(self)
            return numbers._replace(completed=numbers.completed + numbers.failed, failed=0)

        return stats

    return together(replaced(pydoca.Context, "stats", make), replaced(pydoca.ProgressEngine, "stats", make))


def engine_descriptors() -> AbstractContextManager[None]:
    left: list[int] = []

    def leave(*_: object) -> None:
        if len(left) < 400:
            with suppress(OSError):
                left.append(os.eventfd(0, os.EFD_CLOEXEC))

    return replaced(pydoca.ProgressEngine, "__init__", after_each(leave))


# Memory


def writable_anyway() -> AbstractContextManager[None]:
    wide: weakref.WeakSet[pydoca.Mmap] = weakref.WeakSet()

    def is_met(memory: Any, access: Any) -> bool:
        if isinstance(access, str):
            return access == "local_read_only" and not memoryview(memory).readonly
        return access is not None and int(access) == 0 and not memoryview(memory).readonly

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def map_of(self: pydoca.Device, memory: Any, **keys: Any) -> pydoca.Mmap:
            is_wide = False
            with suppress(TypeError, ValueError, BufferError):
                is_wide = is_met(memory, keys.get("access"))
            if is_wide:
                keys["access"] = pydoca.Access.LOCAL_READ_WRITE
            result: pydoca.Mmap = original(self, memory, **keys)
            if is_wide:
                wide.add(result)
            return result

        return map_of

    def hide(self: pydoca.Mmap, access: Any) -> Any:
        return pydoca.Access.LOCAL_READ_ONLY if self in wide else access

    return together(replaced(pydoca.Device, "mmap", make), with_property(pydoca.Mmap, "access", hide))


def stale_export() -> AbstractContextManager[None]:
    first: weakref.WeakKeyDictionary[pydoca.Mmap, dict[str, bytes]] = weakref.WeakKeyDictionary()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def export_pci(self: pydoca.Mmap, device: Any = None) -> bytes:
            blob: bytes = original(self, device)
            name = (device or self.devices[0]).pci_addr
            return first.setdefault(self, {}).setdefault(name, blob)

        return export_pci

    return replaced(pydoca.Mmap, "export_pci", make)


def chained_before_last() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def chain(self: pydoca.Buf, other: pydoca.Buf) -> None:
            last, is_met = None, False
            with suppress(pydoca.DocaError):
                is_met = self.list_len >= 3
                last = self.last
            original(self, other)
            if is_met and last is not None:
                self.unchain(other)
                self.unchain(last)
                original(self, other)
                original(self, last)

        return chain

    return replaced(pydoca.Buf, "chain", make)


# Graphs


def skipped_function() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def skipping(source: Any) -> Any:
        if isinstance(source, pydoca.Context | pydoca.Graph) or not is_plain(source):
            return source

        @functools.wraps(source)
        def call(cookie: Any) -> Any:
            return source(cookie) if next(count) % 40 else None

        call._planted = source  # type: ignore[attr-defined]
        return call

    return together(
        replaced(pydoca.Graph, "node", with_argument(0, "source", skipping)),
        with_property(pydoca.GraphNode, "source", lambda _, source: getattr(source, "_planted", source)),
    )


# RDMA


def is_kind(*kinds: str) -> Callable[[Any], bool]:
    return lambda task: isinstance(task, pydoca.RdmaTask) and task.kind in kinds


def on_end(act: Callable[[Any], None]) -> Callable[[Any], None]:
    def watch(task: Any) -> None:
        with suppress(pydoca.DocaError):
            task.add_done_callback(act)

    return watch


def read_of_one_more() -> AbstractContextManager[None]:
    def spoil(ended: Any) -> None:
        with suppress(pydoca.DocaError):
            dst, length = ended.dst, ended.result_len
            if ended.status or dst is None or not length or length < 1024 or length % 1024 != 1:
                return
            if dst.list_len == 1 and is_writable(dst) and dst.data_len >= length and is_steady(dst.mmap):
                place = dst.data + dst.data_len - 1
                poke([(place, inverted(peek(place, 1)))])

    return watched(pydoca.RdmaConnection, "read", is_kind("read"), on_end(spoil))


def zero_immediate() -> AbstractContextManager[None]:
    return with_property(pydoca.RdmaTask, "result_immediate_data", lambda _, number: number or None)


def short_old_value() -> AbstractContextManager[None]:
    def spoil(ended: Any) -> None:
        with suppress(pydoca.DocaError):
            result = ended.result_buf
            if ended.status or result is None or result.list_len != 1 or not is_writable(result):
                return
            if result.data_len >= 8 and is_steady(result.mmap):
                poke([(result.data + result.data_len - 4, bytes(4))])

    names = ("atomic_cmp_swp", "atomic_fetch_add")
    return together(*(watched(pydoca.RdmaConnection, name, is_kind(name), on_end(spoil)) for name in names))


def fewer_connections() -> AbstractContextManager[None]:
    def refuse(rdma: pydoca.Rdma) -> None:
        is_full = False
        with suppress(pydoca.DocaError):
            most = rdma.max_num_connections
            is_full = most >= 4 and len(rdma.connections) == most - 1
        if is_full:
            raise pydoca.FullError("export: there are max_num_connections connections")

    return replaced(pydoca.Rdma, "export", before_each(refuse))


def cut_private_data() -> AbstractContextManager[None]:
    return with_property(pydoca.RdmaConnection, "private_data", lambda _, data: data[:48])


def silent_end() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def forgetful(function: Any) -> Any:
        if not is_plain(function):
            return function

        def call(*arguments: Any) -> None:
            if next(count) % 3:
                function(*arguments)

        call._planted = function  # type: ignore[attr-defined]
        return call

    def make(original: Any) -> property:
        return property(
            lambda self: getattr(original.__get__(self), "_planted", original.__get__(self)),
            lambda self, function: original.__set__(self, forgetful(function)),
        )

    return together(
        replaced(pydoca.Rdma, "__init__", with_argument(99, "on_disconnect", forgetful)),
        replaced(pydoca.Rdma, "on_disconnect", make),
    )


# Comch


def byte_512() -> AbstractContextManager[None]:
    def spoiled_message(data: Any) -> Any:
        with suppress(TypeError, ValueError, BufferError):
            message = bytearray(memoryview(data).cast("B"))
            if 512 < len(message) <= 4080:
                message[512] ^= 1
                return bytes(message)
        return data

    return replaced(comch.Connection, "send", with_argument(0, "data", spoiled_message))


def narrow_byte_counter() -> AbstractContextManager[None]:
    return with_property(comch.Connection, "recv_bytes", lambda _, number: number % 65536)


def stale_message() -> AbstractContextManager[None]:
    count = itertools.count(1)
    last: weakref.WeakKeyDictionary[comch.Connection, bytes] = weakref.WeakKeyDictionary()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def send(self: comch.Connection, data: Any, **keys: Any) -> Any:
            message = None
            with suppress(TypeError, ValueError, BufferError):
                message = bytes(memoryview(data).cast("B"))
            before = last.get(self)
            is_met = message and before and len(message) == len(before) and next(count) % 100 == 0
            task = original(self, before if is_met else data, **keys)
            if message:
                last[self] = message
            return task

        return send

    return replaced(comch.Connection, "send", make)


# Sync events


def lost_top_bit() -> AbstractContextManager[None]:
    def change(value: Any) -> Any:
        return value & (2**63 - 1) if isinstance(value, int) and 0 <= value < 2**64 else value

    change_value = with_argument(0, "value", change)
    return together(
        replaced(pydoca.SyncEvent, "update_set", change_value),
        replaced(pydoca.SyncEventContext, "notify_set", change_value),
    )


def late_wake() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def oversleep(*_: object) -> None:
        if next(count) % 30 == 0:
            time.sleep(0.012)

    names = ["wait_eq", "wait_neq", "wait_gt"]
    every = [*names, *(f"{name}_yield" for name in names)]
    return together(*(replaced(pydoca.SyncEvent, name, after_each(oversleep)) for name in every))


# SHA, representors, clocks


def digest_of_list() -> AbstractContextManager[None]:
    def look(_: Spoil, src: Any, dst: Any, algorithm: str) -> tuple[list[Patch], int]:
        with suppress(pydoca.DocaError, AttributeError, TypeError, ValueError):
            if src is None or dst is None or src.list_len < 3 or dst.list_len != 1 or not is_writable(dst):
                return [], 0
            if not all(is_steady(each.mmap) for each in [*src, dst]):
                return [], 0
            pieces = pieces_of(src)
            digest = hashlib.new(algorithm, b"".join(peek(*piece) for piece in pieces[:-1])).digest()
            length = sum(size for _, size in pieces)
            return ([(dst.data + dst.data_len, digest)] if len(digest) <= dst.tailroom else []), length
        return [], 0

    return spoiled(pydoca.Sha, "hash", pydoca.ShaHashTask, lambda _: [], look)


def foreign_representor() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def representors(self: pydoca.Device, *arguments: Any, **keys: Any) -> Any:
            found = original(self, *arguments, **keys)
            with suppress(pydoca.DocaError):
                if self.name == "p1" and self.side is pydoca.Side.DPU:
                    with pydoca.open_device("p0", side="dpu") as other:
                        more = original(other, *arguments, **keys)
                    found = [*found, *[each for each in more if each.func_type is pydoca.PciFuncType.VF][-1:]]
            return found

        return representors

    return replaced(pydoca.Device, "representors", make)


def fast_counter() -> AbstractContextManager[None]:
    begin: dict[str, int] = {}

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def timestamp(self: pydoca.Clock, type: Any) -> int:
            now: int = original(self, type)
            name = type if isinstance(type, str) else str(getattr(type, "name", "")).lower()
            if name != "nic_free_running":
                return now
            first = begin.setdefault(f"{self.device.side.name} {self.device.name}", now)
            return first + (now - first) * 2001 // 2000

        return timestamp

    return replaced(pydoca.Clock, "timestamp", make)


# Checks that show a defect without the suite


class Copies(Engine):
    """Copies between pieces of two memories."""

    def __init__(self, stack: ExitStack, room: int) -> None:
        super().__init__(stack)
        self.bufs = stack.enter_context(pydoca.BufInventory(80))
        self.memory, self.target = pydoca.alloc(room), pydoca.alloc(room)
        self.src = stack.enter_context(self.device.mmap(self.memory))
        self.dst = stack.enter_context(self.device.mmap(self.target))

    def chained(self, pieces: list[tuple[int, int]]) -> pydoca.Buf:
        first, *others = [self.bufs.get_by_data(self.src, self.src.addr + at, size) for at, size in pieces]
        last = first
        for each in others:
            first.chain_tail(last, each)
            last = each
        return first

    def copy_list(self, pieces: list[tuple[int, int]]) -> bool:
        """Copies a list of pieces, and tells whether the result is right."""
        with self.chained(pieces) as source, self.bufs.get_by_addr(self.dst) as sink:
            task = self.dma.memcpy(source, sink)
            task.wait(10)
            task.free()
        data = b"".join(self.memory[at : at + size] for at, size in pieces)
        return self.target[: len(data)] == data

    def seconds(self, length: int, to: int = 0) -> float:
        begin = time.perf_counter()
        self.copy(self.src, self.dst, length, to)
        return time.perf_counter() - begin


def copies_lists_wrongly() -> bool:
    with ExitStack() as stack:
        copies = Copies(stack, _PAGE)
        copies.memory[:] = pattern(_PAGE)
        return not copies.copy_list([(0, 64), (128, 64), (259, 100)])


def leaves_zeros_out() -> bool:
    with ExitStack() as stack:
        copies = Copies(stack, 2 * _PAGE)
        copies.target[:] = b"\xaa" * (2 * _PAGE)
        copies.copy(copies.src, copies.dst, 2 * _PAGE)
        return bytes(copies.target) != bytes(2 * _PAGE)


def copies_same_offset_wrongly() -> bool:
    with ExitStack() as stack:
        copies = Copies(stack, _PAGE)
        copies.memory[:] = pattern(_PAGE)
        source = copies.bufs.get_by_data(copies.src, copies.src.addr + 96, 1000)
        copies.dma.memcpy(source, copies.bufs.get_by_addr(copies.dst, copies.dst.addr + 96, 1000)).wait(10)
        del source
        return copies.target[96:1096] != copies.memory[96:1096]


def refuses_lists() -> bool:
    with ExitStack() as stack:
        copies = Copies(stack, _PAGE)
        most = pydoca.Dma.max_buf_list_len(copies.device.info)
        try:
            return not copies.copy_list([(8 * number, 8) for number in range(most)])
        except pydoca.InvalidValueError:
            return True


def is_slow_at_odd() -> bool:
    with ExitStack() as stack:
        copies = Copies(stack, 2 * _PAGE)
        return statistics.median(copies.seconds(_PAGE, 1) for _ in range(100)) > 0.0005


def slows_down() -> bool:
    with ExitStack() as stack:
        copies = Copies(stack, _PAGE)
        times = [copies.seconds(64) for _ in range(1000)]
        return statistics.median(times[700:]) > statistics.median(times[:500]) + 0.0002


def mixes_user_data() -> bool:
    wrong: list[int] = []

    def compare(task: Any, user_data: int, _: object) -> None:
        if task.user_data != user_data:
            wrong.append(user_data)

    with ExitStack() as stack:
        copies = Copies(stack, 64)
        dma = stack.enter_context(pydoca.Dma(copies.pe, copies.device, on_completion=compare))
        copies.dma = dma
        for number in range(500):
            with copies.bufs.get_by_data(copies.src) as source, copies.bufs.get_by_addr(copies.dst) as sink:
                task = dma.memcpy(source, sink, user_data=number)
                task.wait(10)
                task.free()
    return bool(wrong)


def overtakes() -> bool:
    order: list[int] = []
    with ExitStack() as stack:
        copies = Copies(stack, 2 * _MIB)
        dma = pydoca.Dma(copies.pe, copies.device, on_completion=lambda _, number, __: order.append(number))
        dma.ordered_completions = True
        stack.enter_context(dma)
        for number in range(0, 40, 2):
            tasks = []
            for more, length in enumerate((2 * _MIB - 64, 64)):
                source = copies.bufs.get_by_data(copies.src, copies.src.addr, length)
                sink = copies.bufs.get_by_addr(copies.dst, copies.dst.addr + (2 * _MIB - 64) * more, length)
                tasks.append(dma.memcpy(source, sink, user_data=number + more))
            copies.pe.run_until(tasks, 10)
            del source, sink, tasks
    return order != sorted(order)


def misses_notification() -> bool:
    with ExitStack() as stack:
        copies = Copies(stack, 64)
        poll = select.poll()
        poll.register(copies.pe, select.POLLIN)
        for _ in range(120):
            with copies.bufs.get_by_data(copies.src) as source, copies.bufs.get_by_addr(copies.dst) as sink:
                task = copies.dma.memcpy(source, sink)
                copies.pe.request_notification()
                is_told = bool(poll.poll(1000))
                copies.pe.clear_notification()
                task.wait(10)
                task.free()
            if not is_told:
                return True
    return False


def counts_no_failure() -> bool:
    with ExitStack() as stack:
        copies = Copies(stack, 64)
        host = stack.enter_context(pydoca.open_device("pf0"))
        lent = host.mmap(pydoca.alloc(64), access="pci_read_only")
        src = stack.enter_context(copies.device.import_mmap(lent.export_pci()))
        lent.close()
        with suppress(pydoca.IoFailedError):
            copies.copy(src, copies.dst, 64)
        return copies.dma.stats().failed != 1 or copies.pe.stats().failed != 1


def engines_leave_descriptors() -> bool:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    pydoca.ProgressEngine().close()
    before = count()
    for _ in range(10):
        pydoca.ProgressEngine().close()
    return count() >= before + 10


def writes_read_only() -> bool:
    with ExitStack() as stack:
        copies = Copies(stack, 64)
        copies.memory[:] = pattern(64, 5)
        memory = pydoca.alloc(64)
        dst = stack.enter_context(copies.device.mmap(memory, access="local_read_only"))
        with suppress(pydoca.DocaError):
            copies.copy(copies.src, dst, 64)
        return any(bytes(memory))


def exports_stale() -> bool:
    with (
        pydoca.open_device("p0") as dpu,
        pydoca.open_device("pf0") as host,
        host.mmap(pydoca.alloc(64), access="pci_read_only") as lent,
    ):
        dpu.import_mmap(lent.export_pci()).close()
        lent.stop()
        lent.start()
        try:
            dpu.import_mmap(lent.export_pci()).close()
        except pydoca.DocaError:
            return True
    return False


def chains_wrongly() -> bool:
    with ExitStack() as stack:
        copies = Copies(stack, 64)
        bufs = [copies.bufs.get_by_data(copies.src, copies.src.addr + 8 * place, 8) for place in range(5)]
        for each in bufs[1:]:
            bufs[0].chain(each)
        return [each.head for each in bufs[0]] != [copies.src.addr + 8 * place for place in range(5)]


def skips_function() -> bool:
    seen: list[int] = []
    with ExitStack() as stack:
        copies = Copies(stack, 64)
        graph = pydoca.Graph(copies.pe)
        copying = graph.node(copies.dma)
        telling = graph.node(seen.append, after=[copying])
        stack.enter_context(graph)
        for number in range(100):
            with copies.bufs.get_by_data(copies.src) as source, copies.bufs.get_by_addr(copies.dst) as sink:
                task = copies.dma.memcpy(source, sink, submit=False)
                instance = graph.run({copying: task, telling: number})
                instance.wait(10)
                instance.destroy()
                task.free()
    return seen != list(range(100))


def reads_wrongly() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_read")
        memory, target = pydoca.alloc(3073), pydoca.alloc(3073)
        memory[:] = pattern(3073)
        lent = stack.enter_context(pair.devices[1].mmap(memory, access="rdma_read"))
        remote = stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))
        here = stack.enter_context(pair.devices[0].mmap(target))
        pair.here.read(pair.bufs.get_by_data(remote), pair.bufs.get_by_addr(here)).wait(10)
        return bytes(target) != bytes(memory)


def loses_zero() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        receive = pair.ends[1].receive(None)
        pair.here.send_imm(None, 0).wait(10)
        receive.wait(10)
        return receive.result_immediate_data != 0


def appends_short_value() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_atomic")
        memory, old = pydoca.alloc(8), pydoca.alloc(8)
        memory[:] = ((5 << 32) + 7).to_bytes(8, sys.byteorder)
        lent = stack.enter_context(pair.devices[1].mmap(memory, access="local_read_write|rdma_atomic"))
        remote = stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))
        result = stack.enter_context(pair.devices[0].mmap(old))
        pair.here.atomic_fetch_add(pair.bufs.get_by_data(remote), pair.bufs.get_by_addr(result), 1).wait(10)
        return int.from_bytes(bytes(old), sys.byteorder) != (5 << 32) + 7


def has_fewer_connections() -> bool:
    with (
        pydoca.open_device("p0") as device,
        pydoca.ProgressEngine() as pe,
        pydoca.Rdma(pe, device, max_num_connections=8) as rdma,
    ):
        made: list[Any] = []
        try:
            made.extend(rdma.export() for _ in range(8))
        except pydoca.FullError:
            return True
        finally:
            for each in made:
                each.disconnect()
    return False


def cuts_private_data() -> bool:
    with ExitStack() as stack:
        devices = [stack.enter_context(pydoca.open_device(name)) for name in ("p0", "p1")]
        pe = stack.enter_context(pydoca.ProgressEngine())
        here, there = (stack.enter_context(pydoca.Rdma(pe, device)) for device in devices)
        listener = stack.enter_context(there.listen(5011))
        waiting = here.connect(devices[1].info.ipv4_addr, 5011, private_data=pattern(56))
        request = listener.request().wait(10)
        is_cut = request.private_data != pattern(56)
        answer = request.accept(pattern(196))
        return is_cut or waiting.wait(10).private_data != pattern(196) or not answer.wait(10)


def forgets_end() -> bool:
    ends: list[int] = []
    with ExitStack() as stack:
        devices = [stack.enter_context(pydoca.open_device(name)) for name in ("p0", "p1")]
        pe = stack.enter_context(pydoca.ProgressEngine())
        here = stack.enter_context(pydoca.Rdma(pe, devices[0], on_disconnect=lambda *_: ends.append(1)))
        there = stack.enter_context(pydoca.Rdma(pe, devices[1]))
        for _ in range(6):
            one, other = here.export(), there.export()
            one.connect(other.details)
            other.connect(one.details)
            other.disconnect().wait(10)
            one.ended().wait(10)
    return len(ends) != 6


def spoils_messages() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        link.send(pattern(1000))
        return bool(other.recv().wait(10) != pattern(1000))


def counts_bytes_wrongly() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        for _ in range(40):
            link.send(bytes(2000)).wait(10)
            other.recv().wait(10)
        return other.recv_bytes != link.sent_bytes or other.recv_bytes != 80_000


def repeats_messages() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        got = []
        for number in range(250):
            link.send(str(1000 + number).encode()).wait(10)
            got.append(int(other.recv().wait(10)))
        return got != list(range(1000, 1250))


def loses_top_bit() -> bool:
    with event() as counter:
        counter.update_set(2**63 + 5)
        return counter.get() != 2**63 + 5


def wakes_late() -> bool:
    times = []
    with event() as counter:
        for number in range(300):
            counter.update_set(number)
            begin = time.perf_counter()
            counter.wait_eq(number, timeout=5)
            times.append(time.perf_counter() - begin)
    return sorted(times)[-4] > 0.01


def hashes_lists_wrongly() -> bool:
    with ExitStack() as stack:
        copies = Copies(stack, _PAGE)
        copies.memory[:] = pattern(_PAGE)
        sha = stack.enter_context(pydoca.Sha(copies.pe, copies.device))
        source = copies.chained([(0, 100), (100, 100), (200, 100)])
        sha.hash(source, copies.bufs.get_by_addr(copies.dst), "sha256").wait(10)
        return copies.target[:32] != hashlib.sha256(pattern(300)).digest()


def has_foreign_representor() -> bool:
    names: list[set[str]] = []
    for name in ("p0", "p1"):
        with pydoca.open_device(name) as device:
            names.append({each.vuid for each in device.representors()})
    return bool(names[0] & names[1])


def counts_fast() -> bool:
    with pydoca.open_device("p0") as device, pydoca.Clock(device) as clock:
        cycles, begin = clock.timestamp("nic_free_running"), time.perf_counter()
        time.sleep(0.5)
        more, seconds = clock.timestamp("nic_free_running") - cycles, time.perf_counter() - begin
        return abs(more / seconds / pydoca.Clock.free_running_frequency(device.info) - 1) > 0.0003


DEFECTS = [
    Defect(
        "dma-list-third-element",
        "In a copy from a list of three and more, the first byte of the third is inverted unless it is 8-aligned.",
        list_element,
        copies_lists_wrongly,
    ),
    Defect(
        "dma-zero-page",
        "The first page of a copy that is all zeros is not written.",
        zero_page,
        leaves_zeros_out,
    ),
    Defect(
        "dma-same-page-offset",
        "Copies of 256 bytes and more end in four wrong bytes when source and destination are equally far into a page.",
        same_offset,
        copies_same_offset_wrongly,
    ),
    Defect(
        "dma-line-at-mib",
        "Copies longer than 1 MiB repeat a line of 64 bytes there.",
        line_at_mib,
        pass_by(copies_wrongly, length=_MIB + 5000),
    ),
    Defect(
        "dma-short-lists",
        "The device takes lists half as long as it claims.",
        short_lists,
        refuses_lists,
    ),
    Defect(
        "dma-slow-odd-target",
        "Copies of 1 KiB and more to an odd address take 0.6 ms longer.",
        slow_odd_target,
        is_slow_at_odd,
    ),
    Defect(
        "dma-throttled",
        "After 600 copies without a rest of 0.1 s each takes 0.3 ms longer.",
        throttled,
        slows_down,
    ),
    Defect(
        "dma-mixed-user-data",
        "Every 200th callback of a completion gets the user data of the one before.",
        mixed_user_data,
        mixes_user_data,
    ),
    Defect(
        "dma-never-ordered",
        "Ordered completions can be set, and small copies overtake large ones all the same.",
        never_ordered,
        overtakes,
    ),
    Defect(
        "engine-not-armed",
        "Every 50th request for a notification arms nothing.",
        not_armed,
        misses_notification,
    ),
    Defect(
        "stats-no-failures",
        "The counters count failed tasks as completed ones.",
        uncounted_failures,
        counts_no_failure,
    ),
    Defect(
        "engine-descriptor-leak",
        "Each progress engine leaves a descriptor behind.",
        engine_descriptors,
        engines_leave_descriptors,
    ),
    Defect(
        "map-read-only-written",
        "Copies may write to a map that permits the device only to read.",
        writable_anyway,
        writes_read_only,
    ),
    Defect(
        "map-stale-export",
        "A map that was started anew is exported with the description of its first start.",
        stale_export,
        exports_stale,
    ),
    Defect(
        "buf-chain-before-last",
        "What is chained to a list of three or more comes before its last element.",
        chained_before_last,
        chains_wrongly,
    ),
    Defect(
        "graph-skipped-function",
        "Every 40th run of a function of a graph is left out, and succeeds.",
        skipped_function,
        skips_function,
    ),
    Defect(
        "rdma-read-one-more",
        "Reads of one byte more than a multiple of 1 KiB have a wrong last byte.",
        read_of_one_more,
        reads_wrongly,
    ),
    Defect(
        "rdma-zero-immediate",
        "Immediate data of 0 is reported as none.",
        zero_immediate,
        loses_zero,
    ),
    Defect(
        "rdma-short-old-value",
        "The old value that an atomic appends to its result buf has 32 bits only.",
        short_old_value,
        appends_short_value,
    ),
    Defect(
        "rdma-fewer-connections",
        "A context with room for four and more connections exports one less.",
        fewer_connections,
        has_fewer_connections,
    ),
    Defect(
        "rdma-cut-private-data",
        "Private data of connections is cut to 48 bytes.",
        cut_private_data,
        cuts_private_data,
    ),
    Defect(
        "rdma-silent-end",
        "Every third end of a connection is not reported to on_disconnect.",
        silent_end,
        forgets_end,
    ),
    Defect(
        "comch-byte-512",
        "Messages longer than 512 bytes have a wrong bit in the byte there.",
        byte_512,
        spoils_messages,
    ),
    Defect(
        "comch-narrow-counter",
        "The counter of the bytes that have arrived has 16 bits.",
        narrow_byte_counter,
        counts_bytes_wrongly,
    ),
    Defect(
        "comch-stale-message",
        "Every 100th message of the length of the one before has the content of that one.",
        stale_message,
        repeats_messages,
    ),
    Defect(
        "sync-lost-top-bit",
        "A sync event is set without bit 63.",
        lost_top_bit,
        loses_top_bit,
    ),
    Defect(
        "sync-late-wake",
        "Every 30th wait for a sync event ends 12 ms late.",
        late_wake,
        wakes_late,
    ),
    Defect(
        "sha-list-last",
        "Digests of lists of three and more elements leave the last one out.",
        digest_of_list,
        hashes_lists_wrongly,
        profile="bluefield2",
    ),
    Defect(
        "representor-of-other-port",
        "The second port lists a VF's representor of the first port, too.",
        foreign_representor,
        has_foreign_representor,
    ),
    Defect(
        "clock-fast-counter",
        "The free-running counter is 500 ppm faster than its frequency says.",
        fast_counter,
        counts_fast,
    ),
]

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    unseen_defects.plant_in_started_process(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
