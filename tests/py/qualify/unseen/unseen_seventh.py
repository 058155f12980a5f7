"""Thirty more defects of a device, of other kinds than those of the six programs before.

They were also written without a look at the cases.

usage: unseen_seventh.py list
       unseen_seventh.py check [NAME...]              # each is visible by the public API, and only when it is planted
       unseen_seventh.py run NAME LEVEL DIRECTORY     # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import sys
import time
import weakref
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent))  # python -P needs it

import unseen_defects
from unseen_again import Slots, before_copies, graph_and_copy, sha_engine, spoiled_lists
from unseen_defects import (
    Defect,
    Engine,
    Function,
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
from unseen_fourth import Fan
from unseen_third import is_rdma, peers

import pydoca
from pydoca import comch

_LINE = 64
_LOW = 0xFFFFFFFF
_PIECES = 4

# Copies


def is_copy(task: Any) -> bool:
    return isinstance(task, pydoca.DmaMemcpyTask)


def source_headroom() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        if not work.src.headroom or work.src.mmap.is_from_export:
            return []
        return [(work.target, peek(work.src.head, work.length))]

    return spoiled_copies(spoil)


def grown_on_failure() -> AbstractContextManager[None]:
    def grow(task: Any) -> None:
        with suppress(pydoca.DocaError):
            if task.dst is not None and task.status not in (pydoca.Status.SUCCESS, pydoca.Status.SHUTDOWN):
                task.dst.data_len += task.dst.tailroom

    return watched(pydoca.Dma, "memcpy", is_copy, lambda task: task.add_done_callback(grow))


def list_of_maps() -> AbstractContextManager[None]:
    def is_of_several(src: Any) -> bool:
        return src.list_len > 1 and len({id(buf.mmap) for buf in src}) > 1

    def first_for_all(pieces: list[bytes], before: bytes) -> bytes:
        data = b"".join((pieces[0] * (len(piece) // max(len(pieces[0]), 1) + 1))[: len(piece)] for piece in pieces)
        return data if len(data) == len(before) else before

    return spoiled_lists(is_of_several, first_for_all)


def untold_error() -> AbstractContextManager[None]:
    def silent(function: Function | None) -> Function | None:
        return None if function is None else lambda *_: None

    return together(
        replaced(pydoca.Dma, "__init__", with_argument(99, "on_error", silent)),
        replaced(pydoca.Dma, "set_memcpy_conf", with_argument(1, "on_error", silent)),
    )


def slow_gather() -> AbstractContextManager[None]:
    def take_time(_: Any, src: Any, __: Any) -> None:
        if src is not None and src.list_len > 1:
            time.sleep(0.002 * src.list_len)

    return before_copies(take_time)


# Tasks, contexts and engines


def late_time_out() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def wait(*arguments: Any, **keys: Any) -> Any:
            try:
                return original(*arguments, **keys)
            except pydoca.TimeOutError:
                time.sleep(0.25)
                raise

        return wait

    return replaced(pydoca.ProgressEngine, "wait", make)


def false_progress() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def progress(self: Any) -> bool:
            return bool(original(self)) and next(count) % 50 != 0

        return progress

    return replaced(pydoca.ProgressEngine, "progress", make)


def unfreed_in_flight() -> AbstractContextManager[None]:
    def make(original: Any) -> property:
        def get(self: Any) -> int:
            original.__get__(self)  # the call raises its own error
            return int(self._snapshot(0)[8])  # allocated tasks are in the way

        return property(get)

    return replaced(pydoca.Dma, "num_inflight_tasks", make)


def freed_in_flight() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def free(self: Any) -> None:
            with suppress(pydoca.InUseError):
                original(self)

        return free

    return replaced(pydoca.Task, "free", make)


def kept_callbacks() -> AbstractContextManager[None]:
    used: weakref.WeakSet[Any] = weakref.WeakSet()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def set_memcpy_conf(self: Any, *arguments: Any, **keys: Any) -> None:
            if self not in used:
                original(self, *arguments, **keys)

        return set_memcpy_conf

    return together(
        replaced(pydoca.Context, "start", before_each(used.add)),
        replaced(pydoca.Dma, "set_memcpy_conf", make),
    )


# SHA


def crossed_digests() -> AbstractContextManager[None]:
    count, depth = itertools.count(1), 0
    last = b"", ""

    def note(sha: Any) -> None:
        nonlocal depth
        with suppress(pydoca.DocaError):
            depth = sha.num_inflight_tasks

    def note_again(task: Any) -> None:
        if isinstance(task, pydoca.ShaHashTask):
            note(task.context)

    def spoil(work: Work) -> list[Patch]:
        nonlocal last
        if work.src.mmap.is_from_export:
            return []
        (before, algorithm), last = last, (peek(work.source, work.length), work.algorithm)
        if not depth or algorithm != work.algorithm or next(count) % 20:
            return []
        digest = hashlib.new(algorithm, before).digest()
        return [(work.target, digest)] if work.dst.tailroom >= len(digest) else []

    return together(
        spoiled(pydoca.Sha, "hash", pydoca.ShaHashTask, spoil),
        replaced(pydoca.Sha, "hash", before_each(note)),
        replaced(pydoca.Task, "submit", before_each(note_again)),
        replaced(pydoca.Task, "try_submit", before_each(note_again)),
    )


def many_pieces() -> AbstractContextManager[None]:
    pieces: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def watch(task: Any) -> None:
        pieces[task] = pieces.get(task, 0) + 1
        if task.is_final and pieces.pop(task) >= _PIECES:
            task.add_done_callback(spoil)

    def spoil(ended: Any) -> None:
        if ended.dst is not None and not ended.status and is_writable(ended.dst):
            last = ended.dst.data + ended.dst.data_len - 1
            poke([(last, bytes([peek(last, 1)[0] ^ 1]))])

    return together(
        watched(pydoca.Sha, "partial_hash", lambda task: isinstance(task, pydoca.ShaPartialHashTask), watch),
        replaced(pydoca.ShaPartialHashTask, "reset", before_each(lambda task: pieces.pop(task, None))),
    )


# RDMA


def lost_swap() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def atomic_cmp_swp(self: Any, dst: Any, result: Any, cmp_data: Any, swap_data: Any, **keys: Any) -> Any:
            written = cmp_data if next(count) % 50 == 0 else swap_data
            return original(self, dst, result, cmp_data, written, **keys)

        return atomic_cmp_swp

    return replaced(pydoca.RdmaConnection, "atomic_cmp_swp", make)


def untold_read_length() -> AbstractContextManager[None]:
    def shorten(ended: Any) -> None:
        with suppress(pydoca.DocaError):
            if ended.dst is not None and not ended.status and ended.dst.list_len == 1:
                ended.dst.data_len -= ended.result_len or 0

    return watched(pydoca.RdmaConnection, "read", is_rdma("read"), lambda task: task.add_done_callback(shorten))


def write_at_data() -> AbstractContextManager[None]:
    def restore(dst: Any, length: int) -> None:
        with suppress(pydoca.DocaError):
            dst.data_len = length

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def write(self: Any, src: Any, dst: Any, *, submit: bool = True, **keys: Any) -> Any:
            length = dst.data_len if submit and dst is not None and dst.list_len == 1 else 0
            if not length:
                return original(self, src, dst, submit=submit, **keys)
            dst.reset_data_len()
            try:
                task = original(self, src, dst, submit=submit, **keys)
            except BaseException:
                restore(dst, length)
                raise
            task.add_done_callback(lambda _: restore(dst, length))
            return task

        return write

    return replaced(pydoca.RdmaConnection, "write", make)


def used_up_connections() -> AbstractContextManager[None]:
    made: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def refuse(rdma: Any) -> None:
        if made.get(rdma, 0) >= rdma.max_num_connections:
            raise pydoca.FullError(f"export: {rdma.device.name} has no queue pair left")

    def note(rdma: Any, _: object) -> None:
        made[rdma] = made.get(rdma, 0) + 1

    return together(
        replaced(pydoca.Rdma, "export", after_each(note)),
        replaced(pydoca.Rdma, "export", before_each(refuse)),
        replaced(pydoca.Rdma, "start", before_each(lambda rdma: made.pop(rdma, None))),
    )


# Comch


def split_messages() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def send(self: Any, data: Any, *, submit: bool = True, **keys: Any) -> Any:
            message = memoryview(data).cast("B")
            if submit and 1024 < len(message) <= self.max_msg_size:
                original(self, message[:1024])
                return original(self, message[1024:], **keys)
            return original(self, data, submit=submit, **keys)

        return send

    return replaced(comch.Connection, "send", make)


def half_the_queue() -> AbstractContextManager[None]:
    told: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def init(self: Any, *arguments: Any, recv_queue_size: int | None = None, **keys: Any) -> None:
            if recv_queue_size is None or recv_queue_size < 2:
                original(self, *arguments, recv_queue_size=recv_queue_size, **keys)
                return
            original(self, *arguments, recv_queue_size=recv_queue_size // 2, **keys)
            told[self] = recv_queue_size

        return init

    def make_told(original: Any) -> property:
        def put(self: Any, value: int) -> None:
            original.__set__(self, value)
            told.pop(self, None)

        return property(lambda self: told[self] if self in told else original.__get__(self), put)

    return together(
        replaced(comch.Server, "__init__", make),
        replaced(comch.Client, "__init__", make),
        replaced(comch.Server, "recv_queue_size", make_told),
        replaced(comch.Client, "recv_queue_size", make_told),
    )


def kept_name() -> AbstractContextManager[None]:
    ends: dict[tuple[str, str], float] = {}

    def key_of(service: Any) -> tuple[str, str]:
        return service.representor.pci_addr, service.name

    def note(service: Any) -> None:
        if service.state is pydoca.ContextState.RUNNING:
            ends[key_of(service)] = time.monotonic()

    def refuse(service: Any) -> None:
        if time.monotonic() < ends.get(key_of(service), -1.0) + 0.5:
            raise pydoca.AlreadyExistError(f"start: {service.device.name} has a server of the name {service.name}")

    return together(
        *(replaced(comch.Server, name, before_each(note)) for name in ("stop", "__exit__", "__aexit__")),
        *(replaced(comch.Server, name, before_each(refuse)) for name in ("start", "__enter__", "__aenter__")),
    )


# Sync events


def expected_result() -> AbstractContextManager[None]:
    def told(task: Any, value: Any) -> Any:
        return task.operand if value is not None and task.operation.startswith("wait") else value

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def call(self: Any, *arguments: Any, **keys: Any) -> Any:
            return told(self, original(self, *arguments, **keys))

        return call

    def make_await(original: Function) -> Function:
        def wait(self: Any) -> Generator[Any, None, Any]:
            return told(self, (yield from original(self)))

        return wait

    return together(
        replaced(pydoca.SyncEventTask, "result", make),
        replaced(pydoca.SyncEventTask, "wait", make),
        replaced(pydoca.SyncEventTask, "__await__", make_await),
    )


def untold_stop() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def wait(self: Any, *arguments: Any, timeout: float | None = None, **keys: Any) -> None:
            begin = time.monotonic()
            try:
                original(self, *arguments, timeout=timeout, **keys)
            except (pydoca.BadStateError, pydoca.NotConnectedError) as error:
                if timeout is None or not self.is_from_export or not self.is_started:
                    raise
                time.sleep(max(0.0, begin + timeout - time.monotonic()))
                raise pydoca.TimeOutError(str(error)) from None

        return wait

    names = ["wait_eq", "wait_neq", "wait_gt"]
    names += [f"{name}_yield" for name in names]
    return together(*(replaced(pydoca.SyncEvent, name, make) for name in names))


def merged_additions() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def notify_add(self: Any, value: Any, *, submit: bool = True, **keys: Any) -> Any:
            is_merged = submit and self.num_inflight_tasks
            return original(self, 0 if is_merged else value, submit=submit, **keys)

        return notify_add

    return replaced(pydoca.SyncEventContext, "notify_add", make)


# Graphs


def one_run() -> AbstractContextManager[None]:
    submitted: weakref.WeakSet[Any] = weakref.WeakSet()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def submit(self: Any) -> None:
            if any(other is not self and other.graph is self.graph and other.is_running for other in submitted):
                raise pydoca.AgainError("submit: the graph runs")
            original(self)
            submitted.add(self)

        return submit

    def make_run(_: Function) -> Function:
        def run(self: Any, data: Any) -> Any:
            instance = self.create_instance(data)
            instance.submit()
            return instance

        return run

    return together(
        replaced(pydoca.GraphInstance, "submit", make),
        replaced(pydoca.Graph, "run", make_run),
    )


def wrong_culprit() -> AbstractContextManager[None]:
    def make(original: Any) -> property:
        def get(self: Any) -> Any:
            failed = original.__get__(self)
            return None if failed is None else self.graph.nodes[0]

        return property(get)

    return replaced(pydoca.GraphInstance, "failed_node", make)


# Bufs and memory maps


def cut_chains() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def chain(self: Any, other: Any) -> None:
            original(self, other)
            rest = other.next
            if rest is not None:
                self.unchain(rest)

        return chain

    return replaced(pydoca.Buf, "chain", make)


def moved_by_reset() -> AbstractContextManager[None]:
    def move(buf: Any, _: object) -> None:
        buf.set_data(buf.head, 0)

    return replaced(pydoca.Buf, "reset_data_len", after_each(move))


def refused_overlap() -> AbstractContextManager[None]:
    known: weakref.WeakSet[Any] = weakref.WeakSet()

    def is_in_the_way(other: Any, area: Any) -> bool:
        if other is area or not other.is_started or not set(other.devices) & set(area.devices):
            return False
        places = [(each.addr, each.addr + each.len) for each in (other, area)]
        (first, first_end), (second, second_end) = places
        return places[0] != places[1] and first < second_end and second < first_end

    def refuse(area: Any, undo: Function) -> None:
        if any(is_in_the_way(other, area) for other in list(known)):
            undo()
            raise pydoca.AlreadyExistError("start: a part of the memory is registered")
        known.add(area)

    return together(
        replaced(pydoca.Device, "mmap", after_each(lambda _, made: refuse(made, made.close))),
        replaced(pydoca.Mmap, "start", after_each(lambda area, _: refuse(area, area.stop))),
    )


def lost_by_invalidation() -> AbstractContextManager[None]:
    def lose(ended: Any) -> None:
        buf = ended.buf
        if buf is not None and not ended.status and is_writable(buf):
            poke([(buf.data, bytes(min(_LINE, buf.data_len)))])

    kind = pydoca.MmapAdviseInvalidateCacheTask
    return watched(
        pydoca.MmapAdvise,
        "invalidate_cache",
        lambda task: isinstance(task, kind),
        lambda task: task.add_done_callback(lose),
    )


# Properties of the device


def ignored_function() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def is_equal_pci_addr(self: Any, addr: str) -> bool:
            is_same = bool(original(self, addr))
            return is_same or bool(self.pci_addr and original(self, addr[:-1] + self.pci_addr[-1]))

        return is_equal_pci_addr

    kinds = (pydoca.DeviceInfo, pydoca.RepresentorInfo, pydoca.Representor)
    return together(*(replaced(kind, "is_equal_pci_addr", make) for kind in kinds))


def narrow_counter() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def timestamp(self: Any, type: Any) -> int:
            now = int(original(self, type))
            name = type if isinstance(type, str) else type.name.lower()
            return now & _LOW if name == "nic_free_running" else now

        return timestamp

    return replaced(pydoca.Clock, "timestamp", make)


# Checks that show a defect without the suite


def copies_from_head() -> bool:
    target = pydoca.alloc(32)
    with ExitStack() as stack:
        engine = Engine(stack)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (pattern(64), target))
        source = stack.enter_context(engine.bufs.get_by_args(src, src.addr, 64, src.addr + 16, 32))
        sink = stack.enter_context(engine.bufs.get_by_addr(dst))
        task = engine.dma.memcpy(source, sink)
        task.wait(10)
        task.free()
    return bytes(target) != pattern(64)[16:48]


def failed_copy(stack: ExitStack, **options: Any) -> pydoca.Buf:
    """Runs a copy whose destination is too short, and returns the destination."""
    slots = Slots(stack, 2, **options)
    source = stack.enter_context(slots.bufs.get_by_data(slots.src))
    sink = stack.enter_context(slots.bufs.get_by_addr(slots.dst, slots.dst.addr, 16))
    task = slots.dma.memcpy(source, sink, submit=False)
    task.submit()
    with suppress(pydoca.DocaError):
        task.wait(10)
    assert task.status is not pydoca.Status.SUCCESS
    task.free()
    slots.pe.run_until(lambda: slots.dma.state is pydoca.ContextState.IDLE, 10)
    return sink


def grows_on_failure() -> bool:
    with ExitStack() as stack:
        return failed_copy(stack).data_len != 0


def fails_silently() -> bool:
    calls: list[int] = []
    with ExitStack() as stack:
        failed_copy(stack, on_error=lambda *_: calls.append(1))
    return not calls


def gathers(count: int) -> tuple[bool, float]:
    """Tells whether a copy from count maps is wrong, and the time of the fastest."""
    target, times = pydoca.alloc(16 * count), []
    data = [pattern(16, number) for number in range(count)]
    with ExitStack() as stack:
        engine = Engine(stack)
        maps = [stack.enter_context(engine.device.mmap(each)) for each in data]
        dst = stack.enter_context(engine.device.mmap(target))
        head = stack.enter_context(engine.bufs.get_by_data(maps[0]))
        for area in maps[1:]:
            head.chain(engine.bufs.get_by_data(area))
        sink = stack.enter_context(engine.bufs.get_by_addr(dst))
        for _ in range(10):
            begin = time.perf_counter()
            task = engine.dma.memcpy(head, sink)
            task.wait(10)
            times.append(time.perf_counter() - begin)
            task.free()
            sink.reset_data_len()
    return bytes(target) != b"".join(data), min(times)


def times_out_late() -> bool:
    with pydoca.ProgressEngine() as pe:
        begin = time.monotonic()
        with suppress(pydoca.TimeOutError):
            pe.wait(0.05)
        return time.monotonic() > begin + 0.25


def denies_progress() -> bool:
    with ExitStack() as stack:
        slots, seen = Slots(stack, 1), 0
        for _ in range(120):
            task = slots.submit(0)
            while not task.done:
                seen += slots.pe.progress()
            task.free()
    return seen < 120


def counts_unfreed() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        task = slots.submit(0)
        task.wait(10)
        count = slots.dma.num_inflight_tasks
        task.free()
    return count != 0


def frees_in_flight() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        task = slots.submit(0)
        try:
            task.free()
        except pydoca.InUseError:
            return False
        finally:
            task.wait(10)
            task.free()
    return True


def keeps_callbacks() -> bool:
    calls: list[str] = []
    with ExitStack() as stack:
        slots = Slots(stack, 1, on_completion=lambda *_: calls.append("first"))
        slots.dma.stop()
        slots.dma.set_memcpy_conf(lambda *_: calls.append("second"), num_tasks=1)
        slots.dma.start()
        task = slots.submit(0)
        task.wait(10)
        task.free()
    return calls != ["second"]


def crosses_digests() -> bool:
    target = pydoca.alloc(128)
    with sha_engine(target) as (sha, src, dst, bufs):
        for _ in range(15):
            tasks = []
            for number in range(4):
                source = bufs.get_by_data(src, src.addr + 64 * number, 64)
                tasks.append(sha.hash(source, bufs.get_by_addr(dst, dst.addr + 32 * number, 32), "sha256"))
            for task in tasks:
                task.wait(10)
                task.free()
            del source, task, tasks
            pieces = [pattern(256)[place : place + 64] for place in range(0, 256, 64)]
            if bytes(target) != b"".join(hashlib.sha256(piece).digest() for piece in pieces):
                return True
    return False


def hashes_pieces_wrongly() -> bool:
    target = pydoca.alloc(32)
    with sha_engine(target) as (sha, src, dst, bufs):
        pieces = [bufs.get_by_data(src, src.addr + 64 * number, 64) for number in range(_PIECES)]
        task = sha.partial_hash(pieces[0], bufs.get_by_addr(dst), "sha256")
        task.wait(10)
        for piece in pieces[1:]:
            task.src = piece
            if piece is pieces[-1]:
                task.set_is_final_buf()
            task.submit()
            task.wait(10)
        task.free()
        del pieces, piece
    return bytes(target) != hashlib.sha256(pattern(64 * _PIECES)).digest()


def loses_swaps() -> bool:
    with peers("rdma_atomic", 8) as (pair, memory, remote), pair.devices[0].mmap(pydoca.alloc(8)) as old:
        for number in range(60):
            with pair.bufs.get_by_data(remote) as target, pair.bufs.get_by_addr(old) as result:
                task = pair.here.atomic_cmp_swp(target, result, number, number + 1)
                task.wait(10)
                task.free()
            if int.from_bytes(bytes(memory), sys.byteorder) != number + 1:
                return True
    return False


def hides_read_length() -> bool:
    with (
        peers("rdma_read", 16) as (pair, _, remote),
        pair.devices[0].mmap(pydoca.alloc(16)) as area,
        pair.bufs.get_by_data(remote) as source,
        pair.bufs.get_by_addr(area) as sink,
    ):
        task = pair.here.read(source, sink)
        task.wait(10)
        task.free()
        return sink.data_len != 16


def writes_over_data() -> bool:
    with peers("rdma_write", 16) as (pair, memory, remote), pair.devices[0].mmap(b"written!") as area:
        with pair.bufs.get_by_data(area) as source, pair.bufs.get_by_data(remote, remote.addr, 16) as sink:
            sink.data_len = 8
            task = pair.here.write(source, sink)
            task.wait(10)
            task.free()
        return bytes(memory) != bytes(8) + b"written!"


def uses_up_connections() -> bool:
    with ExitStack() as stack:
        fan = Fan(stack, 2)
        for here, there in fan.pairs:
            here.disconnect().wait(10)
            there.ended().wait(10)
        try:
            fan.ends[0].export().disconnect()
        except pydoca.FullError:
            return True
    return False


def splits_messages() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        link.send(pattern(2000)).wait(10)
        return other.recv().wait(10) != pattern(2000)


def queues_too_few() -> bool:
    with server(recv_queue_size=16) as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        tasks = [link.send(b"text") for _ in range(16)]
        with suppress(pydoca.TimeOutError):
            pe.run_until(lambda: other.recv_messages == 16, 0.5)
        count = other.recv_messages
        for _ in tasks:
            other.recv().wait(10)
        pe.run_until(tasks, 10)
        return count < 16


def keeps_name() -> bool:
    with server() as (pe, service, _):
        service.stop()
        pe.run_until(lambda: service.state is pydoca.ContextState.IDLE, 10)
        try:
            service.start()
        except pydoca.AlreadyExistError:
            return True
    return False


@contextmanager
def counting() -> Iterator[tuple[pydoca.ProgressEngine, pydoca.SyncEventContext]]:
    """An engine, and an event whose operations are tasks."""
    with (
        pydoca.open_device("p0") as device,
        pydoca.ProgressEngine() as pe,
        pydoca.SyncEvent(device).as_context(pe) as tasks,
    ):
        yield pe, tasks


def tells_expected_value() -> bool:
    with counting() as (_, tasks):
        task = tasks.wait_neq(0)
        tasks.notify_set(7).wait(10)
        return bool(task.wait(10) != 7)


def waits_for_stopped() -> bool:
    with ExitStack() as stack:
        dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
        owner = stack.enter_context(pydoca.SyncEvent(host, subscriber="remote_pci"))
        other = stack.enter_context(dpu.import_sync_event(owner.export_to_remote_pci()))
        owner.close()
        try:
            other.wait_eq(1, timeout=0.3)
        except (pydoca.BadStateError, pydoca.NotConnectedError):
            return False
        except pydoca.TimeOutError:
            return True
    raise AssertionError("the wait has ended by itself")


def adds_once() -> bool:
    with counting() as (pe, tasks):
        pe.run_until([tasks.notify_add(1) for _ in range(5)], 10)
        return bool(tasks.get().wait(10) != 5)


def runs_one_only() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 2)
        graph = pydoca.Graph(slots.pe, num_instances=2)
        moved = graph.node(slots.dma)
        stack.enter_context(graph)
        runs = []
        for number in range(2):
            place = 64 * number
            source = slots.bufs.get_by_data(slots.src, slots.src.addr + place, 64)
            sink = slots.bufs.get_by_addr(slots.dst, slots.dst.addr + place, 64)
            copy = slots.dma.memcpy(source, sink, submit=False)
            runs.append(graph.create_instance({moved: copy}))
        try:
            for run in runs:
                run.submit()
        except pydoca.AgainError:
            return True
        finally:
            for run in runs:
                if run.is_running:
                    run.wait(10)
            del run, runs, source, sink, copy
    return False


def accuses_another() -> bool:
    def fail(_: Any) -> None:
        raise ValueError("a check fails")

    with graph_and_copy() as (graph, copy):
        moved = graph.node(copy.context)
        check = graph.node(fail, after=[moved])
        with graph:
            run = graph.run({moved: copy, check: None})
            with suppress(Exception):
                run.wait(10)
            return run.failed_node != check


def cuts_chains() -> bool:
    with pydoca.open_device("p0") as device, device.mmap(bytes(64)) as area, pydoca.BufInventory(3) as bufs:
        first, second, third = (bufs.get_by_data(area, area.addr, 16) for _ in range(3))
        second.chain(third)
        first.chain(second)
        length = first.list_len
        del first, second, third
    return length != 3


def moves_by_reset() -> bool:
    with (
        pydoca.open_device("p0") as device,
        device.mmap(pydoca.alloc(64)) as area,
        pydoca.BufInventory(1) as bufs,
        bufs.get_by_args(area, area.addr, 64, area.addr + 16, 8) as buf,
    ):
        buf.reset_data_len()
        return buf.data != area.addr + 16


def refuses_overlap() -> bool:
    memory = memoryview(pydoca.alloc(8192))
    with pydoca.open_device("p0") as device, device.mmap(memory):
        try:
            device.mmap(memory[4096:]).close()
        except pydoca.AlreadyExistError:
            return True
    return False


def loses_changes() -> bool:
    memory = pydoca.alloc(256)
    memory[:] = pattern(256)
    with ExitStack() as stack:
        device, pe = stack.enter_context(pydoca.open_device("p0")), stack.enter_context(pydoca.ProgressEngine())
        advise, bufs = stack.enter_context(pydoca.MmapAdvise(pe, device)), stack.enter_context(pydoca.BufInventory(1))
        with bufs.get_by_data(stack.enter_context(device.mmap(memory))) as buf:
            task = advise.invalidate_cache(buf)
            task.wait(10)
            task.free()
    return bytes(memory) != pattern(256)


def takes_other_address() -> bool:
    return pydoca.DeviceInfo("p0").is_equal_pci_addr("03:00.1")


def counts_in_32_bits() -> bool:
    with pydoca.open_device("p0") as device, pydoca.Clock(device) as clock:
        count = clock.crosstimestamp("host_monotonic_raw", "nic_free_running").nic
        return clock.timestamp("nic_free_running") < count


DEFECTS = [
    Defect(
        "dma-source-headroom",
        "A copy from a buf with headroom takes what is at its head, in place of its data.",
        source_headroom,
        copies_from_head,
    ),
    Defect(
        "dma-grown-on-failure",
        "A copy that fails fills the data_len of its destination.",
        grown_on_failure,
        grows_on_failure,
    ),
    Defect(
        "dma-list-of-maps",
        "A copy from a list of bufs in several memory maps takes the data of the first buf for all of them.",
        list_of_maps,
        lambda: gathers(3)[0],
    ),
    Defect(
        "dma-untold-error",
        "The on_error of a copy engine is not called when a copy fails.",
        untold_error,
        fails_silently,
    ),
    Defect(
        "dma-slow-gather",
        "A copy from a list takes 2 ms longer for each of its bufs.",
        slow_gather,
        lambda: gathers(4)[1] > 0.007,
    ),
    Defect(
        "pe-late-time-out",
        "A wait of an engine that times out does so a quarter of a second late.",
        late_time_out,
        times_out_late,
    ),
    Defect(
        "pe-false-progress",
        "One in 50 completions is delivered by a progress() that tells that there was nothing.",
        false_progress,
        denies_progress,
    ),
    Defect(
        "context-unfreed-in-flight",
        "The number of copies in flight counts those that have completed, until they are freed.",
        unfreed_in_flight,
        counts_unfreed,
    ),
    Defect(
        "task-freed-in-flight",
        "The release of a task in flight does nothing, and tells no error.",
        freed_in_flight,
        frees_in_flight,
    ),
    Defect(
        "dma-kept-callbacks",
        "A copy engine that was configured anew after its first run keeps its callbacks of before.",
        kept_callbacks,
        keeps_callbacks,
    ),
    Defect(
        "sha-crossed-digests",
        "While others are in flight, one in 20 digests is that of the message before.",
        crossed_digests,
        crosses_digests,
        profile="bluefield2",
    ),
    Defect(
        "sha-many-pieces",
        "The digest of a message in four or more pieces has a wrong bit.",
        many_pieces,
        hashes_pieces_wrongly,
        profile="bluefield2",
    ),
    Defect(
        "rdma-lost-swap",
        "One in 50 compare-and-swaps that find the value they look for leaves it as it is.",
        lost_swap,
        loses_swaps,
    ),
    Defect(
        "rdma-untold-read-length",
        "A read over the network leaves the data_len of its destination as it was.",
        untold_read_length,
        hides_read_length,
    ),
    Defect(
        "rdma-write-at-data",
        "A write over the network to a buf with data overwrites them, in place of what is behind them.",
        write_at_data,
        writes_over_data,
    ),
    Defect(
        "rdma-used-up",
        "Connections that have ended count as connections of their context until it stops.",
        used_up_connections,
        uses_up_connections,
    ),
    Defect(
        "comch-split",
        "A message of more than 1 KiB arrives as two messages.",
        split_messages,
        splits_messages,
    ),
    Defect(
        "comch-half-the-queue",
        "The queue of received messages holds half of what it was made for.",
        half_the_queue,
        queues_too_few,
    ),
    Defect(
        "comch-kept-name",
        "The name of a server that has stopped is taken for half a second more.",
        kept_name,
        keeps_name,
    ),
    Defect(
        "sync-expected-result",
        "The result of a wait task is the number that it was to compare with, not the value that ended it.",
        expected_result,
        tells_expected_value,
    ),
    Defect(
        "sync-untold-stop",
        "A wait for an imported event that its owner has stopped goes on until its time is over.",
        untold_stop,
        waits_for_stopped,
    ),
    Defect(
        "sync-merged-additions",
        "Of additions to a sync event that are in flight together as tasks, the first one has an effect only.",
        merged_additions,
        adds_once,
    ),
    Defect(
        "graph-one-run",
        "A graph runs one of its instances at a time, and refuses the others with AGAIN.",
        one_run,
        runs_one_only,
    ),
    Defect(
        "graph-wrong-culprit",
        "The node that has failed in a graph is told to be its first one, whichever it was.",
        wrong_culprit,
        accuses_another,
    ),
    Defect(
        "buf-cut-chain",
        "A list that is chained to another one loses all of its bufs behind the first.",
        cut_chains,
        cuts_chains,
    ),
    Defect(
        "buf-moved-by-reset",
        "The reset of a buf's data_len moves its data section to its head.",
        moved_by_reset,
        moves_by_reset,
    ),
    Defect(
        "map-refused-overlap",
        "Memory of which a part is registered on the device, with another range, cannot be registered.",
        refused_overlap,
        refuses_overlap,
    ),
    Defect(
        "advise-lost-changes",
        "The invalidation of the cache loses what the first line of the buf has had, and leaves zeros.",
        lost_by_invalidation,
        loses_changes,
    ),
    Defect(
        "device-ignored-function",
        "The comparison with a PCI address takes any function of the card for the same.",
        ignored_function,
        takes_other_address,
    ),
    Defect(
        "clock-32-bits",
        "The reading of the free-running counter has its lower 32 bits only.",
        narrow_counter,
        counts_in_32_bits,
    ),
]

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    """Plants the defect of the run, first of all in each process."""
    unseen_defects.plant_in_started_process(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
