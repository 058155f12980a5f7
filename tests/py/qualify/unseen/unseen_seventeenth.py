"""Thirty more defects of a device, written without a look at the cases, and none of them in the sets before.

A defect replaces methods of pydoca in the process that tests, and in those that it starts, as unseen_defects.py does.

usage: unseen_seventeenth.py list
       unseen_seventeenth.py check [NAME...]           # each is visible by the public API, and only when it is planted
       unseen_seventeenth.py run NAME LEVEL DIRECTORY  # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import hashlib
import select
import subprocess
import sys
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from unseen_defects import (
    Engine,
    Pair,
    Patch,
    Table,
    Work,
    after_each,
    before_each,
    is_writable,
    main,
    pattern,
    peek,
    poke,
    replaced,
    server,
    spoiled_copies,
    together,
    with_argument,
)
from unseen_defects import plant_in_started_process as plant_from
from unseen_fifteenth import Copy, Plant, defects_of, deflated, dpa, flipped, total
from unseen_fourteenth import (
    Hasher,
    atomic,
    device_and_engine,
    end_of,
    every,
    stored,
    submitted,
    told,
    when_good,
    withdrawn,
    wrapped,
)
from unseen_sixteenth import prepared

import pydoca
from pydoca import comch, workq

_MIB = 1 << 20

# Copies


def copies(watch: Callable[[Any], object]) -> Plant:
    return submitted(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, watch)


def prepared_copies(prepare: Callable[[Any], Callable[[], object] | None]) -> Plant:
    return prepared(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, prepare)


def shared_source() -> Plant:
    last: weakref.WeakKeyDictionary[pydoca.Buf, weakref.ref[Any]] = weakref.WeakKeyDictionary()

    def note(task: Any) -> None:
        last[task.src] = weakref.ref(task)

    def spoil(work: Work) -> list[Patch]:
        other = last.get(work.src, lambda: None)()
        if work.length < 8 or other is None or other.state is not pydoca.TaskState.SUBMITTED:
            return []
        place = work.target + work.length - 8
        return [(place, peek(place, 8))]

    return together(copies(note), spoiled_copies(spoil))


def second_port() -> Plant:
    is_turn = every(4)

    def watch(task: Any) -> None:
        device, length, begin = task.context.device, total(task.src), end_of(task.dst)
        is_met = device.side is pydoca.Side.DPU and device.pci_addr.endswith(".1") and length >= 4
        if is_met and begin and is_turn():
            when_good(task, lambda _: poke([(begin + length - 4, peek(begin, 4))]))

    return copies(watch)


def full_first() -> Plant:
    """What is appended to a list whose first buf has no room."""

    def watch(task: Any) -> None:
        first, *others = task.dst
        if not others or first.tailroom or not first.data_len or not is_writable(task.dst):
            return
        place, begin = first.data, others[0].data + others[0].data_len
        length = min(first.data_len, others[0].tailroom, total(task.src))
        when_good(task, lambda _: poke([(place, peek(begin, length))]))

    return copies(watch)


def slow_when_long() -> Plant:
    def watch(task: Any) -> None:
        if total(task.src) >= _MIB:
            time.sleep(0.02)

    return copies(watch)


def failed_slots() -> Plant:
    def memcpy(original: Any, self: Any, *arguments: Any, **keys: Any) -> Any:
        failed = self.stats().failed
        if failed and failed + self._snapshot(0)[8] >= self.num_tasks:
            raise pydoca.NoMemoryError(f"memcpy: every one of the {self.num_tasks} tasks is taken")
        return original(self, *arguments, **keys)

    return replaced(pydoca.Dma, "memcpy", wrapped(memcpy))


def again_for_good() -> Plant:
    def memcpy(original: Any, self: Any, *arguments: Any, **keys: Any) -> Any:
        try:
            return original(self, *arguments, **keys)
        except pydoca.NoMemoryError as error:
            raise pydoca.AgainError(str(error)) from None

    return replaced(pydoca.Dma, "memcpy", wrapped(memcpy))


# Memory of the other side


def between_hosts() -> Plant:
    def prepare(task: Any) -> Callable[[], object] | None:
        src, dst = task.src, task.dst
        length = total(src)
        is_met = src.mmap.is_from_export and dst.mmap.is_from_export and src.list_len == dst.list_len == 1
        if not is_met or not 16 <= length <= dst.tailroom:
            return None
        src.data_len = length - 8

        def take_back() -> None:
            src.data_len = length
            if not task.status:
                dst.data_len += 8

        return take_back

    return prepared_copies(prepare)


def odd_write() -> Plant:
    """The device writes whole words."""

    def prepare(task: Any) -> Callable[[], object] | None:
        src, dst = task.src, task.dst
        if not dst.mmap.is_from_export or src.list_len != 1 or dst.list_len != 1:
            return None
        data, length, before = src.data, src.data_len, dst.data_len
        skipped = -(dst.data + before) % 4
        if not skipped < length <= dst.tailroom or not skipped:
            return None
        src.set_data(data + skipped, length - skipped)
        dst.data_len = before + skipped

        def take_back() -> None:
            src.set_data(data, length)
            if task.status:
                dst.data_len = before

        return take_back

    return prepared_copies(prepare)


_PID = slice(76, 80)  # the process has it, in the description of its memory


def is_gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def dead_owner() -> Plant:
    """The device reads zeros in place of what is not there any more."""
    owners: weakref.WeakKeyDictionary[pydoca.Mmap, int] = weakref.WeakKeyDictionary()
    zeros = pydoca.BufInventory(64)

    def import_mmap(original: Any, self: Any, blob: Any, **keys: Any) -> Any:
        area = original(self, blob, **keys)
        owners[area] = int.from_bytes(bytes(blob)[_PID], sys.byteorder)
        return area

    def prepare(task: Any) -> Callable[[], object] | None:
        src = task.src
        if src.mmap not in owners or src.list_len != 1 or not src.data_len or not is_gone(owners[src.mmap]):
            return None
        area = task.context.device.mmap(bytes(src.data_len))
        task.src = other = zeros.get_by_data(area)

        def take_back() -> None:
            task.src = src
            other.close()
            area.close()

        return take_back

    return together(replaced(pydoca.Device, "import_mmap", wrapped(import_mmap)), prepared_copies(prepare))


# Bufs


def leaking_lists() -> Plant:
    """The inventories hide how many of their elements they have."""
    origins: weakref.WeakKeyDictionary[pydoca.Buf, pydoca.BufInventory] = weakref.WeakKeyDictionary()
    lost: weakref.WeakKeyDictionary[pydoca.BufInventory, int] = weakref.WeakKeyDictionary()

    def get(original: Any, self: Any, *arguments: Any, **keys: Any) -> Any:
        if self.is_started and lost.get(self, 0) and self.num_free_elements < 1:
            raise pydoca.NoMemoryError(f"get a buf: all {self.num_elements} elements of the inventory are out")
        buf = original(self, *arguments, **keys)
        origins[buf] = self
        return buf

    def release(original: Any, self: Any, *arguments: Any) -> Any:
        inventory, count = None, 0
        with suppress(pydoca.DocaError):
            if not self.is_released and self.is_first and self.refcount == 1:
                inventory, count = origins.get(self), self.list_len - 1
        result = original(self, *arguments)
        if inventory is not None:
            lost[inventory] = lost.get(inventory, 0) + count
        return result

    return together(
        *(
            replaced(pydoca.BufInventory, name, wrapped(get))
            for name in ("get_by_args", "get_by_addr", "get_by_data", "dup")
        ),
        *(replaced(pydoca.Buf, name, wrapped(release)) for name in ("close", "dec_refcount", "__exit__")),
        replaced(
            pydoca.BufInventory,
            "num_free_elements",
            told(lambda self, count: max(count - lost.get(self, 0), 0)),
        ),
    )


# Tasks


def first_user_data() -> Plant:
    """A task that is submitted several times is concerned."""
    first: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def note(task: Any) -> None:
        if isinstance(task, pydoca.DmaMemcpyTask):
            first.setdefault(task, task.user_data)

    def stale(function: Any) -> Any:
        if function is None:
            return None

        def call(task: Any, user_data: Any, *more: Any) -> None:
            function(task, first.get(task, user_data), *more)

        return call

    return together(
        copies(note),
        replaced(pydoca.Dma, "__init__", with_argument(99, "on_completion", stale)),
        replaced(pydoca.Dma, "set_memcpy_conf", with_argument(0, "on_completion", stale)),
    )


# RDMA


def length_of_before() -> Plant:
    """What has no data has the length of what came before it."""
    last: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # the keys are contexts
    lengths: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
    of_task = pydoca.RdmaTask.result_len

    def note(ended: Any) -> None:
        length = of_task.__get__(ended)
        lengths[ended] = last.get(ended.context, 0) if length == 0 else length
        last[ended.context] = lengths[ended]

    def change(self: Any, length: Any) -> Any:
        return lengths.get(self, length) if length == 0 else length

    def outcome(original: Any, self: Any, *arguments: Any, **keys: Any) -> Any:
        result = original(self, *arguments, **keys)
        is_receive = result == 0 and getattr(self, "kind", "") == "receive"
        return lengths.get(self, result) if is_receive else result

    return together(
        submitted(pydoca.Rdma, "receive", "receive", lambda task: when_good(task, note)),
        replaced(pydoca.RdmaTask, "result_len", told(change)),
        *(replaced(pydoca.Task, name, wrapped(outcome)) for name in ("wait", "result")),
    )


def narrow_compare() -> Plant:
    def low(value: Any) -> Any:
        return value & (1 << 32) - 1 if isinstance(value, int) and 0 <= value < 1 << 64 else value

    return together(
        replaced(pydoca.RdmaConnection, "atomic_cmp_swp", with_argument(2, "cmp_data", low)),
        replaced(pydoca.RdmaTask, "cmp_data", stored(low)),
    )


def only_ipv4() -> Plant:
    def connect(original: Any, self: Any, address: Any, *arguments: Any, **keys: Any) -> Any:
        if isinstance(address, str) and ":" in address:
            raise pydoca.NotFoundError(f"connect to an address: no route from {self.device.name} to {address}")
        return original(self, address, *arguments, **keys)

    return replaced(pydoca.Rdma, "connect", wrapped(connect))


def limited(
    owner: type,
    names: tuple[str, ...],
    is_met: Callable[[Any], bool],
    require_room: Callable[[Any], object],
    note: Callable[[Any], object],
) -> Plant:
    """Calls require_room with the context before the submission of each task of some kinds, and note with the task."""

    def make_task(original: Any, self: Any, *arguments: Any, submit: bool = True, **keys: Any) -> Any:
        if submit:
            require_room(self)
        task = original(self, *arguments, submit=submit, **keys)
        if submit:
            note(task)
        return task

    def submit(original: Any, self: Any, *arguments: Any) -> None:
        is_limited = is_met(self)
        if is_limited:
            require_room(self.context)
        original(self, *arguments)
        if is_limited:
            note(self)

    return together(
        *(replaced(owner, name, wrapped(make_task)) for name in names),
        *(replaced(pydoca.Task, name, wrapped(submit)) for name in ("submit", "try_submit")),
    )


def half_of_receives() -> Plant:
    counts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # the keys are contexts

    def is_receive(task: Any) -> bool:
        return getattr(task, "kind", "") == "receive"

    def require_room(rdma: Any) -> None:
        if rdma.state is pydoca.ContextState.RUNNING and counts.get(rdma, 0) >= max(rdma.recv_queue_size // 2, 1):
            raise pydoca.AgainError(f"rdma receive: the receive queue of {rdma.device.name} is full")

    def count(task: Any) -> None:
        counts[task.context] = counts.get(task.context, 0) + 1
        task.add_done_callback(uncount)

    def uncount(task: Any) -> None:
        counts[task.context] -= 1

    return limited(pydoca.Rdma, ("receive",), is_receive, require_room, count)


def stale_set() -> Plant:
    """One in eight values is that of the store before."""
    last: weakref.WeakKeyDictionary[Any, bytes] = weakref.WeakKeyDictionary()
    is_turn, name = every(8), "remote_net_sync_event_notify_set"

    def prepare(task: Any) -> Callable[[], object] | None:
        if task.src.list_len != 1 or task.src.data_len != 8 or not is_writable(task.src):
            return None
        place = task.src.data
        now = peek(place, 8)
        before, last[task.sync_event] = last.get(task.sync_event, now), now
        if before == now or not is_turn():
            return None
        poke([(place, before)])
        return lambda: poke([(place, now)])

    return prepared(pydoca.RdmaConnection, name, name, prepare)


# Sync events


def kept_by_dead() -> Plant:
    last: weakref.WeakKeyDictionary[pydoca.SyncEvent, int] = weakref.WeakKeyDictionary()

    def get(original: Any, self: Any) -> Any:
        try:
            value = original(self)
        except pydoca.ConnectionResetError:
            return last.get(self, 0)
        if self.is_from_export:
            last[self] = value
        return value

    return replaced(pydoca.SyncEvent, "get", wrapped(get))


def one_wait() -> Plant:
    waiting: weakref.WeakKeyDictionary[Any, weakref.ref[Any]] = weakref.WeakKeyDictionary()  # the keys are contexts

    def is_wait(task: Any) -> bool:
        return isinstance(task, pydoca.SyncEventTask) and task.operation.startswith("wait")

    def require_room(context: Any) -> None:
        task = waiting.get(context, lambda: None)()
        if task is not None and task.state is pydoca.TaskState.SUBMITTED:
            raise pydoca.AgainError(f"sync event wait: the queue of {context.device.name} is full")

    def note(task: Any) -> None:
        waiting[task.context] = weakref.ref(task)

    return limited(pydoca.SyncEventContext, ("wait_gt", "wait_eq", "wait_neq"), is_wait, require_room, note)


def added_twice() -> Plant:
    is_turn = every(20)

    def prepare(task: Any) -> Callable[[], object] | None:
        if task.operation != "notify_add" or not task.operand or not is_turn():
            return None
        addend = task.operand
        task.operand = 2 * addend % 2**64
        return lambda: setattr(task, "operand", addend)

    return prepared(pydoca.SyncEventContext, "notify_add", pydoca.SyncEventTask, prepare)


# Comch


def greeting_twice() -> Plant:
    starts: weakref.WeakKeyDictionary[comch.Server, int] = weakref.WeakKeyDictionary()
    greeted: weakref.WeakSet[comch.Connection] = weakref.WeakSet()

    def note(self: Any) -> None:
        if self.state is pydoca.ContextState.IDLE:
            starts[self] = starts.get(self, 0) + 1

    def send(original: Any, self: Any, data: Any, **keys: Any) -> Any:
        if self not in greeted and keys.get("submit", True):
            greeted.add(self)
            if self.server is not None and starts.get(self.server, 0) > 1:
                with suppress(pydoca.DocaError):
                    original(self, data)
        return original(self, data, **keys)

    return together(
        replaced(comch.Connection, "send", wrapped(send)),
        *(replaced(comch.Server, name, before_each(note)) for name in ("start", "__enter__", "__aenter__")),
    )


def name_once() -> Plant:
    """Names are those of the card, and not of its functions."""
    servers: weakref.WeakSet[comch.Server] = weakref.WeakSet()

    def require_free(self: Any) -> None:
        others = [each for each in servers if each is not self and not each.closed]
        for each in others:
            is_running = each.state is not pydoca.ContextState.IDLE
            if is_running and each.name == self.name and each.representor.vuid != self.representor.vuid:
                raise pydoca.AlreadyExistError(f"start a server: the card has a server {self.name!r}")
        servers.add(self)

    return together(
        *(replaced(comch.Server, name, before_each(require_free)) for name in ("start", "__enter__", "__aenter__"))
    )


def other_sender() -> Plant:
    is_turn = every(20)

    def confused(function: Any) -> Any:
        if function is None:
            return None

        def call(connection: Any, *more: Any) -> None:
            others = [each for each in connection.server.connections if each is not connection]
            function(others[0] if others and is_turn() else connection, *more)

        return call

    return together(
        replaced(comch.Server, "__init__", with_argument(99, "on_message", confused)),
        replaced(comch.Server, "on_message", stored(confused)),
    )


# Decompression and SHA


def crc_remainder() -> Plant:
    """The sum is made of words of four bytes."""
    begins: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def note(task: Any) -> None:
        begins[task] = total(task.dst)

    def change(task: Any, value: int) -> int:
        is_met = task in begins and (total(task.dst) - begins[task]) % 4
        return value ^ 1 << 9 if is_met else value

    return together(
        submitted(pydoca.Compress, "decompress_deflate", pydoca.CompressDecompressDeflateTask, note),
        replaced(pydoca.CompressDecompressDeflateTask, "crc_cs", told(change)),
    )


def half_of_streams() -> Plant:
    def require_short(context: Any, src: Any) -> None:
        most = pydoca.Compress.max_decompress_deflate_buf_size(context.device.info) // 2
        if src is not None and total(src) > most:
            raise pydoca.InvalidValueError(f"decompress: the stream has {total(src)} bytes; the device takes {most}")

    def decompress(original: Any, self: Any, src: Any, dst: Any, *, submit: bool = True, **keys: Any) -> Any:
        if submit:
            require_short(self, src)
        return original(self, src, dst, submit=submit, **keys)

    def submit(original: Any, self: Any, *arguments: Any) -> None:
        if isinstance(self, pydoca.CompressDecompressDeflateTask):
            require_short(self.context, self.src)
        original(self, *arguments)

    return together(
        replaced(pydoca.Compress, "decompress_deflate", wrapped(decompress)),
        *(replaced(pydoca.Task, name, wrapped(submit)) for name in ("submit", "try_submit")),
    )


def two_hashers() -> Plant:
    contexts: weakref.WeakSet[Any] = weakref.WeakSet()
    is_turn = every(4)

    def watch(task: Any) -> None:
        mine, begin = task.context, end_of(task.dst)
        contexts.add(mine)
        others = [each for each in contexts if each is not mine and each.state is pydoca.ContextState.RUNNING]
        if begin and any(each.device == mine.device for each in others) and is_turn():
            when_good(task, lambda _: poke(flipped(begin)))

    return together(
        replaced(pydoca.Sha, "__init__", after_each(lambda self, _: contexts.add(self))),
        submitted(pydoca.Sha, "hash", pydoca.ShaHashTask, watch),
    )


# Graphs and work queues


def failed_for_good() -> Plant:
    calm = (pydoca.Status.SUCCESS, pydoca.Status.IN_PROGRESS)
    begun: weakref.WeakSet[Any] = weakref.WeakSet()

    def submit(original: Any, self: Any) -> None:
        if self in begun and self.status not in calm:
            raise pydoca.BadStateError("graph instance submit: the instance has failed")
        original(self)
        begun.add(self)

    return replaced(pydoca.GraphInstance, "submit", wrapped(submit))


def half_of_depth() -> Plant:
    def require_room(self: Any) -> None:
        if self.num_jobs >= max(self.depth // 2, 1):
            raise pydoca.NoMemoryError(f"submit: the queue has {self.num_jobs} jobs already")

    return together(
        *(replaced(workq.WorkQueue, name, before_each(require_room)) for name in ("submit", "graph_submit"))
    )


# The DPA


def memory_of_its_own() -> Plant:
    def memory(original: Any, self: Any, mmap: Any) -> memoryview:
        real = original(self, mmap)
        return memoryview(bytes(real) if real.readonly else bytearray(real))

    return replaced(pydoca.Dpa, "memory", wrapped(memory))


# Progress engines and contexts


def one_armed_engine() -> Plant:
    armed: weakref.WeakSet[pydoca.ProgressEngine] = weakref.WeakSet()

    def request(original: Any, self: Any) -> None:
        if self.closed or not any(each is not self and not each.closed for each in armed):
            original(self)
            armed.add(self)

    return together(
        replaced(pydoca.ProgressEngine, "request_notification", wrapped(request)),
        *(
            replaced(pydoca.ProgressEngine, name, before_each(armed.discard))
            for name in ("clear_notification", "close", "__exit__")
        ),
    )


def deaf_in_callback() -> Plant:
    here = threading.local()

    def noting(function: Any) -> Any:
        if function is None:
            return None

        def call(*arguments: Any) -> None:
            before, here.is_inside = getattr(here, "is_inside", False), True
            try:
                function(*arguments)
            finally:
                here.is_inside = before

        return call

    def stop(original: Any, self: Any) -> Any:
        is_deaf = isinstance(self, pydoca.Dma) and getattr(here, "is_inside", False)
        return pydoca.Status.IN_PROGRESS if is_deaf and self.state is pydoca.ContextState.RUNNING else original(self)

    return together(
        *(replaced(pydoca.Dma, "__init__", with_argument(99, name, noting)) for name in ("on_completion", "on_error")),
        *(
            replaced(pydoca.Dma, "set_memcpy_conf", with_argument(place, name, noting))
            for place, name in enumerate(("on_completion", "on_error"))
        ),
        replaced(pydoca.Context, "stop", wrapped(stop)),
    )


# What shows a defect, apart from the suite


def shares_badly() -> bool:
    with ExitStack() as stack:
        engine, target = Engine(stack), pydoca.alloc(128)
        src = stack.enter_context(engine.device.mmap(pattern(64)))
        dst = stack.enter_context(engine.device.mmap(target))
        with engine.bufs.get_by_data(src) as source:
            sinks = [engine.bufs.get_by_addr(dst, dst.addr + place, 64) for place in (0, 64)]
            tasks = [engine.dma.memcpy(source, sink) for sink in sinks]
            engine.pe.run_until(tasks, 10)
            for task in tasks:
                task.free()
            for sink in sinks:
                sink.close()
        return bytes(target) != pattern(64) * 2


def second_port_copies_wrongly() -> bool:
    wrong: list[str] = []
    for name in ("p0", "p1"):
        with ExitStack() as stack:
            engine, target = Engine(stack, name), pydoca.alloc(64)
            src = stack.enter_context(engine.device.mmap(pattern(64)))
            dst = stack.enter_context(engine.device.mmap(target))
            for _ in range(10):
                engine.copy(src, dst, 64)
                wrong += [name] if bytes(target) != pattern(64) else []
    return bool(wrong) and set(wrong) == {"p1"}


def overwrites_full_buf() -> bool:
    with ExitStack() as stack:
        engine, target = Engine(stack), pydoca.alloc(64)
        target[:16] = b"f" * 16
        src = stack.enter_context(engine.device.mmap(pattern(32)))
        dst = stack.enter_context(engine.device.mmap(target))
        with engine.bufs.get_by_data(src) as source, engine.bufs.get_by_data(dst, dst.addr, 16) as sink:
            sink.chain(engine.bufs.get_by_addr(dst, dst.addr + 16, 48))
            task = engine.dma.memcpy(source, sink)
            task.wait(10)
            task.free()
        return bytes(target)[:48] != b"f" * 16 + pattern(32)


def long_ones_are_slow() -> bool:
    times: list[float] = []
    with ExitStack() as stack:
        engine, memory = Engine(stack), pydoca.alloc(2 * _MIB)
        area = stack.enter_context(engine.device.mmap(memory))
        for _ in range(9):
            with (
                engine.bufs.get_by_data(area, area.addr, _MIB) as source,
                engine.bufs.get_by_addr(area, area.addr + _MIB, _MIB) as sink,
            ):
                begin = time.perf_counter()
                task = engine.dma.memcpy(source, sink)
                task.wait(10)
                times.append(time.perf_counter() - begin)
                task.free()
    return median(times) > 0.018


def fail(engine: Any, dma: pydoca.Dma, gone: pydoca.Mmap, dst: pydoca.Mmap) -> None:
    """A copy from memory that is not there any more; the context runs again at the end."""
    with engine.bufs.get_by_data(gone) as source, engine.bufs.get_by_addr(dst) as sink:
        task = dma.memcpy(source, sink)
        with suppress(pydoca.DocaError):
            task.wait(10)
        task.free()
    engine.pe.run_until(lambda: dma.state is pydoca.ContextState.IDLE, 10)
    dma.start()


def loses_slots_of_failed() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        dma = stack.enter_context(pydoca.Dma(engine.pe, engine.device, num_tasks=4))
        dst = stack.enter_context(engine.device.mmap(pydoca.alloc(64)))
        fail(engine, dma, withdrawn(stack, engine.device), dst)
        tasks: list[Any] = []
        try:
            tasks += (dma.memcpy(None, None, submit=False) for _ in range(4))
        except pydoca.NoMemoryError:
            return True
        finally:
            for task in tasks:
                task.free()
        return False


def says_again() -> bool:
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        dma = stack.enter_context(pydoca.Dma(pe, device, num_tasks=1))
        task = dma.memcpy(None, None, submit=False)
        try:
            dma.memcpy(None, None, submit=False)
        except pydoca.AgainError:
            return True
        except pydoca.NoMemoryError:
            return False
        finally:
            task.free()
        return False


def lent_by_host(stack: ExitStack, engine: Engine, memory: Any, access: str) -> pydoca.Mmap:
    host = stack.enter_context(pydoca.open_device("pf0"))
    lent = stack.enter_context(host.mmap(memory, access=access))
    return stack.enter_context(engine.device.import_mmap(lent.export_pci()))


def copies_less_between_hosts() -> bool:
    with ExitStack() as stack:
        engine, memory, target = Engine(stack), pydoca.alloc(256), pydoca.alloc(256)
        memory[:] = pattern(256)
        src = lent_by_host(stack, engine, memory, "pci_read_only")
        dst = lent_by_host(stack, engine, target, "pci_read_write")
        engine.copy(src, dst, 256)
        return bytes(target) != pattern(256)


def writes_whole_words() -> bool:
    with ExitStack() as stack:
        engine, target = Engine(stack), pydoca.alloc(256)
        dst = lent_by_host(stack, engine, target, "pci_read_write")
        src = stack.enter_context(engine.device.mmap(pattern(100)))
        engine.copy(src, dst, 100, to=33)
        return bytes(target)[33:133] != pattern(100)


_LENDER = """
import sys, pydoca
with pydoca.open_device("pf0") as host:
    lent = host.mmap(pydoca.alloc(64), access="pci_read_only")
    lent.memory[:] = b"x" * 64
    print(lent.export_pci().hex(), flush=True)
    sys.stdin.readline()
