"""Thirty more defects of a device, other than those of unseen_defects and unseen_again; also unseen.

usage: unseen_third.py list
       unseen_third.py check [NAME...]              # each is visible by the public API, and only when it is planted
       unseen_third.py run NAME LEVEL DIRECTORY     # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import mmap
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import unseen_defects
from unseen_again import Slots, before_copies, sha_engine
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
    event,
    main,
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

import pydoca
from pydoca import comch, faults

_PAGE = 4096
_LINE = 64
_MAPS = 64  # those that the card's table of addresses holds
_CLIENTS = 8
_TICK = 10_000_000  # nanoseconds
_SENDS = ("send", "send_imm", "read", "write", "write_imm", "atomic_cmp_swp", "atomic_fetch_add")


# Copies


def scatter_lengths() -> AbstractContextManager[None]:
    def watch(task: Any) -> None:
        with suppress(pydoca.DocaError):
            if task.dst is not None and task.dst.list_len > 1:
                lengths = [buf.data_len for buf in task.dst]
                task.add_done_callback(lambda ended: set_back(ended, lengths))

    def set_back(ended: Any, lengths: list[int]) -> None:
        if ended.dst is not None and not ended.status:
            for buf, length in list(zip(ended.dst, lengths, strict=True))[1:]:
                buf.data_len = length

    return watched(pydoca.Dma, "memcpy", lambda task: isinstance(task, pydoca.DmaMemcpyTask), watch)


def slow_wake() -> AbstractContextManager[None]:
    last = time.monotonic()

    def take_time(*_: Any) -> None:
        nonlocal last
        if time.monotonic() - last > 0.25:
            time.sleep(0.03)
        last = time.monotonic()

    return before_copies(take_time)


def same_page() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        first = min(work.source, work.target) // _PAGE
        last = (max(work.source, work.target) + work.length - 1) // _PAGE
        if first != last or work.src.mmap.is_from_export:
            return []
        return [(work.target, peek(work.target, work.length))]

    return spoiled_copies(spoil)


def many_maps() -> AbstractContextManager[None]:
    known: weakref.WeakSet[pydoca.Mmap] = weakref.WeakSet()
    count = itertools.count(1)

    def spoil(work: Work) -> list[Patch]:
        if len(known) <= _MAPS or work.src.mmap.is_from_export:
            return []
        started = [each for each in known if each.is_started]
        length = min(_LINE, work.length)
        others = [each for each in started if each is not work.src.mmap and each.len >= length]
        if len(started) <= _MAPS or not others or next(count) % 8:
            return []
        return [(work.target, peek(others[0].addr, length))]

    return together(
        replaced(pydoca.Device, "mmap", after_each(lambda _, made: known.add(made))),
        replaced(pydoca.Mmap, "start", after_each(lambda started, _: known.add(started))),
        spoiled_copies(spoil),
    )


# Memory maps


def untold_release() -> AbstractContextManager[None]:
    def silent(function: Any) -> Any:
        return (lambda _: None) if inspect.isroutine(function) else function

    def make(original: Any) -> property:
        return property(original.__get__, lambda self, value: original.__set__(self, silent(value)))

    change = with_argument(99, "free_callback", silent)
    return together(
        replaced(pydoca.Device, "mmap", change),
        replaced(pydoca.Mmap, "__init__", change),
        replaced(pydoca.Mmap, "free_callback", make),
    )


def stale_export() -> AbstractContextManager[None]:
    first: weakref.WeakKeyDictionary[pydoca.Mmap, dict[Any, bytes]] = weakref.WeakKeyDictionary()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def export(self: pydoca.Mmap, device: pydoca.Device | None = None) -> bytes:
            blob: bytes = original(self, device)
            return first.setdefault(self, {}).setdefault((original.__name__, device and device.name), blob)

        return export

    return together(replaced(pydoca.Mmap, "export_pci", make), replaced(pydoca.Mmap, "export_rdma", make))


def mapping_of_imports() -> AbstractContextManager[None]:
    kept: list[mmap.mmap] = []

    def leave_one(*_: object) -> None:
        if len(kept) < 2000:
            kept.append(mmap.mmap(-1, 16 * _PAGE))
            kept[-1].write(b"\x01" * 16 * _PAGE)

    return together(
        replaced(pydoca.Device, "import_mmap", after_each(leave_one)),
        replaced(pydoca.ProgressEngine, "import_mmap", after_each(leave_one)),
    )


# Bufs


def replaced_gets(make: Callable[[Any], Any]) -> AbstractContextManager[None]:
    return together(*(replaced(pydoca.BufInventory, f"get_by_{what}", make) for what in ("args", "addr", "data")))


def lost_elements() -> AbstractContextManager[None]:
    kept: list[pydoca.Buf] = []
    count = itertools.count(1)
    dup = pydoca.BufInventory.dup

    def lose_one(inventory: pydoca.BufInventory, buf: pydoca.Buf) -> None:
        if next(count) % 100 == 0:
            kept[:] = [each for each in kept if not each.is_released]
            with suppress(pydoca.DocaError):
                kept.append(dup(inventory, buf))

    return replaced_gets(after_each(lose_one))


def cut_bufs() -> AbstractContextManager[None]:
    names = {
        "get_by_args": ("addr", "len", "data", "data_len"),
        "get_by_addr": ("addr", "len"),
        "get_by_data": ("data", "data_len"),
    }

    def cut(given: dict[str, Any], origin: pydoca.Mmap, begin: str, size: str) -> bool:
        """Cuts a range that begins in the map and ends behind it; tells whether it did."""
        start, length = given.get(begin), given.get(size)
        room = 0 if start is None else origin.addr + origin.len - int(start)
        if length is None or not 0 < room <= origin.len or int(length) <= room:
            return False
        given[size] = room
        if "data_len" in given and "data" in given:
            given["data_len"] = min(int(given["data_len"]), origin.addr + origin.len - int(given["data"]))
        return True

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def get(self: Any, mmap: pydoca.Mmap, *arguments: Any, **keys: Any) -> Any:
            try:
                return original(self, mmap, *arguments, **keys)
            except pydoca.InvalidValueError:
                order = names[original.__name__]
                given = {**dict(zip(order, arguments, strict=False)), **keys}
                if not cut(given, mmap, order[0], order[1]):
                    raise
            return original(self, mmap, **given)

        return get

    return replaced_gets(make)


# Contexts and engines


def one_context_counted() -> AbstractContextManager[None]:
    def make(original: Any) -> property:
        def get(self: Any) -> int:
            contexts = [] if self.closed else self._contexts()
            count: int = contexts[0].num_inflight_tasks if contexts else original.__get__(self)
            return count

        return property(get)

    return replaced(pydoca.ProgressEngine, "num_inflight_tasks", make)


def untold_idle() -> AbstractContextManager[None]:
    def told(function: Any) -> Any:
        if not callable(function) or inspect.iscoroutinefunction(function):
            return function

        @functools.wraps(function)
        def call(user_data: Any, context: Any, before: Any, now: pydoca.ContextState) -> None:
            if now is not pydoca.ContextState.IDLE:
                function(user_data, context, before, now)

        return call

    def make(original: Any) -> property:
        return property(original.__get__, lambda self, value: original.__set__(self, told(value)))

    change = with_argument(99, "on_state_changed", told)
    owners = (pydoca.Dma, pydoca.Sha, pydoca.MmapAdvise, pydoca.Rdma, comch.Server, comch.Client)
    return together(
        *(replaced(owner, "__init__", change) for owner in owners),
        replaced(pydoca.SyncEvent, "as_context", change),
        replaced(pydoca.Context, "on_state_changed", make),
    )


def untold_reason() -> AbstractContextManager[None]:
    return replaced(pydoca.Context, "failure", lambda _: property(lambda _: pydoca.Status.SUCCESS))


def forgotten_permissions() -> AbstractContextManager[None]:
    told: weakref.WeakKeyDictionary[Any, pydoca.Access] = weakref.WeakKeyDictionary()
    started: weakref.WeakSet[Any] = weakref.WeakSet()
    real: Any = vars(pydoca.Rdma)["permissions"]

    def set_told(self: Any, value: Any) -> None:
        real.__set__(self, value)
        told.pop(self, None)

    def forget(context: Any) -> None:
        if not isinstance(context, pydoca.Rdma) or context.state is not pydoca.ContextState.IDLE:
            return
        if context in started:
            told[context] = context.permissions
            real.__set__(context, pydoca.Access.LOCAL_READ_ONLY)
        started.add(context)

    def get_told(self: Any) -> pydoca.Access:
        access: pydoca.Access = told[self] if self in told else real.__get__(self)
        return access

    return together(
        replaced(pydoca.Rdma, "permissions", lambda _: property(get_told, set_told)),
        replaced(pydoca.Context, "start", before_each(forget)),
    )


# SHA


def reset_ignored() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        def reset(self: pydoca.ShaPartialHashTask) -> None:
            if self.has_result or self.state is not pydoca.TaskState.IDLE:
                original(self)

        return reset

    return replaced(pydoca.ShaPartialHashTask, "reset", make)


# RDMA


def is_rdma(*kinds: str) -> Callable[[Any], bool]:
    return lambda task: isinstance(task, pydoca.RdmaTask) and task.kind in kinds


def swapped_order() -> AbstractContextManager[None]:
    def turn(ended: Any) -> None:
        if ended.result_buf is not None and not ended.status:
            place = ended.result_buf.data + ended.result_buf.data_len - 8
            poke([(place, peek(place, 8)[::-1])])

    kind = "atomic_cmp_swp"
    return watched(pydoca.RdmaConnection, kind, is_rdma(kind), lambda task: task.add_done_callback(turn))


def lost_private_data() -> AbstractContextManager[None]:
    def lose(data: Any) -> Any:
        return b"" if memoryview(data).nbytes <= 196 else data

    return replaced(pydoca.RdmaConnection, "accept", with_argument(0, "private_data", lose))


def oldest_connection() -> AbstractContextManager[None]:
    def make(original: Any) -> property:
        def get(self: Any) -> Any:
            brought = original.__get__(self)
            others = self.context.connections if brought is not None and self.kind == "receive" else []
            return others[0] if others else brought

        return property(get, original.__set__)

    return replaced(pydoca.RdmaTask, "connection", make)


def _emptied(src: Any, is_due: bool) -> list[tuple[Any, int]]:
    """Empties the bufs of a source, and returns each with its data length."""
    lengths = []
    with suppress(pydoca.DocaError):
        for buf in list(src) if src is not None and is_due else []:
            lengths.append((buf, buf.data_len))
            buf.data_len = 0
    return lengths


def _restore(lengths: list[tuple[Any, int]]) -> None:
    while lengths:
        buf, length = lengths.pop()
        with suppress(pydoca.DocaError):
            buf.data_len = length


class _Emptier:
    """Submits tasks; one source in 1,200 has no data at that moment."""

    def __init__(self) -> None:
        self._count = itertools.count(1)

    def __call__(self, src: Any, submit: Function) -> Any:
        lengths = _emptied(src, next(self._count) % 1200 == 0)
        try:
            task = submit()
        except BaseException:
            _restore(lengths)
            raise
        if lengths:
            task.add_done_callback(lambda _: _restore(lengths))
        return task


def empty_writes() -> AbstractContextManager[None]:
    write_nothing = _Emptier()

    def make_call(original: Function) -> Function:
        @functools.wraps(original)
        def write(self: Any, src: Any, *arguments: Any, submit: bool = True, **keys: Any) -> Any:
            def post() -> Any:
                return original(self, src, *arguments, submit=submit, **keys)

            return write_nothing(src, post) if submit else post()

        return write

    def make_submit(original: Function) -> Function:
        @functools.wraps(original)
        def submit(self: Any, *flags: Any, **keys: Any) -> None:
            def post() -> Any:
                original(self, *flags, **keys)
                return self

            if is_rdma("write", "write_imm")(self) and self.state is pydoca.TaskState.IDLE:
                write_nothing(self.src, post)
            else:
                post()

        return submit

    return together(
        *(replaced(pydoca.RdmaConnection, name, make_call) for name in ("write", "write_imm")),
        *(replaced(pydoca.Task, name, make_submit) for name in ("submit", "try_submit")),
    )


def wrong_full() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def call(self: Any, *arguments: Any, **keys: Any) -> Any:
            try:
                return original(self, *arguments, **keys)
            except pydoca.AgainError as error:
                if not isinstance(self, pydoca.RdmaConnection | pydoca.RdmaTask):
                    raise
                raise pydoca.FullError(str(error)) from None

        return call

    return together(
        *(replaced(pydoca.RdmaConnection, name, make) for name in _SENDS),
        *(replaced(pydoca.Task, name, make) for name in ("submit", "try_submit")),
    )


def drift_of_writes() -> AbstractContextManager[None]:
    counts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def take_time(task: Any) -> None:
        counts[task.connection] = number = counts.get(task.connection, 0) + 1
        end = time.perf_counter() + min(number, 1000) * 0.5e-6
        while time.perf_counter() < end:
            pass

    return watched(pydoca.RdmaConnection, "write", is_rdma("write"), take_time)


# Comch


def lost_at_end() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def receive(self: comch.Connection) -> Any:
            with suppress(pydoca.DocaError):
                while not self.is_connected:
                    message = original(self)
                    if not message._ready():
                        message._use()  # this avoids the warning of an awaitable without an await
                        break
                    message._take()
            return original(self)

        return receive

    return together(*(replaced(comch.Connection, name, make) for name in ("recv", "_next")))


def message_twice() -> AbstractContextManager[object]:
    return faults.inject(faults.FaultRule("duplicate", "comch.send", every=400))


def few_clients() -> AbstractContextManager[None]:
    known: weakref.WeakSet[comch.Client] = weakref.WeakSet()

    def refuse(context: pydoca.Context) -> None:
        if not isinstance(context, comch.Client):
            return
        running = [each for each in known if each is not context and each.state is not pydoca.ContextState.IDLE]
        if len(running) >= _CLIENTS:
            raise pydoca.DriverError(f"start: the firmware has no channel left for {context.device.name}")
        known.add(context)

    return replaced(pydoca.Context, "start", before_each(refuse))


# Sync events


def greater_or_equal() -> AbstractContextManager[None]:
    def less(value: Any) -> Any:
        return value - 1 if 0 < value < 2**64 else value

    change = with_argument(0, "value", less)

    def make(original: Any) -> property:
        def set_operand(self: pydoca.SyncEventTask, value: Any) -> None:
            original.__set__(self, less(value) if self.operation == "wait_gt" else value)

        return property(original.__get__, set_operand)

    return together(
        *(replaced(pydoca.SyncEvent, name, change) for name in ("wait_gt", "wait_gt_yield")),
        replaced(pydoca.SyncEventContext, "wait_gt", change),
        replaced(pydoca.SyncEventTask, "operand", make),
    )


def cleared_memory() -> AbstractContextManager[None]:
    def clear(memory: Any) -> Any:
        with suppress(TypeError, ValueError, BufferError):
            memoryview(memory).cast("B")[:8] = bytes(8)
        return memory

    def make(original: Function) -> Function:
        return with_argument(99, "memory", clear)(with_argument(99, "buf", clear)(original))

    return replaced(pydoca.SyncEvent, "__init__", make)


def cancel_ignored() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        def cancel(self: pydoca.SyncEventTask) -> None:
            if self.state is not pydoca.TaskState.SUBMITTED or not self.operation.startswith("wait"):
                original(self)

        return cancel

    return together(*(replaced(pydoca.SyncEventTask, name, make) for name in ("cancel", "_abandon")))


# Graphs


def error_as_completion() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def init(self: Any, *arguments: Any, **keys: Any) -> None:
            original(self, *arguments, **{**keys, "on_error": keys.get("on_completion")})

        return init

    return replaced(pydoca.Graph, "__init__", make)


# Properties of the device


class _Moment(NamedTuple):
    host: int
    nic: int
    accuracy: int


def coarse_clock() -> AbstractContextManager[None]:
    def is_coarse(type: Any) -> bool:
        return (type if isinstance(type, str) else type.name.lower()) == "nic_real_time"

    def make_one(original: Function) -> Function:
        @functools.wraps(original)
        def timestamp(self: Any, type: Any) -> int:
            now: int = original(self, type)
            return now // _TICK * _TICK if is_coarse(type) else now

        return timestamp

    def make_two(original: Function) -> Function:
        @functools.wraps(original)
        def crosstimestamp(self: Any, host: Any, nic: Any) -> Any:
            both = original(self, host, nic)
            return _Moment(both.host, both.nic // _TICK * _TICK, both.accuracy) if is_coarse(nic) else both

        return crosstimestamp

    return together(replaced(pydoca.Clock, "timestamp", make_one), replaced(pydoca.Clock, "crosstimestamp", make_two))


def rate_in_megabits() -> AbstractContextManager[None]:
    def make_rate(original: Any) -> property:
        return property(lambda self: original.__get__(self) // 10**6)

    def make_dict(original: Function) -> Function:
        def to_dict(self: Any) -> dict[str, Any]:
            return {**original(self), "active_rate": self.active_rate}

        return to_dict

    return together(
        replaced(pydoca.DeviceInfo, "active_rate", make_rate), replaced(pydoca.DeviceInfo, "to_dict", make_dict)
    )


def filter_ignored() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def representors(self: pydoca.Device, *arguments: Any, **keys: Any) -> Any:
            original(self, *arguments, **keys)  # the call has its own errors
            return original(self)

        return representors

    return replaced(pydoca.Device, "representors", make)


# Checks that show a defect without the suite


def scatters_wrongly() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (pattern(64), pydoca.alloc(64)))
        head = engine.bufs.get_by_addr(dst, dst.addr, 32)
        head.chain(engine.bufs.get_by_addr(dst, dst.addr + 32, 32))
        engine.dma.memcpy(engine.bufs.get_by_data(src), head).wait(10)
        lengths = [buf.data_len for buf in head]
        del head
        return lengths != [32, 32]


def wakes_slowly() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        src, dst = (stack.enter_context(engine.device.mmap(pydoca.alloc(64))) for _ in range(2))
        times = []
        for _ in range(3):
            time.sleep(0.5)
            begin = time.perf_counter()
            engine.copy(src, dst, 64)
            times.append(time.perf_counter() - begin)
        return min(times) > 0.02


def copies_wrongly_in_page() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        memory = pydoca.alloc(_PAGE)
        memory[:100] = pattern(100)
        both = stack.enter_context(engine.device.mmap(memory))
        engine.copy(both, both, 100, 1000)
        return memory[1000:1100] != pattern(100)


def copies_wrongly_among_maps() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        memories, target = [pydoca.alloc(64) for _ in range(100)], pydoca.alloc(64)
        dst = stack.enter_context(engine.device.mmap(target))
        maps = [stack.enter_context(engine.device.mmap(memory)) for memory in memories]
        for number, memory in enumerate(memories):
            memory[:] = bytes([number + 1]) * 64
        for number, each in enumerate(maps):
            engine.copy(each, dst, 64)
            if bytes(target) != bytes([number + 1]) * 64:
                return True
    return False


def releases_unnoticed() -> bool:
    calls: list[object] = []

    def note(memory: object) -> None:
        calls.append(memory)

    with pydoca.open_device("p0") as device:
        device.mmap(pydoca.alloc(64), free_callback=note).close()
    return len(calls) != 1


def exports_the_past() -> bool:
    with ExitStack() as stack:
        dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
        lent = stack.enter_context(host.mmap(pydoca.alloc(64), access="pci_read_only"))
        lent.export_pci()
        lent.stop()
        lent.start()
        try:
            dpu.import_mmap(lent.export_pci()).close()
        except pydoca.DocaError:
            return True
        return False


def imports_leave_mappings() -> bool:
    def mappings() -> int:
        return len(Path("/proc/self/maps").read_text().splitlines())

    with ExitStack() as stack:
        dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
        lent = stack.enter_context(host.mmap(pydoca.alloc(64), access="pci_read_only"))
        blob, before = lent.export_pci(), 0
        for number in range(60):
            before = mappings() if number == 10 else before
            dpu.import_mmap(blob).close()
        return mappings() >= before + 40


def loses_elements() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        memory = stack.enter_context(engine.device.mmap(pydoca.alloc(64)))
        for _ in range(300):
            engine.bufs.get_by_addr(memory).close()
        return engine.bufs.num_free_elements != engine.bufs.num_elements


def cuts_bufs() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        memory = stack.enter_context(engine.device.mmap(pydoca.alloc(64)))
        try:
            engine.bufs.get_by_addr(memory, memory.addr, 65).close()
        except pydoca.InvalidValueError:
            return False
        return True


def counts_too_few() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        with pydoca.Dma(slots.pe, slots.device) as other:
            source, sink = slots.bufs.get_by_data(slots.src), slots.bufs.get_by_addr(slots.dst)
            task = other.memcpy(source, sink)
            count = slots.pe.num_inflight_tasks
            task.wait(10)
            task.free()
            del source, sink
        return count != 1


def stops_unnoticed() -> bool:
    states: list[pydoca.ContextState] = []

    def note(_: Any, __: Any, ___: Any, now: pydoca.ContextState) -> None:
        states.append(now)

    with (
        pydoca.open_device("p0") as device,
        pydoca.ProgressEngine() as pe,
        pydoca.Dma(pe, device, on_state_changed=note),
    ):
        pass
    return pydoca.ContextState.IDLE not in states


def stops_without_reason() -> bool:
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
        return engine.dma.failure is pydoca.Status.SUCCESS


def forgets_permissions() -> bool:
    with ExitStack() as stack:
        here, there = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "p1"))
        pe, bufs = stack.enter_context(pydoca.ProgressEngine()), stack.enter_context(pydoca.BufInventory(2))
        owner, peer = pydoca.Rdma(pe, there, permissions="rdma_write"), stack.enter_context(pydoca.Rdma(pe, here))
        owner.start()
        owner.stop()
        stack.enter_context(owner)
        ends = [peer.export(), owner.export()]
        ends[0].connect(ends[1].details)
        ends[1].connect(ends[0].details)
        lent = stack.enter_context(there.mmap(pydoca.alloc(8), access="local_read_write|rdma_write"))
        remote = stack.enter_context(here.import_mmap(lent.export_rdma()))
        text = stack.enter_context(here.mmap(b"written!"))
        try:
            ends[0].write(bufs.get_by_data(text), bufs.get_by_addr(remote)).wait(10)
        except pydoca.DocaError:
            return True
        return False


def goes_on_after_reset() -> bool:
    target = pydoca.alloc(32)
    with sha_engine(target) as (sha, src, dst, bufs):
        block = pydoca.Sha.partial_hash_block_size(sha.device.info, "sha256")
        pieces = [bufs.get_by_data(src, src.addr + block * number, block) for number in range(3)]
        task = sha.partial_hash(pieces[0], bufs.get_by_addr(dst), "sha256")
        task.wait(10)
        task.reset()
        for number in (1, 2):
            task.src = pieces[number]
            if number == 2:
                task.set_is_final_buf()
            task.submit()
            task.wait(10)
        task.free()
        del pieces
    return bytes(target) != hashlib.sha256(pattern(256)[block : 3 * block]).digest()


@contextmanager
def peers(permissions: str, length: int) -> Iterator[tuple[Pair, pydoca.Memory, pydoca.Mmap]]:
    """Two ends, memory of the other one, and its import."""
    with ExitStack() as stack:
        pair, memory = Pair(stack, permissions), pydoca.alloc(length)
        lent = stack.enter_context(pair.devices[1].mmap(memory, access=f"local_read_write|{permissions}"))
        yield pair, memory, stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))


def swaps_order() -> bool:
    number = 0x0102030405060708
    with peers("rdma_atomic", 8) as (pair, memory, remote):
        memory[:] = number.to_bytes(8, sys.byteorder)
        old = pydoca.alloc(8)
        with pair.devices[0].mmap(old) as result:
            target, sink = pair.bufs.get_by_data(remote), pair.bufs.get_by_addr(result)
            pair.here.atomic_cmp_swp(target, sink, 1, 2).wait(10)
            del target, sink
        return int.from_bytes(bytes(old), sys.byteorder) != number


def loses_private_data() -> bool:
    with ExitStack() as stack:
        here, there = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "p1"))
        pe = stack.enter_context(pydoca.ProgressEngine())
        caller = stack.enter_context(pydoca.Rdma(pe, here))
        listener = stack.enter_context(stack.enter_context(pydoca.Rdma(pe, there)).listen(5037))
        attempt = caller.connect(there.info.ipv4_addr, 5037)
        listener.request().wait(10).accept(b"welcome").wait(10)
        connection: pydoca.RdmaConnection = attempt.wait(10)
        return connection.private_data[:7] != b"welcome"


def mixes_connections() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        here, there = (end.export() for end in pair.ends)
        here.connect(there.details)
        there.connect(here.details)
        for sender, receiver in ((pair.here, pair.there), (here, there)):
            receive = pair.ends[1].receive(None)
            sender.send(None).wait(10)
            receive.wait(10)
            if receive.connection is not receiver:
                return True
    return False


def writes_nothing() -> bool:
    with peers("rdma_write", 8) as (pair, memory, remote):
        text = bytearray(8)
        with pair.devices[0].mmap(text) as here:
            source, sink = pair.bufs.get_by_data(here), pair.bufs.get_by_addr(remote)
            for number in range(1300):
                text[:] = data = number.to_bytes(8, "little")
                task = pair.here.write(source, sink)
                task.wait(10)
                task.free()
                if bytes(memory) != data:
                    del source, sink
                    return True
            del source, sink
    return False


def refuses_wrongly() -> bool:
    with ExitStack() as stack:
        devices = [stack.enter_context(pydoca.open_device(name)) for name in ("p0", "p1")]
        pe = stack.enter_context(pydoca.ProgressEngine())
        ends = [stack.enter_context(pydoca.Rdma(pe, each, send_queue_size=4)) for each in devices]
        here, there = (end.export() for end in ends)
        here.connect(there.details)
        there.connect(here.details)
        tasks = []
        try:
            for _ in range(10):
                tasks.append(here.send(None))
        except pydoca.AgainError:
            return False
        except pydoca.FullError:
            return True
        finally:
            here.disconnect()
    raise AssertionError("the queue has no end")


def drifts() -> bool:
    with peers("rdma_write", 8) as (pair, _, remote), pair.devices[0].mmap(bytes(8)) as here:
        source, sink = pair.bufs.get_by_data(here), pair.bufs.get_by_addr(remote)

        def fastest(source: pydoca.Buf, sink: pydoca.Buf) -> float:
            times = []
            for _ in range(100):
                begin = time.perf_counter()
                task = pair.here.write(source, sink)
                task.wait(10)
                times.append(time.perf_counter() - begin)
                task.free()
            return min(times)

        times = [fastest(source, sink) for _ in range(12)]
        del source, sink
        return times[-1] > times[0] + 3e-4


def loses_last_messages() -> bool:
    with server() as (pe, service, host):
        with comch.Client(pe, host, "check") as link:
            other = service.accept().wait(10)
            link.send(b"last words").wait(10)
            pe.run_until(lambda: other.recv_messages == 1, 10)
        pe.run_until(lambda: not other.is_connected, 10)
        try:
            return other.recv().wait(10) != b"last words"
        except pydoca.ConnectionResetError:
            return True


def repeats_messages() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        for number in range(500):
            link.send(str(number).encode()).wait(10)
            if other.recv().wait(10) != str(number).encode():
                return True
    return False


def refuses_clients() -> bool:
    with server() as (pe, _, host), ExitStack() as stack:
        comch_of_card = host.info.capabilities.comch
        assert comch_of_card is not None
        assert comch_of_card.max_clients > _CLIENTS
        try:
            for _ in range(_CLIENTS + 1):
                stack.enter_context(comch.Client(pe, host, "check"))
        except pydoca.DriverError:
            return True
        return False


def ends_at_equal() -> bool:
    with event() as counter:
        counter.update_set(5)
        try:
            counter.wait_gt(5, timeout=0.2)
        except pydoca.TimeOutError:
            return False
        return True


def begins_at_zero() -> bool:
    memory = pydoca.alloc(8)
    memory[:] = (7).to_bytes(8, sys.byteorder)
    with pydoca.open_device("p0") as device, pydoca.SyncEvent(device, memory=memory) as counter:
        return counter.get() != 7


def cancels_nothing() -> bool:
    with pydoca.open_device("p0") as device, pydoca.ProgressEngine() as pe:
        counter = pydoca.SyncEvent(device)
        with counter.as_context(pe) as tasks:
            task = tasks.wait_eq(3)
            task.cancel()
            try:
                task.wait(1)
            except pydoca.ShutdownError:
                return False
            except pydoca.TimeOutError:
                tasks.notify_set(3).wait(10)
                task.wait(10)
                return True
    raise AssertionError("the wait has ended by itself")


def fails_unnoticed() -> bool:
    calls: list[str] = []

    def fail(_: Any) -> None:
        raise ValueError("a check fails")

    with ExitStack() as stack:
        slots = Slots(stack, 1)
        source, sink = slots.bufs.get_by_data(slots.src), slots.bufs.get_by_addr(slots.dst)
        copy = slots.dma.memcpy(source, sink, submit=False)
        graph = pydoca.Graph(
            slots.pe,
            on_completion=lambda *_: calls.append("completion"),
            on_error=lambda *_: calls.append("error"),
        )
        moved = graph.node(slots.dma)
        check = graph.node(fail, after=[moved])
        with graph:
            run = graph.run({moved: copy, check: None})
            with suppress(ValueError, pydoca.DocaError):
                run.wait(10)
            del run
        del source, sink
    return calls != ["error"]


def ticks_slowly() -> bool:
    with pydoca.open_device("p0") as device, pydoca.Clock(device) as clock:
        times = []
        for _ in range(20):
            times.append(clock.timestamp("nic_real_time"))
            time.sleep(0.001)
    return len(set(times)) < 15


def has_low_rate() -> bool:
    return pydoca.DeviceInfo("p0").active_rate < 10**9


def filters_nothing() -> bool:
    with pydoca.open_device("p0") as device:
        return any(not each.is_emulated for each in device.representors("emulated"))


DEFECTS = [
    Defect(
        "dma-scatter-lengths",
        "A copy to a list of bufs lets the data_len of the first one grow only.",
        scatter_lengths,
        scatters_wrongly,
    ),
    Defect(
        "dma-slow-wake",
        "A copy after a pause of a quarter of a second takes 30 ms longer.",
        slow_wake,
        wakes_slowly,
    ),
    Defect(
        "dma-same-page",
        "A copy within one page of memory succeeds, and writes nothing.",
        same_page,
        copies_wrongly_in_page,
    ),
    Defect(
        "map-many",
        "While more than 64 memory maps are started, one in 8 copies begins with a line of another map.",
        many_maps,
        copies_wrongly_among_maps,
    ),
    Defect(
        "map-untold-release",
        "The free_callback of a memory map is not called.",
        untold_release,
        releases_unnoticed,
    ),
    Defect(
        "export-stale",
        "A memory map that is started again exports the description of its first start, which is withdrawn.",
        stale_export,
        exports_the_past,
    ),
    Defect(
        "import-mappings",
        "Each import of a memory map leaves a mapping of 64 KiB behind.",
        mapping_of_imports,
        imports_leave_mappings,
    ),
    Defect(
        "inventory-leak",
        "One in 100 bufs of an inventory does not return to it.",
        lost_elements,
        loses_elements,
    ),
    Defect(
        "buf-cut",
        "A buf that is to end behind its memory map ends with the map, in place of an error.",
        cut_bufs,
        cuts_bufs,
    ),
    Defect(
        "pe-one-context",
        "An engine's number of tasks in flight is that of its first context.",
        one_context_counted,
        counts_too_few,
    ),
    Defect(
        "context-untold-idle",
        "A context's on_state_changed is not called when it becomes IDLE.",
        untold_idle,
        stops_unnoticed,
    ),
    Defect(
        "context-no-reason",
        "A context that has stopped because a task failed tells SUCCESS as the reason.",
        untold_reason,
        stops_without_reason,
    ),
    Defect(
        "rdma-forgotten-permissions",
        "An Rdma that is started again permits its peers nothing, whatever its permissions are.",
        forgotten_permissions,
        forgets_permissions,
    ),
    Defect(
        "sha-reset",
        "The reset of a message in pieces that has not ended does not forget its pieces.",
        reset_ignored,
        goes_on_after_reset,
        profile="bluefield2",
    ),
    Defect(
        "rdma-swap-order",
        "A compare-and-swap appends the old value in the reverse order of bytes.",
        swapped_order,
        swaps_order,
    ),
    Defect(
        "rdma-private-data",
        "The private data of an acceptance does not reach the peer.",
        lost_private_data,
        loses_private_data,
    ),
    Defect(
        "rdma-oldest-connection",
        "A receive tells the oldest connection of its context, whichever has brought the message.",
        oldest_connection,
        mixes_connections,
    ),
    Defect(
        "rdma-empty-write",
        "One in 1,200 writes over the network succeeds, and writes nothing.",
        empty_writes,
        writes_nothing,
    ),
    Defect(
        "rdma-wrong-full",
        "A task for a connection whose queue is full is refused with FULL in place of AGAIN.",
        wrong_full,
        refuses_wrongly,
    ),
    Defect(
        "rdma-drift",
        "Each write of a connection takes half a microsecond longer than the one before, up to half a millisecond.",
        drift_of_writes,
        drifts,
    ),
    Defect(
        "comch-lost-at-end",
        "Messages that have arrived and were not received are lost when the connection ends.",
        lost_at_end,
        loses_last_messages,
    ),
    Defect(
        "comch-message-twice",
        "One in 400 messages arrives twice.",
        message_twice,
        repeats_messages,
    ),
    Defect(
        "comch-few-clients",
        "A host takes eight clients at a time, fewer than the card claims.",
        few_clients,
        refuses_clients,
    ),
    Defect(
        "sync-greater-or-equal",
        "A wait for a greater value of a sync event ends at an equal one, too.",
        greater_or_equal,
        ends_at_equal,
    ),
    Defect(
        "sync-cleared-memory",
        "A sync event in memory of the program begins at 0, whatever the memory has.",
        cleared_memory,
        begins_at_zero,
    ),
    Defect(
        "sync-cancel",
        "A wait task of a sync event that is cancelled goes on.",
        cancel_ignored,
        cancels_nothing,
    ),
    Defect(
        "graph-error-as-completion",
        "An instance of a graph that fails calls on_completion in place of on_error.",
        error_as_completion,
        fails_unnoticed,
    ),
    Defect(
        "clock-coarse",
        "The time of day of the device advances in steps of 10 ms.",
        coarse_clock,
        ticks_slowly,
    ),
    Defect(
        "rate-in-megabits",
        "The rate of a port is told in Mbit/s in place of bit/s.",
        rate_in_megabits,
        has_low_rate,
    ),
    Defect(
        "representor-filter",
        "A list of representors has all of them, whatever the filter is.",
        filter_ignored,
        filters_nothing,
    ),
]

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    """Plants the defect of the run, first of all in each process."""
    unseen_defects.plant_in_started_process(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
