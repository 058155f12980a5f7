"""Thirty likely defects of a device, written without a look at the cases; some are of kinds of the sets before.

A defect replaces methods of pydoca in the process that tests, and in those that it starts, as unseen_defects.py does.

usage: unseen_eighteenth.py list
       unseen_eighteenth.py check [NAME...]           # each is visible by the public API, and only when it is planted
       unseen_eighteenth.py run NAME LEVEL DIRECTORY  # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import hashlib
import select
import sys
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import ExitStack, suppress
from typing import Any

from unseen_defects import (
    Engine,
    Pair,
    Table,
    before_each,
    is_writable,
    main,
    pattern,
    peek,
    poke,
    replaced,
    server,
    together,
    with_argument,
)
from unseen_defects import plant_in_started_process as plant_from
from unseen_fifteenth import Copy, Plant, defects_of, deflated, flipped, total
from unseen_fourteenth import (
    Hasher,
    device_and_engine,
    end_of,
    every,
    stored,
    submitted,
    told,
    when_good,
    wrapped,
)
from unseen_sixteenth import prepared

import pydoca
from pydoca import _core, comch

_KIB = 1 << 10

# Copies


def copies(watch: Callable[[Any], object]) -> Plant:
    return submitted(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, watch)


def prepared_copies(prepare: Callable[[Any], Callable[[], object] | None]) -> Plant:
    return prepared(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, prepare)


def flip_at(task: Any, place: int) -> None:
    when_good(task, lambda _: poke(flipped(place)))


def shortened(task: Any, rest: int) -> Callable[[], object]:
    """Makes the task leave out the last bytes, and tells the whole length."""
    src, dst = task.src, task.dst
    src.data_len -= rest

    def take_back() -> None:
        src.data_len += rest
        if not task.status:
            dst.data_len += rest

    return take_back


def odd_source() -> Plant:
    def watch(task: Any) -> None:
        begin, length = end_of(task.dst), total(task.src)
        if begin and length >= 16 and task.src.data % 4:
            flip_at(task, begin + length - 1)

    return copies(watch)


def page_crossing() -> Plant:
    is_turn = every(4)

    def watch(task: Any) -> None:
        begin, length = end_of(task.dst), total(task.src)
        page = (begin // (4 * _KIB) + 1) * 4 * _KIB
        if begin and page < begin + length and is_turn():
            flip_at(task, page)

    return copies(watch)


def partial_line() -> Plant:
    def prepare(task: Any) -> Callable[[], object] | None:
        src, dst = task.src, task.dst
        length = src.data_len
        rest = length % 64
        if src.list_len != 1 or dst.list_len != 1 or not 4 * _KIB < length <= dst.tailroom or not rest:
            return None
        return shortened(task, rest)

    return prepared_copies(prepare)


def fourth_of_list() -> Plant:
    def watch(task: Any) -> None:
        begin = end_of(task.dst)
        lengths = [element.data_len for element in task.src]
        if begin and len(lengths) >= 4 and lengths[3]:
            flip_at(task, begin + sum(lengths[:3]))

    return copies(watch)


def busy_engine() -> Plant:
    is_turn = every(8)

    def watch(task: Any) -> None:
        begin, length = end_of(task.dst), total(task.src)
        if begin and length and task.context.num_inflight_tasks >= 4 and is_turn():
            flip_at(task, begin + length // 2)

    return copies(watch)


def length_of_append() -> Plant:
    """The length is that of what was copied, and not of what the buf has."""

    def watch(task: Any) -> None:
        dst, length = task.dst, total(task.src)
        if dst.list_len == 1 and dst.data_len:

            def cut(_: Any) -> None:
                dst.data_len = length

            when_good(task, cut)

    return copies(watch)


def stalls() -> Plant:
    is_turn = every(25)
    return copies(lambda _: time.sleep(0.1) if is_turn() else None)


def cut_to_room() -> Plant:
    def prepare(task: Any) -> Callable[[], object] | None:
        src, length = task.src, task.src.data_len
        room = task.dst.tailroom
        if src.list_len != 1 or task.dst.list_len != 1 or not 0 < room < length:
            return None
        src.data_len = room
        return lambda: setattr(src, "data_len", length)

    return prepared_copies(prepare)


# Memory


def flags_of(access: Any) -> pydoca.Access:
    if not isinstance(access, str):
        return access  # type: ignore[no-any-return]
    flags = pydoca.Access.LOCAL_READ_ONLY
    for word in access.split("|"):
        flags |= getattr(pydoca.Access, word.strip().upper())
    return flags


def widened(widen: Callable[[pydoca.Access], pydoca.Access]) -> Plant:
    """Gives maps more than what they were made for, and tells what was asked for."""
    asked: weakref.WeakKeyDictionary[Any, pydoca.Access] = weakref.WeakKeyDictionary()

    def mmap(original: Any, self: Any, memory: Any, *, access: Any = None, **keys: Any) -> Any:
        if access is not None:
            with suppress(pydoca.DocaError, AttributeError, TypeError, ValueError):
                area = original(self, memory, access=widen(flags_of(access)), **keys)
                asked[area] = flags_of(access)
                return area
        return original(self, memory, access=access, **keys)

    def set_permissions(original: Any, self: Any, access: Any) -> None:
        with suppress(pydoca.DocaError, AttributeError, TypeError, ValueError):
            original(self, widen(flags_of(access)))
            asked[self] = flags_of(access)
            return
        original(self, access)

    def construct(original: Any, self: Any, *arguments: Any, access: Any = None, **keys: Any) -> None:
        if access is not None:
            with suppress(pydoca.DocaError, AttributeError, TypeError, ValueError):
                original(self, *arguments, access=widen(flags_of(access)), **keys)
                asked[self] = flags_of(access)
                return
        original(self, *arguments, access=access, **keys)

    return together(
        replaced(pydoca.Device, "mmap", wrapped(mmap)),
        replaced(pydoca.Mmap, "__init__", wrapped(construct)),
        replaced(pydoca.Mmap, "set_permissions", wrapped(set_permissions)),
        replaced(pydoca.Mmap, "access", told(lambda self, access: asked.get(self, access))),
    )


def read_only_to_write() -> Plant:
    def widen(access: pydoca.Access) -> pydoca.Access:
        return pydoca.Access.LOCAL_READ_WRITE if access == pydoca.Access.LOCAL_READ_ONLY else access

    return widened(widen)


def lent_to_write() -> Plant:
    def widen(access: pydoca.Access) -> pydoca.Access:
        if not access & pydoca.Access.PCI_READ_ONLY:
            return access
        return access & ~pydoca.Access.PCI_READ_ONLY | pydoca.Access.PCI_READ_WRITE

    return widened(widen)


def leaking_imports() -> Plant:
    counts: dict[str, int] = {}

    def import_mmap(original: Any, self: Any, blob: Any, **keys: Any) -> Any:
        name = self.name
        if counts.get(name, 0) >= 64:
            raise pydoca.NoMemoryError(f"import a memory map: {name} has no entry left")
        area = original(self, blob, **keys)
        counts[name] = counts.get(name, 0) + 1
        return area

    return replaced(pydoca.Device, "import_mmap", wrapped(import_mmap))


def short_writes() -> Plant:
    def prepare(task: Any) -> Callable[[], object] | None:
        src, dst = task.src, task.dst
        length = src.data_len
        is_met = dst.mmap.is_from_export and not src.mmap.is_from_export and src.list_len == dst.list_len == 1
        if not is_met or not 4 * _KIB < length <= dst.tailroom:
            return None
        return shortened(task, 64)

    return prepared_copies(prepare)


# Sync events


def lost_additions() -> Plant:
    is_turn = every(20)

    def update_add(original: Any, self: Any, value: Any) -> int:
        return original(self, 0 if self.is_from_export and is_turn() else value)  # type: ignore[no-any-return]

    return replaced(pydoca.SyncEvent, "update_add", wrapped(update_add))


def not_less() -> Plant:
    """What waits for more than a number ends at the number."""

    def lower(value: Any) -> Any:
        return value - 1 if isinstance(value, int) and 0 < value < 1 << 64 else value

    return together(
        *(replaced(pydoca.SyncEvent, name, with_argument(0, "value", lower)) for name in ("wait_gt", "wait_gt_yield")),
        replaced(pydoca.SyncEventContext, "wait_gt", with_argument(0, "value", lower)),
    )


def narrow_set() -> Plant:
    def low(value: Any) -> Any:
        return value & (1 << 32) - 1 if isinstance(value, int) and 0 <= value < 1 << 64 else value

    return together(
        replaced(pydoca.SyncEvent, "update_set", with_argument(0, "value", low)),
        replaced(pydoca.SyncEventContext, "notify_set", with_argument(0, "value", low)),
    )


def lost_sets() -> Plant:
    """The queue gives the number of the task before."""
    last: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
    is_turn = every(20)

    def prepare(task: Any) -> Callable[[], object] | None:
        if task.operation != "notify_set":
            return None
        value = task.operand
        before, last[task.context] = last.get(task.context, value), value
        if before == value or not is_turn():
            return None
        task.operand = before
        return lambda: setattr(task, "operand", value)

    return prepared(pydoca.SyncEventContext, "notify_set", pydoca.SyncEventTask, prepare)


# Comch


def longest_message() -> Plant:
    def send(original: Any, self: Any, data: Any, **keys: Any) -> Any:
        with suppress(TypeError):
            if len(bytes(data)) == self.max_msg_size:
                data = bytes(data)[:-1]
        return original(self, data, **keys)

    return replaced(comch.Connection, "send", wrapped(send))


def lost_messages() -> Plant:
    """The receiver loses them."""
    is_turn = every(25)
    following: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # what comes after an event

    def recv(original: Any, self: Any) -> Any:
        event = original(self)
        if is_turn():
            following[event] = original(self)
        return event

    def wait(original: Any, self: Any, *arguments: Any, **keys: Any) -> bytes:
        data = original(self, *arguments, **keys)
        other = following.pop(self, None)
        return original(other, *arguments, **keys) if other is not None else data  # type: ignore[no-any-return]

    def await_it(original: Any, self: Any) -> Generator[Any, None, bytes]:
        data = yield from original(self)
        other = following.pop(self, None)
        return (yield from original(other)) if other is not None else data

    def dropping(function: Any) -> Any:
        return function and (lambda *arguments: None if is_turn() else function(*arguments))

    return together(
        *(replaced(comch.Connection, name, wrapped(recv)) for name in ("recv", "_next")),
        replaced(_core.ReceivedMessage, "wait", wrapped(wait)),
        replaced(_core.ReceivedMessage, "__await__", wrapped(await_it)),
        *(
            plant
            for owner in (comch.Server, comch.Client)
            for plant in (
                replaced(owner, "__init__", with_argument(99, "on_message", dropping)),
                replaced(owner, "on_message", stored(dropping)),
            )
        ),
    )


def wrong_bit() -> Plant:
    is_turn = every(10)

    def spoil(data: Any) -> Any:
        with suppress(TypeError):
            text = bytes(data)
            if len(text) > 256 and is_turn():
                return text[:256] + bytes([text[256] ^ 1]) + text[257:]
        return data

    return together(
        replaced(comch.Connection, "send", with_argument(0, "data", spoil)),
        replaced(comch.SendTask, "message", stored(spoil)),
    )


def silent_leaving() -> Plant:
    return together(
        replaced(comch.Server, "__init__", with_argument(99, "on_disconnect", lambda _: None)),
        replaced(comch.Server, "on_disconnect", stored(lambda _: None)),
    )


# RDMA


def immediate_order() -> Plant:
    def change(_: Any, value: Any) -> Any:
        return value if value is None else int.from_bytes(value.to_bytes(4, "little"), "big")

    return replaced(pydoca.RdmaTask, "result_immediate_data", told(change))


def second_packet() -> Plant:
    """The source has it wrong as long as the write is in flight."""
    is_turn = every(4)

    def prepare(task: Any) -> Callable[[], object] | None:
        src = task.src
        if src.list_len != 1 or src.data_len <= 4 * _KIB or not is_writable(src) or not is_turn():
            return None
        place = src.data + 4 * _KIB
        before = peek(place, 1)
        poke(flipped(place))
        return lambda: poke([(place, before)])

    return prepared(pydoca.RdmaConnection, "write", "write", prepare)


def remainder_of_read() -> Plant:
    def watch(task: Any) -> None:
        begin, length = end_of(task.dst), total(task.src)
        if begin and length > 4 and length % 4:
            flip_at(task, begin + length - 1)

    return submitted(pydoca.RdmaConnection, "read", "read", watch)


def read_to_write() -> Plant:
    def widen(access: pydoca.Access) -> pydoca.Access:
        return access | pydoca.Access.RDMA_WRITE if access & pydoca.Access.RDMA_READ else access

    return widened(widen)


def kept_ports() -> Plant:
    taken: set[tuple[str, int]] = set()

    def listen(original: Any, self: Any, port: Any) -> Any:
        key = (self.device.name, int(port))
        if key in taken:
            raise pydoca.AlreadyExistError(f"listen: port {key[1]} of {key[0]} has a listener")
        listener = original(self, port)
        if key[1]:
            taken.add(key)
        return listener

    return replaced(pydoca.Rdma, "listen", wrapped(listen))


# SHA and decompression


def padding_block() -> Plant:
    """Messages whose padding has no room in their last block."""

    def watch(task: Any) -> None:
        block = 128 if task.algorithm == "sha512" else 64
        begin = end_of(task.dst)
        if begin and total(task.src) % block >= block - block // 8:
            flip_at(task, begin)

    return submitted(pydoca.Sha, "hash", pydoca.ShaHashTask, watch)


def window_end() -> Plant:
    def watch(task: Any) -> None:
        begin = end_of(task.dst)

        def spoil(ended: Any) -> None:
            if ended.dst.data + ended.dst.data_len > begin + 32 * _KIB:
                poke(flipped(begin + 32 * _KIB))

        if begin:
            when_good(task, spoil)

    return submitted(pydoca.Compress, "decompress_deflate", pydoca.CompressDecompressDeflateTask, watch)


# Contexts, engines and graphs


def few_starts() -> Plant:
    starts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def note(self: Any) -> None:
        if isinstance(self, pydoca.Dma) and self.state is pydoca.ContextState.IDLE:
            if starts.get(self, 0) >= 2:
                raise pydoca.BadStateError(f"start: the context of {self.device.name} has not ended")
            starts[self] = starts.get(self, 0) + 1

    return together(
        *(replaced(pydoca.Context, name, before_each(note)) for name in ("start", "__enter__", "__aenter__"))
    )


def lost_requests() -> Plant:
    is_turn = every(10)

    def request(original: Any, self: Any) -> None:
        if self.closed or not is_turn():
            original(self)

    return replaced(pydoca.ProgressEngine, "request_notification", wrapped(request))


def skipped_functions() -> Plant:
    is_turn = every(10)

    def node(original: Any, self: Any, source: Any, **keys: Any) -> Any:
        if isinstance(source, pydoca.Context | pydoca.Graph) or not callable(source):
            return original(self, source, **keys)
        return original(self, lambda data: pydoca.Status.SUCCESS if is_turn() else source(data), **keys)

    return replaced(pydoca.Graph, "node", wrapped(node))


# What shows a defect, apart from the suite


def copies_wrongly(length: int, begin: int = 0, to: int = 0, count: int = 1) -> bool:
    with ExitStack() as stack:
        engine, target = Engine(stack), pydoca.alloc(length + to)
        src = stack.enter_context(engine.device.mmap(pattern(length + begin)))
        dst = stack.enter_context(engine.device.mmap(target))
        for _ in range(count):
            target[:] = bytes(length + to)
            with (
                engine.bufs.get_by_data(src, src.addr + begin, length) as source,
                engine.bufs.get_by_addr(dst, dst.addr + to) as sink,
            ):
                task = engine.dma.memcpy(source, sink)
                task.wait(10)
                task.free()
            if bytes(target)[to:] != pattern(length + begin)[begin:]:
                return True
        return False


def odd_source_is_wrong() -> bool:
    return any(copies_wrongly(100, begin) for begin in range(4))


def crossing_is_wrong() -> bool:
    return copies_wrongly(12 * _KIB, count=8)


def partial_line_is_wrong() -> bool:
    return copies_wrongly(4 * _KIB + 10)


def list_is_wrong() -> bool:
    with ExitStack() as stack:
        engine, target = Engine(stack), pydoca.alloc(80)
        src = stack.enter_context(engine.device.mmap(pattern(80)))
        dst = stack.enter_context(engine.device.mmap(target))
        with engine.bufs.get_by_data(src, src.addr, 16) as source, engine.bufs.get_by_addr(dst) as sink:
            for place in range(16, 80, 16):
                source.chain(engine.bufs.get_by_data(src, src.addr + place, 16))
            task = engine.dma.memcpy(source, sink)
            task.wait(10)
            task.free()
        return bytes(target) != pattern(80)


def busy_one_is_wrong() -> bool:
    number = 32
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        dma = stack.enter_context(pydoca.Dma(pe, device, num_tasks=number))
        bufs, target = stack.enter_context(pydoca.BufInventory(2 * number)), pydoca.alloc(64 * number)
        src = stack.enter_context(device.mmap(pattern(64 * number)))
        dst = stack.enter_context(device.mmap(target))
        places = range(0, 64 * number, 64)
        sources = [bufs.get_by_data(src, src.addr + place, 64) for place in places]
        sinks = [bufs.get_by_addr(dst, dst.addr + place, 64) for place in places]
        tasks = [dma.memcpy(source, sink) for source, sink in zip(sources, sinks, strict=True)]
        pe.run_until(tasks, 10)
        for task in tasks:
            task.free()
        for buf in (*sources, *sinks):
            buf.close()
        return bytes(target) != pattern(64 * number)


def tells_length_of_append() -> bool:
    with ExitStack() as stack:
        copy = Copy(stack)
        target = stack.enter_context(copy.engine.device.mmap(pydoca.alloc(16)))
        with copy.engine.bufs.get_by_data(copy.src) as source, copy.engine.bufs.get_by_addr(target) as sink:
            for _ in range(2):
                task = copy.engine.dma.memcpy(source, sink)
                task.wait(10)
                task.free()
            return sink.data_len != 8


def is_stalled() -> bool:
    times: list[float] = []
    with ExitStack() as stack:
        copy = Copy(stack)
        for _ in range(100):
            begin = time.perf_counter()
            with copy.task(submit=True) as task:
                task.wait(10)
            times.append(time.perf_counter() - begin)
    return sum(each > 0.09 for each in times) >= 3


def takes_too_long_ones() -> bool:
    with ExitStack() as stack:
        copy = Copy(stack, bytes(64))
        with (
            copy.engine.bufs.get_by_data(copy.src) as source,
            copy.engine.bufs.get_by_addr(copy.dst, copy.dst.addr, 32) as sink,
        ):
            task = copy.engine.dma.memcpy(source, sink, submit=False)
            try:
                task.submit()
                task.wait(10)
            except pydoca.DocaError:
                return False
            finally:
                task.free()
        return True


def writes_to_read_only() -> bool:
    with ExitStack() as stack:
        engine, target = Engine(stack), pydoca.alloc(4)
        src = stack.enter_context(engine.device.mmap(b"text"))
        dst = stack.enter_context(engine.device.mmap(target, access="local_read_only"))
        with suppress(pydoca.DocaError):
            engine.copy(src, dst, 4)
        return bytes(target) == b"text"


def lent(stack: ExitStack, engine: Engine, memory: Any, access: str) -> tuple[pydoca.Mmap, bytes]:
    host = stack.enter_context(pydoca.open_device("pf0"))
    area = stack.enter_context(host.mmap(memory, access=access))
    blob = area.export_pci()
    return stack.enter_context(engine.device.import_mmap(blob)), blob


def writes_to_lent() -> bool:
    with ExitStack() as stack:
        engine, target = Engine(stack), pydoca.alloc(4)
        src = stack.enter_context(engine.device.mmap(b"text"))
        dst, _ = lent(stack, engine, target, "pci_read_only")
        with suppress(pydoca.DocaError):
            engine.copy(src, dst, 4)
        return bytes(target) == b"text"


def runs_out_of_imports() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        _, blob = lent(stack, engine, pydoca.alloc(64), "pci_read_only")
        try:
            for _ in range(100):
                engine.device.import_mmap(blob).close()
        except pydoca.NoMemoryError:
            return True
        return False


def writes_less() -> bool:
    with ExitStack() as stack:
        engine, target = Engine(stack), pydoca.alloc(8 * _KIB)
        src = stack.enter_context(engine.device.mmap(pattern(8 * _KIB)))
        dst, _ = lent(stack, engine, target, "pci_read_write")
        engine.copy(src, dst, 8 * _KIB)
        return bytes(target) != pattern(8 * _KIB)


def loses_additions() -> bool:
    with ExitStack() as stack:
        host, device = (stack.enter_context(pydoca.open_device(name)) for name in ("pf0", "p0"))
        event = stack.enter_context(pydoca.SyncEvent(host, publisher="remote_pci"))
        other = stack.enter_context(device.import_sync_event(event.export_to_remote_pci()))
        for _ in range(60):
            other.update_add(1)
        return event.get() != 60


def ends_at_number() -> bool:
    with ExitStack() as stack:
        device = stack.enter_context(pydoca.open_device("p0"))
        event = stack.enter_context(pydoca.SyncEvent(device))
        event.update_set(5)
        try:
            event.wait_gt(5, timeout=0.2)
        except (pydoca.DocaError, TimeoutError):
            return False
        return True


def sets_less() -> bool:
    with ExitStack() as stack:
        device = stack.enter_context(pydoca.open_device("p0"))
        event = stack.enter_context(pydoca.SyncEvent(device))
        event.update_set((1 << 40) + 7)
        return event.get() != (1 << 40) + 7


def loses_sets() -> bool:
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        events = stack.enter_context(pydoca.SyncEvent(device).as_context(pe, 4))
        for number in range(1, 41):
            task = events.notify_set(number)
            task.wait(10)
            look = events.get()
            is_wrong = look.wait(10) != number
            for each in (task, look):
                each.free()
            if is_wrong:
                return True
        return False


def talk(texts: list[bytes]) -> list[bytes]:
    """What the client receives of what the server sends; it ends when a message is missing."""
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        seen: list[bytes] = []
        for text in texts:
            other.send(text or bytes(other.max_msg_size)).wait(10)
            try:
                seen.append(link.recv().wait(1))
            except (pydoca.DocaError, TimeoutError):
                break
        return seen


def cuts_longest() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        text = bytes(other.max_msg_size)
        other.send(text).wait(10)
        return link.recv().wait(10) != text


def loses_messages() -> bool:
    texts = [b"%d" % number for number in range(60)]
    return talk(texts) != texts


def spoils_messages() -> bool:
    texts = [pattern(300)] * 20
    return talk(texts) != texts


def does_not_tell_of_leaving() -> bool:
    gone: list[Any] = []
    with server(on_disconnect=lambda *_: gone.append(1)) as (pe, service, host):
        with comch.Client(pe, host, "check"):
            service.accept().wait(10)
        pe.run_until(lambda: not service.connections, 10)
        pe.drain()
    return not gone


def tells_wrong_immediate() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_read")
        receive, task = pair.ends[1].receive(None), pair.here.send_imm(None, 0x01020304)
        task.wait(10)
        receive.wait(10)
        immediate = receive.result_immediate_data
        task.free()
        receive.free()
        return immediate != 0x01020304


def over_network(kind: str, length: int, access: str, count: int = 1) -> bool:
    """Tells whether a read or a write, or one of several, has brought all."""
    with ExitStack() as stack:
        pair, here, there = Pair(stack, "rdma_read|rdma_write"), pydoca.alloc(length), pydoca.alloc(length)
        mine = stack.enter_context(pair.devices[0].mmap(here))
        area = stack.enter_context(pair.devices[1].mmap(there, access=f"local_read_write|{access}"))
        remote = stack.enter_context(pair.devices[0].import_mmap(area.export_rdma()))
        for number in range(count):
            near, far = pattern(length, number), pattern(length, number + 100)
            here[:], there[:] = near, far
            src, dst = (remote, mine) if kind == "read" else (mine, remote)
            with pair.bufs.get_by_data(src) as source, pair.bufs.get_by_addr(dst) as sink:
                task = getattr(pair.here, kind)(source, sink)
                try:
                    task.wait(10)
                finally:
                    task.free()
            if (bytes(here), bytes(there)) != ((far, far) if kind == "read" else (near, near)):
                return False
        return True


def writes_wrongly() -> bool:
    return not over_network("write", 9000, "rdma_write", 8)


def reads_wrongly() -> bool:
    return not over_network("read", 101, "rdma_read")


def writes_to_readable() -> bool:
    with suppress(pydoca.DocaError):
        return over_network("write", 64, "rdma_read")
    return False


def keeps_ports() -> bool:
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        end = stack.enter_context(pydoca.Rdma(pe, device))
        try:
            for _ in range(3):
                end.listen(5060).close()
        except pydoca.AlreadyExistError:
            return True
        return False


def hashes_wrongly() -> bool:
    with ExitStack() as stack:
        hasher = Hasher(stack, pattern(200))
        digests = [hasher.digest(0, length, "sha256") for length in range(1, 200)]
        return digests != [hashlib.sha256(pattern(200)[:length]).digest() for length in range(1, 200)]


def expands_wrongly() -> bool:
    plain = pattern(64 * _KIB)
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        engine, bufs = stack.enter_context(pydoca.Compress(pe, device)), stack.enter_context(pydoca.BufInventory(2))
        target = pydoca.alloc(len(plain))
        src = stack.enter_context(device.mmap(deflated(plain)))
        dst = stack.enter_context(device.mmap(target))
        with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
            task = engine.decompress_deflate(source, sink)
            task.wait(10)
            task.free()
        return bytes(target) != plain


def starts_twice_only() -> bool:
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        dma = stack.enter_context(pydoca.Dma(pe, device))
        try:
            for _ in range(4):
                dma.stop()
                pe.run_until(lambda: dma.state is pydoca.ContextState.IDLE, 10)
                dma.start()
        except pydoca.BadStateError:
            return True
        return False


def sleeps_on() -> bool:
    with ExitStack() as stack:
        copy = Copy(stack)
        pe = copy.engine.pe
        for _ in range(20):
            pe.drain()
            pe.request_notification()
            with copy.task(submit=True) as task:
                is_readable = bool(select.select([pe], [], [], 1)[0])
                pe.clear_notification()
                task.wait(10)
            if not is_readable:
                return True
    return False


def skips_functions() -> bool:
    calls: list[Any] = []
    with ExitStack() as stack:
        copy = Copy(stack)
        graph = pydoca.Graph(copy.engine.pe)
        first = graph.node(copy.engine.dma)
        node = graph.node(lambda data: calls.append(data), after=[first])
        stack.enter_context(graph)
        for number in range(20):
            with copy.task() as task:
                run = graph.run({first: task, node: number})
                run.wait(10)
                run.destroy()
    return calls != list(range(20))


DEFECTS = defects_of(
    (
        "dma-odd-source",
        "A copy from an address that is not a multiple of four has a wrong bit in its last byte.",
        odd_source,
        odd_source_is_wrong,
    ),
    (
        "dma-page-crossing",
        "One in four copies to more than one page has a wrong bit at the begin of the second page.",
        page_crossing,
        crossing_is_wrong,
    ),
    (
        "dma-partial-line",
        "Copies of more than 4 KiB leave out what is after the last multiple of 64 bytes.",
        partial_line,
        partial_line_is_wrong,
    ),
    (
        "dma-fourth-of-list",
        "The fourth buf of a source list comes with a wrong bit in its first byte.",
        fourth_of_list,
        list_is_wrong,
    ),
    (
        "dma-busy-engine",
        "One in eight copies that are submitted while others are in flight has a wrong bit in the middle.",
        busy_engine,
        busy_one_is_wrong,
    ),
    (
        "dma-length-of-append",
        "A buf that had data before a copy has the length of the copy afterwards.",
        length_of_append,
        tells_length_of_append,
    ),
    ("dma-stalls", "One in 25 copies takes 100 ms longer.", stalls, is_stalled),
    (
        "dma-cut-to-room",
        "A copy of more than its destination has room for succeeds, and is cut off.",
        cut_to_room,
        takes_too_long_ones,
    ),
    (
        "mmap-read-only-written",
        "Copies to memory of a map that is for reading only are done.",
        read_only_to_write,
        writes_to_read_only,
    ),
    (
        "pci-read-only-written",
        "Copies to memory of the other side that is lent for reading only are done.",
        lent_to_write,
        writes_to_lent,
    ),
    (
        "pci-leaking-imports",
        "An import of memory that is closed keeps its entry: a device has 64 of them.",
        leaking_imports,
        runs_out_of_imports,
    ),
    (
        "pci-short-writes",
        "Copies of more than 4 KiB to memory of the other side leave out the last 64 bytes.",
        short_writes,
        writes_less,
    ),
    (
        "sync-lost-additions",
        "One in 20 additions by the other side is lost.",
        lost_additions,
        loses_additions,
    ),
    (
        "sync-not-less",
        "What waits for more than a number ends at the number.",
        not_less,
        ends_at_number,
    ),
    ("sync-narrow-set", "Of a number that an event is set to the lower 32 bits are stored.", narrow_set, sets_less),
    (
        "sync-lost-sets",
        "One in 20 tasks that set an event gives it the number of the task before.",
        lost_sets,
        loses_sets,
    ),
    (
        "comch-longest-message",
        "A message of the maximum length comes without its last byte.",
        longest_message,
        cuts_longest,
    ),
    ("comch-lost-messages", "A receiver loses one in 25 messages.", lost_messages, loses_messages),
    (
        "comch-wrong-bit",
        "One in ten messages of more than 256 bytes has a wrong bit.",
        wrong_bit,
        spoils_messages,
    ),
    (
        "comch-silent-leaving",
        "A server is not told that a client has left.",
        silent_leaving,
        does_not_tell_of_leaving,
    ),
    (
        "rdma-immediate-order",
        "A receiver gets the bytes of immediate data in the opposite order.",
        immediate_order,
        tells_wrong_immediate,
    ),
    (
        "rdma-second-packet",
        "One in four writes of more than 4 KiB has a wrong bit in the byte after the first 4 KiB.",
        second_packet,
        writes_wrongly,
    ),
    (
        "rdma-remainder-of-read",
        "A read whose length is not a multiple of four has a wrong bit in its last byte.",
        remainder_of_read,
        reads_wrongly,
    ),
    (
        "rdma-read-only-written",
        "Memory that peers may read can be written by them, too.",
        read_to_write,
        writes_to_readable,
    ),
    (
        "rdma-kept-ports",
        "A port whose listener was closed cannot be listened at again.",
        kept_ports,
        keeps_ports,
    ),
    (
        "sha-padding-block",
        "The digest of a message whose padding needs a block of its own has a wrong bit.",
        padding_block,
        hashes_wrongly,
        "bluefield2",
    ),
    (
        "inflate-window-end",
        "Plain data of more than 32 KiB has a wrong bit in the byte after the first 32 KiB.",
        window_end,
        expands_wrongly,
    ),
    (
        "context-few-starts",
        "The context of a copy engine can be started twice, and not a third time.",
        few_starts,
        starts_twice_only,
    ),
    (
        "notification-lost-requests",
        "One in ten requests for a notification is forgotten.",
        lost_requests,
        sleeps_on,
    ),
    (
        "graph-skipped-functions",
        "One in ten functions of a graph is taken for done, and not called.",
        skipped_functions,
        skips_functions,
    ),
)

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    plant_from(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