"""


@contextmanager
def described_by_other(code: str) -> Iterator[tuple[bytes, Callable[[], object]]]:
    """What another process describes, and a function that kills it."""
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None

        def kill() -> None:
            other.kill()
            other.wait()

        try:
            yield bytes.fromhex(other.stdout.readline()), kill
        finally:
            kill()


def reads_memory_of_dead() -> bool:
    with described_by_other(_LENDER) as (blob, kill), ExitStack() as stack:
        copy = Copy(stack, b"x" * 64)
        src = stack.enter_context(copy.engine.device.import_mmap(blob))
        copy.engine.copy(src, copy.dst, 64)
        if copy.is_wrong:
            return False
        kill()
        try:
            copy.engine.copy(src, copy.dst, 64)
        except pydoca.DocaError:
            return False
        return True


def loses_bufs_of_lists() -> bool:
    with ExitStack() as stack:
        device, bufs = stack.enter_context(pydoca.open_device("p0")), stack.enter_context(pydoca.BufInventory(4))
        area = stack.enter_context(device.mmap(b"text"))
        for _ in range(3):
            try:
                with bufs.get_by_data(area) as head:
                    head.chain(bufs.get_by_data(area))
                    head.chain(bufs.get_by_data(area))
            except pydoca.NoMemoryError:
                return True
        return bufs.num_free_elements != 4


def tells_first_user_data() -> bool:
    seen: list[Any] = []
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        dma = stack.enter_context(pydoca.Dma(pe, device, on_completion=lambda task, data, _: seen.append(data)))
        bufs = stack.enter_context(pydoca.BufInventory(2))
        src, dst = stack.enter_context(device.mmap(b"text")), stack.enter_context(device.mmap(pydoca.alloc(8)))
        with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
            task = dma.memcpy(source, sink, user_data=1)
            task.wait(10)
            task.user_data = 2
            task.submit()
            task.wait(10)
            task.free()
    return seen != [1, 2]


def tells_length_of_before() -> bool:
    lengths: list[Any] = []
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_read")
        src = stack.enter_context(pair.devices[0].mmap(b"text"))
        dst = stack.enter_context(pair.devices[1].mmap(pydoca.alloc(8)))
        with pair.bufs.get_by_data(src) as source, pair.bufs.get_by_addr(dst) as sink:
            for data, room in ((source, sink), (None, None)):
                receive, task = pair.ends[1].receive(room), pair.here.send(data)
                task.wait(10)
                lengths += [receive.wait(10), receive.result_len]
                task.free()
                receive.free()
    return lengths != [4, 4, 0, 0]


def cannot_compare() -> bool:
    value = (3 << 40) + 1

    def swap_twice(here: pydoca.RdmaConnection, target: pydoca.Buf, old: pydoca.Buf) -> pydoca.RdmaTask:
        before = values.pop(0)
        return here.atomic_cmp_swp(target, old, before, values[0])

    values = [0, value, 7]
    return atomic(swap_twice) != (7, value)


def has_no_ipv6() -> bool:
    with ExitStack() as stack:
        pe = stack.enter_context(pydoca.ProgressEngine())
        here, there = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "p1"))
        caller, called = (stack.enter_context(pydoca.Rdma(pe, each)) for each in (here, there))
        listener = stack.enter_context(called.listen(5052))
        try:
            established = caller.connect(there.info.ipv6_addr, 5052)
        except pydoca.NotFoundError:
            return True
        listener.request().wait(10).accept()
        established.wait(10)
        return False


def takes_half_of_receives() -> bool:
    tasks: list[Any] = []
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_read")
        end = pair.ends[1]
        try:
            tasks += (end.receive(None) for _ in range(end.recv_queue_size))
        except pydoca.AgainError:
            return True
        finally:
            end.stop()
            pair.pe.run_until(lambda: not end.num_inflight_tasks, 10)
            for task in tasks:
                task.free()
        return False


def stores_value_of_before() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        event = stack.enter_context(pydoca.SyncEvent(pair.devices[1], publisher="remote_net"))
        remote = stack.enter_context(pair.devices[0].import_sync_event_remote_net(event.export_to_remote_net()))
        memory = pydoca.alloc(8)
        area = stack.enter_context(pair.devices[0].mmap(memory))
        with pair.bufs.get_by_data(area) as source:
            for number in range(20):
                memory[:] = number.to_bytes(8, sys.byteorder)
                task = pair.here.remote_net_sync_event_notify_set(remote, source)
                task.wait(10)
                task.free()
                if event.get() != number:
                    return True
    return False


_OWNER = """
import sys, pydoca
with pydoca.open_device("pf0") as host, pydoca.SyncEvent(host, subscriber="remote_pci") as event:
    print(event.export_to_remote_pci().hex(), flush=True)
    sys.stdin.readline()
