"""Thirty more defects of a device, of other kinds than those of the five programs before.

They were also written without a look at the cases.

usage: unseen_sixth.py list
       unseen_sixth.py check [NAME...]              # each is visible by the public API, and only when it is planted
       unseen_sixth.py run NAME LEVEL DIRECTORY     # NAME: a defect, or none, or hooks (replaced, and harmless)
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
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parent))  # python -P needs it

import unseen_defects
from unseen_again import Slots
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
    is_writable,
    main,
    pattern,
    peek,
    replaced,
    server,
    spoiled,
    spoiled_copies,
    together,
    watched,
    with_argument,
)
from unseen_fifth import lent_by_host
from unseen_fourth import after_copies

import pydoca
from pydoca import comch, faults

_PAGE = 4096
_LINE = 64
_MOST = 2**64 - 1

# Copies


def crosstalk() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        if work.length < _LINE or work.src.mmap.is_from_export or peek(work.source, _LINE) != b"\xff" * _LINE:
            return []
        return [(work.target + 31, b"\xfb")]

    return spoiled_copies(spoil)


def partial_line() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        rest = work.length % _LINE
        if work.length <= _PAGE or not rest:
            return []
        place = work.target + work.length - rest
        return [(place, peek(place, rest))]

    return spoiled_copies(spoil)


def whole_word() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        end, area = work.target + work.length, work.dst.mmap
        more = min(4 - work.length, area.addr + area.len - end)
        return [(end, bytes(more))] if more > 0 else []

    return spoiled_copies(spoil)


def short_length() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def watch(task: Any) -> None:
        if next(count) % 250 == 0:
            task.add_done_callback(shorten)

    def shorten(task: Any) -> None:
        with suppress(pydoca.DocaError):
            if task.dst is not None and not task.status and task.dst.list_len == 1 and task.dst.data_len:
                task.dst.data_len -= 1

    return watched(pydoca.Dma, "memcpy", lambda task: isinstance(task, pydoca.DmaMemcpyTask), watch)


def spoiled_source() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def spoil(work: Work) -> list[Patch]:
        if not is_writable(work.src) or work.length < 16:
            return []
        memory = work.src.mmap.memory
        owner = memory.obj if isinstance(memory, memoryview) else memory
        if not isinstance(owner, pydoca.Memory) or next(count) % 300:
            return []
        last = work.source + work.length - 1
        return [(last, bytes([peek(last, 1)[0] ^ 0x10]))]

    return spoiled_copies(spoil)


# Memory maps


def _widened(access: Any) -> Any:
    """The permissions, widened so that a device may write all that it may read."""
    read, write = pydoca.Access.LOCAL_READ_ONLY, pydoca.Access.LOCAL_READ_WRITE
    if isinstance(access, str):
        return "|".join("local_read_write" if word == "local_read_only" else word for word in access.split("|"))
    return access if access is None or access & write else access & ~read | write


def written_read_only() -> AbstractContextManager[None]:
    """Lets the owner's devices write memory that they may only read; the owner does not learn of it."""
    wide: weakref.WeakSet[Any] = weakref.WeakSet()
    read, write = pydoca.Access.LOCAL_READ_ONLY, pydoca.Access.LOCAL_READ_WRITE

    def make(place: int | None, returns: bool) -> Callable[[Function], Function]:
        def of(original: Function) -> Function:
            @functools.wraps(original)
            def call(self: Any, *arguments: Any, **keys: Any) -> Any:
                is_placed = place is not None and len(arguments) > place
                given = arguments[0] if is_placed else keys.get("access")
                more = _widened(given)
                if more == given:
                    return original(self, *arguments, **keys)
                try:
                    if is_placed:
                        result = original(self, more)
                    else:
                        result = original(self, *arguments, **{**keys, "access": more})
                except pydoca.InvalidValueError:  # the memory is read-only
                    return original(self, *arguments, **keys)
                wide.add(result if returns else self)
                return result

            return call

        return of

    def make_hidden(original: Any) -> property:
        def get(self: Any) -> Any:
            value = original.__get__(self)
            return value & ~write | read if self in wide else value

        return property(get)

    return together(
        replaced(pydoca.Device, "mmap", make(None, returns=True)),
        replaced(pydoca.Mmap, "__init__", make(None, returns=False)),
        replaced(pydoca.Mmap, "set_permissions", make(0, returns=False)),
        replaced(pydoca.Mmap, "access", make_hidden),
    )


