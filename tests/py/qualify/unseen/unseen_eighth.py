"""Thirty more defects of a device, of other kinds than those of the programs before.

They were also written without a look at the cases.

usage: unseen_eighth.py list
       unseen_eighth.py check [NAME...]              # each is visible by the public API, and only when it is planted
       unseen_eighth.py run NAME LEVEL DIRECTORY     # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import sys
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent))  # python -P needs it

import unseen_defects
from unseen_again import Slots, before_copies, graph_and_copy, sha_engine, spoiled_lists
from unseen_defects import (
    Defect,
    Engine,
    Function,
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
    spoiled,
    spoiled_copies,
    together,
    watched,
    with_argument,
)
from unseen_fifth import peers
from unseen_fourth import is_busy
from unseen_third import is_rdma

import pydoca
from pydoca import comch

_LINE = 64

# Copies


def misplaced() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def spoil(work: Work) -> list[Patch]:
        area = work.dst.mmap
        is_near_end = work.target + work.length + _LINE > area.addr + area.len
        if is_near_end or work.src.mmap.is_from_export or next(count) % 200:
            return []
        data = peek(work.source, work.length)
        return [(work.target, peek(work.target, work.length)), (work.target + _LINE, data)]

    return spoiled_copies(spoil)


def ended_by_empty() -> AbstractContextManager[None]:
    def is_met(src: Any) -> bool:
        return src.list_len > 1 and any(not buf.data_len for buf in src)

    def change(pieces: list[bytes], before: bytes) -> bytes:
        data = b"".join(itertools.takewhile(len, pieces))
        return data + before[len(data) :]

    return spoiled_lists(is_met, change)


def head_of_source() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        if not work.src.headroom or work.src.mmap.is_from_export:
            return []
        return [(work.target, peek(work.src.head, work.length))]

    return spoiled_copies(spoil)


def early_data() -> AbstractContextManager[None]:
    """Copies short data when the task is made, as if they were part of the descriptor."""
    early: weakref.WeakKeyDictionary[Any, bytes] = weakref.WeakKeyDictionary()

    def make_call(original: Function) -> Function:
        @functools.wraps(original)
        def memcpy(self: Any, src: Any, dst: Any, *, submit: bool = True, **keys: Any) -> Any:
            task = original(self, src, dst, submit=submit, **keys)
            with suppress(pydoca.DocaError):
                is_plain = src.list_len == dst.list_len == 1 and is_writable(dst) and not src.mmap.is_from_export
                if not submit and is_plain and 0 < src.data_len <= min(_LINE, dst.tailroom):
                    early[task] = peek(src.data, src.data_len)
            return task

        return memcpy

    def make_submit(original: Function) -> Function:
        @functools.wraps(original)
        def submit(self: Any, *flags: Any) -> None:
            data = early.pop(self, b"") if isinstance(self, pydoca.DmaMemcpyTask) else b""
            if data and self.src.data_len == len(data):
                _write_when_done(self, self.dst.data + self.dst.data_len, data)
            original(self, *flags)

        return submit

    return together(
        replaced(pydoca.Dma, "memcpy", make_call),
        replaced(pydoca.Task, "submit", make_submit),
        replaced(pydoca.Task, "try_submit", make_submit),
    )


def _write_when_done(task: Any, place: int, data: bytes) -> None:
    task.add_done_callback(lambda ended: None if ended.dst is None or ended.status else poke([(place, data)]))


def lost_in_a_batch() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def submit(self: Any, flags: pydoca.SubmitFlags = pydoca.SubmitFlags.FLUSH) -> None:
            if isinstance(self, pydoca.DmaMemcpyTask) and not flags & pydoca.SubmitFlags.FLUSH:
                with suppress(pydoca.DocaError):
                    length, room = self.src.data_len, self.dst.tailroom
                    is_plain = self.src.list_len == self.dst.list_len == 1 and is_writable(self.dst)
                    if is_plain and length <= room and next(count) % 10 == 0:
                        place = self.dst.data + self.dst.data_len
                        _write_when_done(self, place, peek(place, length))
            original(self, flags)

        return submit

    return together(replaced(pydoca.Task, "submit", make), replaced(pydoca.Task, "try_submit", make))


# Contexts and engines


def spreading_failure() -> AbstractContextManager[None]:
    known: weakref.WeakSet[Any] = weakref.WeakSet()

    def watch(task: Any) -> None:
        task.add_done_callback(functools.partial(end_others, task.context))

    def end_others(failed: Any, task: Any) -> None:
        if task.status in (pydoca.Status.SUCCESS, pydoca.Status.SHUTDOWN):
            return
        for other in list(known):
            with suppress(pydoca.DocaError):
                is_beside = other is not failed and other.progress_engine is failed.progress_engine
                if is_beside and other.state is pydoca.ContextState.RUNNING:
                    other.stop()

    return together(
        replaced(pydoca.Dma, "__init__", after_each(lambda dma, _: known.add(dma))),
        watched(pydoca.Dma, "memcpy", lambda task: isinstance(task, pydoca.DmaMemcpyTask), watch),
    )


def restarted_statistics() -> AbstractContextManager[None]:
    before: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
    real = pydoca.Context.stats

    def note(context: Any) -> None:
        if context.state is pydoca.ContextState.IDLE:
            before[context] = real(context)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def stats(self: Any) -> Any:
            now = original(self)
            then = before.get(self, (0,) * len(now))
            return type(now)(*(number - other for number, other in zip(now, then, strict=True)))

        return stats

    return together(replaced(pydoca.Context, "start", before_each(note)), replaced(pydoca.Context, "stats", make))


def slow_callbacks() -> AbstractContextManager[None]:
    depth: list[int] = []

    def noted(function: Function | None) -> Function | None:
        if function is None:
            return None

        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            depth.append(1)
            try:
                return function(*arguments)
            finally:
                depth.pop()

        return call

    def take_time(*_: Any) -> None:
        if depth:
            time.sleep(0.005)

    return together(
        replaced(pydoca.Dma, "__init__", with_argument(99, "on_completion", noted)),
        replaced(pydoca.Dma, "set_memcpy_conf", with_argument(0, "on_completion", noted)),
        before_copies(take_time),
    )


def silent_progress() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def progress(self: Any) -> bool:
            return bool(original(self)) and next(count) % 20 != 0

        return progress

    return replaced(pydoca.ProgressEngine, "progress", make)


# Memory maps


def removed_device() -> AbstractContextManager[None]:
    hidden: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()

    def make_remove(original: Function) -> Function:
        @functools.wraps(original)
        def remove_device(self: Any, device: Any) -> None:
            if self.is_started or self.is_from_export or device not in self.devices or len(self.devices) < 2:
                original(self, device)
                return
            hidden.setdefault(self, []).append(device)

        return remove_device

    def make_add(original: Function) -> Function:
        @functools.wraps(original)
        def add_device(self: Any, device: Any) -> None:
            if device in hidden.get(self, []):
                hidden[self].remove(device)
            else:
                original(self, device)

        return add_device

    def make_told(original: Any) -> property:
        return property(lambda self: [each for each in original.__get__(self) if each not in hidden.get(self, [])])

    return together(
        replaced(pydoca.Mmap, "remove_device", make_remove),
        replaced(pydoca.Mmap, "add_device", make_add),
        replaced(pydoca.Mmap, "devices", make_told),
    )


def released_twice() -> AbstractContextManager[None]:
    def twice(function: Any) -> Any:
        if not inspect.isroutine(function):
            return function

        def call(memory: Any) -> None:
            function(memory)
            function(memory)

        return call

    def make(original: Any) -> property:
        return property(original.__get__, lambda self, value: original.__set__(self, twice(value)))

    change = with_argument(99, "free_callback", twice)
    return together(
        replaced(pydoca.Device, "mmap", change),
        replaced(pydoca.Mmap, "__init__", change),
        replaced(pydoca.Mmap, "free_callback", make),
    )


# Bufs


def chained_second() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def chain(self: Any, other: Any) -> None:
            second = self.next if self.is_first else None
            original(self, other)
            if second is not None:
                self.unchain(other)
                self.unchain(second)
                original(self, other)
                original(self, second)

        return chain

    return replaced(pydoca.Buf, "chain", make)


def reset_to_head() -> AbstractContextManager[None]:
    def move(buf: Any, _: object) -> None:
        with suppress(pydoca.DocaError):
            if buf.headroom:
                buf.set_data(buf.head, 0)

    return replaced(pydoca.Buf, "reset_data_len", after_each(move))


# SHA


def previous_digest() -> AbstractContextManager[None]:
    count = itertools.count(1)
    known: weakref.WeakSet[Any] = weakref.WeakSet()
    last: dict[str, bytes] = {}

    def spoil(work: Work) -> list[Patch]:
        if work.src.mmap.is_from_export:
            return []
        before = last.get(work.algorithm)
        digest = last[work.algorithm] = hashlib.new(work.algorithm, peek(work.source, work.length)).digest()
        is_beside = any(is_busy(sha) for sha in list(known))
        is_wrong = before is not None and is_beside and work.dst.tailroom >= len(digest) and next(count) % 8 == 0
        return [(work.target, before)] if before is not None and is_wrong else []

    return together(
        replaced(pydoca.Sha, "__init__", after_each(lambda sha, _: known.add(sha))),
        spoiled(pydoca.Sha, "hash", pydoca.ShaHashTask, spoil),
    )


def _spoil_digest(ended: Any) -> None:
    if ended.dst is not None and not ended.status and is_writable(ended.dst):
        place = ended.dst.data + ended.dst.data_len - 4
        poke([(place, bytes(byte ^ 0xFF for byte in peek(place, 4)))])


def many_pieces() -> AbstractContextManager[None]:
    pieces: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def is_piece(task: Any) -> bool:
        return isinstance(task, pydoca.ShaPartialHashTask)

    def watch(task: Any) -> None:
        pieces[task] = pieces.get(task, 0) + 1
        if task.is_final and pieces.pop(task) > 4:
            task.add_done_callback(_spoil_digest)

    return together(
        watched(pydoca.Sha, "partial_hash", is_piece, watch),
        replaced(pydoca.ShaPartialHashTask, "reset", before_each(lambda task: pieces.pop(task, None))),
    )


def beside_copies() -> AbstractContextManager[None]:
    count = itertools.count(1)
    known: weakref.WeakSet[Any] = weakref.WeakSet()

    def spoil(work: Work) -> list[Patch]:
        is_beside = any(is_busy(dma) for dma in list(known))
        if not is_beside or work.src.mmap.is_from_export or next(count) % 5:
            return []
        message = hashlib.new(work.algorithm, peek(work.source, work.length - 1) + b"\xff")
        return [(work.target, message.digest())] if work.dst.tailroom >= message.digest_size else []

    return together(
        replaced(pydoca.Dma, "__init__", after_each(lambda dma, _: known.add(dma))),
        spoiled(pydoca.Sha, "hash", pydoca.ShaHashTask, spoil),
    )


# RDMA


def swapped_immediate() -> AbstractContextManager[None]:
    def swap(number: Any) -> Any:
        is_valid = 0 <= int(number) < 1 << 32
        return int.from_bytes(int(number).to_bytes(4, "big"), "little") if is_valid else number

    return replaced(pydoca.RdmaConnection, "send_imm", with_argument(1, "immediate_data", swap))


def cleared_behind() -> AbstractContextManager[None]:
    def watch(task: Any) -> None:
        task.add_done_callback(clear)

    def clear(ended: Any) -> None:
        with suppress(pydoca.DocaError):
            dst = ended.dst
            if dst is None or ended.status or dst.list_len > 1 or not is_writable(dst):
                return
            end = dst.data + dst.data_len
            poke([(end, bytes(min(-dst.data_len % _LINE, dst.tailroom)))])

    return watched(pydoca.Rdma, "receive", is_rdma("receive"), watch)


def lost_connections() -> AbstractContextManager[None]:
    lost: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def note(connection: Any) -> None:
        rdma = connection.rdma
        if rdma is not None and connection.is_connected:
            lost[rdma] = lost.get(rdma, 0) + 1

    def refuse(rdma: Any) -> None:
        if lost.get(rdma, 0) >= rdma.max_num_connections:
            raise pydoca.NoMemoryError("export: all connections of the context are in use")

    return together(
        replaced(pydoca.RdmaConnection, "disconnect", before_each(note)),
        replaced(pydoca.Rdma, "export", before_each(refuse)),
    )


def mixed_reads() -> AbstractContextManager[None]:
    count = itertools.count(1)
    in_flight: weakref.WeakSet[Any] = weakref.WeakSet()
    last: list[bytes] = []

    def watch(task: Any) -> None:
        is_alone = not any(not other.done for other in list(in_flight) if other is not task)
        in_flight.add(task)
        task.add_done_callback(functools.partial(end, is_alone))

    def end(is_alone: bool, ended: Any) -> None:
        in_flight.discard(ended)
        with suppress(pydoca.DocaError):
            dst = ended.dst
            if dst is None or ended.status or dst.list_len > 1 or not is_writable(dst) or dst.data_len < 8:
                return
            data = peek(dst.data, 8)
            if last and not is_alone and next(count) % 20 == 0:
                poke([(dst.data, last[0])])
            last[:] = [data]

    return watched(pydoca.RdmaConnection, "read", is_rdma("read"), watch)


# Comch


def still_connected() -> AbstractContextManager[None]:
    ended: weakref.WeakSet[Any] = weakref.WeakSet()
    seen: weakref.WeakSet[Any] = weakref.WeakSet()

    def make(original: Any) -> property:
        def get(self: Any) -> bool:
            is_connected = bool(original.__get__(self))
            if is_connected:
                seen.add(self)
            return is_connected or (self in seen and self not in ended)

        return property(get)

    def make_exit(_: Function) -> Function:
        return lambda self, *_: self.close()

    return together(
        replaced(comch.Connection, "is_connected", make),
        replaced(comch.Connection, "close", before_each(ended.add)),
        replaced(comch.Connection, "__exit__", make_exit),
    )


def short_names() -> AbstractContextManager[None]:
    full: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()

    def make_for(place: int) -> Callable[[Function], Function]:
        def make(original: Function) -> Function:
            cut = with_argument(place, "name", lambda name: name[:8])(original)

            @functools.wraps(original)
            def init(self: Any, *arguments: Any, **keys: Any) -> None:
                cut(self, *arguments, **keys)
                full[self] = keys["name"] if "name" in keys else arguments[place]

            return init

        return make

    def make_told(original: Any) -> property:
        return property(lambda self: full[self] if self in full else original.__get__(self))

    return together(
        replaced(comch.Server, "__init__", make_for(3)),
        replaced(comch.Client, "__init__", make_for(2)),
        replaced(comch.Server, "name", make_told),
        replaced(comch.Client, "name", make_told),
    )


def lingering_names() -> AbstractContextManager[None]:
    ended: dict[tuple[str, str], float] = {}

    def key_of(service: Any) -> tuple[str, str]:
        return service.representor.pci_addr, service.name

    def note(context: Any) -> None:
        with suppress(pydoca.DocaError):
            if isinstance(context, comch.Server) and context.state is pydoca.ContextState.RUNNING:
                ended[key_of(context)] = time.monotonic()

    def refuse(context: Any) -> None:
        if isinstance(context, comch.Server) and time.monotonic() < ended.get(key_of(context), -1.0) + 0.3:
            raise pydoca.AlreadyExistError(f"start: the function has a server named {context.name}")

    return together(
        replaced(pydoca.Context, "start", before_each(refuse)),
        replaced(pydoca.Context, "stop", before_each(note)),
        replaced(pydoca.Context, "__exit__", before_each(note)),
        replaced(pydoca.Context, "__aexit__", before_each(note)),
    )


# Sync events


def told_operand() -> AbstractContextManager[None]:
    def told(task: Any, value: Any) -> Any:
        return task.operand if task.operation in ("wait_gt", "wait_neq") and value is not None else value

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def call(self: Any, *arguments: Any, **keys: Any) -> Any:
            return told(self, original(self, *arguments, **keys))

        return call

    def make_await(original: Function) -> Function:
        def wait(self: Any) -> Generator[Any, None, Any]:
            value = yield from original(self)
            return told(self, value)

        return wait

    return together(
        replaced(pydoca.SyncEventTask, "result", make),
        replaced(pydoca.SyncEventTask, "wait", make),
        replaced(pydoca.SyncEventTask, "__await__", make_await),
    )


def kept_operand() -> AbstractContextManager[None]:
    told: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def make(original: Any) -> property:
        def change(self: Any, value: Any) -> None:
            before = original.__get__(self)
            original.__set__(self, value)
            told[self] = original.__get__(self)
            original.__set__(self, before)

        return property(lambda self: told[self] if self in told else original.__get__(self), change)

    return replaced(pydoca.SyncEventTask, "operand", make)


# Graphs


def told_completed() -> AbstractContextManager[None]:
    idle, complete = pydoca.GraphNodeState.NOT_STARTED, pydoca.GraphNodeState.COMPLETED

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def node_state(self: Any, node: Any) -> Any:
            state = original(self, node)
            is_over = self.status not in (pydoca.Status.SUCCESS, pydoca.Status.IN_PROGRESS)
            return complete if state is idle and is_over else state

        return node_state

    return replaced(pydoca.GraphInstance, "node_state", make)


def lost_instances() -> AbstractContextManager[None]:
    lost: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
    count = itertools.count(1)

    def note(graph: Any, _: object) -> None:
        if next(count) % 20 == 0:
            lost[graph] = lost.get(graph, 0) + 1

    def refuse(graph: Any) -> None:
        if graph.num_instances + lost.get(graph, 0) >= graph.max_instances:
            raise pydoca.NoMemoryError("create_instance: all instances of the graph exist")

    def make(original: Function) -> Function:
        return before_each(refuse)(after_each(note)(original))

    return together(replaced(pydoca.Graph, "create_instance", make), replaced(pydoca.Graph, "run", make))


# Properties of the device


def flickering_devices() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def devices(**keys: Any) -> Any:
            all_of_them = original(**keys)
            return all_of_them[:-1] if next(count) % 5 == 0 else all_of_them

        return devices

    return replaced(pydoca, "devices", make)


def wrong_type() -> AbstractContextManager[None]:
    def told(type: Any) -> Any:
        return pydoca.PciFuncType.PF if type == pydoca.PciFuncType.VF else type

    def make(original: Any) -> property:
        return property(lambda self: told(original.__get__(self)))

    def make_dict(original: Function) -> Function:
        def to_dict(self: Any) -> dict[str, Any]:
            fields: dict[str, Any] = original(self)
            return {name: "pf" if (name, value) == ("func_type", "vf") else value for name, value in fields.items()}

        return to_dict

    return together(
        replaced(pydoca.RepresentorInfo, "func_type", make),
        replaced(pydoca.Representor, "func_type", make),
        replaced(pydoca.RepresentorInfo, "to_dict", make_dict),
    )


def stale_clock() -> AbstractContextManager[None]:
    count = itertools.count(1)
    last: dict[str, int] = {}

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def timestamp(self: Any, type: Any) -> int:
            name = type if isinstance(type, str) else type.name.lower()
            if name.startswith("nic") and name in last and next(count) % 20 == 0:
                return last[name]
            now = last[name] = int(original(self, type))
            return now

        return timestamp

    return replaced(pydoca.Clock, "timestamp", make)


# Checks that show a defect without the suite


def misplaces() -> bool:
    target = pydoca.alloc(256)
    with ExitStack() as stack:
        engine = Engine(stack)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (pattern(64), target))
        for _ in range(400):
            target[:] = bytes(256)
            engine.copy(src, dst, 64)
            if bytes(target) != pattern(64) + bytes(192):
                return True
    return False


def ends_at_empty() -> bool:
    target = pydoca.alloc(32)
    with ExitStack() as stack:
        engine = Engine(stack)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (pattern(32), target))
        head = engine.bufs.get_by_data(src, src.addr, 16)
        head.chain(engine.bufs.get_by_addr(src, src.addr + 16, 16))
        head.chain(engine.bufs.get_by_data(src, src.addr + 16, 16))
        task = engine.dma.memcpy(head, engine.bufs.get_by_addr(dst))
        task.wait(10)
        task.free()
        del head, task
    return bytes(target) != pattern(32)


def copies_head() -> bool:
    target = pydoca.alloc(16)
    with ExitStack() as stack:
        engine = Engine(stack)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (pattern(64), target))
        source = engine.bufs.get_by_args(src, src.addr, 64, src.addr + 20, 16)
        task = engine.dma.memcpy(source, engine.bufs.get_by_addr(dst))
        task.wait(10)
        task.free()
        del source, task
    return bytes(target) != pattern(64)[20:36]


def copies_early_data() -> bool:
    memory, target = pydoca.alloc(16), pydoca.alloc(16)
    with ExitStack() as stack:
        engine = Engine(stack)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (memory, target))
        task = engine.dma.memcpy(engine.bufs.get_by_data(src), engine.bufs.get_by_addr(dst), submit=False)
        memory[:] = pattern(16)
        task.submit()
        task.wait(10)
        task.free()
        del task
    return bytes(target) != pattern(16)


def loses_in_batch() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 64)
        tasks = []
        for number in range(64):
            source = slots.bufs.get_by_data(slots.src, slots.src.addr + 64 * number, 64)
            sink = slots.bufs.get_by_addr(slots.dst, slots.dst.addr + 64 * number, 64)
            tasks.append(slots.dma.memcpy(source, sink, submit=False))
            tasks[-1].submit(pydoca.SubmitFlags.NONE)
        del source, sink
        slots.dma.flush_tasks()
        slots.pe.run_until(tasks, 10)
        return bytes(slots.target) != slots.data


def failure_spreads() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        other = stack.enter_context(pydoca.Dma(engine.pe, engine.device))
        src, dst = (stack.enter_context(engine.device.mmap(pydoca.alloc(size))) for size in (64, 8))
        with engine.bufs.get_by_data(src) as source, engine.bufs.get_by_addr(dst) as sink:
            task = engine.dma.memcpy(source, sink, submit=False)
            task.submit()
            with suppress(pydoca.DocaError):
                task.wait(10)
            task.free()
        engine.pe.run_until(lambda: engine.dma.state is pydoca.ContextState.IDLE, 10)
        return other.state is not pydoca.ContextState.RUNNING


def forgets_statistics() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        slots.submit(0).wait(10)
        slots.dma.stop()
        slots.pe.run_until(lambda: slots.dma.state is pydoca.ContextState.IDLE, 10)
        slots.dma.start()
        return slots.dma.stats().completed != 1


def is_slow_in_callbacks() -> bool:
    times: list[float] = []
    with ExitStack() as stack:
        device, pe = stack.enter_context(pydoca.open_device("p0")), stack.enter_context(pydoca.ProgressEngine())
        bufs = stack.enter_context(pydoca.BufInventory(2))

        def again(task: Any, *_: Any) -> None:
            if len(times) < 50:
                begin = time.perf_counter()
                task.dst.reset_data_len()
                task.submit()
                times.append(time.perf_counter() - begin)

        dma = stack.enter_context(pydoca.Dma(pe, device, on_completion=again))
        src, dst = (stack.enter_context(device.mmap(pydoca.alloc(64))) for _ in range(2))
        with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
            task = dma.memcpy(source, sink)
            pe.run_until(lambda: len(times) == 50 and task.done, 10)
            task.free()
    return min(times) > 0.003


def progresses_silently() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 64)
        tasks = [slots.submit(number) for number in range(64)]
        end = time.monotonic() + 10
        before = slots.pe.num_inflight_tasks
        while before and time.monotonic() < end:
            is_told = slots.pe.progress()
            now = slots.pe.num_inflight_tasks
            if now < before and not is_told:
                slots.pe.run_until(tasks, 10)
                return True
            before = now
    return False


def reaches_removed() -> bool:
    target = pydoca.alloc(64)
    with ExitStack() as stack:
        engine = Engine(stack)
        other = stack.enter_context(pydoca.open_device("p1"))
        dst = pydoca.Mmap(target, devices=[other, engine.device], access="local_read_write")
        dst.remove_device(engine.device)
        dst.start()
        stack.enter_context(dst)
        src = stack.enter_context(engine.device.mmap(pattern(64)))
        with suppress(pydoca.DocaError):
            engine.copy(src, dst, 64)
        return bytes(target) == pattern(64) and dst.devices == [other]


def releases_twice() -> bool:
    calls: list[int] = []

    def note(_: object) -> None:
        calls.append(1)

    with pydoca.open_device("p0") as device:
        device.mmap(pydoca.alloc(64), free_callback=note).close()
    return len(calls) != 1


def chains_at_second() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        area = stack.enter_context(engine.device.mmap(pydoca.alloc(64)))
        places = [area.addr + 16 * number for number in range(3)]
        head, *others = (engine.bufs.get_by_data(area, place, 16) for place in places)
        for other in others:
            head.chain(other)
        is_wrong = [buf.data for buf in head] != places
        head.close()
        return is_wrong


def resets_to_head() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        area = stack.enter_context(engine.device.mmap(pydoca.alloc(64)))
        with engine.bufs.get_by_args(area, area.addr, 64, area.addr + 16, 8) as buf:
            buf.reset_data_len()
            return buf.data != area.addr + 16


def mixes_digests() -> bool:
    target = pydoca.alloc(32 * 16)
    with sha_engine(target) as (sha, src, dst, _), pydoca.BufInventory(32) as bufs:
        tasks = []
        for number in range(16):
            source = bufs.get_by_data(src, src.addr + number, 100)
            tasks.append(sha.hash(source, bufs.get_by_addr(dst, dst.addr + 32 * number, 32), "sha256"))
        for task in tasks:
            task.wait(10)
            task.free()
        del source, task, tasks
    digests = [hashlib.sha256(pattern(256)[number : number + 100]).digest() for number in range(16)]
    return bytes(target) != b"".join(digests)


def hashes_many_pieces_wrongly() -> bool:
    target = pydoca.alloc(32)
    with sha_engine(target) as (sha, src, dst, bufs):
        block = pydoca.Sha.partial_hash_block_size(sha.device.info, "sha256")
        source, sink = bufs.get_by_data(src, src.addr, block), bufs.get_by_addr(dst)
        task = sha.partial_hash(source, sink, "sha256")
        task.wait(10)
        for number in range(1, 6):
            if number == 5:
                task.set_is_final_buf()
            task.submit()
            task.wait(10)
        task.free()
        del source, sink, task
    return bytes(target) != hashlib.sha256(pattern(256)[:block] * 6).digest()


def disturbs_digests() -> bool:
    target, is_wrong = pydoca.alloc(32), False
    with ExitStack() as stack:
        slots = Slots(stack, 8)
        sha = stack.enter_context(pydoca.Sha(slots.pe, slots.device))
        src, dst = (stack.enter_context(slots.device.mmap(each)) for each in (pattern(100), target))
        bufs = stack.enter_context(pydoca.BufInventory(2))
        for _ in range(10):
            copies = [slots.submit(number) for number in range(8)]
            with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
                task = sha.hash(source, sink, "sha256")
                slots.pe.run_until([task, *copies], 10)
                task.free()
            for copy in copies:
                copy.free()
            is_wrong = is_wrong or bytes(target) != hashlib.sha256(pattern(100)).digest()
    return is_wrong


def swaps_immediate() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        receive = pair.ends[1].receive(None)
        pair.here.send_imm(None, 0x01020304).wait(10)
        receive.wait(10)
        return receive.result_immediate_data != 0x01020304


def clears_behind() -> bool:
    memory = pydoca.alloc(64)
    memory[:] = b"\xaa" * 64
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        src = stack.enter_context(pair.devices[0].mmap(b"five!"))
        dst = stack.enter_context(pair.devices[1].mmap(memory))
        receive = pair.ends[1].receive(pair.bufs.get_by_addr(dst))
        pair.here.send(pair.bufs.get_by_data(src)).wait(10)
        receive.wait(10)
    return bytes(memory) != b"five!" + b"\xaa" * 59


def loses_connections() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        here, there = pair.here, pair.there
        for _ in range(4):
            here.disconnect().wait(10)
            there.ended().wait(10)
            try:
                here, there = (end.export() for end in pair.ends)
            except pydoca.NoMemoryError:
                return True
            here.connect(there.details)
            there.connect(here.details)
    return False


def mixes_reads() -> bool:
    target = pydoca.alloc(16 * 64)
    with peers(16 * 64) as (device, here, memory, remote), pydoca.BufInventory(32) as bufs:
        memory[:] = pattern(16 * 64)
        with device.mmap(target) as dst:
            for _ in range(5):
                tasks = []
                for place in range(0, 16 * 64, 64):
                    source = bufs.get_by_data(remote, remote.addr + place, 64)
                    tasks.append(here.read(source, bufs.get_by_addr(dst, dst.addr + place, 64)))
                for task in tasks:
                    task.wait(10)
                    task.free()
                del source, task, tasks
                if bytes(target) != pattern(16 * 64):
                    return True
    return False


def stays_connected() -> bool:
    with server() as (pe, service, host):
        with comch.Client(pe, host, "check") as link:
            other = service.accept().wait(10)
            if not (link.is_connected and other.is_connected):
                return False
        with suppress(pydoca.TimeOutError):
            pe.run_until(lambda: not other.is_connected, 1)
        return other.is_connected


def cuts_names() -> bool:
    with server() as (pe, service, _):
        try:
            with (
                comch.Server(pe, service.device, service.representor, "telemetry-1"),
                comch.Server(pe, service.device, service.representor, "telemetry-2"),
            ):
                return False
        except pydoca.AlreadyExistError:
            return True


def names_linger() -> bool:
    with server() as (pe, service, _):
        try:
            for _ in range(2):
                with comch.Server(pe, service.device, service.representor, "again"):
                    pass
        except pydoca.AlreadyExistError:
            return True
    return False


def tells_operand() -> bool:
    with (
        pydoca.open_device("p0") as device,
        pydoca.ProgressEngine() as pe,
        pydoca.SyncEvent(device).as_context(pe) as tasks,
    ):
        task = tasks.wait_gt(3)
        tasks.notify_set(9).wait(10)
        return task.wait(10) != 9


def keeps_operand() -> bool:
    with (
        pydoca.open_device("p0") as device,
        pydoca.ProgressEngine() as pe,
        pydoca.SyncEvent(device).as_context(pe) as tasks,
    ):
        task = tasks.notify_set(3)
        task.wait(10)
        task.operand = 4
        task.submit()
        task.wait(10)
        return tasks.get().wait(10) != 4


def tells_completed() -> bool:
    def fail(_: Any) -> None:
        raise ValueError("a check fails")

    with graph_and_copy() as (graph, copy):
        first = graph.node(fail)
        moved = graph.node(copy.context, after=[first])
        with graph:
            run = graph.run({first: None, moved: copy})
            with suppress(Exception):
                run.wait(10)
            return run.node_state(moved) is not pydoca.GraphNodeState.NOT_STARTED


def loses_instances() -> bool:
    with graph_and_copy() as (graph, copy):
        moved = graph.node(copy.context)
        with graph:
            for _ in range(20 * graph.max_instances + 20):
                try:
                    run = graph.create_instance({moved: copy})
                except pydoca.NoMemoryError:
                    return True
                run.destroy()
    return False


def flickers() -> bool:
    return len({len(pydoca.devices()) for _ in range(20)}) > 1


def tells_wrong_type() -> bool:
    types = {info.vuid: info.func_type for info in pydoca.devices(side="host")}
    with pydoca.open_device("p0") as device:
        return any(each.func_type != types.get(each.vuid, each.func_type) for each in device.representors())


def stands_still() -> bool:
    with pydoca.open_device("p0") as device, pydoca.Clock(device) as clock:
        times = [clock.timestamp("nic_real_time") for _ in range(400)]
    return len(set(times)) < 390


DEFECTS = [
    Defect(
        "dma-misplaced",
        "One in 200 copies writes its data 64 bytes behind the place where they should be.",
        misplaced,
        misplaces,
    ),
    Defect(
        "dma-empty-piece",
        "A copy from a list of bufs ends at the first one without data.",
        ended_by_empty,
        ends_at_empty,
    ),
    Defect(
        "dma-head-of-source",
        "A copy takes its data from the head of its source, whatever the headroom is.",
        head_of_source,
        copies_head,
    ),
    Defect(
        "dma-early-data",
        "A copy of at most 64 bytes takes the data that were there when its task was made.",
        early_data,
        copies_early_data,
    ),
    Defect(
        "dma-lost-in-batch",
        "One in ten copies that are submitted without FLUSH succeeds, and writes nothing.",
        lost_in_a_batch,
        loses_in_batch,
    ),
    Defect(
        "context-shared-failure",
        "A copy that fails stops the other copy engines' contexts of its progress engine, too.",
        spreading_failure,
        failure_spreads,
    ),
    Defect(
        "context-forgotten-stats",
        "The statistics of a context begin anew at each start.",
        restarted_statistics,
        forgets_statistics,
    ),
    Defect(
        "pe-slow-callback",
        "A copy that is submitted within a callback takes 5 ms longer.",
        slow_callbacks,
        is_slow_in_callbacks,
    ),
    Defect(
        "pe-silent-progress",
        "One in 20 times an engine's progress delivers something, and tells that there was nothing.",
        silent_progress,
        progresses_silently,
    ),
    Defect(
        "map-removed-device",
        "A device that was removed from a memory map still reaches it.",
        removed_device,
        reaches_removed,
    ),
    Defect(
        "map-released-twice",
        "The free_callback of a memory map is called twice.",
        released_twice,
        releases_twice,
    ),
    Defect(
        "buf-chained-second",
        "A buf that is chained to a list becomes the second of it, in place of the last.",
        chained_second,
        chains_at_second,
    ),
    Defect(
        "buf-reset-to-head",
        "The reset of a buf's data_len moves its data section to the head.",
        reset_to_head,
        resets_to_head,
    ),
    Defect(
        "sha-previous-digest",
        "One in eight digests that are submitted while others are in flight is of the message before.",
        previous_digest,
        mixes_digests,
        profile="bluefield2",
    ),
    Defect(
        "sha-many-pieces",
        "The digest of a message in more than four pieces is wrong.",
        many_pieces,
        hashes_many_pieces_wrongly,
        profile="bluefield2",
    ),
    Defect(
        "sha-beside-copies",
        "One in five digests is wrong while copies are in flight.",
        beside_copies,
        disturbs_digests,
        profile="bluefield2",
    ),
    Defect(
        "rdma-swapped-immediate",
        "A message with immediate data brings the number with its bytes in reverse order.",
        swapped_immediate,
        swaps_immediate,
    ),
    Defect(
        "rdma-cleared-behind",
        "A receive clears its buf behind the message, up to a multiple of 64 bytes.",
        cleared_behind,
        clears_behind,
    ),
    Defect(
        "rdma-lost-connections",
        "A connection that was disconnected still counts as one of the context's connections.",
        lost_connections,
        loses_connections,
    ),
    Defect(
        "rdma-mixed-reads",
        "One in 20 reads that are submitted while others are in flight begins with the data of the read before.",
        mixed_reads,
        mixes_reads,
    ),
    Defect(
        "comch-still-connected",
        "A connection tells that it is connected when the other side has left.",
        still_connected,
        stays_connected,
    ),
    Defect(
        "comch-short-names",
        "Servers whose names begin with the same eight characters are one and the same.",
        short_names,
        cuts_names,
    ),
    Defect(
        "comch-lingering-name",
        "The name of a server cannot be used again for 0.3 s after its end.",
        lingering_names,
        names_linger,
    ),
    Defect(
        "sync-told-operand",
        "The task of a wait for a greater or another value tells its operand in place of the value.",
        told_operand,
        tells_operand,
    ),
    Defect(
        "sync-kept-operand",
        "A task of a sync event that is submitted again has the operand of before, whatever was set since.",
        kept_operand,
        keeps_operand,
    ),
    Defect(
        "graph-told-completed",
        "When a run of a graph has failed, the nodes that were not started count as completed.",
        told_completed,
        tells_completed,
    ),
    Defect(
        "graph-lost-instances",
        "One in 20 instances of a graph does not come back to it when it is destroyed.",
        lost_instances,
        loses_instances,
    ),
    Defect(
        "device-flicker",
        "One in five lists of the devices lacks the last one.",
        flickering_devices,
        flickers,
    ),
    Defect(
        "representor-wrong-type",
        "The representor of a VF tells that it is a PF.",
        wrong_type,
        tells_wrong_type,
    ),
    Defect(
        "clock-stale",
        "One in 20 readings of a device's clock gives the value of the reading before.",
        stale_clock,
        stands_still,
    ),
]

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    """Plants the defect of the run, first of all in each process."""
    unseen_defects.plant_in_started_process(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
