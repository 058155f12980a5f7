"""Thirty more defects of a device, written without a look at the cases and at most of the sets before.

The first run (level quick) found 26 of them.

usage: unseen_twelfth.py list
       unseen_twelfth.py check [NAME...]              # each is visible by the public API, and only when it is planted
       unseen_twelfth.py run NAME LEVEL DIRECTORY     # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import os
import sys
import threading
import time
import weakref
from contextlib import AbstractContextManager, ExitStack, suppress
from types import SimpleNamespace
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

_LINE = 64
_MEBIBYTE = 1 << 20


def is_copy(task: Any) -> bool:
    return isinstance(task, pydoca.DmaMemcpyTask)


def are_single(*bufs: Any) -> bool:
    return all(isinstance(buf, pydoca.Buf) and buf.list_len == 1 for buf in bufs)


def end_of(buf: Any) -> int:
    return int(buf.data + buf.data_len)


def flip(address: int) -> None:
    poke([(address, bytes([peek(address, 1)[0] ^ 0x40]))])


def spoiled_copies(spoil: Spoil) -> AbstractContextManager[None]:
    """Spoils copies as unseen_defects does, but passes wrong arguments on to the method."""

    def of_fitting(work: Work) -> list[Patch]:
        return spoil(work) if work.length <= work.dst.tailroom else []

    def look(spoil_: Spoil, src: Any, dst: Any, algorithm: str) -> tuple[list[Patch], int]:
        is_possible = isinstance(src, pydoca.Buf) and isinstance(dst, pydoca.Buf)
        return look_at(spoil_, src, dst, algorithm) if is_possible else ([], 0)

    return spoiled(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, of_fitting, look)


# Copies with wrong data


def gather_seam() -> AbstractContextManager[None]:
    def look(_: Spoil, src: Any, dst: Any, __: str) -> tuple[list[Patch], int]:
        if not isinstance(src, pydoca.Buf) or not isinstance(dst, pydoca.Buf):
            return [], 0
        with suppress(pydoca.DocaError):
            if src.list_len < 2 or dst.list_len != 1 or not is_writable(dst):
                return [], 0
            pieces = [(element.data, element.data_len) for element in src]
            total, place, patches = sum(length for _, length in pieces), end_of(dst), []
            if total > dst.tailroom or any(element.mmap.is_from_export for element in src):
                return [], 0
            for (address, length), (_, following) in itertools.pairwise(pieces):  # type: ignore[assignment]
                place += length
                if length % 8 and following:
                    patches.append((place, peek(address + length - 1, 1)))
            return patches, total
        return [], 0

    return spoiled(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, lambda _: [], look)


def scatter_short() -> AbstractContextManager[None]:
    def look(_: Spoil, src: Any, dst: Any, __: str) -> tuple[list[Patch], int]:
        if not isinstance(src, pydoca.Buf) or not isinstance(dst, pydoca.Buf):
            return [], 0
        with suppress(pydoca.DocaError):
            if src.list_len != 1 or dst.list_len < 3 or not all(is_writable(element) for element in dst):
                return [], 0
            length, room = src.data_len, sum(element.tailroom for element in dst)
            if not 0 < dst.tailroom < length <= room:
                return [], 0
            last = end_of(dst) + dst.tailroom - 1
            return [(last, peek(last, 1))], length
        return [], 0

    return spoiled(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, lambda _: [], look)


def mebibyte_repeat() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        if work.length <= _MEBIBYTE or work.src.mmap.is_from_export:
            return []
        rest = min(_LINE, work.length - _MEBIBYTE)
        return [(work.target + _MEBIBYTE, peek(work.source + _MEBIBYTE - _LINE, rest))]

    return spoiled_copies(spoil)


def zero_line() -> AbstractContextManager[None]:
    zeros = bytes(_LINE)

    def spoil(work: Work) -> list[Patch]:
        if not _LINE <= work.length <= _MEBIBYTE or work.src.mmap.is_from_export:
            return []
        data, place = peek(work.source, work.length), 0
        while (place := data.find(zeros, place)) >= 0:
            place += -(work.target + place) % _LINE
            if data[place : place + _LINE] == zeros:
                return [(work.target + place, peek(work.target + place, _LINE))]
        return []

    return spoiled_copies(spoil)


def queue_slot() -> AbstractContextManager[None]:
    before: weakref.WeakKeyDictionary[Any, bytes] = weakref.WeakKeyDictionary()

    def watch(task: Any) -> None:
        with suppress(pydoca.DocaError):
            if not are_single(task.src, task.dst) or task.src.mmap.is_from_export or not is_writable(task.dst):
                return
            length, target, count = min(8, task.src.data_len), end_of(task.dst), task.context.num_inflight_tasks
            last = before.get(task.context, b"")[:length]
            before[task.context] = peek(task.src.data, length)
            if count and count % 16 == 0 and last:
                task.add_done_callback(lambda ended: None if ended.status else poke([(target, last)]))

    return watched(pydoca.Dma, "memcpy", is_copy, watch)


def two_contexts() -> AbstractContextManager[None]:
    last: weakref.WeakKeyDictionary[Any, float] = weakref.WeakKeyDictionary()
    count = itertools.count(1)

    def is_other(other: Any, context: Any, then: float, now: float) -> bool:
        return other is not context and now < then + 0.02 and not other.closed and other.device == context.device

    def watch(task: Any) -> None:
        with suppress(pydoca.DocaError, RuntimeError):
            context, now = task.context, time.monotonic()
            last[context] = now
            if not any(is_other(other, context, then, now) for other, then in list(last.items())):
                return
            if not are_single(task.src, task.dst) or not task.src.data_len or not is_writable(task.dst):
                return
            place = end_of(task.dst) + task.src.data_len - 1
            if next(count) % 10 == 0:
                task.add_done_callback(lambda ended: None if ended.status else flip(place))

    return watched(pydoca.Dma, "memcpy", is_copy, watch)


def pci_write_tail() -> AbstractContextManager[None]:
    def tail(src: Any, dst: Any) -> int:
        with suppress(pydoca.DocaError):
            if are_single(src, dst) and dst.mmap.is_from_export and 4096 < src.data_len <= dst.tailroom:
                length: int = src.data_len
                src.data_len = length - length % _LINE  # this raises if the buf is in use
                return length % _LINE
        return 0

    def mend(ended: Any, src: Any, dst: Any, rest: int) -> None:
        with suppress(pydoca.DocaError):
            src.data_len += rest
            if ended is not None and not ended.status:
                dst.data_len += rest

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def memcpy(self: Any, src: Any, dst: Any, *, submit: bool = True, **keys: Any) -> Any:
            rest = tail(src, dst) if submit else 0
            try:
                task = original(self, src, dst, submit=submit, **keys)
            except BaseException:
                if rest:
                    mend(None, src, dst, rest)
                raise
            if rest:
                task.add_done_callback(lambda ended: mend(ended, src, dst, rest))
            return task

        return memcpy

    return replaced(pydoca.Dma, "memcpy", make)


# Copies with wrong results


def mixed_user_data() -> AbstractContextManager[None]:
    last: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
    count = itertools.count(1)

    def watch(task: Any) -> None:
        with suppress(pydoca.DocaError):
            context = task.context
            other = last[context]() if context in last else None
            last[context] = weakref.ref(task)
            if other is None or other is task or other.done or context.num_inflight_tasks < 2 or next(count) % 40:
                return
            task.user_data, other.user_data = other.user_data, task.user_data

    return watched(pydoca.Dma, "memcpy", is_copy, watch)


def order_ignored() -> AbstractContextManager[None]:
    wanted: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()

    def make(original: Any) -> property:
        def get(self: Any) -> Any:
            value = original.__get__(self, type(self))
            return wanted.get(self, value)

        def set_(self: Any, value: Any) -> None:
            original.__set__(self, value)
            wanted[self] = bool(value)
            original.__set__(self, False)

        return property(get, set_)

    return replaced(pydoca.Dma, "ordered_completions", make)


def failures_uncounted() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def stats(self: Any) -> Any:
            real = original(self)
            return real._replace(completed=real.completed + real.failed, failed=0)

        return stats

    return replaced(pydoca.Context, "stats", make)


def greatest_refused() -> AbstractContextManager[None]:
    def is_greatest(dma: Any, src: Any) -> bool:
        with suppress(pydoca.DocaError):
            length = sum(element.data_len for element in src) if isinstance(src, pydoca.Buf) else 0
            return bool(length == pydoca.Dma.max_buf_size(dma.device.info))
        return False

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def memcpy(self: Any, src: Any, dst: Any, **keys: Any) -> Any:
            if is_greatest(self, src):
                raise pydoca.InvalidValueError("memcpy: the length is above the device's limit")
            return original(self, src, dst, **keys)

        return memcpy

    return replaced(pydoca.Dma, "memcpy", make)


def slow_after_idle() -> AbstractContextManager[None]:
    last = [time.monotonic()]

    def spoil(_: Work) -> list[Patch]:
        if time.monotonic() > last[0] + 0.05:
            time.sleep(0.005)
        last[0] = time.monotonic()
        return []

    return spoiled_copies(spoil)


# Memory maps


def read_only_is_writable() -> AbstractContextManager[None]:
    wide: weakref.WeakSet[Any] = weakref.WeakSet()
    read, write = pydoca.Access.PCI_READ_ONLY, pydoca.Access.PCI_READ_WRITE

    def widened(access: Any) -> Any:
        if isinstance(access, str):
            return access.replace("pci_read_only", "pci_read_write") if "pci_read_write" not in access else access
        is_narrow = isinstance(access, int) and access & read and not access & write
        return pydoca.Access(access) & ~read | write if is_narrow else access

    def make(returns: bool, first: bool = False) -> Any:
        def of(original: Function) -> Function:
            @functools.wraps(original)
            def call(self: Any, *arguments: Any, **keys: Any) -> Any:
                is_first = first and bool(arguments)
                given = arguments[0] if is_first else keys.get("access")
                more = widened(given)
                if more == given:
                    result = original(self, *arguments, **keys)
                    wide.discard(self)
                    return result
                try:
                    changed = {} if is_first else {"access": more}
                    result = original(self, *((more, *arguments[1:]) if is_first else arguments), **{**keys, **changed})
                except pydoca.InvalidValueError:  # the memory is read-only
                    return original(self, *arguments, **keys)
                wide.add(result if returns else self)
                return result

            return call

        return of

    def make_hidden(original: Any) -> property:
        def get(self: Any) -> Any:
            value = original.__get__(self, type(self))
            return value & ~write | read if self in wide and value & write else value

        return property(get)

    return together(
        replaced(pydoca.Device, "mmap", make(returns=True)),
        replaced(pydoca.Mmap, "__init__", make(returns=False)),
        replaced(pydoca.Mmap, "set_permissions", make(returns=False, first=True)),
        replaced(pydoca.Mmap, "access", make_hidden),
    )


def descriptor_leak() -> AbstractContextManager[None]:
    kept: list[int] = []

    def leave_one(*_: object) -> None:
        if len(kept) < 300:
            kept.append(os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC))

    return replaced(pydoca.Device, "import_mmap", after_each(leave_one))


# RDMA


def short_result_length() -> AbstractContextManager[None]:
    def cut(task: Any, value: Any) -> Any:
        if isinstance(value, int) and value > 0xFFFF:
            with suppress(pydoca.DocaError):
                return value & 0xFFFF if task.kind in ("read", "receive") else value
        return value

    def make_call(original: Function) -> Function:
        @functools.wraps(original)
        def call(self: Any, *arguments: Any, **keys: Any) -> Any:
            return cut(self, original(self, *arguments, **keys))

        return call

    def make_property(original: Any) -> property:
        return property(lambda self: cut(self, original.__get__(self, type(self))))

    return together(
        replaced(pydoca.RdmaTask, "wait", make_call),
        replaced(pydoca.RdmaTask, "result", make_call),
        replaced(pydoca.RdmaTask, "result_len", make_property),
    )


def swap_claimed() -> AbstractContextManager[None]:
    def is_swap(task: Any) -> bool:
        return isinstance(task, pydoca.RdmaTask) and task.kind == "atomic_cmp_swp"

    def watch(task: Any) -> None:
        with suppress(pydoca.DocaError):
            task.add_done_callback(lambda ended: claim(ended, task.cmp_data))

    def claim(task: Any, compared: int) -> None:
        with suppress(pydoca.DocaError):
            result = task.result_buf
            if task.status or result is None or not are_single(result) or not is_writable(result):
                return
            if result.data_len >= 8 and int.from_bytes(peek(end_of(result) - 8, 8), sys.byteorder) != compared:
                poke([(end_of(result) - 8, compared.to_bytes(8, sys.byteorder))])

    return watched(pydoca.RdmaConnection, "atomic_cmp_swp", is_swap, watch)


def full_packets() -> AbstractContextManager[None]:
    def is_receive(task: Any) -> bool:
        return isinstance(task, pydoca.RdmaTask) and task.kind == "receive"

    def watch(task: Any) -> None:
        with suppress(pydoca.DocaError):
            task.add_done_callback(spoil)

    def spoil(task: Any) -> None:
        with suppress(pydoca.DocaError):
            if task.status or not task.result_len or not are_single(task.dst) or not is_writable(task.dst):
                return
            if task.result_opcode != pydoca.RdmaOpcode.RECV_WRITE_WITH_IMM and task.result_len % 1024 == 0:
                poke([(end_of(task.dst) - 4, bytes(4))])

    return watched(pydoca.Rdma, "receive", is_receive, watch)


def inline_write() -> AbstractContextManager[None]:
    def is_met(src: Any) -> bool:
        with suppress(pydoca.DocaError):
            return are_single(src) and 44 < src.data_len <= 60 and not src.mmap.is_from_export
        return False

    def made(connection: Any, src: Any, stack: ExitStack) -> Any:
        data = peek(src.data, src.data_len)
        memory = stack.enter_context(connection.rdma.device.mmap(data[:44] + bytes(len(data) - 44)))
        return stack.enter_context(stack.enter_context(pydoca.BufInventory(1)).get_by_data(memory))

    def end(task: Any, src: Any, stack: ExitStack) -> None:
        with suppress(pydoca.DocaError):
            task.src = src
        with suppress(pydoca.DocaError):
            stack.close()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def write(self: Any, src: Any, dst: Any, *, submit: bool = True, **keys: Any) -> Any:
            if not submit or not is_met(src) or self.rdma is None:
                return original(self, src, dst, submit=submit, **keys)
            stack, spoilt = ExitStack(), src
            try:
                with suppress(pydoca.DocaError):
                    spoilt = made(self, src, stack)
                task = original(self, spoilt, dst, submit=submit, **keys)
            except BaseException:
                stack.close()
                raise
            task.add_done_callback(lambda ended: end(ended, src, stack))
            return task

        return write

    return replaced(pydoca.RdmaConnection, "write", make)


def short_private_data() -> AbstractContextManager[None]:
    def cut(data: Any) -> Any:
        return data[:148] if isinstance(data, bytes | bytearray) and len(data) <= 196 else data

    return replaced(pydoca.RdmaConnection, "accept", with_argument(0, "private_data", cut))


# Comch


def trailing_zero() -> AbstractContextManager[None]:
    def cut(data: Any, most: int) -> Any:
        with suppress(TypeError, ValueError):
            message = memoryview(data).cast("B")
            return bytes(message[:-1]) if 1 < len(message) <= most and message[-1] == 0 else data
        return data

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def send(self: Any, data: Any, **keys: Any) -> Any:
            return original(self, cut(data, self.max_msg_size), **keys)

        return send

    return replaced(comch.Connection, "send", make)


def sent_twice() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def send(self: Any, data: Any, **keys: Any) -> Any:
            task = original(self, data, **keys)
            if keys.get("submit", True) and next(count) % 250 == 0:
                with suppress(pydoca.DocaError):
                    original(self, data, **keys)
            return task

        return send

    return replaced(comch.Connection, "send", make)


def unreported_end() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def wrapped(function: Any) -> Any:
        if not callable(function) or inspect.iscoroutinefunction(function):
            return function

        def call(*arguments: Any) -> None:
            if next(count) % 3:
                function(*arguments)

        call.of_program = function  # type: ignore[attr-defined]
        return call

    def make(original: Any) -> property:
        def get(self: Any) -> Any:
            function = original.__get__(self, type(self))
            return getattr(function, "of_program", function)

        return property(get, lambda self, value: original.__set__(self, wrapped(value)))

    return together(
        replaced(comch.Server, "__init__", with_argument(99, "on_disconnect", wrapped)),
        replaced(comch.Server, "on_disconnect", make),
    )


# Sync events


def stale_value() -> AbstractContextManager[None]:
    last: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def get(self: Any) -> int:
            value: int = original(self)
            if not self.is_from_export:
                return value
            before = last.get(self, value)
            last[self] = value
            return before if next(count) % 50 == 0 else value

        return get

    return replaced(pydoca.SyncEvent, "get", make)


def late_wake() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def wait(self: Any, *arguments: Any, **keys: Any) -> None:
            begin = time.monotonic()
            original(self, *arguments, **keys)
            if time.monotonic() > begin + 0.0005 and next(count) % 4 == 0:
                time.sleep(0.03)

        return wait

    names = [f"wait_{word}_yield" for word in ("gt", "eq", "neq")]
    return together(*(replaced(pydoca.SyncEvent, name, make) for name in names))


# The engine, the device and its other parts


def lost_notification() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def request_notification(self: Any) -> None:
            original(self)
            if next(count) % 20 == 0:
                self.clear_notification()

        return request_notification

    return replaced(pydoca.ProgressEngine, "request_notification", make)


def wrong_vhca() -> AbstractContextManager[None]:
    def changed(info: Any, value: int) -> int:
        return value + 1 if info.func_type == pydoca.PciFuncType.VF and value % 2 else value

    def make(original: Any) -> property:
        return property(lambda self: changed(self, original.__get__(self, type(self))))

    def make_dict(original: Function) -> Function:
        @functools.wraps(original)
        def to_dict(self: Any) -> dict[str, Any]:
            fields: dict[str, Any] = original(self)
            return fields | {"vhca_id": changed(self, fields["vhca_id"])}

        return to_dict

    return together(
        replaced(pydoca.RepresentorInfo, "vhca_id", make),
        replaced(pydoca.Representor, "vhca_id", make),
        replaced(pydoca.RepresentorInfo, "to_dict", make_dict),
    )


def clock_drift() -> AbstractContextManager[None]:
    first: dict[str, int] = {}

    def name_of(clock: Any) -> str:
        return clock.lower() if isinstance(clock, str) else getattr(clock, "name", None) or ""

    def drifted(device: str, clock: Any, value: int) -> int:
        if name_of(clock).lower() != "nic_real_time":
            return value
        return value + (value - first.setdefault(device, value)) // 5000

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def timestamp(self: Any, type: Any) -> int:
            value: int = original(self, type)
            return drifted(self.device.name, type, value)

        return timestamp

    def make_cross(original: Function) -> Function:
        @functools.wraps(original)
        def crosstimestamp(self: Any, host: Any, nic: Any) -> Any:
            both = original(self, host, nic)
            if name_of(nic).lower() != "nic_real_time":
                return both
            late = drifted(self.device.name, nic, both.nic)
            return SimpleNamespace(host=both.host, nic=late, accuracy=both.accuracy)

        return crosstimestamp

    return together(replaced(pydoca.Clock, "timestamp", make), replaced(pydoca.Clock, "crosstimestamp", make_cross))


def many_pieces() -> AbstractContextManager[None]:
    pieces: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def watch(task: Any) -> None:
        with suppress(pydoca.DocaError):
            pieces[task] = pieces.get(task, 0) + 1
            task.add_done_callback(spoil)

    def spoil(task: Any) -> None:
        with suppress(pydoca.DocaError):
            if not task.has_result:
                return
            if pieces.pop(task, 0) >= 4 and not task.status and are_single(task.dst) and is_writable(task.dst):
                flip(end_of(task.dst) - 1)

    def is_met(task: Any) -> bool:
        return isinstance(task, pydoca.ShaPartialHashTask)

    forget = after_each(lambda task, _: pieces.pop(task, None))
    return together(
        watched(pydoca.Sha, "partial_hash", is_met, watch), replaced(pydoca.ShaPartialHashTask, "reset", forget)
    )


def lost_line() -> AbstractContextManager[None]:
    def is_met(task: Any) -> bool:
        return isinstance(task, pydoca.MmapAdviseInvalidateCacheTask)

    def watch(task: Any) -> None:
        with suppress(pydoca.DocaError):
            buf = task.buf
            if are_single(buf) and is_writable(buf) and buf.data % _LINE and buf.data_len:
                address, length = buf.data, min(8, buf.data_len)
                task.add_done_callback(lambda ended: None if ended.status else poke([(address, bytes(length))]))

    return watched(pydoca.MmapAdvise, "invalidate_cache", is_met, watch)


def fourth_dependency() -> AbstractContextManager[None]:
    def cut(after: Any) -> Any:
        with suppress(TypeError):
            nodes = list(after)
            return nodes[:3] + nodes[4:]
        return after

    return replaced(pydoca.Graph, "node", with_argument(99, "after", cut))


# Checks that show a defect without the suite


def lists_wrongly(sources: list[int], rooms: list[int]) -> bool:
    """Copies between lists of bufs, with gaps of 64 bytes."""
    with ExitStack() as stack:
        engine = Engine(stack)
        data, target = pattern(4096), pydoca.alloc(4096)
        src, dst = stack.enter_context(engine.device.mmap(data)), stack.enter_context(engine.device.mmap(target))
        heads, expected, places = [], b"", []
        place = 0
        for length in sources:
            heads.append(engine.bufs.get_by_data(src, src.addr + place, length))
            expected += data[place : place + length]
            place += length + _LINE
        place, sinks = 0, []
        for room in rooms:
            sinks.append(engine.bufs.get_by_addr(dst, dst.addr + place, room))
            places.append((place, room))
            place += room + _LINE
        for chain in (heads, sinks):
            for other in chain[1:]:
                chain[0].chain(other)
        task = engine.dma.memcpy(heads[0], sinks[0])
        task.wait(10)
        task.free()
        got = b"".join(bytes(target)[begin : begin + room] for begin, room in places)
        for chain in (heads, sinks):
            chain[0].close()
        return got[: len(expected)] != expected


def big_copy_wrong() -> bool:
    return unseen_defects.copies_wrongly(length=(1 << 20) + 100)


def zeros_lost() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        target = pydoca.alloc(1024)
        target[:] = pattern(1024, 1)
        data = b"\x07" * 512 + bytes(512)
        src, dst = stack.enter_context(engine.device.mmap(data)), stack.enter_context(engine.device.mmap(target))
        engine.copy(src, dst, 1024)
        return bytes(target) != data


class Burst:
    """Copies with many in flight."""

    def __init__(self, count: int, length: int, **settings: Any) -> None:
        self.user_data: list[int] = []
        with ExitStack() as stack:
            device = stack.enter_context(pydoca.open_device("p0"))
            pe = stack.enter_context(pydoca.ProgressEngine())
            settings["on_completion"] = lambda task, *_: self.user_data.append(task.user_data)
            dma = stack.enter_context(pydoca.Dma(pe, device, num_tasks=count, **settings))
            bufs = stack.enter_context(pydoca.BufInventory(2 * count))
            data, target = pattern(count * length), pydoca.alloc(count * length)
            src, dst = stack.enter_context(device.mmap(data)), stack.enter_context(device.mmap(target))
            tasks = [
                dma.memcpy(
                    bufs.get_by_data(src, src.addr + place * length, length),
                    bufs.get_by_addr(dst, dst.addr + place * length, length),
                    user_data=place,
                )
                for place in range(count)
            ]
            pe.run_until(tasks, 10)
            self.is_wrong = bytes(target) != data
            self.own_data = [task.user_data for task in tasks]
            for task in tasks:
                task.free()
            tasks.clear()


def mixes_user_data() -> bool:
    burst = Burst(200, 64)
    return burst.own_data != list(range(200))


def overtakes() -> bool:
    ended: list[int] = []
    with ExitStack() as stack:
        device, pe = stack.enter_context(pydoca.open_device("p0")), stack.enter_context(pydoca.ProgressEngine())
        dma = pydoca.Dma(pe, device, on_completion=lambda task, *_: ended.append(task.user_data))
        dma.ordered_completions = True
        assert dma.ordered_completions
        stack.enter_context(dma)
        bufs = stack.enter_context(pydoca.BufInventory(4))
        src = stack.enter_context(device.mmap(pattern(1 << 21)))
        dst = stack.enter_context(device.mmap(pydoca.alloc((1 << 21) + 64)))
        for _ in range(20):
            pairs = [
                (bufs.get_by_data(src), bufs.get_by_addr(dst, dst.addr, 1 << 21)),
                (bufs.get_by_data(src, src.addr, 64), bufs.get_by_addr(dst, dst.addr + (1 << 21), 64)),
            ]
            tasks = [dma.memcpy(*pair, user_data=number) for number, pair in enumerate(pairs)]
            pe.run_until(tasks, 10)
            for task in tasks:
                task.free()
            del pairs, tasks, task
    return ended != [0, 1] * 20


def hides_failures() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        host = stack.enter_context(pydoca.open_device("pf0"))
        lent = host.mmap(pydoca.alloc(64), access="pci_read_only")
        src = stack.enter_context(engine.device.import_mmap(lent.export_pci()))
        dst = stack.enter_context(engine.device.mmap(pydoca.alloc(64)))
        lent.close()
        with suppress(pydoca.DocaError):
            engine.copy(src, dst, 64)
        return engine.dma.stats().failed != 1


def refuses_greatest() -> bool:
    with pydoca.open_device("p0") as device:
        most = pydoca.Dma.max_buf_size(device.info)
    try:
        return unseen_defects.copies_wrongly(length=most)
    except pydoca.InvalidValueError:
        return True


def wakes_slowly() -> bool:
    times: list[float] = []
    with ExitStack() as stack:
        engine = Engine(stack)
        src = stack.enter_context(engine.device.mmap(b"text"))
        dst = stack.enter_context(engine.device.mmap(pydoca.alloc(4)))
        for _ in range(10):
            time.sleep(0.1)
            begin = time.perf_counter()
            engine.copy(src, dst, 4)
            times.append(time.perf_counter() - begin)
    return sorted(times)[5] > 0.004


def contexts_disturb() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        other = stack.enter_context(pydoca.Dma(engine.pe, engine.device))
        target = pydoca.alloc(64)
        src = stack.enter_context(engine.device.mmap(pattern(64)))
        dst = stack.enter_context(engine.device.mmap(target))
        for number in range(100):
            target[:] = bytes(64)
            with engine.bufs.get_by_data(src) as source, engine.bufs.get_by_addr(dst) as sink:
                task = (engine.dma, other)[number % 2].memcpy(source, sink)
                task.wait(10)
                task.free()
            if bytes(target) != pattern(64):
                return True
    return False


def host_lacks_tail() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        host = stack.enter_context(pydoca.open_device("pf0"))
        memory = pydoca.alloc(5000)
        lent = stack.enter_context(host.mmap(memory, access="pci_read_write"))
        dst = stack.enter_context(engine.device.import_mmap(lent.export_pci()))
        engine.copy(stack.enter_context(engine.device.mmap(pattern(5000))), dst, 5000)
        return bytes(memory) != pattern(5000)


def writes_read_only() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        host = stack.enter_context(pydoca.open_device("pf0"))
        memory = pydoca.alloc(64)
        lent = stack.enter_context(host.mmap(memory, access="pci_read_only"))
        assert lent.access == pydoca.Access.PCI_READ_ONLY, lent.access
        dst = stack.enter_context(engine.device.import_mmap(lent.export_pci()))
        with suppress(pydoca.DocaError):
            engine.copy(stack.enter_context(engine.device.mmap(pattern(64))), dst, 64)
        return bytes(memory) == pattern(64)


def imports_leave_files() -> bool:
    with ExitStack() as stack:
        dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
        lent = stack.enter_context(host.mmap(pydoca.alloc(64), access="pci_read_only"))
        counts = []
        for _ in range(20):
            dpu.import_mmap(lent.export_pci()).close()
            counts.append(len(os.listdir("/proc/self/fd")))
        return counts[-1] >= counts[5] + 10


def reads_short() -> bool:
    length = 70_000
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_read")
        memory = pydoca.alloc(length)
        lent = stack.enter_context(pair.devices[1].mmap(memory, access="local_read_write|rdma_read"))
        remote = stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))
        local = stack.enter_context(pair.devices[0].mmap(pydoca.alloc(length)))
        task = pair.here.read(pair.bufs.get_by_data(remote), pair.bufs.get_by_addr(local))
        return task.wait(10) != length or task.result_len != length


def claims_swap() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_atomic")
        memory, old = pydoca.alloc(8), pydoca.alloc(8)
        memory[:] = (77).to_bytes(8, sys.byteorder)
        lent = stack.enter_context(pair.devices[1].mmap(memory, access="local_read_write|rdma_atomic"))
        remote = stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))
        result = stack.enter_context(pair.devices[0].mmap(old))
        pair.here.atomic_cmp_swp(pair.bufs.get_by_data(remote), pair.bufs.get_by_addr(result), 5, 6).wait(10)
        return int.from_bytes(bytes(old), sys.byteorder) != 77


def receives_wrongly() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_read")
        target = pydoca.alloc(4096)
        src = stack.enter_context(pair.devices[0].mmap(pattern(2048)))
        dst = stack.enter_context(pair.devices[1].mmap(target))
        receive = pair.ends[1].receive(pair.bufs.get_by_addr(dst))
        pair.here.send(pair.bufs.get_by_data(src)).wait(10)
        receive.wait(10)
        return bytes(target)[:2048] != pattern(2048)


def writes_wrongly() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        memory = pydoca.alloc(64)
        lent = stack.enter_context(pair.devices[1].mmap(memory, access="local_read_write|rdma_write"))
        remote = stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))
        text = stack.enter_context(pair.devices[0].mmap(pattern(52)))
        task = pair.here.write(pair.bufs.get_by_data(text), pair.bufs.get_by_addr(remote))
        task.wait(10)
        assert task.src.data_len == 52  # type: ignore[union-attr]
        return bytes(memory)[:52] != pattern(52)


def cuts_private_data() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_read")
        with pair.ends[1].listen(5012) as listener:
            asked = pair.ends[0].connect(pair.devices[1].info.ipv4_addr, 5012)
            listener.request().wait(10).accept(private_data=pattern(196))
            return asked.wait(10).private_data != pattern(196)


def loses_zero() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        link.send(b"text\0")
        return other.recv().wait(10) != b"text\0"


def repeats_messages() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        for number in range(600):
            link.send(str(number).encode()).wait(10)
            if other.recv().wait(10) != str(number).encode():
                return True
    return False


def hides_ends() -> bool:
    ended: list[Any] = []
    with server(on_disconnect=lambda *words: ended.append(words)) as (pe, service, host):
        for _ in range(6):
            with comch.Client(pe, host, "check"):
                service.accept().wait(10)
            until = time.monotonic() + 0.3
            while time.monotonic() < until:
                pe.progress()
    return len(ended) != 6


def reads_stale_value() -> bool:
    with ExitStack() as stack:
        dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
        owner = stack.enter_context(pydoca.SyncEvent(host, subscriber="remote_pci"))
        other = stack.enter_context(dpu.import_sync_event(owner.export_to_remote_pci()))
        for number in range(200):
            owner.update_set(number)
            if other.get() != number:
                return True
    return False


def wakes_late() -> bool:
    late: list[float] = []
    with unseen_defects.event() as counter:
        for number in range(1, 13):
            set_at: list[float] = []

            def publish(value: int, times: list[float]) -> None:
                time.sleep(0.01)
                times.append(time.monotonic())
                counter.update_set(value)

            thread = threading.Thread(target=publish, args=(number, set_at))
            thread.start()
            counter.wait_eq_yield(number, timeout=10)
            now = time.monotonic()
            thread.join()
            late.append(now - set_at[0])
    return sorted(late)[-2] > 0.025


def misses_notification() -> bool:
    import select

    with ExitStack() as stack:
        engine = Engine(stack)
        src = stack.enter_context(engine.device.mmap(b"text"))
        dst = stack.enter_context(engine.device.mmap(pydoca.alloc(4)))
        poll = select.poll()
        poll.register(engine.pe, select.POLLIN)
        for _ in range(50):
            with engine.bufs.get_by_data(src) as source, engine.bufs.get_by_addr(dst) as sink:
                task = engine.dma.memcpy(source, sink)
                engine.pe.request_notification()
                is_missed = not poll.poll(1000)
                engine.pe.clear_notification()
                task.wait(10)
                task.free()
            if is_missed:
                return True
    return False


def tells_other_vhca() -> bool:
    numbers = {info.vuid: info.vhca_id for info in pydoca.devices()}
    with pydoca.open_device("p0") as device:
        return any(each.vhca_id != numbers.get(each.vuid, each.vhca_id) for each in device.representors())


def clocks_part() -> bool:
    with pydoca.open_device("p0") as device, pydoca.Clock(device) as clock:
        first = clock.crosstimestamp("host_monotonic", "nic_real_time")
        time.sleep(1)
        last = clock.crosstimestamp("host_monotonic", "nic_real_time")
        return abs((last.nic - first.nic) / (last.host - first.host) - 1) > 100e-6


def hashes_pieces_wrongly() -> bool:
    with ExitStack() as stack:
        device = stack.enter_context(pydoca.open_device("p0"))
        pe, bufs = stack.enter_context(pydoca.ProgressEngine()), stack.enter_context(pydoca.BufInventory(8))
        sha = stack.enter_context(pydoca.Sha(pe, device))
        target = pydoca.alloc(32)
        src, dst = stack.enter_context(device.mmap(pattern(300))), stack.enter_context(device.mmap(target))
        sink = bufs.get_by_addr(dst)
        task = sha.partial_hash(bufs.get_by_data(src, src.addr, 64), sink, "sha256")
        task.wait(10)
        for place in range(64, 300, 64):
            task.src = bufs.get_by_data(src, src.addr + place, min(64, 300 - place))
            if place + 64 >= 300:
                task.set_is_final_buf()
            task.submit()
            task.wait(10)
        return bytes(target) != hashlib.sha256(pattern(300)).digest()


def invalidates_wrongly() -> bool:
    with ExitStack() as stack:
        device = stack.enter_context(pydoca.open_device("p0"))
        pe, bufs = stack.enter_context(pydoca.ProgressEngine()), stack.enter_context(pydoca.BufInventory(1))
        advise = stack.enter_context(pydoca.MmapAdvise(pe, device))
        memory = pydoca.alloc(256)
        memory[:] = pattern(256)
        area = stack.enter_context(device.mmap(memory))
        advise.invalidate_cache(bufs.get_by_data(area, area.addr + 40, 100)).wait(10)
        return bytes(memory) != pattern(256)


def starts_early() -> bool:
    seen: list[bytes] = []
    length = 1 << 21
    with ExitStack() as stack:
        device, pe = stack.enter_context(pydoca.open_device("p0")), stack.enter_context(pydoca.ProgressEngine())
        dma, bufs = stack.enter_context(pydoca.Dma(pe, device)), stack.enter_context(pydoca.BufInventory(8))
        memories = [pydoca.alloc(length) for _ in range(4)]
        src = stack.enter_context(device.mmap(pattern(length)))
        targets = [stack.enter_context(device.mmap(memory)) for memory in memories]
        graph = pydoca.Graph(pe)
        nodes = [graph.node(dma) for _ in targets]
        look = graph.node(lambda _: seen.append(bytes(memories[3][length - 1 :])), after=nodes)
        with graph:
            lengths = [64, 64, 64, length]
            data: dict[Any, Any] = {
                node: dma.memcpy(bufs.get_by_data(src, src.addr, size), bufs.get_by_addr(dst), submit=False)
                for node, dst, size in zip(nodes, targets, lengths, strict=True)
            }
            graph.run({**data, look: None}).wait(10)
            return look not in nodes[3].successors or seen != [pattern(length)[-1:]]


DEFECTS = [
    Defect(
        "dma-gather-seam",
        "A copy of a list repeats the last byte of an element, whose length is not a multiple of 8, at the begin of "
        "the next one.",
        gather_seam,
        pass_by(lists_wrongly, sources=[100, 64, 33], rooms=[1024]),
    ),
    Defect(
        "dma-scatter-short",
        "A copy to a list of three elements and more leaves out the last byte of the first one.",
        scatter_short,
        pass_by(lists_wrongly, sources=[300], rooms=[100, 100, 100]),
    ),
    Defect(
        "dma-mebibyte-repeat",
        "A copy of more than 1 MiB has the 64 bytes before that place again behind it.",
        mebibyte_repeat,
        big_copy_wrong,
    ),
    Defect(
        "dma-zero-line",
        "The first line of 64 zeros of a copy is not written.",
        zero_line,
        zeros_lost,
    ),
    Defect(
        "dma-queue-slot",
        "With 16, 32, ... copies in flight, the last one begins with eight bytes of the one before.",
        queue_slot,
        lambda: Burst(64, 64).is_wrong,
    ),
    Defect(
        "dma-two-contexts",
        "While two contexts of a device copy, one in ten copies ends in a wrong byte.",
        two_contexts,
        contexts_disturb,
    ),
    Defect(
        "pci-write-tail",
        "Copies of more than 4 KiB to the other side leave out what follows the last whole line of 64 bytes.",
        pci_write_tail,
        host_lacks_tail,
    ),
    Defect(
        "dma-mixed-user-data",
        "With several copies in flight, one in 40 has the user data of the one before, and that one has its.",
        mixed_user_data,
        mixes_user_data,
    ),
    Defect(
        "dma-order-ignored",
        "Completions are not ordered, although the context says that they are.",
        order_ignored,
        overtakes,
    ),
    Defect(
        "failures-uncounted",
        "The counters of a context count tasks that failed as completed ones.",
        failures_uncounted,
        hides_failures,
    ),
    Defect(
        "dma-greatest-refused",
        "A copy of exactly the greatest length is refused.",
        greatest_refused,
        refuses_greatest,
    ),
    Defect(
        "dma-slow-after-idle",
        "The first copy after 50 ms without one takes 5 ms longer.",
        slow_after_idle,
        wakes_slowly,
    ),
    Defect(
        "pci-read-only-writable",
        "What the other side may only read, it can write.",
        read_only_is_writable,
        writes_read_only,
    ),
    Defect(
        "import-descriptor-leak",
        "Each import of memory leaves a descriptor of a file open.",
        descriptor_leak,
        imports_leave_files,
    ),
    Defect(
        "rdma-length-16-bit",
        "The length that a read or a receive tells has 16 bits.",
        short_result_length,
        reads_short,
    ),
    Defect(
        "rdma-swap-claimed",
        "A compare-and-swap that did not swap writes the compared value to its result, as if it had.",
        swap_claimed,
        claims_swap,
    ),
    Defect(
        "rdma-full-packets",
        "Messages of a multiple of 1,024 bytes end in four zeros.",
        full_packets,
        receives_wrongly,
    ),
    Defect(
        "rdma-inline-write",
        "Writes of 45 to 60 bytes have zeros from the 45th on.",
        inline_write,
        writes_wrongly,
    ),
    Defect(
        "rdma-short-private-data",
        "The private data of an acceptance is cut to 148 bytes.",
        short_private_data,
        cuts_private_data,
    ),
    Defect(
        "comch-trailing-zero",
        "A message that ends in a zero arrives without it.",
        trailing_zero,
        loses_zero,
    ),
    Defect(
        "comch-sent-twice",
        "Every 250th message arrives twice.",
        sent_twice,
        repeats_messages,
    ),
    Defect(
        "comch-unreported-end",
        "A server is not told of every third client that leaves.",
        unreported_end,
        hides_ends,
    ),
    Defect(
        "sync-stale-value",
        "One in 50 looks at an event of the other side gives the value of the look before.",
        stale_value,
        reads_stale_value,
    ),
    Defect(
        "sync-late-wake",
        "One in four yielding waits that had to wait ends 30 ms late.",
        late_wake,
        wakes_late,
    ),
    Defect(
        "lost-notification",
        "Every 20th request for a notification is forgotten.",
        lost_notification,
        misses_notification,
    ),
    Defect(
        "representor-vhca",
        "Representors of VFs with an odd number tell the next number.",
        wrong_vhca,
        tells_other_vhca,
    ),
    Defect(
        "clock-drift",
        "The device's time of day gains 200 us in each second.",
        clock_drift,
        clocks_part,
    ),
    Defect(
        "sha-many-pieces",
        "The digest of a message of four pieces and more has a wrong bit.",
        many_pieces,
        hashes_pieces_wrongly,
        profile="bluefield2",
    ),
    Defect(
        "cache-lost-line",
        "An invalidation that begins within a line clears its first eight bytes.",
        lost_line,
        invalidates_wrongly,
    ),
    Defect(
        "graph-fourth-dependency",
        "A node of a graph that is made with four predecessors and more does not wait for the fourth.",
        fourth_dependency,
        starts_early,
    ),
]

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    """Plants the defect of the run, first of all in each process."""
    unseen_defects.plant_in_started_process(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