def kept_permissions() -> AbstractContextManager[None]:
    """Keeps the permissions of a map's first start; the owner sees those that it has set."""
    used: weakref.WeakSet[Any] = weakref.WeakSet()
    told: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def make_told(original: Any) -> property:
        return property(lambda self: told[self] if self in told else original.__get__(self))

    def make(original: Function) -> Function:
        real = pydoca.Mmap.access

        @functools.wraps(original)
        def set_permissions(self: Any, access: Any) -> None:
            before = real.__get__(self)
            original(self, access)
            if self in used:
                told[self] = real.__get__(self)
                original(self, before)

        return set_permissions

    def note(area: Any) -> None:
        if area.is_started and not area.is_from_export:
            used.add(area)

    return together(
        replaced(pydoca.Mmap, "set_permissions", make),
        replaced(pydoca.Mmap, "stop", before_each(note)),
        replaced(pydoca.Mmap, "access", make_told),
    )


def whole_pages() -> AbstractContextManager[None]:
    def make(original: Any) -> property:
        def get(self: Any) -> int:
            length = int(original.__get__(self))
            return (length + _PAGE - 1) // _PAGE * _PAGE if self.is_from_export else length

        return property(get)

    return replaced(pydoca.Mmap, "len", make)


def imported_once() -> AbstractContextManager[None]:
    known: weakref.WeakKeyDictionary[Any, tuple[str, bytes]] = weakref.WeakKeyDictionary()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def import_mmap(self: Any, blob: Any, **keys: Any) -> Any:
            made = original(self, blob, **keys)
            key = (self.name, bytes(blob))
            if any(each.is_started and other == key for each, other in list(known.items())):
                made.close()
                raise pydoca.AlreadyExistError(f"import_mmap: {self.name} has this memory already")
            known[made] = key
            return made

        return import_mmap

    return replaced(pydoca.Device, "import_mmap", make)


# Bufs


def moved_duplicates() -> AbstractContextManager[None]:
    def move(_: object, made: Any) -> None:
        for buf in made:
            if buf.headroom:
                buf.set_data(buf.head, buf.data_len)

    return replaced(pydoca.BufInventory, "dup", after_each(move))


def last_of_pool() -> AbstractContextManager[None]:
    def refuse(pool: Any) -> None:
        if pool.is_started and pool.num_elements > 1 and pool.num_free_elements == 1:
            raise pydoca.EmptyError("alloc: all elements are out")

    return replaced(pydoca.BufPool, "alloc", before_each(refuse))


# Sync events


def saturation() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def update_add(self: pydoca.SyncEvent, value: Any) -> int:
            before = int(original(self, value))
            if before + int(value) > _MOST:
                self.update_set(_MOST)
            return before

        return update_add

    return replaced(pydoca.SyncEvent, "update_add", make)


def early_time_out() -> AbstractContextManager[None]:
    shorter = with_argument(99, "timeout", lambda timeout: None if timeout is None else timeout / 3)
    names = ["wait_eq", "wait_neq", "wait_gt"]
    names += [f"{name}_yield" for name in names]
    return together(*(replaced(pydoca.SyncEvent, name, shorter) for name in names))


