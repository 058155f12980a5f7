"""Thirty more defects of a device, of other kinds than those of the programs before.

They were also written without a look at the cases. The first run (level quick, and then full) found 24 of them.

usage: unseen_tenth.py list
       unseen_tenth.py check [NAME...]              # each is visible by the public API, and only when it is planted
       unseen_tenth.py run NAME LEVEL DIRECTORY     # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import functools
import inspect
import itertools
import subprocess
import sys
import time
import weakref
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent))  # python -P needs it

import unseen_defects
from unseen_again import Slots, _of_lists, sha_engine
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
from unseen_third import _Moment, is_rdma

import pydoca
from pydoca import comch

_STARTS = ("start", "__enter__", "__aenter__")

# Copies, tasks and contexts


def consumed_source() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def empty(ended: Any) -> None:
        with suppress(pydoca.DocaError):
            if ended.src is not None and not ended.status and ended.src.list_len == 1:
                ended.src.reset_data_len()

    def watch(task: Any) -> None:
        if next(count) % 20 == 0:
            task.add_done_callback(empty)

    return watched(pydoca.Dma, "memcpy", lambda task: isinstance(task, pydoca.DmaMemcpyTask), watch)


def list_to_list() -> AbstractContextManager[None]:
    def change(pieces: list[bytes], _: bytes) -> bytes:
        data, border = b"".join(pieces), len(pieces[0])
        return data[:border] + data[border : border + 1] * 2 + data[border + 2 :] if len(data) > border + 1 else data

    def look(_: Spoil, src: Any, dst: Any, __: str) -> tuple[list[Patch], int]:
        with suppress(pydoca.DocaError):
            if src is not None and dst is not None and src.list_len > 1 and dst.list_len > 1:
                return _of_lists(list(src), list(dst), change)
        return [], 0

    return spoiled(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, lambda _: [], look)


def more_tasks() -> AbstractContextManager[None]:
    told: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def make(place: int) -> Function:
        def make_conf(original: Function) -> Function:
            @functools.wraps(original)
            def configure(self: Any, *arguments: Any, **keys: Any) -> None:
                given = keys.get("num_tasks", arguments[place] if len(arguments) > place else None)
                is_met = isinstance(given, int) and 0 < given < 60000
                change = with_argument(place, "num_tasks", lambda number: number + 1 if is_met else number)
                change(original)(self, *arguments, **keys)
                told.pop(self, None)
                told.update({self: given} if is_met else {})

            return configure

        return make_conf

    def make_told(original: Any) -> property:
        return property(lambda self: told[self] if self in told else original.__get__(self))

    return together(
        replaced(pydoca.Dma, "__init__", make(99)),
        replaced(pydoca.Dma, "set_memcpy_conf", make(2)),
        replaced(pydoca.Dma, "num_tasks", make_told),
    )


def at_second_start(act: Function) -> AbstractContextManager[None]:
    """Calls act with each context that is about to start again."""
    ran: weakref.WeakSet[Any] = weakref.WeakSet()

    def before(context: Any) -> None:
        if context in ran:
            with suppress(pydoca.DocaError):
                act(context)

    def after(context: Any, _: object) -> None:
        if context.state is pydoca.ContextState.RUNNING:
            ran.add(context)

    def make(original: Function) -> Function:
        return before_each(before)(after_each(after)(original))

    return together(*(replaced(pydoca.Context, name, make) for name in _STARTS))


def forgotten_user_data() -> AbstractContextManager[None]:
    def forget(context: Any) -> None:
        if context.state is pydoca.ContextState.IDLE:
            context.user_data = None

    return at_second_start(forget)


def early_stop() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def stop(self: Any) -> Any:
            original(self)
            return pydoca.Status.SUCCESS

        return stop

    return replaced(pydoca.Context, "stop", make)


def last_of_many() -> AbstractContextManager[None]:
    def without_last(what: Any) -> Any:
        if isinstance(what, pydoca.Task) or callable(what):
            return what
        tasks = list(what)
        return tasks[:-1] if len(tasks) > 16 else tasks

    return replaced(pydoca.ProgressEngine, "run_until", with_argument(0, "what", without_last))


def kept_callback() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def remove_done_callback(self: Any, fn: Any) -> int:
            number = int(original(self, fn))
            if self.status is pydoca.Status.IN_PROGRESS:
                for _ in range(number):
                    self.add_done_callback(fn)
            return number

        return remove_done_callback

    return replaced(pydoca.Task, "remove_done_callback", make)


# SHA


def early_result() -> AbstractContextManager[None]:
    def make(original: Any) -> property:
        return property(lambda self: original.__get__(self) or self.is_final)

    return replaced(pydoca.ShaPartialHashTask, "has_result", make)


def wrong_need() -> AbstractContextManager[None]:
    def make(original: Any) -> Any:
        def min_dst_buf_size(*arguments: Any, **keys: Any) -> int:
            return min(int(original(*arguments, **keys)), 32)

        return staticmethod(min_dst_buf_size)

    return replaced(pydoca.Sha, "min_dst_buf_size", make)


# RDMA


def ignored_start() -> AbstractContextManager[None]:
    def make(original: Any) -> Any:
        def gids(info: Any, start: int = 0, count: int | None = None) -> list[str]:
            found: list[str] = original(info, start, count)
            return original(info, 0, len(found)) if found else found

        return staticmethod(gids)

    return replaced(pydoca.Rdma, "gids", make)


def told_failure() -> AbstractContextManager[None]:
    ended: weakref.WeakSet[Any] = weakref.WeakSet()

    def note(connection: Any) -> None:
        with suppress(pydoca.DocaError):
            if connection.is_connected:
                ended.add(connection)

    def make(original: Any) -> property:
        def get(self: Any) -> Any:
            status = original.__get__(self)
            is_met = self in ended and not self.is_connected and status is pydoca.Status.SUCCESS
            return pydoca.Status.CONNECTION_ABORTED if is_met else status

        return property(get)

    return together(
        replaced(pydoca.RdmaConnection, "failure", make),
        *(replaced(pydoca.RdmaConnection, name, before_each(note)) for name in ("disconnect", "__exit__")),
    )


def lost_user_data() -> AbstractContextManager[None]:
    return replaced(pydoca.Rdma, "connect", with_argument(99, "user_data", lambda _: None))


def ended_with_listener() -> AbstractContextManager[None]:
    accepted: weakref.WeakSet[Any] = weakref.WeakSet()
    owners: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def note_listener(rdma: Any, listener: Any) -> None:
        owners[listener] = weakref.ref(rdma)

    def end_others(listener: Any) -> None:
        rdma = owners[listener]() if listener in owners and not listener.closed else None
        with suppress(pydoca.DocaError):
            for connection in rdma.connections if rdma is not None else []:
                if connection in accepted and connection.is_connected:
                    connection.disconnect()

    return together(
        replaced(pydoca.RdmaConnection, "accept", after_each(lambda connection, _: accepted.add(connection))),
        replaced(pydoca.Rdma, "listen", after_each(note_listener)),
        *(replaced(pydoca.RdmaListener, name, before_each(end_others)) for name in ("close", "__exit__")),
    )


def rounded_queue() -> AbstractContextManager[None]:
    told: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def rounded(number: Any) -> Any:
        return 1 << number.bit_length() - 1 if isinstance(number, int) and number > 0 else number

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def init(self: Any, *arguments: Any, **keys: Any) -> None:
            given = keys.get("send_queue_size")
            with_argument(99, "send_queue_size", rounded)(original)(self, *arguments, **keys)
            told.update({self: given} if rounded(given) != given else {})

        return init

    def make_told(original: Any) -> property:
        def put(self: Any, value: Any) -> None:
            original.__set__(self, rounded(value))
            told.pop(self, None)
            told.update({self: value} if rounded(value) != value else {})

        return property(lambda self: told[self] if self in told else original.__get__(self), put)

    return together(
        replaced(pydoca.Rdma, "__init__", make),
        replaced(pydoca.Rdma, "send_queue_size", make_told),
    )


def narrow_event() -> AbstractContextManager[None]:
    name = "remote_net_sync_event_get"

    def cut(ended: Any) -> None:
        with suppress(pydoca.DocaError):
            dst = ended.result_buf if ended.dst is None else ended.dst
            if dst is not None and not ended.status and dst.list_len == 1 and dst.data_len >= 8 and is_writable(dst):
                end = dst.data + dst.data_len
                poke([(end - 4 if sys.byteorder == "little" else end - 8, bytes(4))])

    def watch(task: Any) -> None:
        task.add_done_callback(cut)

    return watched(pydoca.RdmaConnection, name, is_rdma(name), watch)


# Comch


def every_second_failed() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def wrapped(function: Function | None) -> Function | None:
        if function is None or inspect.iscoroutinefunction(function):
            return function
        return lambda connection, successful, data: function(connection, successful and next(count) % 2 > 0, data)

    def make(original: Any) -> property:
        return property(original.__get__, lambda self, function: original.__set__(self, wrapped(function)))

    return together(
        replaced(comch.Server, "__init__", with_argument(99, "on_connect", wrapped)),
        replaced(comch.Server, "on_connect", make),
    )


def hasty_client() -> AbstractContextManager[None]:
    told: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def init(self: Any, *arguments: Any, **keys: Any) -> None:
            given = keys.get("timeout", 0)
            if given is None or (isinstance(given, (int, float)) and given > 0.2):
                original(self, *arguments, **{**keys, "timeout": 0.2})
                told[self] = given
            else:
                original(self, *arguments, **keys)

        return init

    def make_told(original: Any) -> property:
        return property(lambda self: told[self] if self in told else original.__get__(self))

    return together(replaced(comch.Client, "__init__", make), replaced(comch.Client, "timeout", make_told))


def missing_connection() -> AbstractContextManager[None]:
    def make(original: Any) -> property:
        def get(self: Any) -> list[Any]:
            found: list[Any] = original.__get__(self)
            return found[:-1] if len(found) > 1 else found

        return property(get)

    return replaced(comch.Server, "connections", make)


# Sync events


def wide_store() -> AbstractContextManager[None]:
    behind: weakref.WeakKeyDictionary[Any, tuple[int, Any]] = weakref.WeakKeyDictionary()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def init(self: Any, *arguments: Any, **keys: Any) -> None:
            original(self, *arguments, **keys)
            buf = keys.get("buf")
            with suppress(pydoca.DocaError):
                if buf is not None and is_writable(buf) and buf.data + 16 <= buf.mmap.addr + buf.mmap.len:
                    behind[self] = buf.data + 8, buf.mmap.memory

        return init

    def clear(self: Any, _: object) -> None:
        if self in behind and not self.closed:
            poke([(behind[self][0], bytes(8))])

    return together(
        replaced(pydoca.SyncEvent, "__init__", make),
        replaced(pydoca.SyncEvent, "update_set", after_each(clear)),
    )


def leak_of_events() -> AbstractContextManager[None]:
    left: list[Any] = []

    def leave_some(*_: object) -> None:
        left.append(b"\xff" * (32 << 10))

    return replaced(pydoca.SyncEvent, "__init__", after_each(leave_some))


# Graphs


def swapped_user_data() -> AbstractContextManager[None]:
    def swapped(function: Function | None) -> Function | None:
        if function is None or inspect.iscoroutinefunction(function):
            return function
        return lambda run, data, graph_data: function(run, graph_data, data)

    def make(original: Function) -> Function:
        for name in ("on_completion", "on_error"):
            original = with_argument(99, name, swapped)(original)
        return original

    return replaced(pydoca.Graph, "__init__", make)


def silent_cycle() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def add_dependency(self: Any, *arguments: Any, **keys: Any) -> None:
            with suppress(pydoca.NotPermittedError):
                original(self, *arguments, **keys)

        return add_dependency

    return replaced(pydoca.Graph, "add_dependency", make)


# Bufs and memory maps


def short_duplicate() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def dup(self: Any, *arguments: Any, **keys: Any) -> Any:
            head = original(self, *arguments, **keys)
            if head.list_len > 1:
                rest = head.next
                head.unchain(rest)
                rest.close()
            return head

        return dup

    return replaced(pydoca.BufInventory, "dup", make)


def gives_when_stopped() -> AbstractContextManager[None]:
    stopped: weakref.WeakSet[Any] = weakref.WeakSet()
    real_start = pydoca.BufInventory.start

    def go_on(inventory: Any, _: object) -> None:
        with suppress(pydoca.DocaError):
            real_start(inventory)
            stopped.add(inventory)

    def make(original: Any) -> property:
        return property(lambda self: self not in stopped and original.__get__(self))

    return together(
        replaced(pydoca.BufInventory, "stop", after_each(go_on)),
        replaced(pydoca.BufInventory, "start", before_each(stopped.discard)),
        replaced(pydoca.BufInventory, "is_started", make),
    )


def stale_count() -> AbstractContextManager[None]:
    least: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def note(pool: Any, _: object) -> None:
        real = free_elements.__get__(pool)
        least[pool] = min(real, least.get(pool, real))

    free_elements: Any = vars(pydoca.BufPool)["num_free_elements"]

    def make(original: Any) -> property:
        return property(lambda self: min(original.__get__(self), least.get(self, 1 << 62)))

    return together(
        replaced(pydoca.BufPool, "alloc", after_each(note)),
        replaced(pydoca.BufPool, "num_free_elements", make),
    )


def other_process() -> AbstractContextManager[None]:
    own: set[bytes] = set()
    foreign: weakref.WeakSet[Any] = weakref.WeakSet()
    count = itertools.count(1)

    def note(_: Any, blob: bytes) -> None:
        own.add(bytes(blob))

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def import_mmap(self: Any, blob: Any, **keys: Any) -> Any:
            imported = original(self, blob, **keys)
            if bytes(blob) not in own:
                foreign.add(imported)
            return imported

        return import_mmap

    def spoil(work: Work) -> list[Patch]:
        if work.src.mmap not in foreign or next(count) % 10:
            return []
        begin = max(work.target, work.target + work.length - 64)
        return [(begin, peek(begin, work.target + work.length - begin))]

    return together(
        *(replaced(pydoca.Mmap, name, after_each(note)) for name in ("export_pci", "export_rdma")),
        replaced(pydoca.Device, "import_mmap", make),
        spoiled_copies(spoil),
    )


def emptied_buf() -> AbstractContextManager[None]:
    def empty(ended: Any) -> None:
        with suppress(pydoca.DocaError):
            if ended.buf is not None and not ended.status:
                ended.buf.reset_data_len()

    def watch(task: Any) -> None:
        task.add_done_callback(empty)

    def is_met(task: Any) -> bool:
        return isinstance(task, pydoca.MmapAdviseInvalidateCacheTask)

    return watched(pydoca.MmapAdvise, "invalidate_cache", is_met, watch)


# Devices


def few_openings() -> AbstractContextManager[None]:
    opened: list[weakref.ref[Any]] = []

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def open_device(*arguments: Any, **keys: Any) -> Any:
            device = original(*arguments, **keys)
            here = [each for each in (ref() for ref in list(opened)) if each is not None and each.is_open]
            if sum(each == device for each in here) >= 4:
                device.close()
                raise pydoca.InUseError("open_device: the function has too many users")
            opened[:] = [*(weakref.ref(each) for each in here), weakref.ref(device)]
            return device

        return open_device

    return replaced(pydoca, "open_device", make)


def other_number() -> AbstractContextManager[None]:
    def told(info: Any, number: int) -> int:
        return number + 1 if info.func_type is pydoca.PciFuncType.VF else number

    def make(original: Any) -> property:
        return property(lambda self: told(self, original.__get__(self)))

    def make_dict(original: Function) -> Function:
        def to_dict(self: Any) -> dict[str, Any]:
            return {**original(self), "vhca_id": self.vhca_id}

        return to_dict

    return together(
        replaced(pydoca.RepresentorInfo, "vhca_id", make),
        replaced(pydoca.Representor, "vhca_id", make),
        replaced(pydoca.RepresentorInfo, "to_dict", make_dict),
    )


def own_counter() -> AbstractContextManager[None]:
    begins: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
    real_timestamp = pydoca.Clock.timestamp

    def begin(clock: Any, _: object) -> None:
        with suppress(pydoca.DocaError):
            begins[clock] = real_timestamp(clock, "nic_free_running")

    def offset(clock: Any, type: Any) -> int:
        name = type if isinstance(type, str) else getattr(type, "name", None) or ""
        return begins.get(clock, 0) if name.lower() == "nic_free_running" else 0

    def make_one(original: Function) -> Function:
        @functools.wraps(original)
        def timestamp(self: Any, type: Any) -> int:
            return int(original(self, type)) - offset(self, type)

        return timestamp

    def make_two(original: Function) -> Function:
        @functools.wraps(original)
        def crosstimestamp(self: Any, host: Any, nic: Any) -> Any:
            both = original(self, host, nic)
            less = offset(self, nic)
            return _Moment(both.host, both.nic - less, both.accuracy) if less else both

        return crosstimestamp

    return together(
        replaced(pydoca.Clock, "__init__", after_each(begin)),
        replaced(pydoca.Clock, "timestamp", make_one),
        replaced(pydoca.Clock, "crosstimestamp", make_two),
    )


# Checks that show a defect without the suite


def empties_sources() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        source = stack.enter_context(slots.bufs.get_by_data(slots.src))
        for _ in range(40):
            with slots.bufs.get_by_addr(slots.dst) as sink:
                task = slots.dma.memcpy(source, sink)
                task.wait(10)
                task.free()
            if source.data_len != 64:
                return True
    return False


def copies_lists_wrongly() -> bool:
    target = pydoca.alloc(64)
    with ExitStack() as stack:
        engine = Engine(stack)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (pattern(64), target))
        head = stack.enter_context(engine.bufs.get_by_data(src, src.addr, 20))
        head.chain(engine.bufs.get_by_data(src, src.addr + 20, 44))
        sink = stack.enter_context(engine.bufs.get_by_addr(dst, dst.addr, 24))
        sink.chain(engine.bufs.get_by_addr(dst, dst.addr + 24, 40))
        task = engine.dma.memcpy(head, sink)
        task.wait(10)
        task.free()
    return bytes(target) != pattern(64)


def has_more_tasks() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 4)
        source, sink = slots.bufs.get_by_data(slots.src), slots.bufs.get_by_addr(slots.dst)
        tasks: list[Any] = []
        try:
            tasks.extend(slots.dma.memcpy(source, sink, submit=False) for _ in range(5))
        except pydoca.NoMemoryError:
            return False
        finally:
            for task in idle(tasks):
                task.free()
            del source, sink
    return True


def idle(tasks: list[Any]) -> list[Any]:
    return [task for task in tasks if task.state is pydoca.TaskState.IDLE]


def with_start(context: pydoca.Context) -> None:
    context.start()
    context.stop()


def forgets_user_data() -> bool:
    with pydoca.open_device("p0") as device, pydoca.ProgressEngine() as pe:
        dma = pydoca.Dma(pe, device, user_data="mine")
        for _ in range(2):
            with_start(dma)
        data = dma.user_data
        dma.close()
    return bool(data != "mine")


def stops_too_early() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        task = slots.submit(0)
        status = slots.dma.stop()
        is_idle = slots.dma.state is pydoca.ContextState.IDLE
        slots.pe.run_until(lambda: task.done, 10)
        task.free()
        slots.pe.run_until(lambda: slots.dma.state is pydoca.ContextState.IDLE, 10)
    return status is pydoca.Status.SUCCESS and not is_idle


def leaves_last() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 17)
        long = [stack.enter_context(slots.device.mmap(pydoca.alloc(2 << 20))) for _ in range(2)]
        tasks = [slots.submit(number) for number in range(16)]
        tasks.append(slots.dma.memcpy(slots.bufs.get_by_data(long[0]), slots.bufs.get_by_addr(long[1])))
        slots.pe.run_until(tasks, 10)
        is_left = not tasks[-1].done
        for task in tasks:
            task.wait(10)
            task.free()
        del tasks, task
    return is_left


def calls_removed() -> bool:
    calls: list[Any] = []
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        task = slots.submit(0)
        task.add_done_callback(calls.append)
        task.remove_done_callback(calls.append)
        task.wait(10)
        task.free()
    return bool(calls)


def tells_early_result() -> bool:
    with sha_engine(pydoca.alloc(32)) as (sha, src, dst, bufs):
        source, sink = bufs.get_by_data(src, src.addr, 64), bufs.get_by_addr(dst)
        task = sha.partial_hash(source, sink, "sha256")
        task.wait(10)
        task.set_is_final_buf()
        is_told = task.has_result
        task.wait(10)
        task.free()
        del source, sink, task
    return is_told


def needs_too_little() -> bool:
    with pydoca.open_device("p0") as device:
        return pydoca.Sha.min_dst_buf_size(device.info, "sha512") < 64


def ignores_start() -> bool:
    with pydoca.open_device("p0") as device:
        return pydoca.Rdma.gids(device.info, 1, 1) != pydoca.Rdma.gids(device.info)[1:2]


def tells_failure() -> bool:
    with ExitStack() as stack:
        here, _ = Fan(stack, 1).pairs[0]
        here.disconnect().wait(10)
        return here.failure is not pydoca.Status.SUCCESS


class Called:
    """A connection that was made by an address: its request, and both of its ends."""

    def __init__(self, stack: ExitStack, **options: Any) -> None:
        here, there = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "p1"))
        self.pe = stack.enter_context(pydoca.ProgressEngine())
        self.caller, self.called = (stack.enter_context(pydoca.Rdma(self.pe, each)) for each in (here, there))
        self.listener = stack.enter_context(self.called.listen(5041))
        attempt = self.caller.connect(there.info.ipv4_addr, 5041, **options)
        self.there: Any = self.listener.request().wait(10)
        self.private_data = self.there.private_data
        self.there.accept().wait(10)
        self.here: Any = attempt.wait(10)


def loses_user_data() -> bool:
    with ExitStack() as stack:
        return bool(Called(stack, user_data="mine").here.user_data != "mine")


def ends_connections() -> bool:
    with ExitStack() as stack:
        called = Called(stack)
        called.listener.close()
        with suppress(pydoca.TimeOutError):
            called.here.ended().wait(0.2)
        return not called.there.is_connected


def has_smaller_queue() -> bool:
    with ExitStack() as stack:
        devices = [stack.enter_context(pydoca.open_device(name)) for name in ("p0", "p1")]
        pe = stack.enter_context(pydoca.ProgressEngine())
        ends = [stack.enter_context(pydoca.Rdma(pe, each, send_queue_size=6)) for each in devices]
        here, there = (end.export() for end in ends)
        here.connect(there.details)
        there.connect(here.details)
        tasks: list[Any] = []
        try:
            tasks.extend(here.send(None) for _ in range(6))
        except pydoca.AgainError:
            return True
        finally:
            del tasks
    return False


def reads_narrow_event() -> bool:
    number = (7 << 32) + 5
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_read")
        counter = stack.enter_context(pydoca.SyncEvent(pair.devices[1], publisher="remote_net"))
        counter.update_set(number)
        remote = stack.enter_context(pair.devices[0].import_sync_event_remote_net(counter.export_to_remote_net()))
        memory = pydoca.alloc(8)
        area = stack.enter_context(pair.devices[0].mmap(memory))
        with pair.bufs.get_by_addr(area) as sink:
            task = pair.here.remote_net_sync_event_get(remote, sink)
            task.wait(10)
            task.free()
        return int.from_bytes(bytes(memory), sys.byteorder) != number


def tells_failed_clients() -> bool:
    told: list[bool] = []
    with server(on_connect=lambda _, successful, __: told.append(successful)) as (pe, _, host), ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(comch.Client(pe, host, "check"))
        pe.run_until(lambda: len(told) == 2, 10)
    return not all(told)


def gives_up_early() -> bool:
    with ExitStack() as stack:
        dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
        representor = stack.enter_context(dpu.open_representor("0b:00.0"))
        pe = stack.enter_context(pydoca.ProgressEngine())
        client = comch.Client(pe, host, "late", timeout=10)
        client.start()
        end = time.monotonic() + 0.6
        while time.monotonic() < end:
            pe.progress()
        service = stack.enter_context(comch.Server(pe, dpu, representor, "late"))
        idle = pydoca.ContextState.IDLE
        pe.run_until(lambda: client.state in (idle, pydoca.ContextState.RUNNING), 10)
        has_given_up = client.state is idle
        if not has_given_up:
            client.stop()
            pe.run_until(lambda: client.state is idle and not service.connections, 10)
        client.close()
    return has_given_up


def lacks_connection() -> bool:
    with server() as (pe, service, host), ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(comch.Client(pe, host, "check"))
        ends = [service.accept().wait(10) for _ in range(2)]
        return len(service.connections) < len(ends)


def stores_too_much() -> bool:
    memory = pydoca.alloc(16)
    memory[:] = b"\xff" * 16
    with (
        pydoca.open_device("p0") as device,
        device.mmap(memory, access="local_read_write|rdma_read|rdma_write|rdma_atomic") as area,
        pydoca.BufInventory(1) as bufs,
        bufs.get_by_data(area, area.addr, 8) as buf,
    ):
        with pydoca.SyncEvent(device, buf=buf) as counter:
            counter.update_set(1)
        return bytes(memory)[8:] != b"\xff" * 8


def events_grow() -> bool:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    with pydoca.open_device("p0") as device:
        begin = 0
        for number in range(600):
            begin = resident() if number == 100 else begin
            pydoca.SyncEvent(device).close()
        return resident() - begin > 8 << 20


def swaps_user_data() -> bool:
    told: list[Any] = []
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        graph = pydoca.Graph(slots.pe, user_data="graph", on_completion=lambda _, *data: told.extend(data))
        moved = graph.node(slots.dma)
        source = stack.enter_context(slots.bufs.get_by_data(slots.src))
        sink = stack.enter_context(slots.bufs.get_by_addr(slots.dst))
        with graph:
            run = graph.create_instance({moved: slots.dma.memcpy(source, sink, submit=False)})
            run.user_data = "run"
            run.submit()
            run.wait(10)
            run.destroy()
    return told != ["run", "graph"]


def takes_cycle() -> bool:
    with pydoca.ProgressEngine() as pe:
        graph = pydoca.Graph(pe)
        first = graph.node(str)
        second = graph.node(str, after=[first])
        try:
            graph.add_dependency(second, first)
        except pydoca.NotPermittedError:
            return False
    return True


def shortens_duplicates() -> bool:
    with (
        pydoca.open_device("p0") as device,
        device.mmap(bytes(16)) as area,
        pydoca.BufInventory(4) as bufs,
        bufs.get_by_data(area, area.addr, 8) as head,
    ):
        head.chain(bufs.get_by_data(area, area.addr + 8, 8))
        with bufs.dup(head) as other:
            return other.list_len != 2


def gives_all_the_same() -> bool:
    with pydoca.open_device("p0") as device, device.mmap(bytes(16)) as area, pydoca.BufInventory(1) as bufs:
        bufs.stop()
        try:
            bufs.get_by_data(area).close()
        except pydoca.BadStateError:
            return False
    return True


def counts_too_few() -> bool:
    with pydoca.open_device("p0") as device, device.mmap(pydoca.alloc(64)) as area, pydoca.BufPool(4, 16, area) as pool:
        pool.alloc().close()
        return pool.num_free_elements != 4


_LENDER = """
import sys, pydoca
with pydoca.open_device("pf0") as host, host.mmap(pydoca.alloc(256), access="pci_read_write") as lent:
    lent.memory[:] = b"x" * 256
    print(lent.export_pci().hex(), flush=True)
    sys.stdin.readline()
