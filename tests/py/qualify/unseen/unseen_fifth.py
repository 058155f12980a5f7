"""Thirty more defects of a device, of other kinds than those of the four programs before.

They were also written without a look at the cases.

usage: unseen_fifth.py list
       unseen_fifth.py check [NAME...]              # each is visible by the public API, and only when it is planted
       unseen_fifth.py run NAME LEVEL DIRECTORY     # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parent))  # python -P needs it

import unseen_defects
from unseen_again import Slots, sha_engine
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
    poke,
    replaced,
    server,
    spoiled,
    spoiled_copies,
    together,
    watched,
    with_argument,
)
from unseen_fourth import after_copies, rooms

import pydoca
from pydoca import comch, faults

_PAGE = 4096
_LINE = 64
_CHUNK = 65536  # what the engine moves in one go
_HALF = 1 << 20
_IMPORTS = 16

# Copies


def chunk_edge() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        length = min(_LINE, work.length - _CHUNK)
        return [(work.target + _CHUNK, peek(work.target + _CHUNK, length))] if length > 0 else []

    return spoiled_copies(spoil)


def cleared_before() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        begin = max(work.target // 4 * 4, work.dst.mmap.addr)
        return [(begin, bytes(work.target - begin))] if begin < work.target else []

    return spoiled_copies(spoil)


def nothing_after_restart() -> AbstractContextManager[None]:
    starts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
    fresh: weakref.WeakSet[Any] = weakref.WeakSet()

    def note(context: Any, _: object) -> None:
        starts[context] = starts.get(context, 0) + 1
        if starts[context] > 1:
            fresh.add(context)

    def begin(context: Any, src: Any, dst: Any) -> Callable[[], object] | None:
        if context not in fresh:
            return None
        fresh.discard(context)
        places = rooms(dst, sum(buf.data_len for buf in src))
        return functools.partial(poke, [(place, peek(place, length)) for place, length in places])

    return together(replaced(pydoca.Context, "start", after_each(note)), after_copies(begin))


def bad_pages() -> AbstractContextManager[None]:
    def is_bad(page: int) -> bool:
        return page % 32 == 17

    def begin(_: Any, src: Any, dst: Any) -> Callable[[], object] | None:
        cells = []
        for place, length in rooms(dst, sum(buf.data_len for buf in src)):
            pages = range(place // _PAGE, (place + length - 1) // _PAGE + 1)
            bad = [page * _PAGE + 100 for page in pages if is_bad(page)]
            cells += [cell for cell in bad if place <= cell < place + length]
        return (lambda: poke([(cell, bytes([peek(cell, 1)[0] ^ 8])) for cell in cells])) if cells else None

    return after_copies(begin)


def early_completion() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def begin(_: Any, src: Any, dst: Any) -> Callable[[], object] | None:
        memory = dst.mmap.memory
        owner = memory.obj if isinstance(memory, memoryview) else memory
        if dst.list_len > 1 or src.list_len > 1 or src.data_len < _PAGE or not isinstance(owner, pydoca.Memory):
            return None
        if next(count) % 20:
            return None
        place = dst.data + dst.data_len + src.data_len - _LINE
        before = peek(place, _LINE)

        def hold_back() -> None:
            now, held = peek(place, _LINE), memoryview(owner)
            poke([(place, before)])

            def arrive() -> None:
                if peek(place, _LINE) == before:
                    poke([(place, now)])
                held.release()

            timer = threading.Timer(0.002, arrive)
            timer.daemon = True
            timer.start()

        return hold_back

    return after_copies(begin)


def half_of_maximum() -> AbstractContextManager[None]:
    def refuse(device: Any, src: Any) -> None:
        if src is not None and sum(buf.data_len for buf in src) > _HALF:
            raise pydoca.DriverError(f"memcpy: the firmware of {device.name} refuses the length")

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def memcpy(self: Any, src: Any, dst: Any, **keys: Any) -> Any:
            refuse(self.device, src)
            return original(self, src, dst, **keys)

        return memcpy

    def of_task(task: Any) -> None:
        if isinstance(task, pydoca.DmaMemcpyTask):
            refuse(task.context.device, task.src)

    return together(
        replaced(pydoca.Dma, "memcpy", make),
        replaced(pydoca.Task, "submit", before_each(of_task)),
        replaced(pydoca.Task, "try_submit", before_each(of_task)),
    )


# Memory maps


def _widened(access: Any) -> Any:
    """The permissions, widened so that the other side may write all that it may read."""
    if isinstance(access, str):
        return "|".join("pci_read_write" if word == "pci_read_only" else word for word in access.split("|"))
    read, write = pydoca.Access.PCI_READ_ONLY, pydoca.Access.PCI_READ_WRITE
    return access & ~read | write if access is not None and access & read else access


def writable_from_host() -> AbstractContextManager[None]:
    """Lets the other side of the link write all memory that it may read; the owner does not learn of it."""
    wide: weakref.WeakSet[Any] = weakref.WeakSet()
    read, write = pydoca.Access.PCI_READ_ONLY, pydoca.Access.PCI_READ_WRITE

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


def stop_in_use() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        def stop(self: Any) -> None:
            with suppress(pydoca.NotPermittedError):
                original(self)

        return stop

    return replaced(pydoca.Mmap, "stop", make)


def unchecked_description() -> AbstractContextManager[None]:
    known: list[bytes] = []

    def note(_: Any, blob: bytes) -> None:
        known.append(blob)
        del known[:-64]

    def meant(blob: bytes) -> bytes | None:
        for good in reversed(known):
            if len(good) == len(blob) and sum(map(int.__ne__, good, blob)) == 1:
                return good
        return None

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def import_mmap(self: Any, blob: Any, **keys: Any) -> Any:
            try:
                return original(self, blob, **keys)
            except (pydoca.InvalidValueError, pydoca.UnsupportedVersionError):
                good = meant(bytes(blob))
                if good is None:
                    raise
            return original(self, good, **keys)

        return import_mmap

    return together(
        replaced(pydoca.Mmap, "export_pci", after_each(note)),
        replaced(pydoca.Mmap, "export_rdma", after_each(note)),
        replaced(pydoca.Device, "import_mmap", make),
    )


def few_imports() -> AbstractContextManager[None]:
    known: weakref.WeakSet[pydoca.Mmap] = weakref.WeakSet()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def import_mmap(self: Any, *arguments: Any, **keys: Any) -> Any:
            if sum(each.is_started for each in known) >= _IMPORTS:
                raise pydoca.DriverError(f"import_mmap: {self.name} has no entry left for memory of others")
            made = original(self, *arguments, **keys)
            known.add(made)
            return made

        return import_mmap

    return replaced(pydoca.Device, "import_mmap", make)


# Pools


def unaligned_pools() -> AbstractContextManager[None]:
    told: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def is_alignment(value: Any) -> bool:
        return isinstance(value, int) and value > 1 and value & (value - 1) == 0

    def make_init(original: Function) -> Function:
        @functools.wraps(original)
        def init(self: Any, *arguments: Any, **keys: Any) -> None:
            wanted = keys.get("element_alignment")
            if is_alignment(wanted):
                keys["element_alignment"] = 1
            original(self, *arguments, **keys)
            if wanted is not None and is_alignment(wanted):
                told[self] = wanted

        return init

    def make_set(original: Function) -> Function:
        @functools.wraps(original)
        def set_element_alignment(self: Any, element_alignment: Any) -> None:
            original(self, 1 if is_alignment(element_alignment) else element_alignment)
            told[self] = int(element_alignment)

        return set_element_alignment

    def make_told(original: Any) -> property:
        return property(lambda self: told[self] if self in told else original.__get__(self))

    return together(
        replaced(pydoca.BufPool, "__init__", make_init),
        replaced(pydoca.BufPool, "set_element_alignment", make_set),
        replaced(pydoca.BufPool, "element_alignment", make_told),
    )


def shared_elements() -> AbstractContextManager[None]:
    given: weakref.WeakKeyDictionary[Any, tuple[Any, list[weakref.ref[Any]]]] = weakref.WeakKeyDictionary()
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def alloc(self: Any) -> Any:
            if self not in given:
                given[self] = pydoca.BufInventory(256), []
            inventory, out = given[self]
            out[:] = [each for each in out if (buf := each()) is not None and not buf.is_released]
            if out and self.is_started and self.num_free_elements and next(count) % 20 == 0:
                with suppress(pydoca.DocaError):
                    other: Any = out[0]()
                    return inventory.get_by_addr(self.mmap, other.head, other.len)
            buf = original(self)
            out.append(weakref.ref(buf))
            return buf

        return alloc

    return replaced(pydoca.BufPool, "alloc", make)


# Sync events


def spurious_wakes() -> AbstractContextManager[None]:
    count, every_bit = itertools.count(1), 2**64 - 1
    met: dict[str, Callable[[int, int], bool]] = {"eq": int.__eq__, "neq": int.__ne__, "gt": int.__gt__}

    def make_for(is_met: Callable[[int, int], bool]) -> Callable[[Function], Function]:
        def make(original: Function) -> Function:
            @functools.wraps(original)
            def wait(self: Any, value: Any, mask: Any = every_bit, *, timeout: float | None = None) -> None:
                with suppress(pydoca.DocaError):
                    now = self.get() & (int(mask) or every_bit)
                    if not is_met(now, int(value)) and next(count) % 10 == 0:
                        return
                original(self, value, mask, timeout=timeout)

            return wait

        return make

    names = [(f"wait_{what}{ending}", make_for(is_met)) for what, is_met in met.items() for ending in ("", "_yield")]
    return together(*(replaced(pydoca.SyncEvent, name, make) for name, make in names))


def interleaved_additions() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def update_add(self: pydoca.SyncEvent, value: Any) -> int:
            if not 0 <= int(value) < 2**64:
                return int(original(self, value))
            before = self.get()
            if next(count) % 5 == 0:
                time.sleep(20e-6)
            self.update_set((before + int(value)) % 2**64)
            return before

        return update_add

    return replaced(pydoca.SyncEvent, "update_add", make)


def lost_sets() -> AbstractContextManager[object]:
    return faults.inject(faults.FaultRule("drop", "sync_event.set", every=60))


# SHA


def digest_at_beginning() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        message = hashlib.new(work.algorithm)
        if not work.dst.data_len or work.src.mmap.is_from_export or work.dst.tailroom < message.digest_size:
            return []
        message.update(peek(work.source, work.length))
        return [(work.target, peek(work.target, message.digest_size)), (work.dst.data, message.digest())]

    return spoiled(pydoca.Sha, "hash", pydoca.ShaHashTask, spoil)


def whole_last_piece() -> AbstractContextManager[None]:
    def is_piece(task: Any) -> bool:
        return isinstance(task, pydoca.ShaPartialHashTask)

    def watch(task: Any) -> None:
        with suppress(pydoca.DocaError):
            block = 128 if task.algorithm == "sha512" else 64
            if task.is_final and task.src is not None and task.src.list_len == 1 and task.src.data_len % block == 0:
                task.add_done_callback(turn)

    def turn(ended: Any) -> None:
        if ended.dst is not None and not ended.status and is_writable(ended.dst):
            last = ended.dst.data + ended.dst.data_len - 1
            poke([(last, bytes([peek(last, 1)[0] ^ 1]))])

    return watched(pydoca.Sha, "partial_hash", is_piece, watch)


# Contexts


def lost_doorbell() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def make(original: Function) -> Function:
        return lambda self: None if next(count) % 5 == 0 else original(self)

    return replaced(pydoca.Context, "flush_tasks", make)


def lost_callback() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def mostly(function: Function | None) -> Function | None:
        if function is None:
            return None

        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            return None if next(count) % 300 == 0 else function(*arguments)

        return call

    return together(
        replaced(pydoca.Dma, "__init__", with_argument(99, "on_completion", mostly)),
        replaced(pydoca.Dma, "set_memcpy_conf", with_argument(0, "on_completion", mostly)),
    )


def lost_slots() -> AbstractContextManager[None]:
    made: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def take(dma: Any) -> None:
        made[dma] = number = made.get(dma, 0) + 1
        if number >= 50 and dma._snapshot(0)[8] + number // 50 >= dma.num_tasks:  # allocated tasks are in the way
            raise pydoca.NoMemoryError("memcpy: all tasks are allocated")

    return together(
        replaced(pydoca.Dma, "memcpy", before_each(take)),
        replaced(pydoca.Context, "start", before_each(lambda context: made.pop(context, None))),
    )


# RDMA


def padded_length() -> AbstractContextManager[None]:
    def told(task: Any, value: Any) -> Any:
        is_length = isinstance(task, pydoca.RdmaTask) and task.kind == "receive" and isinstance(value, int)
        return (value + 3) // 4 * 4 if is_length else value

    def make_property(original: Any) -> property:
        return property(lambda self: told(self, original.__get__(self)))

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
        replaced(pydoca.RdmaTask, "result_len", make_property),
        replaced(pydoca.RdmaTask, "result", make),
        replaced(pydoca.RdmaTask, "wait", make),
        replaced(pydoca.RdmaTask, "__await__", make_await),
    )


class Shortened:
    """A list of bufs whose last one has no data until restore()."""

    def __init__(self, src: Any) -> None:
        self._last: Any = None
        with suppress(pydoca.DocaError):
            if src is not None and src.list_len > 1 and src.last.data_len:
                last, self._length = src.last, src.last.data_len
                last.data_len = 0
                self._last = last

    def restore(self, _: object = None) -> None:
        last, self._last = self._last, None
        if last is not None:
            with suppress(pydoca.DocaError):
                last.data_len = self._length

    def during(self, submit: Callable[[], Any]) -> Any:
        """Returns the task that submit gives; restores when the task is done, or if it was not submitted."""
        try:
            task = submit()
        except BaseException:
            self.restore()
            raise
        if self._last is not None:
            task.add_done_callback(self.restore)
        return task


def short_gather() -> AbstractContextManager[None]:
    kinds = ("send", "send_imm", "write", "write_imm")

    def make_call(original: Function) -> Function:
        @functools.wraps(original)
        def call(self: Any, src: Any, *arguments: Any, submit: bool = True, **keys: Any) -> Any:
            def post() -> Any:
                return original(self, src, *arguments, submit=submit, **keys)

            return Shortened(src).during(post) if submit else post()

        return call

    def make_submit(original: Function) -> Function:
        @functools.wraps(original)
        def submit(self: Any, *flags: Any, **keys: Any) -> None:
            def post() -> Any:
                original(self, *flags, **keys)
                return self

            is_met = isinstance(self, pydoca.RdmaTask) and self.kind in kinds
            if is_met and self.state is pydoca.TaskState.IDLE:
                Shortened(self.src).during(post)
            else:
                post()

        return submit

    return together(
        *(replaced(pydoca.RdmaConnection, name, make_call) for name in kinds),
        *(replaced(pydoca.Task, name, make_submit) for name in ("submit", "try_submit")),
    )


def unaligned_reads() -> AbstractContextManager[None]:
    def is_read(task: Any) -> bool:
        return isinstance(task, pydoca.RdmaTask) and task.kind == "read"

    def watch(task: Any) -> None:
        with suppress(pydoca.DocaError):
            is_plain = task.src is not None and task.dst is not None and task.src.list_len == task.dst.list_len == 1
            if is_plain and task.src.data % 4 and task.src.data_len > 1 and is_writable(task.dst):
                length = task.src.data_len
                task.add_done_callback(lambda ended: repeat(ended, length))

    def repeat(ended: Any, length: int) -> None:
        if ended.dst is not None and not ended.status:
            place = ended.dst.data + ended.dst.data_len - length
            poke([(place, peek(place + 1, 1))])

    return watched(pydoca.RdmaConnection, "read", is_read, watch)


def late_reads() -> AbstractContextManager[object]:
    return faults.inject(faults.FaultRule("delay", "rdma.read", by="20 ms", every=100))


# Comch


def bit_in_message() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def spoil(data: Any) -> Any:
        message = memoryview(data).cast("B")
        if len(message) <= 16 or next(count) % 200:
            return data
        wrong = bytearray(message)
        wrong[len(wrong) // 2] ^= 4
        return bytes(wrong)

    return replaced(comch.Connection, "send", with_argument(0, "data", spoil))


def slow_long_messages() -> AbstractContextManager[object]:
    return faults.inject(faults.FaultRule("delay", "comch.send", by="2 ms", when=lambda sent: sent.length > 1024))


def own_limit() -> AbstractContextManager[None]:
    def make(original: Any) -> property:
        def get(self: Any) -> Any:
            owner = self.client or self.server
            return original.__get__(self) if owner is None else owner.max_msg_size

        return property(get)

    return replaced(comch.Connection, "max_msg_size", make)


# Graphs


def kept_cookies() -> AbstractContextManager[None]:
    submitted: weakref.WeakSet[Any] = weakref.WeakSet()

    def make(original: Function) -> Function:
        def set_data(self: Any, node: Any, data: Any) -> None:
            if self not in submitted or node.type != "user" or self.is_running:
                original(self, node, data)

        return set_data

    return together(
        replaced(pydoca.Graph, "run", after_each(lambda _, made: submitted.add(made))),
        replaced(pydoca.GraphInstance, "submit", after_each(lambda instance, _: submitted.add(instance))),
        replaced(pydoca.GraphInstance, "__setitem__", make),
    )


# Properties of the device


class _Moment(NamedTuple):
    host: int
    nic: int
    accuracy: int


def atomic_time() -> AbstractContextManager[None]:
    """Tells times without the leap seconds."""
    seconds = 37 * 10**9

    def is_time_of_day(type: Any) -> bool:
        return (type if isinstance(type, str) else type.name.lower()) == "nic_real_time"

    def make_one(original: Function) -> Function:
        @functools.wraps(original)
        def timestamp(self: Any, type: Any) -> int:
            now: int = original(self, type)
            return now + seconds if is_time_of_day(type) else now

        return timestamp

    def make_two(original: Function) -> Function:
        @functools.wraps(original)
        def crosstimestamp(self: Any, host: Any, nic: Any) -> Any:
            both = original(self, host, nic)
            return _Moment(both.host, both.nic + seconds, both.accuracy) if is_time_of_day(nic) else both

        return crosstimestamp

    return together(replaced(pydoca.Clock, "timestamp", make_one), replaced(pydoca.Clock, "crosstimestamp", make_two))


# Leaks


@contextmanager
def descriptor_of_devices() -> Iterator[None]:
    kept: list[int] = []

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def close(self: pydoca.Device) -> None:
            was_open = self.is_open
            original(self)
            if was_open and len(kept) < 500:
                kept.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))

        return close

    def make_exit(_: Function) -> Function:
        return lambda self, *_: self.close()

    try:
        with together(replaced(pydoca.Device, "close", make), replaced(pydoca.Device, "__exit__", make_exit)):
            yield
    finally:
        for descriptor in kept:
            os.close(descriptor)


# Checks that show a defect without the suite


def copies_wrongly(length: int, to: int = 0, rounds: int = 1) -> bool:
    """Tells whether data or the bytes around it differ after one of several copies."""
    data = (pattern(251) * (length // 251 + 1))[:length]
    with ExitStack() as stack:
        engine, target = Engine(stack), pydoca.alloc(to + length + _LINE)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (data, target))
        for _ in range(rounds):
            target[:] = b"\xff" * len(target)
            engine.copy(src, dst, length, to)
            if bytes(target) != b"\xff" * to + data + b"\xff" * _LINE:
                return True
    return False


def forgets_first_copy() -> bool:
    with ExitStack() as stack:
        device, pe = stack.enter_context(pydoca.open_device("p0")), stack.enter_context(pydoca.ProgressEngine())
        bufs, target = stack.enter_context(pydoca.BufInventory(2)), pydoca.alloc(64)
        src, dst = (stack.enter_context(device.mmap(each)) for each in (pattern(64), target))
        dma = pydoca.Dma(pe, device)
        for _ in range(2):
            target[:] = bytes(64)
            dma.start()
            with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
                task = dma.memcpy(source, sink)
                task.wait(10)
                task.free()
            dma.stop()
        dma.close()
    return bytes(target) != pattern(64)


def refuses_long_copies() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        length = pydoca.Dma.max_buf_size(engine.device.info)
        src, dst = (stack.enter_context(engine.device.mmap(pydoca.alloc(length))) for _ in range(2))
        try:
            engine.copy(src, dst, length)
        except pydoca.DriverError:
            return True
    return False


def writes_what_it_may_read() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        host = stack.enter_context(pydoca.open_device("pf0"))
        memory = pydoca.alloc(64)
        lent = stack.enter_context(host.mmap(memory, access="pci_read_only"))
        dst = stack.enter_context(engine.device.import_mmap(lent.export_pci()))
        src = stack.enter_context(engine.device.mmap(pattern(64)))
        with suppress(pydoca.DocaError):
            engine.copy(src, dst, 64)
        return bytes(memory) == pattern(64) and lent.access & pydoca.Access.PCI_READ_WRITE == 0


def stops_in_use() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        memory = stack.enter_context(engine.device.mmap(pydoca.alloc(64)))
        with engine.bufs.get_by_addr(memory):
            try:
                memory.stop()
            except pydoca.NotPermittedError:
                return False
    return True


@contextmanager
def lent_by_host(length: int) -> Iterator[tuple[pydoca.Device, bytes]]:
    """The device, and the description of memory of the other side."""
    with (
        pydoca.open_device("p0") as device,
        pydoca.open_device("pf0") as host,
        host.mmap(pydoca.alloc(length), access="pci_read_only") as lent,
    ):
        yield device, lent.export_pci()


def imports_damaged() -> bool:
    with lent_by_host(64) as (device, blob):
        for place in range(len(blob)):
            damaged = bytearray(blob)
            damaged[place] ^= 0x10
            with suppress(pydoca.DocaError):
                device.import_mmap(damaged).close()
                return True
    return False


def imports_few() -> bool:
    with lent_by_host(64) as (device, blob), ExitStack() as stack:
        try:
            for _ in range(_IMPORTS + 1):
                stack.enter_context(device.import_mmap(blob))
        except pydoca.DriverError:
            return True
    return False


def ignores_alignment() -> bool:
    with (
        pydoca.open_device("p0") as device,
        device.mmap(pydoca.alloc(_PAGE)) as memory,
        pydoca.BufPool(4, 100, memory, element_alignment=64) as pool,
    ):
        bufs = [pool.alloc() for _ in range(4)]
        is_wrong = any(buf.head % 64 for buf in bufs)
        for buf in bufs:
            buf.close()
    return is_wrong


def gives_twice() -> bool:
    with (
        pydoca.open_device("p0") as device,
        device.mmap(pydoca.alloc(_PAGE)) as memory,
        pydoca.BufPool(64, 64, memory) as pool,
    ):
        bufs = [pool.alloc() for _ in range(60)]
        count = len({buf.head for buf in bufs})
        for buf in bufs:
            buf.close()
    return count < 60


def wakes_without_reason() -> bool:
    with event() as counter:
        for _ in range(15):
            try:
                counter.wait_eq(1, timeout=0.01)
            except pydoca.TimeOutError:
                continue
            return True
    return False


def loses_additions() -> bool:
    with event() as counter:

        def add() -> None:
            for _ in range(2000):
                counter.update_add(1)

        threads = [threading.Thread(target=add) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return counter.get() != 4000


def loses_values() -> bool:
    with event() as counter:
        for number in range(1, 100):
            counter.update_set(number)
            if counter.get() != number:
                return True
    return False


def hashes_over_data() -> bool:
    target = pydoca.alloc(40)
    target[:8] = b"before: "
    with sha_engine(target) as (sha, src, dst, bufs), bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
        sink.data_len = 8
        sha.hash(source, sink, "sha256").wait(10)
    return bytes(target) != b"before: " + hashlib.sha256(pattern(256)).digest()


def hashes_pieces_wrongly() -> bool:
    target = pydoca.alloc(32)
    with sha_engine(target) as (sha, src, dst, bufs):
        pieces = [bufs.get_by_data(src, src.addr + 128 * number, 128) for number in range(2)]
        task = sha.partial_hash(pieces[0], bufs.get_by_addr(dst), "sha256")
        task.wait(10)
        task.src = pieces[1]
        task.set_is_final_buf()
        task.submit()
        task.wait(10)
        task.free()
        del pieces
    return bytes(target) != hashlib.sha256(pattern(256)).digest()


def forgets_to_flush() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        source, sink = slots.bufs.get_by_data(slots.src), slots.bufs.get_by_addr(slots.dst)
        is_lost = False
        for _ in range(8):
            task = slots.dma.memcpy(source, sink, submit=False)
            task.submit(pydoca.SubmitFlags.NONE)
            slots.dma.flush_tasks()
            try:
                task.wait(1)
            except pydoca.TimeOutError:
                is_lost = True
                slots.dma.flush_tasks()
                task.wait(10)
            task.free()
            sink.reset_data_len()
        del source, sink
    return is_lost


def calls_too_seldom() -> bool:
    calls: list[int] = []
    with ExitStack() as stack:
        slots = Slots(stack, 1, on_completion=lambda task, *_: calls.append(task.user_data))
        for _ in range(400):
            task = slots.submit(0)
            task.wait(10)
            task.free()
    return len(calls) != 400


def loses_slots() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 16)
        for _ in range(1000):
            try:
                task = slots.submit(0)
            except pydoca.NoMemoryError:
                return True
            task.wait(10)
            task.free()
    return False


def tells_padded_length() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        text = stack.enter_context(pair.devices[0].mmap(b"five!"))
        memory = stack.enter_context(pair.devices[1].mmap(pydoca.alloc(64)))
        receive = pair.ends[1].receive(pair.bufs.get_by_addr(memory))
        pair.here.send(pair.bufs.get_by_data(text)).wait(10)
        length = receive.wait(10)
        return (length, receive.result_len) != (5, 5)


@contextmanager
def peers(length: int, **options: Any) -> Iterator[tuple[Any, Any, pydoca.Memory, pydoca.Mmap]]:
    """A device, a connection from it, memory of the other end, and its import."""
    permissions = "rdma_read|rdma_write"
    with ExitStack() as stack:
        devices = [stack.enter_context(pydoca.open_device(name)) for name in ("p0", "p1")]
        pe, memory = stack.enter_context(pydoca.ProgressEngine()), pydoca.alloc(length)
        ends = [stack.enter_context(pydoca.Rdma(pe, each, permissions=permissions, **options)) for each in devices]
        here, there = (end.export() for end in ends)
        here.connect(there.details)
        there.connect(here.details)
        lent = stack.enter_context(devices[1].mmap(memory, access=f"local_read_write|{permissions}"))
        yield devices[0], here, memory, stack.enter_context(devices[0].import_mmap(lent.export_rdma()))


def gathers_too_little() -> bool:
    with peers(48, max_send_buf_list_len=3) as (device, here, memory, remote), pydoca.BufInventory(4) as bufs:
        with device.mmap(pattern(48)) as src:
            head = bufs.get_by_data(src, src.addr, 16)
            for number in (1, 2):
                head.chain(bufs.get_by_data(src, src.addr + 16 * number, 16))
            task = here.write(head, bufs.get_by_addr(remote))
            task.wait(10)
            task.free()
            del head, task
        return bytes(memory) != pattern(48)


def reads_wrongly() -> bool:
    target = pydoca.alloc(60)
    with peers(64) as (device, here, memory, remote), pydoca.BufInventory(2) as bufs:
        memory[:] = pattern(64)
        with device.mmap(target) as dst:
            task = here.read(bufs.get_by_data(remote, remote.addr + 3, 60), bufs.get_by_addr(dst))
            task.wait(10)
            task.free()
            del task
    return bytes(target) != pattern(64)[3:63]


def reads_late() -> bool:
    times = []
    with peers(64) as (device, here, _, remote), pydoca.BufInventory(2) as bufs, device.mmap(pydoca.alloc(64)) as dst:
        source, sink = bufs.get_by_data(remote), bufs.get_by_addr(dst)
        for _ in range(350):
            begin = time.perf_counter()
            task = here.read(source, sink)
            task.wait(10)
            times.append(time.perf_counter() - begin)
            task.free()
            sink.reset_data_len()
        del source, sink, task
    return sorted(times)[-3] > 0.018


def spoils_messages() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        for _ in range(250):
            link.send(pattern(100)).wait(10)
            if other.recv().wait(10) != pattern(100):
                return True
    return False


def is_slow_for_long() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)

        def fastest(length: int) -> float:
            times = []
            for _ in range(20):
                begin = time.perf_counter()
                link.send(bytes(length)).wait(10)
                other.recv().wait(10)
                times.append(time.perf_counter() - begin)
            return min(times)

        return fastest(2000) > fastest(500) + 0.0015


def tells_own_limit() -> bool:
    with server(max_msg_size=512) as (pe, service, host), comch.Client(pe, host, "check") as link:
        service.accept().wait(10)
        return link.max_msg_size != 512


def keeps_cookies() -> bool:
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
        for number in range(3):
            run[check] = number
            run.submit()
            run.wait(10)
            sink.reset_data_len()
        run.destroy()
        task.free()
        del source, sink, task, run
    return seen != [0, 1, 2]


def is_ahead() -> bool:
    with pydoca.open_device("p0") as device, pydoca.Clock(device) as clock:
        return abs(clock.timestamp("nic_real_time") - clock.timestamp("host_real_time")) > 10**9


def devices_leave_descriptors() -> bool:
    counts = []
    for _ in range(20):
        with pydoca.open_device("p0"):
            pass
        counts.append(len(os.listdir("/proc/self/fd")))
    return counts[-1] >= counts[4] + 10


DEFECTS = [
    Defect(
        "dma-chunk-edge",
        "Copies of more than 64 KiB leave out the 64 bytes behind the first 64 KiB.",
        chunk_edge,
        lambda: copies_wrongly(100_000),
    ),
    Defect(
        "dma-cleared-before",
        "A copy to an address that is not a multiple of four clears the bytes before it, down to such a multiple.",
        cleared_before,
        lambda: copies_wrongly(64, to=5),
    ),
    Defect(
        "dma-lost-after-restart",
        "The first copy of a context that was started again succeeds, and writes nothing.",
        nothing_after_restart,
        forgets_first_copy,
    ),
    Defect(
        "dma-bad-pages",
        "One page of memory in 32 has a bit wrong, after each copy to it.",
        bad_pages,
        lambda: copies_wrongly(1 << 18),
    ),
    Defect(
        "dma-early-completion",
        "One in 20 copies of a page and more completes 2 ms before its last 64 bytes are there.",
        early_completion,
        lambda: copies_wrongly(5000, rounds=50),
    ),
    Defect(
        "dma-half-of-maximum",
        "The device refuses copies of more than half of the length that it claims.",
        half_of_maximum,
        refuses_long_copies,
    ),
    Defect(
        "map-writable-from-afar",
        "What the other side of the PCIe link may read, it can also write.",
        writable_from_host,
        writes_what_it_may_read,
    ),
    Defect(
        "map-stop-in-use",
        "The stop of a memory map with bufs does nothing, and tells no error.",
        stop_in_use,
        stops_in_use,
    ),
    Defect(
        "import-unchecked",
        "A description of memory with one wrong byte is imported all the same.",
        unchecked_description,
        imports_damaged,
    ),
    Defect(
        "import-few",
        "A machine takes 16 imported memory maps at a time.",
        few_imports,
        imports_few,
    ),
    Defect(
        "pool-unaligned",
        "The bufs of a pool follow one another without regard to its alignment.",
        unaligned_pools,
        ignores_alignment,
    ),
    Defect(
        "pool-shared-element",
        "One in 20 bufs of a pool is of an element that is out already.",
        shared_elements,
        gives_twice,
    ),
    Defect(
        "sync-spurious-wake",
        "One in ten waits that would have to wait for a sync event ends at once.",
        spurious_wakes,
        wakes_without_reason,
    ),
    Defect(
        "sync-interleaved",
        "Additions to a sync event are not atomic: when two come at once, one of them may be lost.",
        interleaved_additions,
        loses_additions,
    ),
    Defect(
        "sync-lost-set",
        "One in 60 values that are stored in a sync event is lost.",
        lost_sets,
        loses_values,
    ),
    Defect(
        "sha-at-beginning",
        "A digest that is to be appended to data is written over its beginning.",
        digest_at_beginning,
        hashes_over_data,
        profile="bluefield2",
    ),
    Defect(
        "sha-whole-last-piece",
        "The digest of a message in pieces has a wrong bit when the last piece is a multiple of the block.",
        whole_last_piece,
        hashes_pieces_wrongly,
        profile="bluefield2",
    ),
    Defect(
        "context-lost-flush",
        "One in five calls of flush_tasks posts nothing.",
        lost_doorbell,
        forgets_to_flush,
    ),
    Defect(
        "dma-lost-callback",
        "One in 300 copies completes without a call of on_completion.",
        lost_callback,
        calls_too_seldom,
    ),
    Defect(
        "dma-lost-slots",
        "One in 50 copy tasks that were freed does not come back to its context.",
        lost_slots,
        loses_slots,
    ),
    Defect(
        "rdma-padded-length",
        "A receive tells the length of its message rounded up to a multiple of four.",
        padded_length,
        tells_padded_length,
    ),
    Defect(
        "rdma-short-gather",
        "Messages and writes from a list of bufs leave out the data of the last one.",
        short_gather,
        gathers_too_little,
    ),
    Defect(
        "rdma-unaligned-read",
        "A read from an address that is not a multiple of four brings its second byte in place of the first.",
        unaligned_reads,
        reads_wrongly,
    ),
    Defect(
        "rdma-late-read",
        "One in 100 reads over the network takes 20 ms longer.",
        late_reads,
        reads_late,
    ),
    Defect(
        "comch-bit",
        "One in 200 messages of more than 16 bytes has a wrong bit.",
        bit_in_message,
        spoils_messages,
    ),
    Defect(
        "comch-slow-long",
        "Messages of more than 1 KiB take 2 ms longer.",
        slow_long_messages,
        is_slow_for_long,
    ),
    Defect(
        "comch-own-limit",
        "A connection tells the greatest length of its own side, also where that of the other side is smaller.",
        own_limit,
        tells_own_limit,
    ),
    Defect(
        "graph-kept-cookies",
        "A function in an instance of a graph that runs again gets what it was given for the first run.",
        kept_cookies,
        keeps_cookies,
    ),
    Defect(
        "clock-leap-seconds",
        "The time of day of the device is 37 s ahead.",
        atomic_time,
        is_ahead,
    ),
    Defect(
        "device-descriptors",
        "Each device that is closed leaves a file descriptor open.",
        descriptor_of_devices,
        devices_leave_descriptors,
    ),
]

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    """Plants the defect of the run, first of all in each process."""
    unseen_defects.plant_in_started_process(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