def stale_imports() -> AbstractContextManager[None]:
    seen: weakref.WeakKeyDictionary[Any, tuple[float, int]] = weakref.WeakKeyDictionary()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def get(self: pydoca.SyncEvent) -> int:
            value = int(original(self))
            if not self.is_from_export:
                return value
            now = time.monotonic()
            then, before = seen.get(self, (0.0, 0))
            if now < then + 0.02:
                return before
            seen[self] = now, value
            return value

        return get

    forget = before_each(lambda counter: seen.pop(counter, None))
    return together(
        replaced(pydoca.SyncEvent, "get", make),
        replaced(pydoca.SyncEvent, "update_set", forget),
        replaced(pydoca.SyncEvent, "update_add", forget),
    )


# SHA


def long_messages() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        if work.length <= 65536 or work.src.mmap.is_from_export:
            return []
        message = hashlib.new(work.algorithm, peek(work.source, work.length // 65536 * 65536 - 1))
        return [(work.target, message.digest())] if work.dst.tailroom >= message.digest_size else []

    return spoiled(pydoca.Sha, "hash", pydoca.ShaHashTask, spoil)


def grown_too_much() -> AbstractContextManager[None]:
    def watch(task: Any) -> None:
        if task.algorithm == "sha1":
            task.add_done_callback(grow)

    def grow(task: Any) -> None:
        with suppress(pydoca.DocaError):
            if task.dst is not None and not task.status and task.dst.list_len == 1:
                task.dst.data_len += min(12, task.dst.tailroom)

    return watched(pydoca.Sha, "hash", lambda task: isinstance(task, pydoca.ShaHashTask), watch)


# RDMA


def bit_in_packet() -> AbstractContextManager[object]:
    def is_long(written: faults.FaultOperation) -> bool:
        return written.length > 1024

    return faults.inject(faults.FaultRule("corrupt", "rdma.write", offset=1024, every=10, when=is_long))


def rdma_message_twice() -> AbstractContextManager[object]:
    return faults.inject(faults.FaultRule("duplicate", "rdma.send", every=100))


def wrong_opcode() -> AbstractContextManager[None]:
    sent, written = pydoca.RdmaOpcode.RECV_SEND_WITH_IMM, pydoca.RdmaOpcode.RECV_WRITE_WITH_IMM

    def make(original: Any) -> property:
        def get(self: Any) -> Any:
            opcode = original.__get__(self)
            return sent if opcode == written else opcode

        return property(get)

    return replaced(pydoca.RdmaTask, "result_opcode", make)


def untold_end() -> AbstractContextManager[None]:
    own: set[int] = set()

    def note(connection: Any) -> None:
        own.add(id(connection))

    def seldom(function: Function | None) -> Function | None:
        if function is None:
            return None

        @functools.wraps(function)
        def call(connection: Any, *arguments: Any) -> Any:
            if id(connection) in own:
                own.discard(id(connection))
                return function(connection, *arguments)
            return None

        return call

    return together(
        replaced(pydoca.RdmaConnection, "disconnect", before_each(note)),
        replaced(pydoca.Rdma, "__init__", with_argument(99, "on_disconnect", seldom)),
    )


# Comch


def one_server() -> AbstractContextManager[None]:
    known: weakref.WeakSet[Any] = weakref.WeakSet()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def init(self: Any, *arguments: Any, **keys: Any) -> None:
            original(self, *arguments, **keys)
            for other in known:
                is_same = other.representor.pci_addr == self.representor.pci_addr
                if is_same and other.state is pydoca.ContextState.RUNNING:
                    raise pydoca.DriverError(f"Server: {self.device.name} has no channel left for {self.name}")
            known.add(self)

        return init

    return replaced(comch.Server, "__init__", make)


def lost_zero() -> AbstractContextManager[None]:
    def cut(data: Any) -> Any:
        message = memoryview(data).cast("B")
        return bytes(message[:-1]) if len(message) > 1 and not message[-1] else data

    return replaced(comch.Connection, "send", with_argument(0, "data", cut))


def late_messages() -> AbstractContextManager[object]:
    return faults.inject(faults.FaultRule("delay", "comch.send", by="30 ms", every=100))


# Graphs


def functions_twice() -> AbstractContextManager[None]:
    count = itertools.count(1)
    meant: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def twice(source: Any) -> Any:
        if isinstance(source, pydoca.Context | pydoca.Graph) or not callable(source):
            return source

        def call(cookie: Any) -> None:
            source(cookie)
            if next(count) % 10 == 0:
                source(cookie)

        meant[call] = source
        return call

    def make_source(original: Any) -> property:
        def get(self: Any) -> Any:
            source = original.__get__(self)
            return source if isinstance(source, pydoca.Context | pydoca.Graph) else meant.get(source, source)

        return property(get)

    return together(
        replaced(pydoca.Graph, "node", with_argument(0, "source", twice)),
        replaced(pydoca.GraphNode, "source", make_source),
    )


# Contexts and engines


def lost_wake() -> AbstractContextManager[object]:
    return faults.inject(faults.FaultRule("lose_notification", "dma.memcpy", every=100))


def false_again() -> AbstractContextManager[object]:
    return faults.inject(faults.FaultRule("full", "dma.memcpy", every=300))


def half_the_tasks() -> AbstractContextManager[None]:
    starts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def note(context: Any) -> None:
        starts[context] = starts.get(context, 0) + 1

    def refuse(dma: Any) -> None:
        is_again = starts.get(dma, 0) > 1 and dma.num_tasks > 1
        if is_again and dma._snapshot(0)[8] >= dma.num_tasks // 2:  # allocated tasks are in the way
            raise pydoca.NoMemoryError("memcpy: all tasks are allocated")

    return together(
        replaced(pydoca.Context, "start", before_each(note)),
        replaced(pydoca.Dma, "memcpy", before_each(refuse)),
    )


# Properties of the device


class _Moment(NamedTuple):
    host: int
    nic: int
    accuracy: int


def late_cross() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def crosstimestamp(self: Any, host: Any, nic: Any) -> Any:
            both = original(self, host, nic)
            name = nic if isinstance(nic, str) else nic.name.lower()
            return _Moment(both.host, both.nic - 5_000_000, both.accuracy) if name == "nic_real_time" else both

        return crosstimestamp

    return replaced(pydoca.Clock, "crosstimestamp", make)


# Leaks, and slow operations


def leak_of_tasks() -> AbstractContextManager[None]:
    kept: list[bytearray] = []

    def keep(*_: object) -> None:
        if len(kept) < 200_000:
            kept.append(bytearray(b"\x01") * 1024)

    return replaced(pydoca.Dma, "memcpy", after_each(keep))


def slow_second() -> AbstractContextManager[None]:
    count = itertools.count(1)
    slow: weakref.WeakSet[Any] = weakref.WeakSet()

    def note(dma: Any, _: object) -> None:
        if next(count) % 2 == 0:
            slow.add(dma)

    def begin(context: Any, *_: object) -> None:
        if context in slow:
            time.sleep(0.001)

    return together(replaced(pydoca.Dma, "__init__", after_each(note)), after_copies(begin))


# Checks that show a defect without the suite


def copies_wrongly(data: bytes) -> bool:
    """Tells whether the bytes that a copy writes, or those behind them, differ."""
    target = pydoca.alloc(len(data) + _LINE)
    target[:] = b"\xaa" * len(target)
    with ExitStack() as stack:
        engine = Engine(stack)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (data, target))
        engine.copy(src, dst, len(data))
    return bytes(target) != data + b"\xaa" * _LINE


def tells_short_length() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        for _ in range(600):
            task = slots.submit(0)
            task.wait(10)
            length = task.dst.data_len if task.dst else 64
            task.free()
            if length != 64:
                return True
    return False


def spoils_source() -> bool:
    memory = pydoca.alloc(64)
    memory[:] = pattern(64)
    with ExitStack() as stack:
        engine = Engine(stack)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (memory, pydoca.alloc(64)))
        for _ in range(350):
            engine.copy(src, dst, 64)
    return bytes(memory) != pattern(64)