"""


def copies_of_others_wrongly() -> bool:
    words = [sys.executable, "-c", _LENDER]
    with (
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other,
        ExitStack() as stack,
    ):
        assert other.stdin is not None
        assert other.stdout is not None
        stack.callback(other.stdin.close)
        engine, target = Engine(stack), pydoca.alloc(256)
        src = stack.enter_context(engine.device.import_mmap(bytes.fromhex(other.stdout.readline())))
        dst = stack.enter_context(engine.device.mmap(target))
        for _ in range(20):
            target[:] = bytes(256)
            engine.copy(src, dst, 256)
            if bytes(target) != b"x" * 256:
                return True
    return False


def empties_bufs() -> bool:
    with ExitStack() as stack:
        device, pe = stack.enter_context(pydoca.open_device("p0")), stack.enter_context(pydoca.ProgressEngine())
        advise, bufs = stack.enter_context(pydoca.MmapAdvise(pe, device)), stack.enter_context(pydoca.BufInventory(1))
        with bufs.get_by_data(stack.enter_context(device.mmap(pydoca.alloc(64)))) as buf:
            task = advise.invalidate_cache(buf)
            task.wait(10)
            task.free()
            return buf.data_len != 64


def opens_too_seldom() -> bool:
    with ExitStack() as stack:
        try:
            for _ in range(6):
                stack.enter_context(pydoca.open_device("p0"))
        except pydoca.InUseError:
            return True
    return False


def numbers_differ() -> bool:
    """Tells whether a representor has another number than the function with its identifier."""
    numbers = {info.vuid: info.vhca_id for info in pydoca.devices(side="host")}
    with pydoca.open_device("p0") as device:
        return any(each.vhca_id != numbers.get(each.vuid, each.vhca_id) for each in device.representors())


def counts_for_itself() -> bool:
    with pydoca.open_device("p0") as device, pydoca.Clock(device) as first:
        time.sleep(0.1)
        with pydoca.Clock(device) as second:
            before, after = first.timestamp("nic_free_running"), second.timestamp("nic_free_running")
    return after < before


DEFECTS = [
    Defect(
        "dma-emptied-source",
        "One in 20 copies leaves its source without data.",
        consumed_source,
        empties_sources,
    ),
    Defect(
        "dma-list-to-list",
        "A copy from a list to a list repeats the first byte of the second buf.",
        list_to_list,
        copies_lists_wrongly,
    ),
    Defect(
        "context-more-tasks",
        "A copy engine's context gives one task more than it was made for.",
        more_tasks,
        has_more_tasks,
    ),
    Defect(
        "context-forgotten-user-data",
        "A context that is started again has forgotten its user_data.",
        forgotten_user_data,
        forgets_user_data,
    ),
    Defect(
        "context-early-stop",
        "The stop of a context that has tasks in flight tells SUCCESS, as if the context were IDLE.",
        early_stop,
        stops_too_early,
    ),
    Defect(
        "pe-last-of-many",
        "An engine that is to progress until more than 16 tasks have completed does not wait for the last of them.",
        last_of_many,
        leaves_last,
    ),
    Defect(
        "task-kept-callback",
        "A function that was removed from the callbacks of a task in flight is called all the same.",
        kept_callback,
        calls_removed,
    ),
    Defect(
        "sha-early-result",
        "A message in pieces tells that it has its digest when its last piece has only been announced.",
        early_result,
        tells_early_result,
        profile="bluefield2",
    ),
    Defect(
        "sha-wrong-need",
        "The device tells that 32 bytes of room are enough for each digest, also of SHA-512.",
        wrong_need,
        needs_too_little,
        profile="bluefield2",
    ),
    Defect(
        "rdma-gids-from-start",
        "A part of the GID table that does not begin at its start has the first entries all the same.",
        ignored_start,
        ignores_start,
    ),
    Defect(
        "rdma-told-failure",
        "A connection that this side has ended tells that it was aborted.",
        told_failure,
        tells_failure,
    ),
    Defect(
        "rdma-lost-user-data",
        "A connection that is made by an address does not have the user_data that it was made with.",
        lost_user_data,
        loses_user_data,
    ),
    Defect(
        "rdma-closed-listener",
        "The end of a listener ends the connections that its context has accepted.",
        ended_with_listener,
        ends_connections,
    ),
    Defect(
        "rdma-rounded-queue",
        "The send queue of a connection holds what its context was made for, rounded down to a power of two.",
        rounded_queue,
        has_smaller_queue,
    ),
    Defect(
        "rdma-narrow-event",
        "The buf to which the value of a network peer's event is appended gets the lower 32 bits of it only.",
        narrow_event,
        reads_narrow_event,
    ),
    Defect(
        "import-other-process",
        "One in ten copies from memory of another process leaves out the last 64 bytes.",
        other_process,
        copies_of_others_wrongly,
    ),
    Defect(
        "comch-told-failure",
        "A server's on_connect tells of each second client that it could not connect.",
        every_second_failed,
        tells_failed_clients,
    ),
    Defect(
        "comch-hasty-client",
        "A client waits for its server for 0.2 s at most, also where its timeout is longer.",
        hasty_client,
        gives_up_early,
    ),
    Defect(
        "comch-missing-connection",
        "The list of a server's connections lacks the last one of several.",
        missing_connection,
        lacks_connection,
    ),
    Defect(
        "sync-wide-store",
        "A value that is stored in a sync event in a buf clears the eight bytes behind it, too.",
        wide_store,
        stores_too_much,
    ),
    Defect(
        "sync-leak",
        "Each sync event leaves 32 KiB of memory behind.",
        leak_of_events,
        events_grow,
    ),
    Defect(
        "graph-swapped-user-data",
        "The callbacks of a graph get its user_data in place of that of the instance, and the other way round.",
        swapped_user_data,
        swaps_user_data,
    ),
    Defect(
        "graph-silent-cycle",
        "A dependency that would close a cycle is left out, and tells no error.",
        silent_cycle,
        takes_cycle,
    ),
    Defect(
        "buf-short-duplicate",
        "A duplicate of a list of bufs has the first of them only.",
        short_duplicate,
        shortens_duplicates,
    ),
    Defect(
        "inventory-stopped",
        "An inventory that is stopped gives bufs all the same.",
        gives_when_stopped,
        gives_all_the_same,
    ),
    Defect(
        "pool-stale-count",
        "The number of free elements of a pool does not grow when a buf comes back.",
        stale_count,
        counts_too_few,
    ),
    Defect(
        "advise-emptied-buf",
        "The invalidation of the cache leaves its buf without data.",
        emptied_buf,
        empties_bufs,
    ),
    Defect(
        "device-few-openings",
        "A function can be opened four times at a time by one process, and not more.",
        few_openings,
        opens_too_seldom,
    ),
    Defect(
        "representor-other-number",
        "The representor of a VF tells the card's number of the function behind it.",
        other_number,
        numbers_differ,
    ),
    Defect(
        "clock-own-counter",
        "The free-running counter begins at 0 with each Clock of the device.",
        own_counter,
        counts_for_itself,
    ),
]

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    """Plants the defect of the run, first of all in each process."""
    unseen_defects.plant_in_started_process(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
