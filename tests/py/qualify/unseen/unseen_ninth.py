"""Thirty more defects of a device, of other kinds than those of the programs before.

They were also written without a look at the cases.

usage: unseen_ninth.py list
       unseen_ninth.py check [NAME...]              # each is visible by the public API, and only when it is planted
       unseen_ninth.py run NAME LEVEL DIRECTORY     # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
import time
import weakref
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent))  # python -P needs it

import unseen_defects
from unseen_again import Slots, before_copies, sha_engine, spoiled_lists
from unseen_defects import (
    AT_ONCE,
    Defect,
    Engine,
    Function,
    Pair,
    Patch,
    Spoil,
    Table,
    Work,
    before_each,
    is_writable,
    look_at,
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
_PAGE = 4096

# Copies


def empty_element() -> AbstractContextManager[None]:
    def is_with_empty(src: Any) -> bool:
        return src.list_len > 1 and any(not buf.data_len for buf in src)

    def up_to_empty(pieces: list[bytes], before: bytes) -> bytes:
        data = b"".join(itertools.takewhile(len, pieces))
        return data + before[len(data) :]

    return spoiled_lists(is_with_empty, up_to_empty)


def slow_unaligned() -> AbstractContextManager[None]:
    def take_time(_: Any, src: Any, dst: Any) -> None:
        if src is not None and dst is not None and (src.data % _LINE or (dst.data + dst.data_len) % _LINE):
            time.sleep(0.001)

    return before_copies(take_time)


def beside_rdma() -> AbstractContextManager[None]:
    running: weakref.WeakSet[Any] = weakref.WeakSet()
    count = itertools.count(1)

    def spoil(work: Work) -> list[Patch]:
        if work.src.mmap.is_from_export or not any(rdma.state is pydoca.ContextState.RUNNING for rdma in list(running)):
            return []
        last = work.target + work.length - 1
        return [(last, peek(last, 1))] if next(count) % 20 == 0 else []

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def init(self: Any, *arguments: Any, **keys: Any) -> None:
            original(self, *arguments, **keys)
            running.add(self)

        return init

    return together(replaced(pydoca.Rdma, "__init__", make), spoiled_copies(spoil))


def last_page() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        origin = work.src.mmap
        end = origin.addr + origin.len
        begin = max(end - end % _PAGE, work.source)
        if origin.is_from_export or origin.len < 2 * _PAGE or begin >= work.source + work.length:
            return []
        return [(work.target + begin - work.source, bytes(work.source + work.length - begin))]

    return spoiled_copies(spoil)


def replayed() -> AbstractContextManager[None]:
    count = itertools.count(1)
    last: list[tuple[memoryview, Patch]] = []

    def spoil(work: Work) -> list[Patch]:
        patches = [patch for _, patch in last]
        last.clear()
        memory = work.dst.mmap.memory
        if next(count) % 20 == 0 and isinstance(memory, pydoca.Memory) and not work.src.mmap.is_from_export:
            last.append((memoryview(memory), (work.target, peek(work.source, work.length))))
        return patches

    return spoiled_copies(spoil)


# Tasks, contexts and engines


def kept_status() -> AbstractContextManager[None]:
    ended: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def make(original: Any) -> property:
        def get(self: Any) -> Any:
            status = original.__get__(self)
            if status is not pydoca.Status.IN_PROGRESS:
                ended[self] = status
            elif self in ended:
                return ended[self]
            return status

        return property(get)

    return replaced(pydoca.Task, "status", make)


def silent_result() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def result(self: Any) -> Any:
            try:
                return original(self)
            except pydoca.InProgressError:
                raise
            except pydoca.DocaError:
                return None

        return result

    return replaced(pydoca.Task, "result", make)


def swapped_states() -> AbstractContextManager[None]:
    def swapped(function: Function | None) -> Function | None:
        if function is None or inspect.iscoroutinefunction(function):
            return function
        return lambda data, context, previous, following: function(data, context, following, previous)

    def make_told(original: Any) -> property:
        return property(original.__get__, lambda self, function: original.__set__(self, swapped(function)))

    kinds = (pydoca.Dma, pydoca.Sha, pydoca.MmapAdvise, pydoca.Rdma, comch.Server, comch.Client)
    return together(
        replaced(pydoca.SyncEvent, "as_context", with_argument(99, "on_state_changed", swapped)),
        replaced(pydoca.Context, "on_state_changed", make_told),
        *(replaced(kind, "__init__", with_argument(99, "on_state_changed", swapped)) for kind in kinds),
    )


def ignored_limit() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def drain(self: Any, *_: Any, **__: Any) -> int:
            return int(original(self))

        return drain

    return replaced(pydoca.ProgressEngine, "drain", make)


def stats_of_run() -> AbstractContextManager[None]:
    begins: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
    real_stats = pydoca.Context.stats

    def begin(context: Any) -> None:
        begins[context] = real_stats(context)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def stats(self: Any) -> Any:
            told = original(self)
            if self not in begins:
                return told
            return type(told)(*(now - before for now, before in zip(told, begins[self], strict=True)))

        return stats

    return together(
        replaced(pydoca.Context, "stats", make),
        *(replaced(pydoca.Context, name, before_each(begin)) for name in ("start", "__enter__", "__aenter__")),
    )


# SHA


def unaligned_digest() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        is_met = work.target % 4 and work.dst.tailroom >= 4
        return [(work.target, bytes(4 - work.target % 4))] if is_met else []

    return spoiled(pydoca.Sha, "hash", pydoca.ShaHashTask, spoil)


def wide_register() -> AbstractContextManager[None]:
    sizes = {"sha1": 20, "sha256": 32, "sha512": 64}

    def spoil(work: Work) -> list[Patch]:
        size = sizes[work.algorithm]
        room = min(work.dst.tailroom, 64)
        return [(work.target + size, bytes(room - size))] if room > size else []

    return spoiled(pydoca.Sha, "hash", pydoca.ShaHashTask, spoil)


# RDMA


def zero_immediate() -> AbstractContextManager[None]:
    def make(original: Any) -> property:
        return property(lambda self: original.__get__(self) or None)

    return replaced(pydoca.RdmaTask, "result_immediate_data", make)


def same_id() -> AbstractContextManager[None]:
    return replaced(pydoca.RdmaConnection, "id", lambda original: property(lambda self: original.__get__(self) & ~1))


def _short_data(src: Any) -> Patch | None:
    with suppress(pydoca.DocaError):
        if src is not None and src.list_len == 1 and 0 < src.data_len <= _LINE and is_writable(src):
            return src.data, peek(src.data, src.data_len)
    return None


def _changed(before: Patch | None, now: Patch | None) -> list[Patch]:
    """The earlier bytes, if the place is the same and has other data now."""
    if before is None or now is None or before[0] != now[0] or len(before[1]) != len(now[1]) or before == now:
        return []
    return [before]


def data_when_made() -> AbstractContextManager[None]:
    made: weakref.WeakKeyDictionary[Any, Patch | None] = weakref.WeakKeyDictionary()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def send(self: Any, src: Any, *arguments: Any, **keys: Any) -> Any:
            task = original(self, src, *arguments, **keys)
            made[task] = _short_data(src)
            return task

        return send

    def make_submit(original: Function) -> Function:
        @functools.wraps(original)
        def submit(self: Any, *arguments: Any) -> None:
            now = _short_data(self.src) if self in made else None
            patches = _changed(made.get(self), now)
            if now is None or not patches:
                made.update({self: now} if self in made else {})
                original(self, *arguments)
                return
            poke(patches)
            try:
                original(self, *arguments)
            except BaseException:
                poke([now])
                raise
            self.add_done_callback(lambda _: poke([now]))

        return submit

    return together(
        *(replaced(pydoca.RdmaConnection, name, make) for name in ("send", "send_imm")),
        *(replaced(pydoca.Task, name, make_submit) for name in ("submit", "try_submit")),
    )


def overtaking_reads() -> AbstractContextManager[None]:
    writes: list[tuple[Any, int, bytes]] = []  # the writes in flight: each with the earlier bytes of its place
    known: dict[int, bytes] = {}

    def watch(task: Any) -> None:
        writes[:] = [each for each in writes if each[0].status is pydoca.Status.IN_PROGRESS]
        with suppress(pydoca.DocaError):
            if task.src is not None and task.src.list_len == task.dst.list_len == 1:
                place, data = task.dst.data + task.dst.data_len, peek(task.src.data, task.src.data_len)
                writes.append((task, place, known.get(place, b"")[: len(data)].ljust(len(data), b"\0")))
                known[place] = data

    def spoil(work: Work) -> list[Patch]:
        patches = []
        for task, place, data in writes:
            begin, end = max(place, work.source), min(place + len(data), work.source + work.length)
            if begin < end and task.status is pydoca.Status.IN_PROGRESS:
                patches.append((work.target + begin - work.source, data[begin - place : end - place]))
        return patches if work.length <= work.dst.tailroom else []

    def look(spoil: Spoil, src: Any, dst: Any, algorithm: str) -> tuple[list[Patch], int]:
        patches, length = look_at(spoil, src, dst, algorithm)
        return patches, length + AT_ONCE  # the data comes later than submit() returns

    return together(
        watched(pydoca.RdmaConnection, "write", is_rdma("write"), watch),
        spoiled(pydoca.RdmaConnection, "read", pydoca.RdmaTask, spoil, look),
    )


def later_first(owner: type, name: str, every: int) -> AbstractContextManager[None]:
    """Submits one task in several after the next one, unless the program waits or progresses before."""
    held: list[tuple[Any, Any]] = []
    count = itertools.count(1)

    def release(*_: object) -> None:
        while held:
            with suppress(pydoca.DocaError):
                held.pop(0)[1].submit()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def call(self: Any, *arguments: Any, submit: bool = True, **keys: Any) -> Any:
            if submit and not held and next(count) % every == 0:
                task = original(self, *arguments, submit=False, **keys)
                held.append((self, task))
                return task
            if not submit or any(each[0] is not self for each in held):
                release()
            try:
                return original(self, *arguments, submit=submit, **keys)
            finally:
                release()

        return call

    engine = ("progress", "drain", "wait", "run_until", "gather", "as_completed", "request_notification")
    waits = [(pydoca.ProgressEngine, each) for each in engine]
    waits += [(pydoca.Task, each) for each in ("wait", "__await__", "send", "submit", "try_submit", "free")]
    waits += [(pydoca.Context, each) for each in ("stop", "__exit__", "__aexit__", "flush_tasks")]
    waits += [(comch.Connection, "close"), (pydoca.RdmaConnection, "disconnect")]
    waits += [(pydoca.Awaitable, each) for each in ("wait", "__await__")]
    return together(
        *(replaced(kind, each, before_each(release)) for kind, each in waits),
        replaced(owner, name, make),
    )


# Comch


def shared_user_data() -> AbstractContextManager[None]:
    shared: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def make(original: Any) -> property:
        def get(self: Any) -> Any:
            return shared[self.server] if self.server in shared else original.__get__(self)

        def put(self: Any, value: Any) -> None:
            original.__set__(self, value)
            if self.server is not None:
                shared[self.server] = value

        return property(get, put)

    return replaced(comch.Connection, "user_data", make)


def counted_headers() -> AbstractContextManager[None]:
    def make(original: Any) -> property:
        return property(lambda self: original.__get__(self) + 16 * self.recv_messages)

    return replaced(comch.Connection, "recv_bytes", make)


def short_names() -> AbstractContextManager[None]:
    names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()

    def make(place: int) -> Function:
        def make_init(original: Function) -> Function:
            @functools.wraps(original)
            def init(self: Any, *arguments: Any, **keys: Any) -> None:
                name = keys["name"] if "name" in keys else arguments[place]
                with_argument(place, "name", lambda name: name[:16])(original)(self, *arguments, **keys)
                names[self] = name

            return init

        return make_init

    def make_told(original: Any) -> property:
        return property(lambda self: names[self] if self in names else original.__get__(self))

    return together(
        replaced(comch.Server, "__init__", make(3)),
        replaced(comch.Client, "__init__", make(2)),
        replaced(comch.Server, "name", make_told),
        replaced(comch.Client, "name", make_told),
    )


# Sync events


def event_at_head() -> AbstractContextManager[None]:
    inventories: weakref.WeakKeyDictionary[Any, pydoca.BufInventory] = weakref.WeakKeyDictionary()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def init(self: Any, *arguments: Any, buf: Any = None, **keys: Any) -> None:
            if buf is None or not buf.headroom or buf.head % 8:
                original(self, *arguments, buf=buf, **keys)
                return
            inventory = pydoca.BufInventory(1)
            original(self, *arguments, buf=inventory.get_by_data(buf.mmap, buf.head, buf.data_len), **keys)
            inventories[self] = inventory

        return init

    return replaced(pydoca.SyncEvent, "__init__", make)


def reversed_value() -> AbstractContextManager[None]:
    def turn(task: Any) -> None:
        with suppress(pydoca.DocaError):
            if task.src is not None and task.src.list_len == 1 and task.src.data_len == 8 and is_writable(task.src):
                place = task.src.data
                data = peek(place, 8)
                poke([(place, data[::-1])])
                task.add_done_callback(lambda _: poke([(place, data)]))

    name = "remote_net_sync_event_notify_set"

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def notify_set(self: Any, *arguments: Any, submit: bool = True, **keys: Any) -> Any:
            task = original(self, *arguments, submit=False, **keys)
            if submit:
                task.try_submit()
            return task

        return notify_set

    def turn_first(task: Any) -> None:
        if is_rdma(name)(task) and task.state is pydoca.TaskState.IDLE:
            turn(task)

    return together(
        replaced(pydoca.RdmaConnection, name, make),
        *(replaced(pydoca.Task, each, before_each(turn_first)) for each in ("submit", "try_submit")),
    )


# Graphs


def early_graphs() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def node(self: Any, source: Any, *, after: Any = ()) -> Any:
            return original(self, source) if isinstance(source, pydoca.Graph) else original(self, source, after=after)

        return node

    def make_add(original: Function) -> Function:
        @functools.wraps(original)
        def add_dependency(self: Any, from_: Any, to: Any) -> None:
            if to.type != "graph":
                original(self, from_, to)

        return add_dependency

    return together(
        replaced(pydoca.Graph, "node", make),
        replaced(pydoca.Graph, "add_dependency", make_add),
    )


def callbacks_in_graphs() -> AbstractContextManager[None]:
    callbacks: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def configure(self: Any, *arguments: Any, **keys: Any) -> None:
            original(self, *arguments, **keys)
            callbacks[self] = keys.get("on_completion")

        return configure

    def make_graph(original: Function) -> Function:
        @functools.wraps(original)
        def init(self: Any, *arguments: Any, on_completion: Any = None, **keys: Any) -> None:
            def ended(run: Any, data: Any, graph_data: Any) -> None:
                for node in run.graph.nodes:
                    if node.type == "context" and callbacks.get(node.source):
                        task = run[node]
                        callbacks[node.source](task, task.user_data, node.source.user_data)
                if on_completion is not None:
                    on_completion(run, data, graph_data)

            original(self, *arguments, on_completion=ended, **keys)

        return init

    return together(
        replaced(pydoca.Dma, "__init__", make),
        replaced(pydoca.Dma, "set_memcpy_conf", make),
        replaced(pydoca.Graph, "__init__", make_graph),
    )


# Bufs and memory maps


def ignored_references() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def dec_refcount(self: Any) -> int:
            before = int(original(self))
            if before > 1:
                with suppress(pydoca.DocaError):
                    self.close()
            return before

        return dec_refcount

    return replaced(pydoca.Buf, "dec_refcount", make)


def released_twice() -> AbstractContextManager[None]:
    def twice(function: Function | None) -> Function | None:
        if function is None:
            return None

        def call(memory: Any) -> None:
            function(memory)
            function(memory)

        return call

    def make(original: Any) -> property:
        return property(original.__get__, lambda self, function: original.__set__(self, twice(function)))

    change = with_argument(99, "free_callback", twice)
    return together(
        replaced(pydoca.Mmap, "__init__", change),
        replaced(pydoca.Device, "mmap", change),
        replaced(pydoca.Mmap, "free_callback", make),
    )


def whole_lines() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def invalidate_cache(self: Any, buf: Any, **keys: Any) -> Any:
            if buf is not None and buf.data_len % _LINE:
                raise pydoca.InvalidValueError(f"invalidate_cache: {buf.data_len} bytes are not whole lines")
            return original(self, buf, **keys)

        return invalidate_cache

    return replaced(pydoca.MmapAdvise, "invalidate_cache", make)


# Properties of the device


def missing_function() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def devices(**keys: Any) -> list[pydoca.DeviceInfo]:
            found: list[pydoca.DeviceInfo] = original(**keys)
            return found[:-1] if next(count) % 10 == 0 and len(found) > 1 else found

        return devices

    return replaced(pydoca, "devices", make)


def other_host_clock() -> AbstractContextManager[None]:
    def monotonic(_: Any) -> str:
        return "host_monotonic"

    return replaced(pydoca.Clock, "crosstimestamp", with_argument(0, "host", monotonic))


# Checks that show a defect without the suite


def stops_at_empty() -> bool:
    target = pydoca.alloc(32)
    with ExitStack() as stack:
        engine = Engine(stack)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (pattern(32), target))
        head = stack.enter_context(engine.bufs.get_by_data(src, src.addr, 16))
        head.chain(engine.bufs.get_by_addr(src, src.addr, 16))
        head.chain(engine.bufs.get_by_data(src, src.addr + 16, 16))
        sink = stack.enter_context(engine.bufs.get_by_addr(dst))
        task = engine.dma.memcpy(head, sink)
        task.wait(10)
        task.free()
    return bytes(target) != pattern(32)


def is_slow_unaligned() -> bool:
    with ExitStack() as stack:
        engine, times = Engine(stack), []
        src, dst = (stack.enter_context(engine.device.mmap(pydoca.alloc(128))) for _ in range(2))
        for _ in range(30):
            begin = time.perf_counter()
            engine.copy(src, dst, 64, 4)
            times.append(time.perf_counter() - begin)
    return min(times) > 0.001


def copies_wrongly_beside_rdma() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        stack.enter_context(pydoca.Rdma(engine.pe, engine.device))
        target = pydoca.alloc(64)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (pattern(64, 1), target))
        for _ in range(40):
            target[:] = bytes(64)
            engine.copy(src, dst, 64)
            if bytes(target) != pattern(64, 1):
                return True
    return False


def loses_last_page() -> bool:
    memory, target = memoryview(pydoca.alloc(12288)), pydoca.alloc(10000)
    memory[:10000] = pattern(10000, 1)
    with ExitStack() as stack:
        engine = Engine(stack)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (memory[:10000], target))
        engine.copy(src, dst, 10000)
    return bytes(target) != pattern(10000, 1)


def is_done_at_once() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        task = slots.submit(0)
        task.wait(10)
        assert task.status is pydoca.Status.SUCCESS
        task.dst.reset_data_len()
        task.submit()
        status = task.status
        task.wait(10)
        task.free()
    return status is not pydoca.Status.IN_PROGRESS


def fails_without_error() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 2)
        source = stack.enter_context(slots.bufs.get_by_data(slots.src))
        sink = stack.enter_context(slots.bufs.get_by_addr(slots.dst, slots.dst.addr, 16))
        task = slots.dma.memcpy(source, sink, submit=False)
        task.submit()
        slots.pe.run_until(lambda: task.done, 10)
        try:
            task.result()
        except pydoca.DocaError:
            return False
        finally:
            task.free()
            slots.pe.run_until(lambda: slots.dma.state is pydoca.ContextState.IDLE, 10)
    return True


def swaps_states() -> bool:
    states: list[pydoca.ContextState] = []
    with ExitStack() as stack:
        Slots(stack, 1, on_state_changed=lambda _, __, ___, following: states.append(following))
    return states[-1] is not pydoca.ContextState.IDLE


def drains_too_many() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 4)
        tasks = [slots.submit(number) for number in range(4)]
        time.sleep(0.05)
        count = slots.pe.drain(1)
        slots.pe.run_until(tasks, 10)
        for task in tasks:
            task.free()
        del tasks, task
    return count > 1


def digest_beside(offset: int, room: int) -> bytes:
    """The bytes of a memory of ones after a digest was written to a place in it."""
    target = pydoca.alloc(256)
    target[:] = b"\xff" * 256
    with sha_engine(target) as (sha, src, dst, bufs):
        sink = bufs.get_by_addr(dst, dst.addr + offset, room)
        task = sha.hash(bufs.get_by_data(src), sink, "sha256")
        task.wait(10)
        task.free()
        del sink, task
    return bytes(target)[offset : offset + room]


def writes_zeros_behind() -> bool:
    return digest_beside(0, 128)[32:] != b"\xff" * 96


def hashes_unaligned_wrongly() -> bool:
    return digest_beside(3, 32) != digest_beside(0, 32)


def hides_zero() -> bool:
    with ExitStack() as stack:
        fan = Fan(stack, 1)
        task = fan.ends[1].receive(None)
        fan.pairs[0][0].send_imm(None, 0).wait(10)
        task.wait(10)
        return task.result_immediate_data != 0


def has_equal_ids() -> bool:
    with ExitStack() as stack:
        fan = Fan(stack, 4)
        return len({here.id for here, _ in fan.pairs}) < 4


def replays() -> bool:
    with ExitStack() as stack:
        engine, target = Engine(stack), pydoca.alloc(64)
        memory = pydoca.alloc(64)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (memory, target))
        for number in range(30):
            memory[:] = pattern(64, number)
            engine.copy(src, dst, 64)
            if bytes(target) != pattern(64, number):
                return True
    return False


def forgets_stats() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        task = slots.submit(0)
        task.wait(10)
        task.free()
        before = slots.dma.stats().completed
        slots.dma.stop()
        slots.dma.start()
        return slots.dma.stats().completed < before


def sends_old_data() -> bool:
    memory, target = pydoca.alloc(16), pydoca.alloc(16)
    with ExitStack() as stack:
        fan, bufs = Fan(stack, 1), stack.enter_context(pydoca.BufInventory(2))
        src, dst = (
            stack.enter_context(device.mmap(each)) for device, each in zip(fan.devices, (memory, target), strict=True)
        )
        source, sink = stack.enter_context(bufs.get_by_data(src)), stack.enter_context(bufs.get_by_addr(dst))
        received = fan.ends[1].receive(sink)
        task = fan.pairs[0][0].send(source, submit=False)
        memory[:] = pattern(16, 1)
        task.submit()
        fan.pe.run_until([task, received], 10)
        task.free()
        received.free()
    return bytes(target) != pattern(16, 1)


def reads_before_write() -> bool:
    old = pydoca.alloc(16)
    with (
        peers("rdma_write|rdma_read", 16) as (pair, _, remote),
        pair.devices[0].mmap(pattern(16, 1)) as text,
        pair.devices[0].mmap(old) as area,
        pair.bufs.get_by_data(text) as source,
        pair.bufs.get_by_addr(remote) as sink,
        pair.bufs.get_by_data(remote) as place,
        pair.bufs.get_by_addr(area) as result,
    ):
        tasks = [pair.here.write(source, sink), pair.here.read(place, result)]
        pair.pe.run_until(tasks, 10)
        for task in tasks:
            task.free()
    return bytes(old) != pattern(16, 1)


def fills_later_first() -> bool:
    targets = [pydoca.alloc(8) for _ in range(8)]
    with ExitStack() as stack:
        fan, bufs = Fan(stack, 1), stack.enter_context(pydoca.BufInventory(9))
        areas = [stack.enter_context(fan.devices[1].mmap(each)) for each in targets]
        sinks = [stack.enter_context(bufs.get_by_addr(each)) for each in areas]
        received = [fan.ends[1].receive(sink) for sink in sinks]
        for number in range(8):
            with fan.devices[0].mmap(bytes([number])) as text, bufs.get_by_data(text) as source:
                task = fan.pairs[0][0].send(source)
                task.wait(10)
                task.free()
        fan.pe.run_until(received, 10)
        for task in received:
            task.free()
    return [bytes(each)[0] for each in targets] != list(range(8))


def overtakes() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        tasks = [link.send(bytes([number])) for number in range(30)]
        messages = [other.recv().wait(10) for _ in tasks]
        pe.run_until(tasks, 10)
    return messages != [bytes([number]) for number in range(30)]


def shares_user_data() -> bool:
    with server() as (pe, service, host), ExitStack() as stack:
        ends = []
        for number in range(2):
            stack.enter_context(comch.Client(pe, host, "check"))
            ends.append(service.accept().wait(10))
            ends[-1].user_data = number
        return ends[0].user_data != 0


def counts_headers() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        link.send(b"text").wait(10)
        other.recv().wait(10)
        return other.recv_bytes != 4


def confuses_names() -> bool:
    with server() as (pe, service, _):
        names = ("service-of-customer-1", "service-of-customer-2")
        others = [comch.Server(pe, service.device, service.representor, name) for name in names]
        with others[0]:
            try:
                with others[1]:
                    return False
            except pydoca.AlreadyExistError:
                return True


def counts_at_head() -> bool:
    memory = pydoca.alloc(16)
    with (
        pydoca.open_device("p0") as device,
        device.mmap(memory, access="local_read_write|rdma_read|rdma_write|rdma_atomic") as area,
        pydoca.BufInventory(1) as bufs,
        bufs.get_by_args(area, area.addr, 16, area.addr + 8, 8) as buf,
    ):
        with pydoca.SyncEvent(device, buf=buf) as event:
            event.update_set(1)
        return bytes(memory)[:8] != bytes(8)


def sets_reversed() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        event = stack.enter_context(pydoca.SyncEvent(pair.devices[1], publisher="remote_net"))
        remote = stack.enter_context(pair.devices[0].import_sync_event_remote_net(event.export_to_remote_net()))
        area = stack.enter_context(pair.devices[0].mmap(bytearray((5).to_bytes(8, sys.byteorder))))
        with pair.bufs.get_by_data(area) as source:
            task = pair.here.remote_net_sync_event_notify_set(remote, source)
            task.wait(10)
            task.free()
        return event.get() != 5


def runs_graph_early() -> bool:
    states: list[pydoca.GraphNodeState] = []
    with ExitStack() as stack:
        slots = Slots(stack, 4)
        outer, inner = (pydoca.Graph(slots.pe) for _ in range(2))
        copies = []
        for number in range(4):
            source = slots.bufs.get_by_data(slots.src, slots.src.addr + 64 * number, 64)
            sink = slots.bufs.get_by_addr(slots.dst, slots.dst.addr + 64 * number, 64)
            copies.append(slots.dma.memcpy(source, sink, submit=False))
        moved = inner.node(slots.dma)
        steps = [outer.node(slots.dma)]
        while len(steps) < 3:
            steps.append(outer.node(slots.dma, after=steps[-1:]))
        with inner:
            looked = outer.node(lambda part: states.append(part.node_state(moved)), after=steps[-1:])
            last = outer.node(inner, after=[looked])
            with outer:
                run = inner.create_instance({moved: copies[3]})
                outer.run(dict(zip(steps, copies, strict=False)) | {looked: run, last: run}).wait(10)
                del run
        del copies, source, sink
    return states != [pydoca.GraphNodeState.NOT_STARTED]


def calls_in_graphs() -> bool:
    calls: list[int] = []
    with ExitStack() as stack:
        slots = Slots(stack, 1, on_completion=lambda *_: calls.append(1))
        graph = pydoca.Graph(slots.pe)
        moved = graph.node(slots.dma)
        source = stack.enter_context(slots.bufs.get_by_data(slots.src))
        sink = stack.enter_context(slots.bufs.get_by_addr(slots.dst))
        with graph:
            run = graph.run({moved: slots.dma.memcpy(source, sink, submit=False)})
            run.wait(10)
            run.destroy()
    return bool(calls)


def forgets_references() -> bool:
    with pydoca.open_device("p0") as device, device.mmap(bytes(16)) as area, pydoca.BufInventory(1) as bufs:
        buf = bufs.get_by_data(area)
        buf.inc_refcount()
        buf.dec_refcount()
        is_gone = buf.is_released
        buf.close()
    return is_gone


def releases_twice() -> bool:
    calls: list[int] = []
    with pydoca.open_device("p0") as device:
        device.mmap(pydoca.alloc(16), free_callback=lambda _: calls.append(1)).close()
    return len(calls) > 1


def refuses_parts_of_lines() -> bool:
    with ExitStack() as stack:
        device, pe = stack.enter_context(pydoca.open_device("p0")), stack.enter_context(pydoca.ProgressEngine())
        advise, bufs = stack.enter_context(pydoca.MmapAdvise(pe, device)), stack.enter_context(pydoca.BufInventory(1))
        with bufs.get_by_data(stack.enter_context(device.mmap(pydoca.alloc(100)))) as buf:
            try:
                task = advise.invalidate_cache(buf)
            except pydoca.InvalidValueError:
                return True
            task.wait(10)
            task.free()
    return False


def loses_functions() -> bool:
    return len({len(pydoca.devices()) for _ in range(12)}) > 1


def reads_other_clock() -> bool:
    with pydoca.open_device("p0") as device, pydoca.Clock(device) as clock:
        moment = clock.crosstimestamp("host_real_time", "nic_free_running")
        return abs(moment.host - time.time_ns()) > 10**9


DEFECTS = [
    Defect(
        "dma-empty-element",
        "A copy from a list with an empty buf in it ends there, and leaves out the bufs behind it.",
        empty_element,
        stops_at_empty,
    ),
    Defect(
        "dma-slow-unaligned",
        "A copy from or to an address that is not a multiple of 64 takes 1 ms longer.",
        slow_unaligned,
        is_slow_unaligned,
    ),
    Defect(
        "dma-beside-rdma",
        "While an Rdma runs, one in 20 copies leaves out its last byte.",
        beside_rdma,
        copies_wrongly_beside_rdma,
    ),
    Defect(
        "dma-replayed",
        "One in 20 copies is done once more when the next one begins.",
        replayed,
        replays,
    ),
    Defect(
        "task-kept-status",
        "A task that is in flight again tells the status of its completion before.",
        kept_status,
        is_done_at_once,
    ),
    Defect(
        "task-silent-result",
        "The result of a task that has failed is None, and raises no error.",
        silent_result,
        fails_without_error,
    ),
    Defect(
        "context-swapped-states",
        "A context's on_state_changed gets the two states in the wrong order.",
        swapped_states,
        swaps_states,
    ),
    Defect(
        "context-stats-of-run",
        "The statistics of a context begin at 0 again with each of its starts.",
        stats_of_run,
        forgets_stats,
    ),
    Defect(
        "pe-ignored-limit",
        "An engine's drain() delivers all that there is, whatever its limit is.",
        ignored_limit,
        drains_too_many,
    ),
    Defect(
        "sha-unaligned-digest",
        "A digest at an address that is not a multiple of four begins with zeros up to such a multiple.",
        unaligned_digest,
        hashes_unaligned_wrongly,
        profile="bluefield2",
    ),
    Defect(
        "sha-wide-register",
        "A digest of less than 64 bytes is followed by zeros up to 64 bytes, as far as its buf reaches.",
        wide_register,
        writes_zeros_behind,
        profile="bluefield2",
    ),
    Defect(
        "rdma-zero-immediate",
        "A message with the number 0 as immediate data arrives as one without a number.",
        zero_immediate,
        hides_zero,
    ),
    Defect(
        "rdma-same-id",
        "The connections of an Rdma have their numbers in pairs.",
        same_id,
        has_equal_ids,
    ),
    Defect(
        "rdma-data-when-made",
        "A message of up to 64 bytes has the data that its buf had when the task was made.",
        data_when_made,
        sends_old_data,
    ),
    Defect(
        "rdma-overtaking-read",
        "A read of what a write in flight is about to change brings what was written before it.",
        overtaking_reads,
        reads_before_write,
    ),
    Defect(
        "rdma-later-receive",
        "Of receives that are posted one directly after the other, each third is filled after the one behind it.",
        lambda: later_first(pydoca.Rdma, "receive", 3),
        fills_later_first,
    ),
    Defect(
        "comch-overtaking",
        "One in ten messages is overtaken by the next one, when that is sent directly behind it.",
        lambda: later_first(comch.Connection, "send", 10),
        overtakes,
    ),
    Defect(
        "comch-shared-user-data",
        "The connections of a server have one user_data together.",
        shared_user_data,
        shares_user_data,
    ),
    Defect(
        "comch-counted-headers",
        "The number of bytes that have arrived counts 16 bytes more for each message.",
        counted_headers,
        counts_headers,
    ),
    Defect(
        "comch-short-name",
        "Servers whose names begin with the same 16 characters are the same to the card.",
        short_names,
        confuses_names,
    ),
    Defect(
        "sync-at-head",
        "A sync event in a buf with headroom has its value at the head of the buf.",
        event_at_head,
        counts_at_head,
    ),
    Defect(
        "sync-reversed-value",
        "A value that a network peer stores in a sync event arrives in the reverse order of bytes.",
        reversed_value,
        sets_reversed,
    ),
    Defect(
        "graph-early-graph",
        "A graph in a graph does not wait for the nodes before it.",
        early_graphs,
        runs_graph_early,
    ),
    Defect(
        "graph-callbacks",
        "Copies in a graph call the on_completion of their context.",
        callbacks_in_graphs,
        calls_in_graphs,
    ),
    Defect(
        "buf-ignored-reference",
        "A buf with several references is released with the first of them.",
        ignored_references,
        forgets_references,
    ),
    Defect(
        "map-last-page",
        "Copies from the last page of a memory map that has a part of that page give zeros.",
        last_page,
        loses_last_page,
    ),
    Defect(
        "map-released-twice",
        "The free_callback of a memory map is called twice.",
        released_twice,
        releases_twice,
    ),
    Defect(
        "advise-whole-lines",
        "The invalidation of the cache is refused for a buf that is not a multiple of 64 bytes long.",
        whole_lines,
        refuses_parts_of_lines,
    ),
    Defect(
        "device-missing-function",
        "One in ten lists of devices lacks its last one.",
        missing_function,
        loses_functions,
    ),
    Defect(
        "clock-other-host-clock",
        "A cross timestamp has the monotonic clock of the host, whichever was asked for.",
        other_host_clock,
        reads_other_clock,
    ),
]

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    """Plants the defect of the run, first of all in each process."""
    unseen_defects.plant_in_started_process(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