def writes_read_only() -> bool:
    target = pydoca.alloc(64)
    with ExitStack() as stack:
        engine = Engine(stack)
        src = stack.enter_context(engine.device.mmap(pattern(64)))
        dst = stack.enter_context(engine.device.mmap(target, access="local_read_only"))
        with suppress(pydoca.DocaError):
            engine.copy(src, dst, 64)
        return bytes(target) == pattern(64) and not dst.access & pydoca.Access.LOCAL_READ_WRITE


def keeps_permissions() -> bool:
    memory = pydoca.alloc(64)
    with ExitStack() as stack:
        engine = Engine(stack)
        host = stack.enter_context(pydoca.open_device("pf0"))
        lent = stack.enter_context(host.mmap(memory, access="pci_read_only"))
        lent.stop()
        lent.set_permissions("pci_read_write")
        lent.start()
        dst = stack.enter_context(engine.device.import_mmap(lent.export_pci()))
        src = stack.enter_context(engine.device.mmap(pattern(64)))
        with suppress(pydoca.DocaError):
            engine.copy(src, dst, 64)
    return bytes(memory) != pattern(64)


def tells_whole_pages() -> bool:
    with lent_by_host(100) as (device, blob), device.import_mmap(blob) as remote:
        return remote.len != 100


def imports_once() -> bool:
    with lent_by_host(64) as (device, blob), device.import_mmap(blob):
        try:
            device.import_mmap(blob).close()
        except pydoca.AlreadyExistError:
            return True
    return False


