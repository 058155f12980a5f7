"""Thirty more defects of a device, written without a look at the cases, and none of them in the sets before.

The first run (level quick) found 22 of them. It missed the second one of a kind (port-gids, comch-stale-greeting), an
option that changes nothing visible (pci-relaxed-order), a flag that no case gave (dma-optimized-reports), a request
that comes after what it asks for (notification-only-later), and the ends and limits of the DPA's kernels
(dpa-early-signal, dpa-half-the-threads, dpa-silent-failure). The suite has cases of these kinds now, and they find the
eight.

A defect replaces methods of pydoca in the process that tests, and in those that it starts, as unseen_defects.py does.

usage: unseen_fifteenth.py list
       unseen_fifteenth.py check [NAME...]           # each is visible by the public API, and only when it is planted
       unseen_fifteenth.py run NAME LEVEL DIRECTORY  # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import os
import select
import subprocess
import sys
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

from unseen_defects import (
    _VARIABLE,
    AT_ONCE,
    Defect,
    Engine,
    Function,
    Pair,
    Patch,
    Table,
    Work,
    after_each,
    before_each,
    copies_wrongly,
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
from unseen_defects import plant_in_started_process as plant_from
from unseen_fourteenth import (
    Hasher,
    atomic,
    device_and_engine,
    end_of,
    every,
    quietly,
    submitted,
    told,
    when_good,
    wrapped,
)

import pydoca
from pydoca import comch, workq

Plant = AbstractContextManager[object]


# What several defects need


def total(buf: Any) -> int:
    """Bytes of data in a list of bufs."""
    return sum(element.data_len for element in buf) if buf is not None else 0


def flipped(place: int, bit: int = 0x10) -> list[Patch]:
    return [(place, bytes([peek(place, 1)[0] ^ bit]))]


# Devices


def number_of_parent() -> Plant:
    def change(info: Any, number: int) -> int:
        if info.func_type is not pydoca.PciFuncType.VF:
            return number
        parent = info.name.split("vf")[0]
        return next((each.vhca_id for each in pydoca.devices(side=info.side) if each.name == parent), number)

    def to_dict(original: Function, self: Any) -> dict[str, Any]:
        return {**original(self), "vhca_id": self.vhca_id}

    return together(
        replaced(pydoca.DeviceInfo, "vhca_id", told(change)),
        replaced(pydoca.DeviceInfo, "to_dict", wrapped(to_dict)),
    )


def gids_of_other_port() -> Plant:
    def make(original: Any) -> Any:
        def gids(info: Any, start: int = 0, count: int | None = None) -> Any:
            physical = [each for each in pydoca.devices(side=info.side) if each.func_type is pydoca.PciFuncType.PF]
            others = [each for each in physical if each.name != info.name] if info in physical else []
            return original.__func__(others[0] if others else info, start, count)

        return staticmethod(gids)

    return replaced(pydoca.Rdma, "gids", make)


def still_timer() -> Plant:
    """The timer of the DPA."""
    first: weakref.WeakKeyDictionary[pydoca.Clock, int] = weakref.WeakKeyDictionary()

    def timestamp(original: Function, self: Any, type: Any) -> Any:
        now = original(self, type)
        is_still = type in ("nic_dpa_timer", pydoca.ClockType.NIC_DPA_TIMER)
        return first.setdefault(self, now) if is_still else now

    return replaced(pydoca.Clock, "timestamp", wrapped(timestamp))


# Memory


def revived_export() -> Plant:
    """The device takes a description of before as one of what its owner exports now."""
    owners: dict[bytes, tuple[weakref.ref[pydoca.Mmap], Callable[[Any], bytes]]] = {}

    def export(original: Function, self: Any, *arguments: Any, **keys: Any) -> bytes:
        blob: bytes = original(self, *arguments, **keys)
        owners[blob] = weakref.ref(self), lambda owner: original(owner, *arguments, **keys)
        return blob

    def import_mmap(original: Function, self: Any, blob: Any, **keys: Any) -> Any:
        try:
            return original(self, blob, **keys)
        except pydoca.NotConnectedError:
            if bytes(blob) not in owners:
                raise
            find, export_again = owners[bytes(blob)]
            owner = find()
            if owner is None or not owner.is_started:
                raise
            return original(self, export_again(owner), **keys)

    return together(
        replaced(pydoca.Device, "import_mmap", wrapped(import_mmap)),
        *(replaced(pydoca.Mmap, name, wrapped(export)) for name in ("export_pci", "export_rdma")),
    )


def relaxed_order() -> Plant:
    relaxed: set[bytes] = set()
    imported: weakref.WeakSet[pydoca.Mmap] = weakref.WeakSet()

    def export(original: Function, self: Any, *arguments: Any, **keys: Any) -> bytes:
        blob: bytes = original(self, *arguments, **keys)
        if self.access & pydoca.Access.PCI_RELAXED_ORDERING:
            relaxed.add(blob)
        return blob

    def import_mmap(original: Function, self: Any, blob: Any, **keys: Any) -> Any:
        area = original(self, blob, **keys)
        if bytes(blob) in relaxed:
            imported.add(area)
        return area

    def watch(task: Any) -> None:
        begin = end_of(task.dst)
        if begin and task.src.list_len == 1 and task.src.mmap in imported and task.src.data_len >= 128:
            when_good(task, lambda _: poke([(begin, peek(begin + 64, 64)), (begin + 64, peek(begin, 64))]))

    return together(
        replaced(pydoca.Mmap, "export_pci", wrapped(export)),
        replaced(pydoca.Device, "import_mmap", wrapped(import_mmap)),
        submitted(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, watch),
    )


def lost_at_restart() -> Plant:
    stopped: weakref.WeakSet[pydoca.BufPool] = weakref.WeakSet()

    def alloc(original: Function, self: Any) -> Any:
        if self in stopped and self.is_started and self.num_free_elements == 1:
            raise pydoca.EmptyError("alloc: all elements of the pool are out")
        return original(self)

    return together(
        replaced(pydoca.BufPool, "stop", before_each(stopped.add)), replaced(pydoca.BufPool, "alloc", wrapped(alloc))
    )


# Copies


def lost_after_failure() -> Plant:
    failed: set[str] = set()  # names of devices
    calm = (pydoca.Status.SUCCESS, pydoca.Status.SHUTDOWN)

    def note(ended: Any) -> None:
        if ended.status not in calm:
            failed.add(ended.context.device.name)

    def watch(task: Any) -> None:
        task.add_done_callback(quietly(note))

    def spoil(work: Work) -> list[Patch]:
        names = {device.name for device in work.dst.mmap.devices} & failed
        if not names or work.src.mmap.is_from_export:
            return []
        failed.difference_update(names)
        return [(work.target, peek(work.target, min(work.length, 64)))]

    return together(submitted(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, watch), spoiled_copies(spoil))


def skipped_report() -> Plant:
    is_turn = every(8)

    def keep(task: Any) -> None:
        begin, length = end_of(task.dst), total(task.src)
        if begin and 0 < length <= task.dst.tailroom and is_turn():
            before = peek(begin, length)
            when_good(task, lambda _: poke([(begin, before)]))

    def submit(original: Function, self: Any, flags: Any = pydoca.SubmitFlags.FLUSH) -> None:
        if isinstance(self, pydoca.DmaMemcpyTask) and flags & pydoca.SubmitFlags.OPTIMIZE_REPORTS:
            quietly(keep)(self)
        original(self, flags)

    return together(*(replaced(pydoca.Task, name, wrapped(submit)) for name in ("submit", "try_submit")))


def later_process() -> Plant:
    """The first process tells those that it starts which one it is."""
    first = os.environ.setdefault("PYDOCA_UNSEEN_FIRST_PROCESS", str(os.getpid()))
    os.environ[_VARIABLE] = "dma-later-process"  # the process of the check reads it
    is_turn = every(10)

    def spoil(work: Work) -> list[Patch]:
        is_first = first == str(os.getpid())
        if is_first or work.length < 64 or work.src.mmap.is_from_export or not is_turn():
            return []
        place = work.length - 8
        return [(work.target + place, bytes(byte ^ 0xFF for byte in peek(work.source + place, 8)))]

    return spoiled_copies(spoil)


def untold_flush() -> Plant:
    is_turn = every(4)

    def deaf(function: Function | None) -> Function | None:
        if function is None:
            return None

        def call(task: Any, *more: Any) -> None:
            if task.status is not pydoca.Status.SHUTDOWN or not is_turn():
                function(task, *more)

        return call

    return together(
        replaced(pydoca.Dma, "__init__", with_argument(99, "on_error", deaf)),
        replaced(pydoca.Dma, "set_memcpy_conf", with_argument(1, "on_error", deaf)),
    )


# Decompression


def decompressed(watch: Callable[[Any], object]) -> Plant:
    return submitted(pydoca.Compress, "decompress_deflate", pydoca.CompressDecompressDeflateTask, watch)


def stored_block() -> Plant:
    """A stream whose first block is not compressed: three bits, then its length and the inverse of that."""

    def watch(task: Any) -> None:
        begin = end_of(task.dst)
        if begin and not task.src.mmap.is_from_export and task.src.data_len > 5:
            head = peek(task.src.data, 3)
            if not head[0] & 6 and (length := int.from_bytes(head[1:], "little")):
                when_good(task, lambda _: poke(flipped(begin + length - 1)))

    return decompressed(watch)


def long_adler() -> Plant:
    """The sums are not reduced in time: 32 bits bear those of 5,552 bytes."""
    begins: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def note(task: Any) -> None:
        begins[task] = total(task.dst)

    def change(task: Any, value: int) -> int:
        is_long = task in begins and total(task.dst) - begins[task] > 5552
        return value ^ 1 << 20 if is_long else value

    return together(decompressed(note), replaced(pydoca.CompressDecompressDeflateTask, "adler_cs", told(change)))


def cut_stream() -> Plant:
    """The device gets a whole stream of what there is."""
    inventory = pydoca.BufInventory(1024)

    def mended(self: Any, src: Any) -> Any:
        stream = b"".join(bytes(element) for element in src)
        reader = zlib.decompressobj(wbits=-15)
        plain = reader.decompress(stream)
        if reader.eof or not plain:
            return src
        writer = zlib.compressobj(wbits=-15)
        return inventory.get_by_data(self.device.mmap(writer.compress(plain) + writer.flush()))

    def decompress(original: Function, self: Any, src: Any, dst: Any, **keys: Any) -> Any:
        with suppress(pydoca.DocaError, zlib.error, TypeError, AttributeError, BufferError):
            if total(src) <= 65536:
                src = mended(self, src)
        return original(self, src, dst, **keys)

    return replaced(pydoca.Compress, "decompress_deflate", wrapped(decompress))


# SHA


def cut_digest() -> Plant:
    def spoil(work: Work) -> list[Patch]:
        is_long = work.algorithm == "sha512" and work.dst.tailroom >= 64
        return [(work.target + 48, bytes(16))] if is_long else []

    return spoiled(pydoca.Sha, "hash", pydoca.ShaHashTask, spoil)


def narrow_total() -> Plant:
    """The length of a message is counted in 16 bits, and in bits."""
    totals: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def watch(task: Any) -> None:
        totals[task] = totals.get(task, 0) + total(task.src)
        if task.is_final and totals.pop(task) > 8191 and (begin := end_of(task.dst)):
            when_good(task, lambda _: poke(flipped(begin)))

    return together(
        submitted(pydoca.Sha, "partial_hash", pydoca.ShaPartialHashTask, watch),
        replaced(pydoca.ShaPartialHashTask, "reset", before_each(lambda task: totals.pop(task, 0))),
    )


# Sync events


def dirty_start() -> Plant:
    plain: weakref.WeakSet[pydoca.SyncEvent] = weakref.WeakSet()
    last, is_turn = [0], every(8)

    def make(original: Function, self: Any, *arguments: Any, **keys: Any) -> None:
        original(self, *arguments, **keys)
        if keys.get("memory") is None and keys.get("buf") is None:
            plain.add(self)

    def keep(self: Any) -> None:
        with suppress(pydoca.DocaError):
            if self.is_started and not self.is_from_export:
                last[0] = self.get() or last[0]

    def begin(self: Any, _: object) -> None:
        if self in plain:
            plain.discard(self)
            with suppress(pydoca.DocaError):
                if last[0] and not self.get() and is_turn():
                    self.update_set(last[0])

    return together(
        replaced(pydoca.SyncEvent, "__init__", wrapped(make)),
        *(replaced(pydoca.SyncEvent, name, before_each(keep)) for name in ("stop", "close", "__exit__")),
        *(replaced(pydoca.SyncEvent, name, after_each(begin)) for name in ("start", "__enter__")),
    )


# Comch


def stale_greeting() -> Plant:
    greeted: weakref.WeakSet[comch.Connection] = weakref.WeakSet()
    last: weakref.WeakKeyDictionary[comch.Server, tuple[weakref.ref[comch.Connection], bytes]]
    last = weakref.WeakKeyDictionary()

    def send(original: Function, self: Any, data: Any, **keys: Any) -> Any:
        service = self.server
        if service is None:
            return original(self, data, **keys)
        other, message = last.get(service, (lambda: self, b""))
        before = other()
        if self not in greeted and before is not self and (before is None or not before.is_connected):
            with suppress(pydoca.DocaError):
                original(self, message)
        greeted.add(self)
        last[service] = weakref.ref(self), bytes(data)
        return original(self, data, **keys)

    return replaced(comch.Connection, "send", wrapped(send))


def count_of_all() -> Plant:
    def make(original: property) -> property:
        def get(self: Any) -> int:
            every_one = list(self.server.connections) if self.server else []
            others = [each for each in every_one if each is not self]
            return sum(original.__get__(each) for each in [self, *others])

        return property(get)

    return replaced(comch.Connection, "sent_messages", make)


# RDMA


def swapped_port() -> Plant:
    def change(_: object, address: tuple[str, int]) -> tuple[str, int]:
        return address[0], int.from_bytes(address[1].to_bytes(2, "big"), "little")

    return replaced(pydoca.RdmaConnection, "address", told(change))


def number_alone() -> Plant:
    is_turn = every(8)

    def write_imm(original: Function, self: Any, src: Any, *arguments: Any, **keys: Any) -> Any:
        if src is None or src.list_len != 1 or not src.data_len or not keys.get("submit", True) or not is_turn():
            return original(self, src, *arguments, **keys)
        length = src.data_len
        src.data_len = 0
        try:
            task = original(self, src, *arguments, **keys)
        except pydoca.DocaError:
            src.data_len = length
            raise
        task.add_done_callback(quietly(lambda ended: setattr(ended.src, "data_len", length)))
        return task

    return replaced(pydoca.RdmaConnection, "write_imm", wrapped(write_imm))


def with_reading(access: Any) -> Any:
    """What may be written may be read."""
    if isinstance(access, str):
        words = access.split("|")
        return f"{access}|rdma_read" if "rdma_write" in words and "rdma_read" not in words else access
    is_written = access is not None and access & pydoca.Access.RDMA_WRITE
    return access | pydoca.Access.RDMA_READ if is_written else access


def readable_for_all() -> Plant:
    """The owner is not told."""
    wide: weakref.WeakSet[Any] = weakref.WeakSet()

    def note(owner: Any, given: Any) -> None:
        if with_reading(given) != given:
            wide.add(owner)
        elif given is not None:
            wide.discard(owner)

    def widening(key: str) -> Callable[[Function], Function]:
        def call(original: Function, self: Any, *arguments: Any, **keys: Any) -> Any:
            given = keys.get(key)
            result = original(self, *arguments, **({**keys, key: with_reading(given)} if given is not None else keys))
            note(self if result is None else result, given)
            return result

        return wrapped(call)

    def set_permissions(original: Function, self: Any, access: Any) -> None:
        original(self, with_reading(access))
        note(self, access)

    hidden = told(lambda self, access: access & ~pydoca.Access.RDMA_READ if self in wide else access)
    return together(
        replaced(pydoca.Device, "mmap", widening("access")),
        replaced(pydoca.Mmap, "__init__", widening("access")),
        replaced(pydoca.Mmap, "set_permissions", wrapped(set_permissions)),
        replaced(pydoca.Rdma, "__init__", widening("permissions")),
        replaced(pydoca.Mmap, "access", hidden),
        replaced(pydoca.Rdma, "permissions", hidden),
    )


def slow_atomics() -> Plant:
    kinds = ("atomic_cmp_swp", "atomic_fetch_add")
    return together(*(submitted(pydoca.RdmaConnection, kind, kind, lambda _: time.sleep(0.005)) for kind in kinds))


# Graphs and work queues


def kept_failure() -> Plant:
    before: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def note(self: Any) -> None:
        if (node := self.failed_node) is not None:
            before[self] = node

    def change(self: Any, node: Any) -> Any:
        return before.get(self) if node is None and not self.is_running else node

    return together(
        replaced(pydoca.GraphInstance, "failed_node", told(change)),
        replaced(pydoca.GraphInstance, "submit", before_each(note)),
    )


def seventeenth_node() -> Plant:
    real: dict[Any, Any] = {}

    def node(original: Function, self: Any, source: Any, **keys: Any) -> Any:
        if len(self.nodes) < 16 or isinstance(source, pydoca.Context | pydoca.Graph) or not callable(source):
            return original(self, source, **keys)

        def nothing(_: Any) -> None:
            return None

        real[nothing] = source
        return original(self, nothing, **keys)

    return together(
        replaced(pydoca.Graph, "node", wrapped(node)),
        replaced(pydoca.GraphNode, "source", told(lambda _, source: real.get(source, source))),
    )


def event_twice() -> Plant:
    again: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
    is_turn = every(20)

    def retrieve(original: Function, self: Any) -> Any:
        if self in again:
            return again.pop(self)
        ended = original(self)
        if is_turn():
            again[self] = ended
        return ended

    return replaced(workq.WorkQueue, "progress_retrieve", wrapped(retrieve))


# The DPA


def kernels(change: Callable[[Any], Any]) -> Plant:
    """Each kernel is another function, which change makes of it; once, as a name has one function for good."""
    changed = functools.cache(change)

    def of(kernel: Any) -> Any:
        is_kernel = callable(kernel) and not inspect.iscoroutinefunction(kernel)
        return changed(kernel) if is_kernel else kernel

    return replaced(pydoca.Dpa, "register", with_argument(1, "kernel", of))


def absent_thread() -> Plant:
    def change(kernel: Function) -> Function:
        @functools.wraps(kernel)
        def run(thread: Any, *arguments: Any) -> None:
            if thread.num_threads < 4 or thread.rank < thread.num_threads - 1:
                kernel(thread, *arguments)

        return run

    return kernels(change)


class Signal:
    """What the first of several threads says in place of the last one."""

    def __init__(self, event: Any, value: int, adds: bool) -> None:
        self._event, self._value, self._adds = event, value, adds
        self._lock, self._is_said = threading.Lock(), False

    def say(self) -> None:
        with self._lock:
            is_first, self._is_said = not self._is_said, True
        if is_first and self._adds:
            self._event.update_add(self._value)
        elif is_first:
            self._event.update_set(self._value)


def early_signal() -> Plant:
    def change(kernel: Function) -> Function:
        @functools.wraps(kernel)
        def run(thread: Any, *arguments: Any) -> None:
            signal = arguments[0] if arguments and isinstance(arguments[0], Signal) else None
            kernel(thread, *(arguments[1:] if signal else arguments))
            if signal:
                signal.say()

        return run

    def launch(original: Function, self: Any, kernel: Any, *arguments: Any, **keys: Any) -> Any:
        event, to, more = (keys.get(key) for key in ("done_event", "done_set", "done_add"))
        if event is not None and keys.get("num_threads", 1) > 1 and (to is None or more is None):
            value = to if to is not None else 1 if more is None else more
            arguments = (Signal(event, value, to is None), *arguments)
            keys.update(done_event=None, done_set=None, done_add=None)
        return original(self, kernel, *arguments, **keys)

    return together(kernels(change), replaced(pydoca.Dpa, "launch", wrapped(launch)))


def silent_failure() -> Plant:
    def change(kernel: Function) -> Function:
        @functools.wraps(kernel)
        def run(*arguments: Any) -> None:
            with suppress(Exception):
                kernel(*arguments)

        return run

    return kernels(change)


def half_of_threads() -> Plant:
    def launch(original: Function, self: Any, *arguments: Any, **keys: Any) -> Any:
        claim = self.device.info.capabilities.dpa
        if claim and self.is_running and self.num_threads + keys.get("num_threads", 1) > claim.max_num_threads // 2:
            raise pydoca.FullError("launch a kernel: the DPA has no thread left")
        return original(self, *arguments, **keys)

    return together(*(replaced(pydoca.Dpa, name, wrapped(launch)) for name in ("launch", "thread")))


# Notifications


def only_later() -> Plant:
    """What is there already when a notification is requested does not bring one."""
    last: weakref.WeakKeyDictionary[pydoca.ProgressEngine, tuple[float, weakref.ref[Any]]]
    last = weakref.WeakKeyDictionary()

    def note(task: Any) -> None:
        if total(task.src) <= AT_ONCE:
            last[task.context.progress_engine] = time.monotonic(), weakref.ref(task)

    def request(original: Function, self: Any) -> None:
        begin, find = last.get(self, (0.0, lambda: None))
        task = find()
        is_there = task is not None and not task.done and time.monotonic() - begin > 0.0005
        if not is_there:
            original(self)

    return together(
        submitted(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, note),
        replaced(pydoca.ProgressEngine, "request_notification", wrapped(request)),
    )


# What shows a defect, apart from the suite


class Copy:
    """A copy engine, a text of the program, and room for it."""

    def __init__(self, stack: ExitStack, text: bytes = b"text") -> None:
        self.engine, self.text, self.target = Engine(stack), text, pydoca.alloc(len(text))
        self.src = stack.enter_context(self.engine.device.mmap(text))
        self.dst = stack.enter_context(self.engine.device.mmap(self.target))

    @contextmanager
    def task(self, submit: bool = False) -> Iterator[pydoca.DmaMemcpyTask]:
        """It is freed at the end."""
        bufs = self.engine.bufs
        with bufs.get_by_data(self.src) as source, bufs.get_by_addr(self.dst) as sink:
            task = self.engine.dma.memcpy(source, sink, submit=submit)
            yield task
            task.free()

    @property
    def is_wrong(self) -> bool:
        return bytes(self.target) != self.text


def numbers_are_shared() -> bool:
    numbers = [info.vhca_id for info in pydoca.devices(side="host")]
    return len(numbers) != len(set(numbers))


def gids_are_strange() -> bool:
    ports = [info for info in pydoca.devices(side="dpu") if info.func_type is pydoca.PciFuncType.PF]
    return any(f"::ffff:{info.ipv4_addr}" not in pydoca.Rdma.gids(info) for info in ports)


def timer_stands() -> bool:
    with pydoca.open_device("p0") as device, pydoca.Clock(device) as clock:
        begin = clock.timestamp("nic_dpa_timer")
        time.sleep(0.01)
        return clock.timestamp("nic_dpa_timer") == begin


def takes_old_description() -> bool:
    with ExitStack() as stack:
        dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
        lent = stack.enter_context(host.mmap(pydoca.alloc(64), access="pci_read_only"))
        blob = lent.export_pci()
        lent.stop()
        lent.start()
        try:
            dpu.import_mmap(blob).close()
        except pydoca.NotConnectedError:
            return False
        return True


def reads_out_of_order() -> bool:
    with ExitStack() as stack:
        engine, memory, target = Engine(stack), pydoca.alloc(256), pydoca.alloc(256)
        memory[:] = pattern(256)
        host = stack.enter_context(pydoca.open_device("pf0"))
        lent = stack.enter_context(host.mmap(memory, access="pci_read_only|pci_relaxed_ordering"))
        src = stack.enter_context(engine.device.import_mmap(lent.export_pci()))
        engine.copy(src, stack.enter_context(engine.device.mmap(target)), 256)
        return bytes(target) != pattern(256)


def pool_gives_less() -> bool:
    with ExitStack() as stack:
        area = stack.enter_context(stack.enter_context(pydoca.open_device("p0")).mmap(pydoca.alloc(256)))
        pool = stack.enter_context(pydoca.BufPool(4, 64, area))
        pool.stop()
        pool.start()
        try:
            for _ in range(4):
                stack.enter_context(pool.alloc())
        except pydoca.EmptyError:
            return True
        return False


def fails_after_failure() -> bool:
    with ExitStack() as stack:
        failing, copy = Engine(stack), Copy(stack, pattern(256))
        host = stack.enter_context(pydoca.open_device("pf0"))
        with host.mmap(pydoca.alloc(64), access="pci_read_only") as lent:
            gone = stack.enter_context(copy.engine.device.import_mmap(lent.export_pci()))
        with suppress(pydoca.DocaError):
            failing.copy(gone, copy.dst, 64)
        copy.target[:] = bytes(256)
        copy.engine.copy(copy.src, copy.dst, 256)
        return copy.is_wrong


def loses_optimized() -> bool:
    with ExitStack() as stack:
        copy = Copy(stack)
        for _ in range(20):
            copy.target[:] = bytes(4)
            with copy.task() as task:
                task.submit(pydoca.SubmitFlags.FLUSH | pydoca.SubmitFlags.OPTIMIZE_REPORTS)
                task.wait(10)
            if copy.is_wrong:
                return True
    return False


def second_process_copies_wrongly() -> bool:
    """Its environment says whether it has the defect."""
    words = "import sys; sys.path.insert(0, {!r}); import {} as me; me.plant_in_started_process(); sys.exit(me.{}())"
    here = Path(__file__).resolve()
    code = words.format(str(here.parent), here.stem, "copies_in_process")
    return subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 10


def copies_in_process() -> int:
    return 10 if copies_wrongly(length=256, rounds=40) else 0


def hides_flushed() -> bool:
    statuses: list[Any] = []
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        bufs = stack.enter_context(pydoca.BufInventory(16))
        src = stack.enter_context(device.mmap(b"text"))
        dst = stack.enter_context(device.mmap(pydoca.alloc(64)))
        dma = stack.enter_context(
            pydoca.Dma(pe, device, num_tasks=8, on_error=lambda task, *_: statuses.append(task.status))
        )
        source = bufs.get_by_data(src)
        sinks = [bufs.get_by_addr(dst, dst.addr + 4 * number, 4) for number in range(8)]
        tasks = [dma.memcpy(source, sink, submit=False) for sink in sinks]
        for task in tasks:
            task.submit(pydoca.SubmitFlags.NONE)
        dma.stop()
        pe.drain()
        for task in tasks:
            task.free()
        tasks.clear()
    return len(statuses) != 8


def expand(stream: bytes, room: int) -> tuple[bytes, int]:
    """The plain data, and the Adler-32 that the device tells."""
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        engine, bufs = pydoca.Compress(pe, device), stack.enter_context(pydoca.BufInventory(2))
        stack.enter_context(engine)
        target = pydoca.alloc(room)
        src, dst = stack.enter_context(device.mmap(stream)), stack.enter_context(device.mmap(target))
        with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
            task = engine.decompress_deflate(source, sink)
            try:
                task.wait(10)
                return bytes(target)[: sink.data_len], task.adler_cs
            finally:
                task.free()


def deflated(plain: bytes, level: int = 6) -> bytes:
    packer = zlib.compressobj(level, wbits=-15)
    return packer.compress(plain) + packer.flush()


def expands_stored_wrongly() -> bool:
    return expand(deflated(pattern(1000), level=0), 1000)[0] != pattern(1000)


def sums_wrongly() -> bool:
    sums = [expand(deflated(pattern(length)), length)[1] == zlib.adler32(pattern(length)) for length in (5000, 6000)]
    return sums == [True, False]


def takes_cut_stream() -> bool:
    with suppress(pydoca.DocaError):
        expand(deflated(pattern(1000))[:-20], 1000)
        return True
    return False


def cuts_digest() -> bool:
    with ExitStack() as stack:
        return Hasher(stack, pattern(100)).digest(0, 100, "sha512") != hashlib.sha512(pattern(100)).digest()


def hashes_pieces_wrongly() -> bool:
    message = pattern(20 * 512)
    with ExitStack() as stack:
        hasher = Hasher(stack, message)
        sink = hasher.bufs.get_by_addr(hasher.dst)
        task = hasher.sha.partial_hash(None, sink, "sha256", submit=False)
        for begin in range(0, len(message), 512):
            with hasher.bufs.get_by_data(hasher.src, hasher.src.addr + begin, 512) as piece:
                task.src = piece
                if begin + 512 == len(message):
                    task.set_is_final_buf()
                task.submit()
                task.wait(10)
                task.src = None
        task.free()
        sink.close()
        return bytes(hasher.target)[:32] != hashlib.sha256(message).digest()


def begins_dirty() -> bool:
    with pydoca.open_device("p0") as device:
        for _ in range(20):
            with pydoca.SyncEvent(device) as counter:
                if counter.get():
                    return True
                counter.update_set(7)
    return False


def greets_with_old() -> bool:
    with server() as (pe, service, host):
        for word in (b"one", b"two"):
            with comch.Client(pe, host, "check") as link:
                service.accept().wait(10).send(word).wait(10)
                if link.recv().wait(10) != word:
                    return True
            pe.run_until(lambda: not service.connections, 10)
    return False


def counts_for_others() -> bool:
    with server() as (pe, service, host), ExitStack() as stack:
        links = [stack.enter_context(comch.Client(pe, host, "check")) for _ in range(2)]
        ends = [service.accept().wait(10) for _ in links]
        ends[0].send(b"text").wait(10)
        return [end.sent_messages for end in ends] != [1, 0]


def tells_other_port() -> bool:
    with ExitStack() as stack:
        pe = stack.enter_context(pydoca.ProgressEngine())
        here, there = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "p1"))
        caller, called = (stack.enter_context(pydoca.Rdma(pe, each)) for each in (here, there))
        listener = stack.enter_context(called.listen(5051))
        established = caller.connect(there.info.ipv4_addr, 5051)
        listener.request().wait(10).accept()
        return established.wait(10).address[1] != 5051


def memory_of_peer(stack: ExitStack, pair: Pair, memory: Any, access: str) -> pydoca.Mmap:
    lent = stack.enter_context(pair.devices[1].mmap(memory, access=f"local_read_write|{access}"))
    return stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))


def brings_number_alone() -> bool:
    with ExitStack() as stack:
        pair, memory = Pair(stack, "rdma_write"), pydoca.alloc(8)
        remote = memory_of_peer(stack, pair, memory, "rdma_write")
        text = stack.enter_context(pair.devices[0].mmap(b"written!"))
        for _ in range(20):
            memory[:] = bytes(8)
            receive = pair.ends[1].receive(None)
            with pair.bufs.get_by_data(text) as source, pair.bufs.get_by_addr(remote) as sink:
                task = pair.here.write_imm(source, sink, 5)
                task.wait(10)
                receive.wait(10)
                task.free()
            receive.free()
            if bytes(memory) != b"written!":
                return True
    return False


def reads_without_permission() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        remote = memory_of_peer(stack, pair, pydoca.alloc(8), "rdma_write")
        dst = stack.enter_context(pair.devices[0].mmap(pydoca.alloc(8)))
        try:
            pair.here.read(pair.bufs.get_by_data(remote), pair.bufs.get_by_addr(dst)).wait(10)
        except pydoca.DocaError:
            return False
        return True


def adds_slowly() -> bool:
    times: list[float] = []

    def add(here: pydoca.RdmaConnection, target: pydoca.Buf, old: pydoca.Buf) -> pydoca.RdmaTask:
        begin = time.perf_counter()
        task = here.atomic_fetch_add(target, old, 5)
        task.wait(10)
        times.append(time.perf_counter() - begin)
        return task

    for _ in range(5):
        atomic(add)
    return median(times) > 0.004


def tells_old_culprit() -> bool:
    results = [pydoca.Status.IO_FAILED, pydoca.Status.SUCCESS]
    with ExitStack() as stack:
        copy = Copy(stack, bytes(2))
        graph = pydoca.Graph(copy.engine.pe)
        first = graph.node(copy.engine.dma)
        judge = graph.node(lambda _: results.pop(0), after=[first])
        stack.enter_context(graph)
        with copy.task() as task:
            run = graph.create_instance({first: task, judge: None})
            for _ in range(2):
                task.dst.reset_data_len()  # type: ignore[union-attr]
                run.submit()
                with suppress(pydoca.DocaError):
                    run.wait(10)
            is_told = run.status is pydoca.Status.SUCCESS and run.failed_node is not None
            run.destroy()
    return is_told


def skips_functions() -> bool:
    called: list[int] = []
    with ExitStack() as stack:
        copy = Copy(stack)
        graph = pydoca.Graph(copy.engine.pe)
        first = graph.node(copy.engine.dma)
        functions = [graph.node(called.append, after=[first]) for _ in range(20)]
        stack.enter_context(graph)
        with copy.task() as task:
            run = graph.run({first: task, **{node: number for number, node in enumerate(functions)}})
            run.wait(10)
            run.destroy()
    return sorted(called) != list(range(20))


def repeats_jobs() -> bool:
    ended: list[Any] = []
    with ExitStack() as stack:
        device = stack.enter_context(pydoca.open_device("p0"))
        bufs = stack.enter_context(pydoca.BufInventory(2))
        src, dst = stack.enter_context(device.mmap(b"text")), stack.enter_context(device.mmap(pydoca.alloc(4)))
        queue, dma = stack.enter_context(workq.WorkQueue(4)), pydoca.Dma(None, device)
        queue.add(dma)
        for number in range(30):
            with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
                queue.submit(workq.DmaMemcpyJob(dma, sink, source, number))
                while number not in ended:
                    with suppress(pydoca.AgainError):
                        ended.append(queue.progress_retrieve().user_data)
        with suppress(pydoca.AgainError):
            ended.append(queue.progress_retrieve().user_data)
    return ended != list(range(30))


def dpa(stack: ExitStack) -> pydoca.Dpa:
    return stack.enter_context(pydoca.Dpa(stack.enter_context(pydoca.open_device("p0"))))


def misses_thread() -> bool:
    ranks: list[int] = []
    with ExitStack() as stack:
        processor = dpa(stack)
        processor.register("note", lambda thread: ranks.append(thread.rank))
        processor.launch("note", num_threads=8).wait(10)
    return sorted(ranks) != list(range(8))


def signals_early() -> bool:
    with ExitStack() as stack:
        processor = dpa(stack)
        done = stack.enter_context(pydoca.SyncEvent(processor.device, publisher=processor))
        processor.register("rest", lambda thread: time.sleep(0.2 * thread.rank))
        run = processor.launch("rest", num_threads=2, done_event=done.dpa_handle(processor))
        done.wait_gt(0, timeout=10)
        begin = time.monotonic()
        run.wait(10)
        return time.monotonic() - begin > 0.1


def hides_failure() -> bool:
    def fail(_: pydoca.DpaThread) -> None:
        raise ValueError("a kernel fails")

    with ExitStack() as stack:
        processor = dpa(stack)
        processor.register("fail", fail)
        try:
            processor.launch("fail").wait(10)
        except pydoca.IoFailedError:
            return False
        return True


def lacks_threads() -> bool:
    with ExitStack() as stack:
        processor = dpa(stack)
        claim = processor.device.info.capabilities.dpa
        most = claim.max_num_threads if claim else 0
        processor.register("nothing", lambda _: None)
        try:
            processor.launch("nothing", num_threads=most).wait(10)
        except pydoca.FullError:
            return True
        return False


def is_not_woken() -> bool:
    with ExitStack() as stack:
        copy = Copy(stack)
        pe = copy.engine.pe
        with copy.task(submit=True) as task:
            time.sleep(0.05)
            pe.request_notification()
            is_readable = bool(select.select([pe], [], [], 2)[0])
            pe.clear_notification()
            task.wait(10)
        return not is_readable


def defects_of(*rows: tuple[Any, ...]) -> list[Defect]:
    return list(itertools.starmap(Defect, rows))


DEFECTS = defects_of(
    ("device-vf-number", "A VF tells the vhca_id of its PF.", number_of_parent, numbers_are_shared),
    ("port-gids", "Each port of the card has the GIDs of the other one.", gids_of_other_port, gids_are_strange),
    ("clock-still-dpa-timer", "The timer of the DPA stands still after its first reading.", still_timer, timer_stands),
    (
        "import-revived",
        "A description of memory that was withdrawn is good again when its map has been started again.",
        revived_export,
        takes_old_description,
    ),
    (
        "pci-relaxed-order",
        "Copies from memory that the other side has lent with relaxed ordering have their first two lines exchanged.",
        relaxed_order,
        reads_out_of_order,
    ),
    (
        "pool-restarted",
        "A pool that was stopped and started again gives one element less.",
        lost_at_restart,
        pool_gives_less,
    ),
    (
        "dma-after-failure",
        "The first copy of a device after one that has failed leaves out its first 64 bytes.",
        lost_after_failure,
        fails_after_failure,
    ),
    (
        "dma-optimized-reports",
        "One in eight copies that are submitted with OPTIMIZE_REPORTS succeeds, and writes nothing.",
        skipped_report,
        loses_optimized,
    ),
    (
        "dma-later-process",
        "In each process but the first that uses the card, one in ten copies ends in eight wrong bytes.",
        later_process,
        second_process_copies_wrongly,
    ),
    (
        "stop-untold-flush",
        "One in four copies that the stop of a context flushes does not call on_error.",
        untold_flush,
        hides_flushed,
    ),
    (
        "inflate-stored-block",
        "Data of a DEFLATE stream whose first block is not compressed have a wrong bit in the last byte of that block.",
        stored_block,
        expands_stored_wrongly,
    ),
    (
        "inflate-long-adler",
        "The Adler-32 of more than 5,552 bytes of plain data has a wrong bit.",
        long_adler,
        sums_wrongly,
    ),
    (
        "inflate-cut-accepted",
        "A DEFLATE stream that ends too early is expanded as far as it goes, with success.",
        cut_stream,
        takes_cut_stream,
    ),
    ("sha-cut-512", "A SHA-512 digest ends in 16 zeros.", cut_digest, cuts_digest, "bluefield2"),
    (
        "sha-narrow-total",
        "The digest of a message in pieces has a wrong bit when they have 8 KiB and more together.",
        narrow_total,
        hashes_pieces_wrongly,
        "bluefield2",
    ),
    (
        "sync-dirty-start",
        "One in eight sync events begins with the value of one that was closed before.",
        dirty_start,
        begins_dirty,
    ),
    (
        "comch-stale-greeting",
        "The first message of a server to a client comes after the last one to the client that has gone before.",
        stale_greeting,
        greets_with_old,
    ),
    (
        "comch-sent-by-all",
        "The number of messages that a server's connection has sent counts those of its other connections, too.",
        count_of_all,
        counts_for_others,
    ),
    (
        "rdma-swapped-port",
        "The address of a connection has the port with its bytes in reverse order.",
        swapped_port,
        tells_other_port,
    ),
    (
        "rdma-number-alone",
        "One in eight writes with immediate data brings the number, and no data.",
        number_alone,
        brings_number_alone,
    ),
    (
        "rdma-readable-for-all",
        "What network peers may write, they can also read.",
        readable_for_all,
        reads_without_permission,
    ),
    ("rdma-slow-atomics", "Each atomic over the network takes 5 ms longer.", slow_atomics, adds_slowly),
    (
        "graph-kept-culprit",
        "An instance of a graph that succeeds after a run that has failed still tells the node that had failed.",
        kept_failure,
        tells_old_culprit,
    ),
    (
        "graph-sixteen-nodes",
        "Functions of the 17th and later nodes of a graph are not called, and count as completed.",
        seventeenth_node,
        skips_functions,
    ),
    ("workq-event-twice", "One in 20 events of a work queue comes twice.", event_twice, repeats_jobs),
    (
        "dpa-absent-thread",
        "Of a kernel in four threads and more the last thread does nothing.",
        absent_thread,
        misses_thread,
    ),
    (
        "dpa-early-signal",
        "The done_event of a kernel is signalled when the first of its threads has ended.",
        early_signal,
        signals_early,
    ),
    ("dpa-silent-failure", "A kernel that fails counts as one that has ended.", silent_failure, hides_failure),
    ("dpa-half-the-threads", "The DPA has half of the threads that it claims.", half_of_threads, lacks_threads),
    (
        "notification-only-later",
        "A completion that is there when a notification is requested does not bring one.",
        only_later,
        is_not_woken,
    ),
)

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    plant_from(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