"""


def reads_event_of_dead() -> bool:
    with (
        described_by_other(_OWNER) as (blob, kill),
        pydoca.open_device("p0") as device,
        device.import_sync_event(blob) as event,
    ):
        event.get()
        kill()
        try:
            for _ in range(100):
                event.get()
                time.sleep(0.01)
        except pydoca.DocaError:
            return False
        return True


def takes_one_wait() -> bool:
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        event = pydoca.SyncEvent(device)
        events = stack.enter_context(event.as_context(pe, 4))
        tasks: list[Any] = []
        try:
            tasks += (events.wait_gt(number) for number in range(3))
        except pydoca.AgainError:
            return True
        finally:
            update = events.notify_set(9)
            pe.run_until([update, *tasks], 10)
            for task in (update, *tasks):
                task.free()
        return False


def adds_twice() -> bool:
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        events = stack.enter_context(pydoca.SyncEvent(device).as_context(pe, 4))
        for number in range(40):
            task = events.notify_add(1)
            is_wrong = task.wait(10) != number
            task.free()
            if is_wrong:
                return True
    return False


def greets_twice() -> bool:
    with server() as (pe, service, host):
        for _ in range(2):
            with comch.Client(pe, host, "check") as link:
                other = service.accept().wait(10)
                other.send(b"hello").wait(10)
                other.send(b"bye").wait(10)
                if [link.recv().wait(10) for _ in range(2)] != [b"hello", b"bye"]:
                    return True
            pe.run_until(lambda: not service.connections, 10)
            service.stop()
            pe.run_until(lambda: service.state is pydoca.ContextState.IDLE, 10)
            service.start()
    return False


def takes_name_once() -> bool:
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        try:
            for address in ("0b:00.0", "0b:00.2"):
                representor = stack.enter_context(device.open_representor(address))
                stack.enter_context(comch.Server(pe, device, representor, "check"))
        except pydoca.AlreadyExistError:
            return True
        return False


def mixes_senders() -> bool:
    senders: list[Any] = []
    with server(on_message=lambda sender, *_: senders.append(sender)) as (pe, service, host), ExitStack() as stack:
        links, ends = [], []
        for _ in range(2):
            links.append(stack.enter_context(comch.Client(pe, host, "check")))
            ends.append(service.accept().wait(10))
        for number in range(60):
            links[number % 2].send(b"text").wait(10)
            pe.run_until(lambda count=number: len(senders) > count, 10)  # type: ignore[misc]
        return senders != ends * 30


def expanded(plain: bytes, stream: bytes) -> int:
    """The CRC-32 that the device tells of the plain data."""
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        engine, bufs = stack.enter_context(pydoca.Compress(pe, device)), stack.enter_context(pydoca.BufInventory(2))
        src = stack.enter_context(device.mmap(stream))
        dst = stack.enter_context(device.mmap(pydoca.alloc(len(plain))))
        with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
            task = engine.decompress_deflate(source, sink)
            try:
                task.wait(10)
                return task.crc_cs
            finally:
                task.free()


def tells_wrong_crc() -> bool:
    plains = [pattern(length) for length in (1000, 1001)]
    sums = [expanded(plain, deflated(plain)) for plain in plains]
    return sums[0] == zlib.crc32(plains[0]) and sums[1] != zlib.crc32(plains[1])


def refuses_long_streams() -> bool:
    plain = Random(17).randbytes(3 * _MIB // 2)
    try:
        return expanded(plain, deflated(plain)) != zlib.crc32(plain)
    except pydoca.InvalidValueError:
        return True


def second_hasher_disturbs() -> bool:
    with ExitStack() as stack:
        hashers = [Hasher(stack, pattern(100)) for _ in range(2)]
        digests = {hashers[number % 2].digest(0, 100, "sha256") for number in range(16)}
        return digests != {hashlib.sha256(pattern(100)).digest()}


def cannot_run_again() -> bool:
    results = [pydoca.Status.IO_FAILED, pydoca.Status.SUCCESS]
    with ExitStack() as stack:
        copy = Copy(stack, bytes(2))
        graph = pydoca.Graph(copy.engine.pe)
        first = graph.node(copy.engine.dma)
        judge = graph.node(lambda _: results.pop(0), after=[first])
        stack.enter_context(graph)
        with copy.task() as task:
            run = graph.create_instance({first: task, judge: None})
            try:
                for _ in range(2):
                    task.dst.reset_data_len()  # type: ignore[union-attr]
                    run.submit()
                    with suppress(pydoca.IoFailedError):
                        run.wait(10)
            except pydoca.BadStateError:
                return True
            finally:
                run.destroy()
    return False


def queue_is_short() -> bool:
    with ExitStack() as stack:
        device = stack.enter_context(pydoca.open_device("p0"))
        queue, events = stack.enter_context(workq.WorkQueue(4)), pydoca.SyncEvent(device).as_context()
        queue.add(events)
        is_short = False
        try:
            for _ in range(4):
                queue.submit(workq.SyncEventUpdateAddJob(events, 1))
        except pydoca.NoMemoryError:
            is_short = True
        while queue.num_jobs:
            with suppress(pydoca.AgainError):
                queue.progress_retrieve()
    return is_short


def keeps_what_kernels_write() -> bool:
    memory = pydoca.alloc(4)

    def write(_: pydoca.DpaThread, room: memoryview) -> None:
        room[:] = b"text"

    with ExitStack() as stack:
        processor = dpa(stack)
        area = stack.enter_context(processor.device.mmap(memory))
        processor.register("write", write)
        processor.launch("write", processor.memory(area)).wait(10)
    return bytes(memory) != b"text"


def wakes_one_engine() -> bool:
    with ExitStack() as stack:
        copies = [Copy(stack) for _ in range(2)]
        engines = [copy.engine.pe for copy in copies]
        for pe in engines:
            pe.drain()
            pe.request_notification()
        with copies[1].task(submit=True) as task:
            is_readable = bool(select.select([engines[1]], [], [], 1)[0])
            for pe in engines:
                pe.clear_notification()
            task.wait(10)
        return not is_readable


def runs_on() -> bool:
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        bufs = stack.enter_context(pydoca.BufInventory(2))
        src, dst = stack.enter_context(device.mmap(b"text")), stack.enter_context(device.mmap(pydoca.alloc(4)))
        dma = stack.enter_context(pydoca.Dma(pe, device, on_completion=lambda *_: dma.stop()))
        with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
            task = dma.memcpy(source, sink)
            task.wait(10)
            task.free()
        pe.drain()
        return dma.state is pydoca.ContextState.RUNNING


DEFECTS = defects_of(
    (
        "dma-shared-source",
        "A copy whose source buf is also that of the copy before, which is in flight, leaves out its last eight bytes.",
        shared_source,
        shares_badly,
    ),
    (
        "dma-second-port",
        "One in four copies of the second port of the card ends in four wrong bytes.",
        second_port,
        second_port_copies_wrongly,
    ),
    (
        "dma-full-first",
        "A copy to a list whose first buf is full overwrites the data of that buf, too.",
        full_first,
        overwrites_full_buf,
    ),
    ("dma-slow-mebibyte", "Copies of 1 MiB and more take 20 ms longer.", slow_when_long, long_ones_are_slow),
    (
        "dma-failed-slots",
        "A copy that fails takes its slot with it: its context has a task less, for good.",
        failed_slots,
        loses_slots_of_failed,
    ),
    (
        "dma-again-for-good",
        "A copy for which the context has no task left is refused with AGAIN in place of NO_MEMORY.",
        again_for_good,
        says_again,
    ),
    (
        "pci-host-to-host",
        "Copies from memory of the other side to memory of the other side leave out the last eight bytes.",
        between_hosts,
        copies_less_between_hosts,
    ),
    (
        "pci-whole-words",
        "Copies to memory of the other side leave out what is before the first address that is a multiple of four.",
        odd_write,
        writes_whole_words,
    ),
    (
        "pci-dead-owner",
        "Copies from memory of a process that has died succeed, and bring zeros.",
        dead_owner,
        reads_memory_of_dead,
    ),
    (
        "buf-leaking-lists",
        "Of a list of bufs that is released only the first one comes back to its inventory.",
        leaking_lists,
        loses_bufs_of_lists,
    ),
    (
        "task-first-user-data",
        "The callback of a copy that is submitted again gets the user_data that the task had at first.",
        first_user_data,
        tells_first_user_data,
    ),
    (
        "rdma-length-of-before",
        "A receive of a message without data tells the length of the message before.",
        length_of_before,
        tells_length_of_before,
    ),
    (
        "rdma-narrow-compare",
        "A compare-and-swap compares with the lower 32 bits of its number only.",
        narrow_compare,
        cannot_compare,
    ),
    (
        "rdma-only-ipv4",
        "A peer can be connected by its IPv4 address, and not by its IPv6 address or GID.",
        only_ipv4,
        has_no_ipv6,
    ),
    (
        "rdma-half-of-receives",
        "The receive queue of an Rdma holds half of what it was made for.",
        half_of_receives,
        takes_half_of_receives,
    ),
    (
        "rdma-stale-set",
        "One in eight values that a network peer stores in a sync event is the one that it has stored before.",
        stale_set,
        stores_value_of_before,
    ),
    (
        "sync-kept-by-dead",
        "The value of an event whose owner's process has died can be read for good, as it was at the last look.",
        kept_by_dead,
        reads_event_of_dead,
    ),
    (
        "sync-one-wait",
        "A context of a sync event takes one wait at a time, and refuses the others with AGAIN.",
        one_wait,
        takes_one_wait,
    ),
    ("sync-task-adds-twice", "One in 20 additions to a sync event by a task is done twice.", added_twice, adds_twice),
    (
        "comch-restart-greeting",
        "A server that was started again sends its first message to each client twice.",
        greeting_twice,
        greets_twice,
    ),
    (
        "comch-name-once",
        "Two functions cannot have servers of the same name at a time: the second one is refused.",
        name_once,
        takes_name_once,
    ),
    (
        "comch-other-sender",
        "One in 20 messages to a server with several clients is given to on_message as one of another client.",
        other_sender,
        mixes_senders,
    ),
    (
        "inflate-crc-remainder",
        "The CRC-32 of plain data whose length is not a multiple of four has a wrong bit.",
        crc_remainder,
        tells_wrong_crc,
    ),
    (
        "inflate-half-of-maximum",
        "DEFLATE streams of more than half of the length that the device claims are refused.",
        half_of_streams,
        refuses_long_streams,
    ),
    (
        "sha-two-contexts",
        "While two SHA contexts of a device run, one in four digests has a wrong bit.",
        two_hashers,
        second_hasher_disturbs,
        "bluefield2",
    ),
    (
        "graph-failed-for-good",
        "An instance of a graph that has failed cannot be submitted again.",
        failed_for_good,
        cannot_run_again,
    ),
    ("workq-half-depth", "A work queue takes half of the jobs of its depth.", half_of_depth, queue_is_short),
    (
        "dpa-own-memory",
        "What a kernel writes to the memory of a map does not come there.",
        memory_of_its_own,
        keeps_what_kernels_write,
    ),
    (
        "notification-one-engine",
        "While an engine of a process is armed, requests for notifications of its other engines are forgotten.",
        one_armed_engine,
        wakes_one_engine,
    ),
    (
        "context-deaf-in-callback",
        "A copy engine's context that is stopped in a callback of its copies runs on.",
        deaf_in_callback,
        runs_on,
    ),
)

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    plant_from(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