def moves_duplicates() -> bool:
    with (
        pydoca.open_device("p0") as device,
        device.mmap(pydoca.alloc(64)) as area,
        pydoca.BufInventory(2) as bufs,
        bufs.get_by_args(area, area.addr, 64, area.addr + 16, 8) as first,
        bufs.dup(first) as second,
    ):
        return second.data != first.data


def lacks_an_element() -> bool:
    with (
        pydoca.open_device("p0") as device,
        device.mmap(pydoca.alloc(_PAGE)) as area,
        pydoca.BufPool(4, 64, area) as pool,
    ):
        bufs = []
        with suppress(pydoca.EmptyError):
            for _ in range(4):
                bufs.append(pool.alloc())
        count = len(bufs)
        for buf in bufs:
            buf.close()
    return count < 4


def saturates() -> bool:
    with event() as counter:
        counter.update_set(5)
        counter.update_add(_MOST)
        return counter.get() != 4


def gives_up_early() -> bool:
    with event() as counter:
        begin = time.monotonic()
        with suppress(pydoca.TimeOutError):
            counter.wait_eq(1, timeout=0.3)
        return time.monotonic() < begin + 0.25


def reads_stale_values() -> bool:
    with ExitStack() as stack:
        dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
        owner = stack.enter_context(pydoca.SyncEvent(host, subscriber="remote_pci"))
        other = stack.enter_context(dpu.import_sync_event(owner.export_to_remote_pci()))
        for number in range(1, 10):
            owner.update_set(number)
            if other.get() != number:
                return True
    return False


def digest_of(data: bytes, algorithm: Any, room: int) -> tuple[bytes, int]:
    """The digest that the device writes, and the length that it tells."""
    target = pydoca.alloc(room)
    with ExitStack() as stack:
        device, pe = stack.enter_context(pydoca.open_device("p0")), stack.enter_context(pydoca.ProgressEngine())
        sha, bufs = stack.enter_context(pydoca.Sha(pe, device)), stack.enter_context(pydoca.BufInventory(2))
        src, dst = (stack.enter_context(device.mmap(each)) for each in (data, target))
        with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
            task = sha.hash(source, sink, algorithm)
            task.wait(10)
            task.free()
            length = sink.data_len
    return bytes(target), length


