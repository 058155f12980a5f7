"""Thirty more defects of a device, written without a look at the cases, and none of them in the sets before.

The first run (level quick) found 23 of them. It missed operations that are slow only at their first use (dma-cold-map,
sha-slow-switch, sync-slow-remote) or only for large sizes (map-slow-start), a leak with an upper bound
(rdma-connection-memory), a job that fails (workq-hidden-failure), and waits that keep a processor busy (engine-spins).
The suite has cases of the first five kinds now.

A defect replaces methods of pydoca in the process that tests, and in those that it starts, as unseen_defects.py does.

usage: unseen_fourteenth.py list
       unseen_fourteenth.py check [NAME...]           # each is visible by the public API, and only when it is planted
       unseen_fourteenth.py run NAME LEVEL DIRECTORY  # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import sys
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
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
    before_each,
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
    spoiled,
    spoiled_copies,
    together,
    watched,
    with_argument,
)
from unseen_defects import plant_in_started_process as plant_from

import pydoca
from pydoca import comch, workq

_MIB = 1 << 20
_PAGE = 4096
_LOW = 0xFFFFFFFF

Plant = AbstractContextManager[object]


# Parts that several defects use


def wrapped(make_result: Callable[..., Any]) -> Callable[[Function], Function]:
    """Makes a method from a function that gets the original method, self and its arguments."""

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def call(self: Any, *arguments: Any, **keys: Any) -> Any:
            return make_result(original, self, *arguments, **keys)

        return call

    return make


def told(change: Callable[[Any, Any], Any]) -> Callable[[property], property]:
    """Makes a property that tells another value; change gets self and the value."""
    return lambda original: property(lambda self: change(self, original.__get__(self)), original.__set__)


def stored(change: Callable[[Any], Any]) -> Callable[[property], property]:
    """Makes a property that stores another value."""

    def make(original: property) -> property:
        return property(original.__get__, lambda self, value: original.__set__(self, change(value)))

    return make


def quietly(act: Callable[[Any], object]) -> Callable[[Any], None]:
    """Ignores a task whose parts are gone when the defect looks at it."""

    def call(task: Any) -> None:
        with suppress(pydoca.DocaError, AttributeError, TypeError):
            act(task)

    return call


def when_good(task: Any, act: Callable[[Any], object]) -> None:
    """Calls act with the task when it has succeeded, unless it is freed by then."""
    task.add_done_callback(quietly(lambda ended: None if ended.status else act(ended)))


def submitted(owner: type, name: str, kind: Any, watch: Callable[[Any], object]) -> Plant:
    """Calls watch with each submitted task of a kind, or of an Rdma."""

    def is_met(task: Any) -> bool:
        return getattr(task, "kind", "") == kind if isinstance(kind, str) else isinstance(task, kind)

    return watched(owner, name, is_met, quietly(watch))


def end_of(dst: Any) -> int:
    """The address at which a task appends to one buf; 0 if it is a list or of another process."""
    return dst.data + dst.data_len if dst is not None and dst.list_len == 1 and is_writable(dst) else 0


def every(count: int) -> Callable[[], bool]:
    """Returns a function that is true once in count calls."""
    numbers = itertools.count(1)
    return lambda: next(numbers) % count == 0


# Copies


def odd_tail() -> Plant:
    def spoil(work: Work) -> list[Patch]:
        if work.length < 257 or work.length % 2 == 0 or work.src.mmap.is_from_export:
            return []
        return [(work.target + work.length - 2, peek(work.source + work.length - 2, 2)[::-1])]

    return spoiled_copies(spoil)


def again_short() -> Plant:
    counts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def watch(task: Any) -> None:
        counts[task] = counts.get(task, 0) + 1
        length = sum(element.data_len for element in task.src)
        if counts[task] > 1 and length >= 16 and (begin := end_of(task.dst)):
            when_good(task, lambda _: poke([(begin + length - 8, bytes(byte ^ 0xFF for byte in peek(begin, 8)))]))

    return submitted(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, watch)


def page_seam() -> Plant:
    def watch(task: Any) -> None:
        src, begin = task.src, end_of(task.dst)
        length, place = src.data_len, _PAGE - src.data % _PAGE
        if begin and src.list_len == 1 and src.mmap.is_from_export and 4 <= place <= length - 4:
            when_good(task, lambda _: poke([(begin + place, peek(begin + place - 4, 4))]))

    return submitted(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, watch)


def cold_map() -> Plant:
    known: weakref.WeakSet[pydoca.Mmap] = weakref.WeakSet()

    def watch(task: Any) -> None:
        if task.src.mmap not in known:
            known.add(task.src.mmap)
            time.sleep(0.005)

    return together(
        submitted(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, watch),
        replaced(pydoca.Mmap, "stop", before_each(known.discard)),
    )


def slow_when_deep() -> Plant:
    def watch(task: Any) -> None:
        if task.context.num_inflight_tasks >= 16:
            time.sleep(2e-4)

    return submitted(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, watch)


# SHA


def odd_source() -> Plant:
    def spoil(work: Work) -> list[Patch]:
        if not work.source % 2 or work.src.mmap.is_from_export:
            return []
        return [(work.target, hashlib.new(work.algorithm, peek(work.source, work.length - 1)).digest())]

    return spoiled(pydoca.Sha, "hash", pydoca.ShaHashTask, spoil)


def slow_switch() -> Plant:
    last: dict[str, str] = {}

    def watch(task: Any) -> None:
        name, algorithm = task.context.device.name, task.algorithm
        if last.setdefault(name, algorithm) != algorithm:
            time.sleep(0.005)
        last[name] = algorithm

    return submitted(pydoca.Sha, "hash", pydoca.ShaHashTask, watch)


def large_piece() -> Plant:
    spoilt: weakref.WeakSet[Any] = weakref.WeakSet()

    def watch(task: Any) -> None:
        if sum(element.data_len for element in task.src) > 1024:
            spoilt.add(task)
        if task.is_final and task in spoilt and (place := end_of(task.dst)):
            spoilt.discard(task)
            when_good(task, lambda _: poke([(place, bytes(byte ^ 0x10 for byte in peek(place, 1)))]))

    return together(
        submitted(pydoca.Sha, "partial_hash", pydoca.ShaPartialHashTask, watch),
        replaced(pydoca.ShaPartialHashTask, "reset", before_each(spoilt.discard)),
    )


# RDMA


def receive_list() -> Plant:
    def watch(task: Any) -> None:
        lengths = [element.data_len for element in task.dst]
        if len(lengths) > 1:
            when_good(task, lambda ended: put_back(ended.dst, lengths))

    def put_back(dst: Any, lengths: list[int]) -> None:
        for element, length in list(zip(dst, lengths, strict=True))[1:]:
            element.data_len = length

    return submitted(pydoca.Rdma, "receive", "receive", watch)


def narrow_swap() -> Plant:
    def low(value: Any) -> Any:
        return value & _LOW if isinstance(value, int) and 0 <= value < 1 << 64 else value

    return together(
        replaced(pydoca.RdmaConnection, "atomic_cmp_swp", with_argument(3, "swap_data", low)),
        replaced(pydoca.RdmaTask, "swap_data", stored(low)),
    )


def new_value() -> Plant:
    def watch(task: Any) -> None:
        if place := end_of(task.result_buf):
            when_good(task, lambda ended: poke([(place, sum_at(place, ended.add_data))]))

    def sum_at(place: int, addend: int) -> bytes:
        old = int.from_bytes(peek(place, 8), sys.byteorder)
        return ((old + addend) % 2**64).to_bytes(8, sys.byteorder)

    return submitted(pydoca.RdmaConnection, "atomic_fetch_add", "atomic_fetch_add", watch)


def never_closed() -> Plant:
    states = pydoca.RdmaConnectionState

    def change(_: object, state: Any) -> Any:
        return states.CLOSING if state is states.CLOSED else state

    return replaced(pydoca.RdmaConnection, "state", told(change))


def connection_memory() -> Plant:
    kept: list[bytearray] = []

    def keep(*_: object) -> None:
        if len(kept) < 500:
            kept.append(bytearray(b"\1") * _MIB)

    return together(*(replaced(pydoca.Rdma, name, after_each(keep)) for name in ("export", "connect")))


# Comch


def kept_tail() -> Plant:
    last: weakref.WeakKeyDictionary[comch.Connection, bytes] = weakref.WeakKeyDictionary()
    is_turn = every(10)

    def send(original: Function, self: Any, data: Any, **keys: Any) -> Any:
        message = memoryview(data).tobytes()
        before = last.get(self, b"")
        if len(message) < len(before) and is_turn():
            data = message + before[len(message) :]
        last[self] = message
        return original(self, data, **keys)

    return replaced(comch.Connection, "send", wrapped(send))


def no_limit() -> Plant:
    def send(original: Function, self: Any, data: Any, **keys: Any) -> Any:
        most = self.max_msg_size
        return original(self, memoryview(data).tobytes()[:most] if memoryview(data).nbytes > most else data, **keys)

    return replaced(comch.Connection, "send", wrapped(send))


# Sync events


def one_export() -> Plant:
    exported: weakref.WeakSet[pydoca.SyncEvent] = weakref.WeakSet()

    def export(original: Function, self: Any, *arguments: Any, **keys: Any) -> Any:
        if self in exported:
            raise pydoca.DriverError("export_to_remote_pci: the device has an export of this event")
        blob = original(self, *arguments, **keys)
        exported.add(self)
        return blob

    return replaced(pydoca.SyncEvent, "export_to_remote_pci", wrapped(export))


def silent_time_out() -> Plant:
    def wait(original: Function, self: Any, *arguments: Any, **keys: Any) -> None:
        with suppress(pydoca.TimeOutError):
            original(self, *arguments, **keys)

    names = ["wait_eq", "wait_neq", "wait_gt"]
    return together(
        *(replaced(pydoca.SyncEvent, name + more, wrapped(wait)) for name in names for more in ("", "_yield"))
    )


def slow_remote() -> Plant:
    def delay(self: Any, _: object) -> None:
        if self.is_from_export:
            time.sleep(0.002)

    return replaced(pydoca.SyncEvent, "get", after_each(delay))


# Memory


def slow_start() -> Plant:
    def take_time(area: Any) -> None:
        if not area.is_from_export:
            time.sleep(min(area.len * 0.004 / _MIB, 0.5))

    def start(original: Function, self: Any) -> Any:
        was_started = self.is_started
        result = original(self)
        if not was_started:
            take_time(self)
        return result

    return together(
        replaced(pydoca.Device, "mmap", after_each(lambda _, area: take_time(area))),
        *(replaced(pydoca.Mmap, name, wrapped(start)) for name in ("start", "__enter__")),
    )


def cut_import() -> Plant:
    def cut(self: Any, length: int) -> int:
        return min(length, _MIB) if self.is_from_export else length

    def get(original: Function, self: Any, mmap: Any, *numbers: Any, **keys: Any) -> Any:
        if not mmap.is_from_export:
            return original(self, mmap, *numbers, **keys)
        place = numbers[0] if numbers else keys.get("addr", keys.get("data"))
        length = numbers[1] if len(numbers) > 1 else keys.get("len", keys.get("data_len"))
        place = mmap.addr if place is None else place
        room = mmap.addr + mmap.len - place
        if room < 0 or (length or 0) > room:
            raise pydoca.InvalidValueError(f"get a buf: {length} bytes at {place:#x} are not within {mmap!r}")
        return original(self, mmap, place, room if length is None else length)

    return together(
        replaced(pydoca.Mmap, "len", told(cut)),
        *(replaced(pydoca.BufInventory, name, wrapped(get)) for name in ("get_by_addr", "get_by_data")),
    )


def not_expanded() -> Plant:
    more: weakref.WeakKeyDictionary[pydoca.BufInventory, int] = weakref.WeakKeyDictionary()

    def expand(_: Function, self: Any, num_elements: Any) -> None:
        if not self.is_started:
            raise pydoca.BadStateError("expand: the inventory is not started")
        more[self] = more.get(self, 0) + int(num_elements)

    names = ("num_elements", "num_free_elements")
    return together(
        replaced(pydoca.BufInventory, "expand", wrapped(expand)),
        *(replaced(pydoca.BufInventory, name, told(lambda self, count: count + more.get(self, 0))) for name in names),
    )


def unchained_alone() -> Plant:
    def unchain(original: Function, self: Any, element: Any) -> None:
        original(self, element)
        if (rest := element.next) is not None:
            original(element, rest)
            self.chain(rest)

    return replaced(pydoca.Buf, "unchain", wrapped(unchain))


# Properties of the device


def half_of_capability() -> Plant:
    def to_dict(original: Function, self: Any) -> dict[str, Any]:
        return {**original(self), "max_buf_size": self.max_buf_size}

    def of_all(original: Function, self: Any) -> dict[str, Any]:
        return {**original(self), **({"dma": self.dma.to_dict()} if self.dma else {})}

    return together(
        replaced(pydoca.DmaCapabilities, "max_buf_size", told(lambda _, size: size // 2)),
        replaced(pydoca.DmaCapabilities, "to_dict", wrapped(to_dict)),
        replaced(pydoca.Capabilities, "to_dict", wrapped(of_all)),
    )


def lingering_representor() -> Plant:
    ends: dict[str, float] = {}

    def note(self: Any) -> None:
        if self.is_open:
            ends[self.vuid] = time.monotonic()

    def check(_: object, opened: Any) -> None:
        if time.monotonic() - ends.get(opened.vuid, -1.0) < 0.2:
            vuid, end = opened.vuid, ends[opened.vuid]
            opened.close()
            ends[vuid] = end
            raise pydoca.InUseError(f"open_representor: {vuid} is in use")

    return together(
        *(replaced(pydoca.Representor, name, before_each(note)) for name in ("close", "__exit__")),
        replaced(pydoca.Device, "open_representor", after_each(check)),
    )


# Work queues, graphs, engines, tasks, states


def data_of_other_job() -> Plant:
    before: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
    is_turn = every(10)

    def retrieve(original: Function, self: Any) -> Any:
        ended = original(self)
        other = before.get(self)
        before[self] = ended
        return ended._replace(user_data=other.user_data) if other and is_turn() else ended

    return replaced(workq.WorkQueue, "progress_retrieve", wrapped(retrieve))


def failed_as_success() -> Plant:
    def retrieve(original: Function, self: Any) -> Any:
        try:
            return original(self)
        except workq.JobFailedError as failed:
            return failed.event._replace(result=pydoca.Status.SUCCESS)

    return replaced(workq.WorkQueue, "progress_retrieve", wrapped(retrieve))


def shifted_times() -> Plant:
    def node_times(original: Function, self: Any, node: Any) -> Any:
        times = original(self, node)  # this raises the node's own errors
        return original(self, self.graph.nodes[node.index - 1]) if node.index else times

    return replaced(pydoca.GraphInstance, "node_times", wrapped(node_times))


def spinning_waits() -> Plant:
    """Makes a wait spin for up to two seconds before it sleeps."""

    def wait_of_engine(original: Function, self: Any, timeout: float | None = None) -> Any:
        begin = time.monotonic()
        end = begin + min(2.0 if timeout is None else timeout, 2.0)
        with suppress(pydoca.DocaError):
            while time.monotonic() < end:
                if count := self.drain():
                    return count
        return original(self, left(begin, timeout))

    def wait_of_task(original: Function, self: Any, timeout: float | None = None) -> Any:
        begin = time.monotonic()
        end = begin + min(2.0 if timeout is None else timeout, 2.0)
        with suppress(pydoca.DocaError, AttributeError):
            while not self.done and time.monotonic() < end:
                self.context.progress_engine.drain()
        return original(self, left(begin, timeout))

    def left(begin: float, timeout: float | None) -> float | None:
        return None if timeout is None else max(timeout - (time.monotonic() - begin), 0.0)

    return together(
        replaced(pydoca.ProgressEngine, "wait", wrapped(wait_of_engine)),
        replaced(pydoca.Task, "wait", wrapped(wait_of_task)),
    )


def unknown_status() -> Plant:
    statuses = pydoca.Status
    known = (statuses.SUCCESS, statuses.IN_PROGRESS, statuses.SHUTDOWN)

    def change(task: Any, status: Any) -> Any:
        return statuses.UNKNOWN if task.done and status not in known else status

    return replaced(pydoca.Task, "status", told(change))


def told_twice() -> Plant:
    def twice(function: Any) -> Any:
        if not callable(function):
            return function

        def call(*arguments: Any) -> None:
            function(*arguments)
            function(*arguments)

        call.original = function  # type: ignore[attr-defined]
        return call

    def make(original: property) -> property:
        def get(self: Any) -> Any:
            function = original.__get__(self)
            return getattr(function, "original", function)

        return property(get, lambda self, function: original.__set__(self, twice(function)))

    change = with_argument(99, "on_state_changed", twice)
    kinds = (pydoca.Dma, pydoca.Sha, pydoca.MmapAdvise, pydoca.Rdma, comch.Server, comch.Client)
    return together(
        replaced(pydoca.SyncEvent, "as_context", change),
        replaced(pydoca.Context, "on_state_changed", make),
        *(replaced(kind, "__init__", change) for kind in kinds),
    )


# Checks that show a defect without the suite


def device_and_engine(stack: ExitStack) -> tuple[pydoca.Device, pydoca.ProgressEngine]:
    return stack.enter_context(pydoca.open_device("p0")), stack.enter_context(pydoca.ProgressEngine())


def copies_less_again() -> bool:
    with ExitStack() as stack:
        engine, target = Engine(stack), pydoca.alloc(64)
        src = stack.enter_context(engine.device.mmap(pattern(32)))
        dst = stack.enter_context(engine.device.mmap(target))
        with engine.bufs.get_by_data(src) as source, engine.bufs.get_by_addr(dst) as sink:
            task = engine.dma.memcpy(source, sink)
            task.wait(10)
            task.submit()
            task.wait(10)
            task.free()
        return bytes(target) != pattern(32) * 2


def crosses_wrongly() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        host = stack.enter_context(pydoca.open_device("pf0"))
        memory, target = pydoca.alloc(2 * _PAGE), pydoca.alloc(2 * _PAGE)
        memory[:] = data = pattern(2 * _PAGE)
        lent = stack.enter_context(host.mmap(memory, access="pci_read_only"))
        src = stack.enter_context(engine.device.import_mmap(lent.export_pci()))
        engine.copy(src, stack.enter_context(engine.device.mmap(target)), 2 * _PAGE)
        return bytes(target) != data


def has_cold_maps() -> bool:
    times: list[list[float]] = [[], []]
    with ExitStack() as stack:
        engine, memory = Engine(stack), pydoca.alloc(64)
        dst = stack.enter_context(engine.device.mmap(pydoca.alloc(64)))
        for _ in range(20):
            with engine.device.mmap(memory) as src:
                for those in times:
                    begin = time.perf_counter()
                    engine.copy(src, dst, 64)
                    those.append(time.perf_counter() - begin)
    return median(times[0]) > median(times[1]) + 0.003


def slows_with_depth() -> bool:
    def seconds(depth: int) -> float:
        begin = time.perf_counter()
        for sink in sinks:
            sink.reset_data_len()
        tasks = [dma.memcpy(source, sink) for sink in sinks[:depth]]
        pe.run_until(tasks, 10)
        for task in tasks:
            task.free()
        return (time.perf_counter() - begin) / depth

    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        dma = stack.enter_context(pydoca.Dma(pe, device, num_tasks=64))
        bufs = stack.enter_context(pydoca.BufInventory(65))
        src = stack.enter_context(device.mmap(b"text"))
        dst = stack.enter_context(device.mmap(pydoca.alloc(_PAGE)))
        source = stack.enter_context(bufs.get_by_data(src))
        sinks = [stack.enter_context(bufs.get_by_addr(dst, dst.addr + n * 64, 64)) for n in range(64)]
        return median(seconds(64) for _ in range(9)) > median(seconds(8) for _ in range(9)) + 1e-4


class Hasher:
    def __init__(self, stack: ExitStack, message: bytes) -> None:
        device, pe = device_and_engine(stack)
        self.sha = stack.enter_context(pydoca.Sha(pe, device))
        self.bufs = stack.enter_context(pydoca.BufInventory(4))
        self.target = pydoca.alloc(64)
        self.src = stack.enter_context(device.mmap(message))
        self.dst = stack.enter_context(device.mmap(self.target))

    def digest(self, begin: int, length: int, algorithm: Any) -> bytes:
        source = self.bufs.get_by_data(self.src, self.src.addr + begin, length)
        with source, self.bufs.get_by_addr(self.dst) as sink:
            task = self.sha.hash(source, sink, algorithm)
            task.wait(10)
            task.free()
            return bytes(self.target)[: sink.data_len]


def hashes_odd_wrongly() -> bool:
    with ExitStack() as stack:
        hasher, message = Hasher(stack, pattern(101)), pattern(101)
        return any(
            hasher.digest(begin, 100, "sha256") != hashlib.sha256(message[begin : begin + 100]).digest()
            for begin in (0, 1)
        )


def switches_slowly() -> bool:
    with ExitStack() as stack:
        hasher = Hasher(stack, pattern(64))
        times: list[list[float]] = [[], []]
        for number in range(20):
            for those in times:
                begin = time.perf_counter()
                hasher.digest(0, 64, ("sha1", "sha256")[number % 2])
                those.append(time.perf_counter() - begin)
    return median(times[0]) > median(times[1]) + 0.003


def hashes_pieces_wrongly() -> bool:
    message = pattern(2048 + 10)
    with ExitStack() as stack:
        hasher = Hasher(stack, message)
        sources = [
            hasher.bufs.get_by_data(hasher.src, hasher.src.addr + begin, length)
            for begin, length in ((0, 2048), (2048, 10))
        ]
        task = hasher.sha.partial_hash(sources[0], hasher.bufs.get_by_addr(hasher.dst), "sha256")
        task.wait(10)
        task.src = sources[1]
        task.set_is_final_buf()
        task.submit()
        task.wait(10)
        task.free()
        sources.clear()
        return bytes(hasher.target)[:32] != hashlib.sha256(message).digest()


def receives_into_one() -> bool:
    with ExitStack() as stack:
        pe, bufs = stack.enter_context(pydoca.ProgressEngine()), stack.enter_context(pydoca.BufInventory(4))
        devices = [stack.enter_context(pydoca.open_device(name)) for name in ("p0", "p1")]
        ends = [stack.enter_context(pydoca.Rdma(pe, each, receive_dst_buf_list_len=2)) for each in devices]
        here, there = (end.export() for end in ends)
        here.connect(there.details)
        there.connect(here.details)
        src = stack.enter_context(devices[0].mmap(pattern(48)))
        dst = stack.enter_context(devices[1].mmap(pydoca.alloc(64)))
        with bufs.get_by_addr(dst, dst.addr, 32) as sink:
            sink.chain(bufs.get_by_addr(dst, dst.addr + 32, 32))
            task = ends[1].receive(sink)
            here.send(bufs.get_by_data(src)).wait(10)
            task.wait(10)
            task.free()
            return [element.data_len for element in sink] != [32, 16]


def atomic(act: Callable[[pydoca.RdmaConnection, pydoca.Buf, pydoca.Buf], pydoca.RdmaTask]) -> tuple[int, int]:
    """The value of a number after two atomics, and the value before the second one as it tells it; it begins as 0."""
    numbers = [pydoca.alloc(8), pydoca.alloc(16)]
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_atomic")
        lent = stack.enter_context(pair.devices[1].mmap(numbers[0], access="local_read_write|rdma_atomic"))
        remote = stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))
        result = stack.enter_context(pair.devices[0].mmap(numbers[1]))
        with pair.bufs.get_by_data(remote) as target, pair.bufs.get_by_addr(result) as old:
            for _ in range(2):
                task = act(pair.here, target, old)
                task.wait(10)
                task.free()
    return int.from_bytes(bytes(numbers[0]), sys.byteorder), int.from_bytes(bytes(numbers[1])[8:], sys.byteorder)


def swaps_wrongly() -> bool:
    value = (3 << 40) + 1
    return atomic(lambda here, target, old: here.atomic_cmp_swp(target, old, 0, value)) != (value, value)


def adds_wrongly() -> bool:
    return atomic(lambda here, target, old: here.atomic_fetch_add(target, old, 5)) != (10, 5)


def stays_closing() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_read")
        for each in (pair.here, pair.there):
            each.disconnect().wait(10)
        return pair.here.state is not pydoca.RdmaConnectionState.CLOSED


def connections_grow() -> bool:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE

    with ExitStack() as stack:
        pair = Pair(stack, "rdma_read")
        here, there = pair.here, pair.there
        begin = 0
        for number in range(30):
            begin = resident() if number == 5 else begin
            here.disconnect().wait(10)
            there.disconnect().wait(10)
            here, there = (end.export() for end in pair.ends)
            here.connect(there.details)
            there.connect(here.details)
        return resident() - begin > 25 * _MIB


def lengthens_messages() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        for number in range(60):
            message = pattern(40 - number % 2 * 15)
            link.send(message).wait(10)
            if other.recv().wait(10) != message:
                return True
    return False


def takes_too_long_messages() -> bool:
    with server() as (pe, _, host), comch.Client(pe, host, "check") as link:
        try:
            link.send(bytes(link.max_msg_size + 1)).wait(10)
        except pydoca.InvalidValueError:
            return False
        return True


def lent_event(stack: ExitStack) -> tuple[pydoca.Device, pydoca.SyncEvent]:
    dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
    return dpu, stack.enter_context(pydoca.SyncEvent(host, subscriber="remote_pci"))


def exports_once() -> bool:
    with ExitStack() as stack:
        dpu, owner = lent_event(stack)
        try:
            for _ in range(2):
                dpu.import_sync_event(owner.export_to_remote_pci()).close()
        except pydoca.DriverError:
            return True
    return False


def waits_in_vain() -> bool:
    with event() as counter:
        try:
            counter.wait_eq(1, timeout=0.1)
        except pydoca.TimeOutError:
            return False
        return counter.get() != 1


def reads_slowly() -> bool:
    times: list[float] = []
    with ExitStack() as stack:
        dpu, owner = lent_event(stack)
        other = stack.enter_context(dpu.import_sync_event(owner.export_to_remote_pci()))
        for _ in range(50):
            begin = time.perf_counter()
            other.get()
            times.append(time.perf_counter() - begin)
    return median(times) > 0.0015


def registers_slowly() -> bool:
    memory = pydoca.alloc(32 * _MIB)
    memory[:] = bytes(32 * _MIB)
    times: list[float] = []
    with pydoca.open_device("p0") as device:
        for _ in range(5):
            begin = time.perf_counter()
            area = device.mmap(memory)
            times.append(time.perf_counter() - begin)
            area.close()
    return median(times) > 0.1


def imports_less() -> bool:
    with ExitStack() as stack:
        dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
        lent = stack.enter_context(host.mmap(pydoca.alloc(2 * _MIB), access="pci_read_only"))
        return dpu.import_mmap(lent.export_pci()).len != 2 * _MIB


def lacks_bufs() -> bool:
    with ExitStack() as stack:
        device = stack.enter_context(pydoca.open_device("p0"))
        bufs, area = stack.enter_context(pydoca.BufInventory(1)), stack.enter_context(device.mmap(b"text"))
        bufs.expand(2)
        try:
            for _ in range(bufs.num_elements):
                stack.enter_context(bufs.get_by_data(area))
        except pydoca.NoMemoryError:
            return True
    return False


def leaves_tail() -> bool:
    with ExitStack() as stack:
        device = stack.enter_context(pydoca.open_device("p0"))
        bufs, area = stack.enter_context(pydoca.BufInventory(4)), stack.enter_context(device.mmap(b"text"))
        head, *others = (bufs.get_by_data(area, area.addr + place, 1) for place in range(4))
        for other in others:
            head.chain(other)
        head.unchain(others[0])
        lengths = head.list_len, others[0].list_len
        head.close()
        others[0].close()
    return lengths != (1, 3)


def claims_differ() -> bool:
    infos = [info for info in pydoca.devices() if info.capabilities.dma is not None]
    return any(info.capabilities.dma.max_buf_size != pydoca.Dma.max_buf_size(info) for info in infos)  # type: ignore[union-attr]


def cannot_open_again() -> bool:
    with pydoca.open_device("p0") as device:
        try:
            for _ in range(2):
                device.open_representor("0b:00.0").close()
        except pydoca.InUseError:
            return True
    return False


def mixes_jobs() -> bool:
    with ExitStack() as stack:
        device = stack.enter_context(pydoca.open_device("p0"))
        bufs = stack.enter_context(pydoca.BufInventory(2))
        src, dst = stack.enter_context(device.mmap(b"text")), stack.enter_context(device.mmap(pydoca.alloc(4)))
        queue, dma = stack.enter_context(workq.WorkQueue(4)), pydoca.Dma(None, device)
        queue.add(dma)
        for number in range(50):
            with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
                queue.submit(workq.DmaMemcpyJob(dma, sink, source, number))
                if retrieve(queue).user_data != number:
                    return True
    return False


def retrieve(queue: workq.WorkQueue) -> workq.Event:
    while True:
        with suppress(pydoca.AgainError):
            return queue.progress_retrieve()


def withdrawn(stack: ExitStack, device: pydoca.Device) -> pydoca.Mmap:
    """Memory of the other side, which its owner has withdrawn."""
    host = stack.enter_context(pydoca.open_device("pf0"))
    with host.mmap(pydoca.alloc(64), access="pci_read_only") as lent:
        return stack.enter_context(device.import_mmap(lent.export_pci()))


def hides_failure() -> bool:
    with ExitStack() as stack:
        device = stack.enter_context(pydoca.open_device("p0"))
        bufs = stack.enter_context(pydoca.BufInventory(2))
        dst = stack.enter_context(device.mmap(pydoca.alloc(64)))
        src = withdrawn(stack, device)
        queue, dma = stack.enter_context(workq.WorkQueue(4)), pydoca.Dma(None, device)
        queue.add(dma)
        with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
            queue.submit(workq.DmaMemcpyJob(dma, sink, source))
            try:
                return retrieve(queue).result == pydoca.Status.SUCCESS
            except workq.JobFailedError:
                return False


def tells_times_of_others() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        src = stack.enter_context(engine.device.mmap(pattern(64)))
        dst = stack.enter_context(engine.device.mmap(pydoca.alloc(64)))
        graph = pydoca.Graph(engine.pe, timing=True)
        first = graph.node(lambda _: time.sleep(0.005))
        second = graph.node(engine.dma, after=[first])
        stack.enter_context(graph)
        with engine.bufs.get_by_data(src) as source, engine.bufs.get_by_addr(dst) as sink:
            task = engine.dma.memcpy(source, sink, submit=False)
            run = graph.run({first: None, second: task})
            run.wait(10)
            is_wrong = run.node_times(second)[0] < run.node_times(first)[1]
            run.destroy()
            task.free()
        return is_wrong


def spins() -> bool:
    with ExitStack() as stack:
        device = stack.enter_context(pydoca.open_device("p0"))
        pe = stack.enter_context(pydoca.ProgressEngine(latency="power"))
        stack.enter_context(pydoca.Dma(pe, device))
        begin = time.process_time()
        with suppress(pydoca.TimeOutError):
            pe.wait(0.5)
        return time.process_time() - begin > 0.2


def tells_other_status() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        dst = stack.enter_context(engine.device.mmap(pydoca.alloc(64)))
        src = withdrawn(stack, engine.device)
        with engine.bufs.get_by_data(src) as source, engine.bufs.get_by_addr(dst) as sink:
            task = engine.dma.memcpy(source, sink)
            with suppress(pydoca.DocaError):
                task.wait(10)
            status = task.status
            task.free()
        return status is not pydoca.Status.IO_FAILED


def repeats_states() -> bool:
    changes: list[Any] = []
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        with pydoca.Dma(pe, device, on_state_changed=lambda *told: changes.append(told[2:])):
            pass
    return len(changes) != len(set(changes))


DEFECTS = [
    Defect(
        "dma-odd-tail",
        "A copy of an odd length of 257 bytes and more ends with its last two bytes swapped.",
        odd_tail,
        pass_by(copies_wrongly, length=1001),
    ),
    Defect(
        "dma-short-again",
        "A copy task that is submitted again writes eight wrong bytes at its end.",
        again_short,
        copies_less_again,
    ),
    Defect(
        "pci-page-seam",
        "A copy from the other side has where its source first enters a page the four bytes before it once more.",
        page_seam,
        crosses_wrongly,
    ),
    Defect("dma-cold-map", "The first copy from each memory map takes 5 ms longer.", cold_map, has_cold_maps),
    Defect(
        "dma-slow-when-deep",
        "A copy that makes it 16 or more in flight takes 0.2 ms longer.",
        slow_when_deep,
        slows_with_depth,
    ),
    Defect(
        "sha-odd-source",
        "The digest of a message at an odd address leaves out the last byte.",
        odd_source,
        hashes_odd_wrongly,
        profile="bluefield2",
    ),
    Defect(
        "sha-slow-switch",
        "A digest by another algorithm than the one before takes 5 ms longer.",
        slow_switch,
        switches_slowly,
        profile="bluefield2",
    ),
    Defect(
        "sha-large-piece",
        "The digest of a message in pieces has a wrong bit when one of them is longer than 1 KiB.",
        large_piece,
        hashes_pieces_wrongly,
        profile="bluefield2",
    ),
    Defect(
        "rdma-receive-list",
        "A receive into a list of bufs lets the data_len of the first one grow only.",
        receive_list,
        receives_into_one,
    ),
    Defect(
        "rdma-narrow-swap",
        "A compare-and-swap stores the lower 32 bits of its new value only.",
        narrow_swap,
        swaps_wrongly,
    ),
    Defect(
        "rdma-new-value",
        "An atomic addition over the network tells the value after it in place of the one before.",
        new_value,
        adds_wrongly,
    ),
    Defect(
        "rdma-never-closed",
        "The state of a connection that has ended is CLOSING for good.",
        never_closed,
        stays_closing,
    ),
    Defect(
        "rdma-connection-memory",
        "Each connection of an Rdma leaves 1 MiB of memory behind.",
        connection_memory,
        connections_grow,
    ),
    Defect(
        "comch-kept-tail",
        "One in ten messages that are shorter than the one before has the end of that one behind it.",
        kept_tail,
        lengthens_messages,
    ),
    Defect(
        "comch-no-limit",
        "A message that is longer than max_msg_size is cut there, where it should be refused.",
        no_limit,
        takes_too_long_messages,
    ),
    Defect(
        "sync-one-export",
        "A sync event can be exported to the other side once, and its second export fails.",
        one_export,
        exports_once,
    ),
    Defect(
        "sync-silent-time-out",
        "A wait for a sync event whose time is over ends as if it had seen the value.",
        silent_time_out,
        waits_in_vain,
    ),
    Defect("sync-slow-remote", "Each reading of an imported sync event takes 2 ms longer.", slow_remote, reads_slowly),
    Defect("map-slow-start", "The start of a memory map takes 4 ms longer for each MiB.", slow_start, registers_slowly),
    Defect(
        "import-first-mebibyte",
        "Of imported memory that is longer than 1 MiB only the first MiB is there.",
        cut_import,
        imports_less,
    ),
    Defect(
        "inventory-not-expanded",
        "An inventory that was expanded tells more elements, and does not give them.",
        not_expanded,
        lacks_bufs,
    ),
    Defect(
        "buf-unchained-alone",
        "A buf that is cut off a list leaves those behind it in the list.",
        unchained_alone,
        leaves_tail,
    ),
    Defect(
        "capabilities-disagree",
        "The capabilities of a device have half of the greatest length of copies that the library tells.",
        half_of_capability,
        claims_differ,
    ),
    Defect(
        "representor-lingering",
        "A representor that was closed cannot be opened for 0.2 s.",
        lingering_representor,
        cannot_open_again,
    ),
    Defect(
        "workq-other-user-data",
        "One in ten events of a work queue has the user data of the event before.",
        data_of_other_job,
        mixes_jobs,
    ),
    Defect(
        "workq-hidden-failure", "The event of a job that has failed tells success.", failed_as_success, hides_failure
    ),
    Defect(
        "graph-shifted-times",
        "A node of a graph tells the times of the node that was added before it.",
        shifted_times,
        tells_times_of_others,
    ),
    Defect(
        "engine-spins",
        "Waits of an engine and of its tasks keep a processor busy in place of sleeping.",
        spinning_waits,
        spins,
    ),
    Defect(
        "task-unknown-status",
        "A task that has failed tells UNKNOWN as its status, whatever the reason.",
        unknown_status,
        tells_other_status,
    ),
    Defect(
        "context-told-twice",
        "A context's on_state_changed is called twice for each change.",
        told_twice,
        repeats_states,
    ),
]

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    plant_from(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