def hashes_long_wrongly() -> bool:
    data = pattern(100_000)
    return digest_of(data, "sha256", 32)[0] != hashlib.sha256(data).digest()


def grows_too_much() -> bool:
    return digest_of(pattern(100), "sha1", 64)[1] != 20


def writes_wrong_bit() -> bool:
    data, memory = pattern(3000), pydoca.alloc(3000)
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        lent = stack.enter_context(pair.devices[1].mmap(memory, access="local_read_write|rdma_write"))
        remote = stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))
        text = stack.enter_context(pair.devices[0].mmap(data))
        with pair.bufs.get_by_data(text) as source, pair.bufs.get_by_addr(remote) as sink:
            for _ in range(30):
                task = pair.here.write(source, sink)
                task.wait(10)
                task.free()
                if bytes(memory) != data:
                    return True
    return False


def repeats_messages() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        text = pydoca.alloc(4)
        memory = pydoca.alloc(4)
        src = stack.enter_context(pair.devices[0].mmap(text))
        dst = stack.enter_context(pair.devices[1].mmap(memory))
        is_wrong = False
        with pair.bufs.get_by_data(src) as source, pair.bufs.get_by_addr(dst) as sink:
            for number in range(250):
                text[:] = number.to_bytes(4, "little")
                sink.reset_data_len()
                receive = pair.ends[1].receive(sink)
                send = pair.here.send(source)
                receive.wait(10)
                with suppress(pydoca.TimeOutError):
                    send.wait(1)
                if not send.done:  # the task goes on with its second message
                    is_wrong = True
                    sink.reset_data_len()
                    receive.submit()
                    receive.wait(10)
                    send.wait(10)
                receive.free()
                send.free()
                if is_wrong or bytes(memory) != bytes(text):
                    is_wrong = True
                    break
        return is_wrong


def tells_wrong_opcode() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        lent = stack.enter_context(pair.devices[1].mmap(pydoca.alloc(8), access="local_read_write|rdma_write"))
        remote = stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))
        text = stack.enter_context(pair.devices[0].mmap(b"written!"))
        receive = pair.ends[1].receive(None)
        pair.here.write_imm(pair.bufs.get_by_data(text), pair.bufs.get_by_addr(remote), 7).wait(10)
        receive.wait(10)
        return receive.result_opcode is not pydoca.RdmaOpcode.RECV_WRITE_WITH_IMM


def leaves_untold() -> bool:
    ended: list[Any] = []
    with ExitStack() as stack:
        devices = [stack.enter_context(pydoca.open_device(name)) for name in ("p0", "p1")]
        pe = stack.enter_context(pydoca.ProgressEngine())
        first = stack.enter_context(pydoca.Rdma(pe, devices[0]))
        other = stack.enter_context(pydoca.Rdma(pe, devices[1], on_disconnect=lambda *_: ended.append(1)))
        here, there = first.export(), other.export()
        here.connect(there.details)
        there.connect(here.details)
        here.disconnect().wait(10)
        there.ended().wait(10)
        with suppress(pydoca.TimeOutError):
            pe.run_until(lambda: ended, 0.3)
    return not ended


def takes_one_server() -> bool:
    with server() as (pe, service, _):
        try:
            with comch.Server(pe, service.device, service.representor, "another"):
                pass
        except pydoca.DriverError:
            return True
    return False


def loses_zero() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        link.send(b"text\0\0")
        return other.recv().wait(10) != b"text\0\0"


def sends_late() -> bool:
    times = []
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        for _ in range(350):
            begin = time.perf_counter()
            link.send(b"text").wait(10)
            other.recv().wait(10)
            times.append(time.perf_counter() - begin)
    return sorted(times)[-3] > 0.025


def calls_twice() -> bool:
    seen: list[int] = []
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        graph = pydoca.Graph(slots.pe)
        moved = graph.node(slots.dma)
        check = graph.node(seen.append, after=[moved])
        stack.enter_context(graph)
        source, sink = slots.bufs.get_by_data(slots.src), slots.bufs.get_by_addr(slots.dst)
        task = slots.dma.memcpy(source, sink, submit=False)
        run = graph.create_instance({moved: task, check: 0})
        for _ in range(15):
            run.submit()
            run.wait(10)
            sink.reset_data_len()
        run.destroy()
        task.free()
        del source, sink, task, run
    return len(seen) != 15


def sleeps_on() -> bool:
    is_asleep = False
    with ExitStack() as stack:
        slots = Slots(stack, 2)
        for _ in range(250):
            tasks = [slots.submit(0)]
            try:
                slots.pe.wait(0.5)
            except pydoca.TimeOutError:
                is_asleep = True
                tasks.append(slots.submit(1))  # this brings the other completion
            for task in tasks:
                task.wait(10)
                task.free()
            if is_asleep:
                break
    return is_asleep


def is_falsely_full() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 4)
        for _ in range(700):
            try:
                task = slots.submit(0)
            except pydoca.AgainError:
                return True
            task.wait(10)
            task.free()
    return False


def has_half_the_tasks() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 8)
        slots.dma.stop()
        slots.dma.start()
        tasks = []
        with suppress(pydoca.NoMemoryError):
            for number in range(8):
                tasks.append(slots.submit(number))
        for task in tasks:
            task.wait(10)
            task.free()
    return len(tasks) < 8


def crosses_late() -> bool:
    with pydoca.open_device("p0") as device, pydoca.Clock(device) as clock:
        before = clock.timestamp("nic_real_time")
        return bool(clock.crosstimestamp("host_real_time", "nic_real_time").nic < before)


def tasks_grow() -> bool:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE

    with ExitStack() as stack:
        slots = Slots(stack, 1)
        begin = 0
        for number in range(8000):
            begin = resident() if number == 1000 else begin
            task = slots.submit(0)
            task.wait(10)
            task.free()
        return resident() - begin > 4 << 20


def is_slow_again() -> bool:
    fastest = []
    for _ in range(2):
        with ExitStack() as stack:
            slots, times = Slots(stack, 1), []
            for _ in range(50):
                begin = time.perf_counter()
                task = slots.submit(0)
                task.wait(10)
                times.append(time.perf_counter() - begin)
                task.free()
            fastest.append(min(times))
    return fastest[1] > fastest[0] + 0.0008


DEFECTS = [
    Defect(
        "dma-crosstalk",
        "A copy that begins with 64 bytes of ones in each bit has one bit of them cleared.",
        crosstalk,
        lambda: copies_wrongly(b"\xff" * 256),
    ),
    Defect(
        "dma-partial-line",
        "Copies of more than 4,096 bytes leave out what is behind the last multiple of 64 bytes.",
        partial_line,
        lambda: copies_wrongly(pattern(5000)),
    ),
    Defect(
        "dma-whole-word",
        "Copies of less than four bytes write four, with zeros behind the data.",
        whole_word,
        lambda: copies_wrongly(b"ab"),
    ),
    Defect(
        "dma-short-length",
        "One in 250 copies lets the data_len of its destination grow by one byte less than it has copied.",
        short_length,
        tells_short_length,
    ),
    Defect(
        "dma-spoiled-source",
        "One in 300 copies changes a bit of the last byte of its source.",
        spoiled_source,
        spoils_source,
    ),
    Defect(
        "map-read-only-written",
        "The device writes to memory maps that are local_read_only.",
        written_read_only,
        writes_read_only,
    ),
    Defect(
        "map-kept-permissions",
        "A memory map that is started again has the permissions of its first start, whatever was set since.",
        kept_permissions,
        keeps_permissions,
    ),
    Defect(
        "import-whole-pages",
        "An imported memory map tells its length rounded up to whole pages.",
        whole_pages,
        tells_whole_pages,
    ),
    Defect(
        "import-once",
        "Memory of others that is imported already cannot be imported a second time.",
        imported_once,
        imports_once,
    ),
    Defect(
        "buf-moved-duplicate",
        "The data of a duplicate of a buf begins at its head, whatever the headroom is.",
        moved_duplicates,
        moves_duplicates,
    ),
    Defect(
        "pool-last-element",
        "A pool never gives its last element.",
        last_of_pool,
        lacks_an_element,
    ),
    Defect(
        "sync-saturation",
        "An addition to a sync event that should wrap around ends at the greatest value.",
        saturation,
        saturates,
    ),
    Defect(
        "sync-early-time-out",
        "A wait for a sync event gives up after a third of its timeout.",
        early_time_out,
        gives_up_early,
    ),
    Defect(
        "sync-stale-import",
        "Reads of an imported sync event give the value of up to 20 ms before.",
        stale_imports,
        reads_stale_values,
    ),
    Defect(
        "sha-long-message",
        "The digest of a message of more than 64 KiB is of a part of it.",
        long_messages,
        hashes_long_wrongly,
        profile="bluefield2",
    ),
    Defect(
        "sha-grown-length",
        "A SHA-1 digest lets the data_len of its destination grow by 32 in place of 20.",
        grown_too_much,
        grows_too_much,
        profile="bluefield2",
    ),
    Defect(
        "rdma-bit-in-packet",
        "One in ten writes of more than 1,024 bytes has a wrong bit in the byte 1,024.",
        bit_in_packet,
        writes_wrong_bit,
    ),
    Defect(
        "rdma-message-twice",
        "One in 100 messages over the network arrives twice.",
        rdma_message_twice,
        repeats_messages,
    ),
    Defect(
        "rdma-wrong-opcode",
        "A receive of a write with immediate data tells that it was a message.",
        wrong_opcode,
        tells_wrong_opcode,
    ),
    Defect(
        "rdma-untold-end",
        "The on_disconnect of an Rdma is not called when the peer ends the connection.",
        untold_end,
        leaves_untold,
    ),
    Defect(
        "comch-one-server",
        "A function of the host has one server at a time.",
        one_server,
        takes_one_server,
    ),
    Defect(
        "comch-lost-zero",
        "A message that ends with a zero arrives without it.",
        lost_zero,
        loses_zero,
    ),
    Defect(
        "comch-late",
        "One in 100 messages arrives 30 ms late.",
        late_messages,
        sends_late,
    ),
    Defect(
        "graph-function-twice",
        "One in ten functions of graphs is called twice.",
        functions_twice,
        calls_twice,
    ),
    Defect(
        "pe-lost-wake",
        "The completion of one in 100 copies does not wake an engine that sleeps.",
        lost_wake,
        sleeps_on,
    ),
    Defect(
        "dma-false-again",
        "One in 300 copies is refused with AGAIN, though the queue has room.",
        false_again,
        is_falsely_full,
    ),
    Defect(
        "context-half-the-tasks",
        "A copy engine's context that is started again has half of its tasks.",
        half_the_tasks,
        has_half_the_tasks,
    ),
    Defect(
        "clock-late-cross",
        "The time of day of the device in a cross timestamp is 5 ms old.",
        late_cross,
        crosses_late,
    ),
    Defect(
        "dma-leak",
        "Each copy task leaves 1 KiB of memory behind.",
        leak_of_tasks,
        tasks_grow,
    ),
    Defect(
        "dma-slow-second",
        "The copies of every second context take 1 ms longer.",
        slow_second,
        is_slow_again,
    ),
]

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    """Plants the defect of the run, first of all in each process."""
    unseen_defects.plant_in_started_process(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
