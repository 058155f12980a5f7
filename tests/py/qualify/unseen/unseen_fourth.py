"""Thirty more defects of a device, of other kinds than those of unseen_defects and unseen_again.

They were also written without a look at the cases.

usage: unseen_fourth.py list
       unseen_fourth.py check [NAME...]              # each is visible by the public API, and only when it is planted
       unseen_fourth.py run NAME LEVEL DIRECTORY     # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import select
import sys
import time
import weakref
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent))  # python -P needs it

import unseen_defects
from unseen_again import Slots, before_copies, sha_engine
from unseen_defects import (
    AT_ONCE,
    Defect,
    Engine,
    Function,
    Patch,
    Spoil,
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
    with_argument,
)

import pydoca
from pydoca import comch, faults

_PAGE = 4096
_LINE = 64
_LOW = 0xFFFFFFFF
_Act = Callable[[], object]
_Begin = Callable[[Any, Any, Any], _Act | None]

# Copies


def after_copies(begin: _Begin) -> AbstractContextManager[None]:
    """Calls begin with the context, the source and the destination of each submitted copy.

    Calls the function that begin returns when the data is there.
    """

    def make_call(original: Function) -> Function:
        @functools.wraps(original)
        def memcpy(self: Any, src: Any, dst: Any, *, submit: bool = True, **keys: Any) -> Any:
            act, length = _prepared(begin, self, src, dst) if submit else (None, 0)
            task = original(self, src, dst, submit=submit, **keys)
            _act_when_done(task, act, length <= AT_ONCE)
            return task

        return memcpy

    def make_submit(original: Function) -> Function:
        @functools.wraps(original)
        def submit(self: Any, flags: pydoca.SubmitFlags = pydoca.SubmitFlags.FLUSH) -> None:
            if not isinstance(self, pydoca.DmaMemcpyTask):
                original(self, flags)
                return
            act, length = _prepared(begin, self.context, self.src, self.dst)
            original(self, flags)
            _act_when_done(self, act, bool(flags & pydoca.SubmitFlags.FLUSH) and length <= AT_ONCE)

        return submit

    return together(
        replaced(pydoca.Dma, "memcpy", make_call),
        replaced(pydoca.Task, "submit", make_submit),
        replaced(pydoca.Task, "try_submit", make_submit),
    )


def _prepared(begin: _Begin, context: Any, src: Any, dst: Any) -> tuple[_Act | None, int]:
    """The action that follows a copy that succeeds, and the copy's length."""
    with suppress(pydoca.DocaError):
        if src is None or dst is None or not all(is_writable(buf) for buf in dst):
            return None, 0
        length = sum(buf.data_len for buf in src)
        if 0 < length <= sum(buf.tailroom for buf in dst):
            return begin(context, src, dst), length
    return None, 0


def _act_when_done(task: Any, act: _Act | None, at_once: bool) -> None:
    if act is not None and at_once:
        act()
    elif act is not None:
        task.add_done_callback(lambda ended: act() if ended.dst is not None and not ended.status else None)


def rooms(dst: Any, total: int) -> list[tuple[int, int]]:
    """Addresses and lengths that the copied bytes will fill."""
    places = []
    for buf in dst:
        length = min(buf.tailroom, total)
        total -= length
        if length:
            places.append((buf.data + buf.data_len, length))
    return places


def border_of_destinations() -> AbstractContextManager[None]:
    def begin(_: Any, src: Any, dst: Any) -> _Act:
        places = rooms(dst, sum(buf.data_len for buf in src))
        borders = [(before + length - 1, place) for (before, length), (place, _) in itertools.pairwise(places)]
        return lambda: poke([(first, peek(last, 1)) for last, first in borders])

    return after_copies(begin)


def skewed() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        if (work.source - work.target) % 4 == 0 or work.length <= 256 or work.src.mmap.is_from_export:
            return []
        return [(work.target + 255, peek(work.source + 255, 2)[::-1])]

    return spoiled_copies(spoil)


def zeros_left_out() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        if work.length < _LINE or work.src.mmap.is_from_export or any(peek(work.source, _LINE)):
            return []
        return [(work.target, peek(work.target, _LINE))]

    return spoiled_copies(spoil)


class Descriptors:
    """The sources that tasks have copied last: the address, and the first bytes that were there."""

    length = 16

    def __init__(self) -> None:
        self._last: weakref.WeakKeyDictionary[Any, tuple[int, bytes]] = weakref.WeakKeyDictionary()

    def note(self, task: Any, src: Any) -> bytes | None:
        """The earlier bytes, if the source is another one."""
        now, before = self._describe(src), self._last.get(task)
        if now is not None:
            self._last[task] = now
        return before[1] if now is not None and before is not None and now[0] != before[0] else None

    def _describe(self, src: Any) -> tuple[int, bytes] | None:
        with suppress(pydoca.DocaError):
            if src is not None and src.list_len == 1 and not src.mmap.is_from_export and src.data_len >= self.length:
                return src.data, peek(src.data, self.length)
        return None


def stale_descriptor() -> AbstractContextManager[None]:
    descriptors, count = Descriptors(), itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def memcpy(*arguments: Any, **keys: Any) -> Any:
            task = original(*arguments, **keys)
            if keys.get("submit", True):
                descriptors.note(task, task.src)
            return task

        return memcpy

    def make_submit(original: Function) -> Function:
        @functools.wraps(original)
        def submit(self: Any, flags: pydoca.SubmitFlags = pydoca.SubmitFlags.FLUSH) -> None:
            before = descriptors.note(self, self.src) if isinstance(self, pydoca.DmaMemcpyTask) else None
            if before is None or next(count) % 10:
                original(self, flags)
                return
            act, length = _prepared(functools.partial(_to_begin_with, before), None, self.src, self.dst)
            original(self, flags)
            _act_when_done(self, act, bool(flags & pydoca.SubmitFlags.FLUSH) and length <= AT_ONCE)

        return submit

    return together(
        replaced(pydoca.Dma, "memcpy", make),
        replaced(pydoca.Task, "submit", make_submit),
        replaced(pydoca.Task, "try_submit", make_submit),
    )


def _to_begin_with(data: bytes, _: Any, __: Any, dst: Any) -> _Act:
    place = dst.data + dst.data_len
    return lambda: poke([(place, data)])


def is_busy(context: Any) -> bool:
    with suppress(pydoca.DocaError):  # the engine belongs to another thread
        return bool(context.num_inflight_tasks)
    return False


def crossed_contexts() -> AbstractContextManager[None]:
    latest: weakref.WeakKeyDictionary[Any, bytes] = weakref.WeakKeyDictionary()
    count = itertools.count(1)

    def begin(context: Any, src: Any, dst: Any) -> _Act | None:
        if src.list_len > 1 or dst.list_len > 1 or src.mmap.is_from_export or src.data_len < 16:
            return None
        latest[context] = peek(src.data, 16)
        others = [data for other, data in list(latest.items()) if other is not context and is_busy(other)]
        if not others or next(count) % 50:
            return None
        return _to_begin_with(others[0], context, src, dst)

    return after_copies(begin)


def cold_engine() -> AbstractContextManager[None]:
    last = 0.0

    def wake(*_: Any) -> None:
        nonlocal last
        if time.monotonic() - last > 0.3:
            time.sleep(0.02)
        last = time.monotonic()

    return before_copies(wake)


@contextmanager
def unfair_contexts() -> Iterator[None]:
    ranks: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
    count, is_late = itertools.count(1), False

    def note(context: Any, *_: Any) -> None:
        nonlocal is_late
        rank = ranks[context] = ranks.get(context) or next(count)
        is_late = any(other < rank and is_busy(each) for each, other in list(ranks.items()) if each is not context)

    rule = faults.FaultRule("delay", "dma.memcpy", by="3 ms", when=lambda _: is_late)
    with faults.inject(rule), before_copies(note):
        yield


# Contexts and engines


def untold_idle() -> AbstractContextManager[None]:
    originals: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def quiet(function: Any) -> Any:
        if function is None or inspect.iscoroutinefunction(function):
            return function

        @functools.wraps(function)
        def call(user_data: Any, context: Any, before: Any, now: Any) -> None:
            if now is not pydoca.ContextState.IDLE:
                function(user_data, context, before, now)

        originals[call] = function
        return call

    def make(original: property) -> property:
        def get(self: Any) -> Any:
            value = original.__get__(self)
            return None if value is None else originals.get(value, value)

        return property(get, lambda self, value: original.__set__(self, quiet(value)))

    change = with_argument(99, "on_state_changed", quiet)
    kinds = [pydoca.Dma, pydoca.Sha, pydoca.Rdma, pydoca.MmapAdvise, comch.Server, comch.Client]
    return together(
        *(replaced(kind, "__init__", change) for kind in kinds),
        replaced(pydoca.SyncEvent, "as_context", change),
        replaced(pydoca.Context, "on_state_changed", make),
    )


def wrong_flush() -> AbstractContextManager[None]:
    def make_status(original: property) -> property:
        def get(self: Any) -> Any:
            status = original.__get__(self)
            return pydoca.Status.IO_FAILED if status is pydoca.Status.SHUTDOWN else status

        return property(get)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def call(*arguments: Any, **keys: Any) -> Any:
            try:
                return original(*arguments, **keys)
            except pydoca.ShutdownError as error:
                raise pydoca.IoFailedError(str(error)) from None

        return call

    def make_await(original: Function) -> Function:
        def wait(self: Any) -> Generator[Any, None, Any]:
            try:
                return (yield from original(self))
            except pydoca.ShutdownError as error:
                raise pydoca.IoFailedError(str(error)) from None

        return wait

    kind = pydoca.DmaMemcpyTask
    return together(
        replaced(kind, "status", make_status),
        replaced(kind, "result", make),
        replaced(kind, "wait", make),
        replaced(kind, "__await__", make_await),
    )


def aging_start() -> AbstractContextManager[None]:
    ages: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def take_time(context: Any) -> None:
        time.sleep(0.002 * min(ages.get(context, 0), 100))
        ages[context] = ages.get(context, 0) + 1

    return replaced(pydoca.Context, "start", before_each(take_time))


def one_in(times: int) -> Callable[[Function], Function]:
    """Makes a method of which one call in several does nothing."""
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def call(*arguments: Any, **keys: Any) -> Any:
            return None if next(count) % times == 0 else original(*arguments, **keys)

        return call

    return make


def stuck_handle() -> AbstractContextManager[None]:
    return replaced(pydoca.ProgressEngine, "clear_notification", one_in(20))


def lost_from_threads() -> AbstractContextManager[None]:
    return replaced(pydoca.ProgressEngine, "submit_threadsafe", one_in(100))


# Memory


def first_export() -> AbstractContextManager[None]:
    blobs: weakref.WeakKeyDictionary[Any, dict[Any, bytes]] = weakref.WeakKeyDictionary()

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def export_pci(self: Any, device: Any = None) -> bytes:
            blob = original(self, device)
            return blobs.setdefault(self, {}).setdefault(device and device.name, blob)

        return export_pci

    return replaced(pydoca.Mmap, "export_pci", make)


def second_device() -> AbstractContextManager[None]:
    def begin(context: Any, src: Any, dst: Any) -> _Act | None:
        owners = [buf.mmap.devices for buf in (*src, *dst)]
        if all(len(devices) == 1 or devices[0] == context.device for devices in owners):
            return None
        places = rooms(dst, sum(buf.data_len for buf in src))
        return functools.partial(poke, [(place, peek(place, length)) for place, length in places])

    return after_copies(begin)


def shifted_import() -> AbstractContextManager[None]:
    def begin(_: Any, src: Any, dst: Any) -> _Act | None:
        origin = src.mmap
        if not origin.is_from_export or origin.addr % _PAGE == 0 or src.list_len > 1 or dst.list_len > 1:
            return None
        place, length = dst.data + dst.data_len, src.data_len
        return lambda: poke([(place + 1, peek(place, length - 1))])

    return after_copies(begin)


def cut_bufs() -> AbstractContextManager[None]:
    def make_for(first: str, second: str) -> Callable[[Function], Function]:
        def make(original: Function) -> Function:
            @functools.wraps(original)
            def get(self: Any, origin: Any, *arguments: Any, **keys: Any) -> Any:
                given = dict(zip((first, second), arguments, strict=False)) | keys
                begin, length = given.get(first), given.get(second)
                begin = origin.addr if begin is None else int(begin)
                rest = origin.addr + origin.len - begin
                if length is not None and origin.addr <= begin and 0 < rest < int(length):
                    return original(self, origin, begin, rest)
                return original(self, origin, *arguments, **keys)

            return get

        return make

    return together(
        replaced(pydoca.BufInventory, "get_by_addr", make_for("addr", "len")),
        replaced(pydoca.BufInventory, "get_by_data", make_for("data", "data_len")),
    )


class Lost:
    """Bufs that do not come back to their inventory: one in 100."""

    def __init__(self) -> None:
        self._taken: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._free: Any = vars(pydoca.BufInventory)["num_free_elements"]

    def free(self, inventory: Any) -> int:
        return max(0, int(self._free.__get__(inventory)) - self._taken.get(inventory, 0) // 100)

    def take(self, inventory: Any) -> None:
        if inventory.is_started and not self.free(inventory):
            raise pydoca.NoMemoryError("take a buf: the inventory has no free element")
        self._taken[inventory] = self._taken.get(inventory, 0) + 1


def lost_bufs() -> AbstractContextManager[None]:
    lost = Lost()
    names = ["get_by_args", "get_by_addr", "get_by_data", "dup"]
    return together(
        *(replaced(pydoca.BufInventory, name, before_each(lost.take)) for name in names),
        replaced(pydoca.BufInventory, "num_free_elements", lambda _: property(lost.free)),
    )


def stale_section() -> AbstractContextManager[None]:
    seen: weakref.WeakKeyDictionary[Any, set[int]] = weakref.WeakKeyDictionary()
    count = itertools.count(1)

    def spoil(pool: Any, buf: Any) -> None:
        heads = seen.setdefault(pool, set())
        if buf.head in heads and next(count) % 10 == 0:
            buf.data_len = min(buf.len, 16)
        heads.add(buf.head)

    return replaced(pydoca.BufPool, "alloc", after_each(spoil))


# Sync events


def torn_value() -> AbstractContextManager[None]:
    last: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def get(self: Any) -> int:
            now: int = original(self)
            before, last[self] = last.get(self, now), now
            is_torn = before >> 32 != now >> 32 and next(count) % 5 == 0
            return before >> 32 << 32 | now & _LOW if is_torn else now

        return get

    return replaced(pydoca.SyncEvent, "get", make)


def signed_waits() -> AbstractContextManager[None]:
    def signed(value: int) -> int:
        return value - 2**64 if value >= 2**63 else value

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def wait(self: Any, value: Any, mask: Any = 2**64 - 1, *, timeout: float | None = None) -> None:
            is_small = int(value) < 2**63 and self.get() & int(mask) < 2**63
            if is_small or int(value) >= 2**64:
                original(self, value, mask, timeout=timeout)
                return
            end = time.monotonic() + (float("inf") if timeout is None else timeout)
            while signed(self.get() & int(mask)) <= signed(int(value)):
                if time.monotonic() > end:
                    raise pydoca.TimeOutError(f"wait: the event was not greater than {value} in time")
                time.sleep(50e-6)

        return wait

    return together(*(replaced(pydoca.SyncEvent, name, make) for name in ["wait_gt", "wait_gt_yield"]))


# SHA


def kept_algorithm() -> AbstractContextManager[None]:
    last, count = "", itertools.count(1)

    def spoil(work: Work) -> list[Patch]:
        nonlocal last
        before, last = last, work.algorithm
        size = hashlib.new(work.algorithm).digest_size
        is_far = work.src.mmap.is_from_export or work.dst.tailroom < size
        if before in ("", work.algorithm) or is_far or next(count) % 4:
            return []
        return [(work.target, hashlib.new(before, peek(work.source, work.length)).digest()[:size])]

    return spoiled(pydoca.Sha, "hash", pydoca.ShaHashTask, spoil)


def padded_pieces() -> AbstractContextManager[None]:
    def look(_: Spoil, src: Any, dst: Any, algorithm: str) -> tuple[list[Patch], int]:
        with suppress(pydoca.DocaError):
            if src is not None and dst is not None and src.list_len > 1 and is_writable(dst):
                return digest(list(src), dst, algorithm), sum(buf.data_len for buf in src)
        return [], 0

    def digest(src: list[Any], dst: Any, algorithm: str) -> list[Patch]:
        message = hashlib.new(algorithm)
        if any(buf.mmap.is_from_export for buf in src) or dst.tailroom < message.digest_size:
            return []
        pieces = [peek(buf.data, buf.data_len) for buf in src]
        for piece in pieces[:-1]:
            message.update(piece + bytes(-len(piece) % 4))
        message.update(pieces[-1])
        return [(dst.data + dst.data_len, message.digest())]

    return spoiled(pydoca.Sha, "hash", pydoca.ShaHashTask, lambda _: [], look)


# RDMA


def wrong_connection() -> AbstractContextManager[None]:
    met: weakref.WeakKeyDictionary[Any, tuple[int, bool]] = weakref.WeakKeyDictionary()
    count = itertools.count(1)

    def is_wrong(task: Any) -> bool:
        """Decides once for each message whether it is lost."""
        if met.get(task, (-1, False))[0] != task._completions:
            met[task] = task._completions, next(count) % 20 == 0
        return met[task][1]

    def make(original: property) -> property:
        def get(self: Any) -> Any:
            told = original.__get__(self)
            if told is None or self.kind != "receive" or told.rdma is None:
                return told
            others = [each for each in told.rdma.connections if each is not told]
            return others[0] if others and is_wrong(self) else told

        return property(get, original.__set__)

    return replaced(pydoca.RdmaTask, "connection", make)


def _is_swap(task: Any) -> bool:
    return isinstance(task, pydoca.RdmaTask) and task.kind == "atomic_cmp_swp"


def _watch_swap(task: Any, _: object = None) -> None:
    if _is_swap(task):
        task.add_done_callback(_spoil_swap)


def _spoil_swap(ended: Any) -> None:
    result = ended.result_buf
    if result is not None and not ended.status:
        poke([(result.data + result.data_len - 8, ended.cmp_data.to_bytes(8, sys.byteorder))])


def compared_value() -> AbstractContextManager[None]:
    def make_call(original: Function) -> Function:
        @functools.wraps(original)
        def atomic_cmp_swp(*arguments: Any, **keys: Any) -> Any:
            task = original(*arguments, **keys)
            if keys.get("submit", True):
                _watch_swap(task)
            return task

        return atomic_cmp_swp

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def call(self: Any, *arguments: Any, **keys: Any) -> Any:
            value = original(self, *arguments, **keys)
            return self.cmp_data if _is_swap(self) else value

        return call

    def make_await(original: Function) -> Function:
        def wait(self: Any) -> Generator[Any, None, Any]:
            value = yield from original(self)
            return self.cmp_data if _is_swap(self) else value

        return wait

    return together(
        replaced(pydoca.RdmaConnection, "atomic_cmp_swp", make_call),
        replaced(pydoca.Task, "submit", after_each(_watch_swap)),
        replaced(pydoca.Task, "try_submit", after_each(_watch_swap)),
        replaced(pydoca.RdmaTask, "result", make),
        replaced(pydoca.RdmaTask, "wait", make),
        replaced(pydoca.RdmaTask, "__await__", make_await),
    )


def shared_end() -> AbstractContextManager[None]:
    disconnect = pydoca.RdmaConnection.disconnect

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def call(self: Any, *arguments: Any) -> Any:
            ends = [each for each in self.rdma.connections if each is not self] if self.rdma is not None else []
            others = [each for each in ends if each.is_connected] if self.is_connected else []
            result = original(self, *arguments)
            for other in others[:1]:
                with suppress(pydoca.DocaError):
                    disconnect(other)
            return result

        return call

    return together(
        replaced(pydoca.RdmaConnection, "disconnect", make), replaced(pydoca.RdmaConnection, "__exit__", make)
    )


# Comch


@contextmanager
def lost_in_a_queue() -> Iterator[None]:
    count, is_lost = itertools.count(1), False

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def send(self: Any, *arguments: Any, **keys: Any) -> Any:
            nonlocal is_lost
            owner = self.client or self.server
            is_deep = owner is not None and owner.num_inflight_tasks >= 16
            is_lost = is_deep and next(count) % 20 == 0
            try:
                return original(self, *arguments, **keys)
            finally:
                is_lost = False

        return send

    rule = faults.FaultRule("drop", "comch.send", when=lambda _: is_lost)
    with faults.inject(rule), replaced(comch.Connection, "send", make):
        yield


def leak_of_messages() -> AbstractContextManager[None]:
    kept: list[bytes] = []
    return replaced(comch.Connection, "send", after_each(lambda *_: kept.append(b"\x01" * 8192)))


# Graphs


def mixed_cookies() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def mixing(graph: weakref.ref[Any], function: Function) -> Function:
        before: list[Any] = []

        @functools.wraps(function)
        def call(cookie: Any) -> Any:
            here = graph()
            is_wrong = bool(before) and here is not None and here.num_instances > 1 and next(count) % 20 == 0
            given = before[0] if is_wrong else cookie
            before[:] = [cookie]
            return function(given)

        return call

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def node(self: Any, source: Any, *, after: Any = ()) -> Any:
            is_plain = isinstance(source, pydoca.Context | pydoca.Graph) or inspect.iscoroutinefunction(source)
            return original(self, source if is_plain else mixing(weakref.ref(self), source), after=after)

        return node

    return replaced(pydoca.Graph, "node", make)


# Properties of the device


@contextmanager
def degraded_link() -> Iterator[None]:
    before = pydoca.sim.topology()["function"]
    functions = [{key: value for key, value in function.items() if value is not None} for function in before]
    for function in functions:
        if function["name"] == "p0":
            function["active_rate"] //= 16
    pydoca.sim.load_topology({"function": functions})
    yield


def failures_as_successes() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def stats(self: Any) -> Any:
            told = original(self)
            return told._replace(completed=told.completed + told.failed, failed=0)

        return stats

    return together(replaced(pydoca.Context, "stats", make), replaced(pydoca.ProgressEngine, "stats", make))


# Checks that show a defect without the suite


def scatters_wrongly() -> bool:
    """Tells whether a copy to a list of four bufs of 16 bytes differs."""
    with ExitStack() as stack:
        engine, target = Engine(stack), pydoca.alloc(64)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (pattern(64), target))
        head = engine.bufs.get_by_addr(dst, dst.addr, 16)
        for number in range(1, 4):
            head.chain(engine.bufs.get_by_addr(dst, dst.addr + 16 * number, 16))
        engine.dma.memcpy(engine.bufs.get_by_data(src), head).wait(10)
        del head
        return bytes(target) != pattern(64)


def copies_wrongly(length: int, begin: int = 0, zeros: int = 0) -> bool:
    """Tells whether a copy from a place, with zeros first, to the beginning of a page differs."""
    with ExitStack() as stack:
        engine = Engine(stack)
        memory, target = pydoca.alloc(begin + length), pydoca.alloc(length)
        data = bytes(zeros) + (pattern(251) * (length // 251 + 1))[: length - zeros]
        memory[begin:], target[:] = data, b"\xff" * length
        src, dst = stack.enter_context(engine.device.mmap(memory)), stack.enter_context(engine.device.mmap(target))
        with engine.bufs.get_by_data(src, src.addr + begin) as source, engine.bufs.get_by_addr(dst) as sink:
            engine.dma.memcpy(source, sink).wait(10)
        return bytes(target) != data


def repeats_wrongly() -> bool:
    """One task, which copies from another place each time."""
    with ExitStack() as stack:
        engine, target, data = Engine(stack), pydoca.alloc(64), pattern(64 * 20)
        src, dst = (stack.enter_context(engine.device.mmap(each)) for each in (data, target))
        with engine.bufs.get_by_addr(dst) as sink:
            task = engine.dma.memcpy(None, sink, submit=False)
            for place in range(0, len(data), 64):
                task.src = engine.bufs.get_by_data(src, src.addr + place, 64)
                task.submit()
                task.wait(10)
                if bytes(target) != data[place : place + 64]:
                    return True
                sink.reset_data_len()
            task.free()
    return False


class TwoContexts:
    """Two copy contexts of one engine, and memory in pieces of 64 bytes."""

    def __init__(self, stack: ExitStack) -> None:
        self.slots = Slots(stack, 128)
        self.contexts = [self.slots.dma, stack.enter_context(pydoca.Dma(self.slots.pe, self.slots.device))]

    def submit(self, number: int) -> pydoca.DmaMemcpyTask:
        slots, place = self.slots, 64 * number
        source = slots.bufs.get_by_data(slots.src, slots.src.addr + place, 64)
        sink = slots.bufs.get_by_addr(slots.dst, slots.dst.addr + place, 64)
        return self.contexts[number % 2].memcpy(source, sink)


def mixes_contexts() -> bool:
    with ExitStack() as stack:
        two = TwoContexts(stack)
        for _ in range(8):
            tasks = [two.submit(number) for number in range(16)]
            two.slots.pe.run_until(tasks, 10)
            for task in tasks:
                task.free()
            if bytes(two.slots.target)[: 16 * 64] != two.slots.data[: 16 * 64]:
                return True
    return False


def is_unfair() -> bool:
    """Tells whether the copies of the second context take longer while both are busy."""
    with ExitStack() as stack:
        two, late = TwoContexts(stack), 0
        for _ in range(5):
            first, second = two.submit(0), two.submit(1)
            begin = time.perf_counter()
            two.slots.pe.run_until([first, second], 10)
            late += time.perf_counter() - begin > 0.002
            first.free()
            second.free()
    return late >= 4


def wakes_slowly() -> bool:
    late = 0
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        for _ in range(3):
            time.sleep(0.35)
            begin = time.perf_counter()
            task = slots.submit(0)
            task.wait(10)
            late += time.perf_counter() - begin > 0.015
            task.free()
    return late >= 2


def has_slow_link() -> bool:
    return len({info.active_rate for info in pydoca.devices()}) > 1


def hides_failures() -> bool:
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
        return engine.dma.stats().failed != 1


def hides_idle() -> bool:
    seen: list[pydoca.ContextState] = []
    with pydoca.open_device("p0") as device, pydoca.ProgressEngine() as pe:
        dma = pydoca.Dma(pe, device, on_state_changed=lambda _, __, ___, now: seen.append(now))
        dma.start()
        dma.stop()
        dma.close()
    return pydoca.ContextState.RUNNING in seen and pydoca.ContextState.IDLE not in seen


def flushes_wrongly() -> bool:
    """Stops a context with submitted copies that have not begun."""
    with ExitStack() as stack:
        engine = Engine(stack)
        src, dst = (stack.enter_context(engine.device.mmap(pydoca.alloc(64))) for _ in range(2))
        with engine.bufs.get_by_data(src) as source, engine.bufs.get_by_addr(dst) as sink:
            task = engine.dma.memcpy(source, sink, submit=False)
            task.submit(pydoca.SubmitFlags.NONE)
            engine.dma.stop()
            try:
                task.wait(10)
            except pydoca.ShutdownError:
                return False
            except pydoca.IoFailedError:
                return task.status is pydoca.Status.IO_FAILED
            finally:
                task.free()
    raise AssertionError("the stop has flushed nothing")


def starts_slower() -> bool:
    times = []
    with pydoca.open_device("p0") as device, pydoca.ProgressEngine() as pe:
        dma = pydoca.Dma(pe, device)
        for _ in range(20):
            begin = time.perf_counter()
            dma.start()
            times.append(time.perf_counter() - begin)
            dma.stop()
        dma.close()
    return min(times[15:]) > max(times[1:3]) + 0.015


def stays_awake() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        for _ in range(60):
            task = slots.submit(0)
            slots.pe.request_notification()
            slots.pe.clear_notification()
            is_awake = bool(select.select([slots.pe], [], [], 0)[0])
            task.wait(10)
            task.free()
            if is_awake:
                return True
    return False


def forgets_submissions() -> bool:
    with ExitStack() as stack:
        slots = Slots(stack, 1)
        src, dst = slots.bufs.get_by_data(slots.src), slots.bufs.get_by_addr(slots.dst)
        for _ in range(250):
            task = slots.dma.memcpy(src, dst, submit=False)
            slots.pe.submit_threadsafe(task)
            end = time.monotonic() + 1
            while not task.done and time.monotonic() < end:
                slots.pe.progress()
            if not task.done:
                return True
            task.free()
            dst.reset_data_len()
    return False


def exports_old_map() -> bool:
    with ExitStack() as stack:
        device, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
        lent = stack.enter_context(host.mmap(pydoca.alloc(64), access="pci_read_only"))
        lent.export_pci()
        lent.stop()
        lent.start()
        try:
            device.import_mmap(lent.export_pci()).close()
        except pydoca.BadStateError:
            return True
    return False


def serves_one_device() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack, "p1")
        devices = [stack.enter_context(pydoca.open_device("p0")), engine.device]
        memory = pydoca.alloc(128)
        memory[:64] = pattern(64)
        shared = stack.enter_context(pydoca.Mmap(memory, devices=devices, access="local_read_write"))  # the map starts
        engine.copy(shared, shared, 64, to=64)
        return memory[64:] != pattern(64)


def imports_shifted() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        host = stack.enter_context(pydoca.open_device("pf0"))
        memory, target = pydoca.alloc(200), pydoca.alloc(100)
        memory[100:] = pattern(100)
        lent = stack.enter_context(host.mmap(memoryview(memory)[100:], access="pci_read_only"))
        src = stack.enter_context(engine.device.import_mmap(lent.export_pci()))
        engine.copy(src, stack.enter_context(engine.device.mmap(target)), 100)
        return bytes(target) != pattern(100)


def cuts_bufs() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        memory = stack.enter_context(engine.device.mmap(pydoca.alloc(64)))
        try:
            engine.bufs.get_by_addr(memory, memory.addr + 32, 64).close()
        except pydoca.InvalidValueError:
            return False
    return True


def loses_bufs() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        memory = stack.enter_context(engine.device.mmap(pydoca.alloc(64)))
        for _ in range(1000):
            try:
                engine.bufs.get_by_addr(memory).close()
            except pydoca.NoMemoryError:
                return True
    return False


def gives_used_bufs() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        memory = stack.enter_context(engine.device.mmap(pydoca.alloc(64)))
        pool = stack.enter_context(pydoca.BufPool(2, 32, memory))
        for _ in range(40):
            with pool.alloc() as buf:
                if buf.data_len:
                    return True
                buf.data_len = 32
    return False


def tears_values() -> bool:
    with event() as counter:
        for number in range(20):
            value = number << 32 | number
            counter.update_set(value)
            if counter.get() != value:
                return True
    return False


def compares_signed() -> bool:
    with event() as counter:
        counter.update_set(2**63 + 1)
        try:
            counter.wait_gt(5, timeout=0.2)
        except pydoca.TimeOutError:
            return True
    return False


def keeps_algorithm() -> bool:
    target = pydoca.alloc(64)
    with sha_engine(target) as (sha, src, dst, bufs):
        for _ in range(6):
            for name in ("sha1", "sha256", "sha512"):
                with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
                    task = sha.hash(source, sink, name)
                    task.wait(10)
                    task.free()
                    digest = hashlib.new(name, pattern(256)).digest()
                    if bytes(target)[: len(digest)] != digest:
                        return True
    return False


def hashes_lists_wrongly() -> bool:
    target = pydoca.alloc(32)
    with sha_engine(target) as (sha, src, dst, bufs):
        head = bufs.get_by_data(src, src.addr, 5)
        head.chain(bufs.get_by_data(src, src.addr + 5, 95))
        sha.hash(head, bufs.get_by_addr(dst), "sha256").wait(10)
        del head
    return bytes(target) != hashlib.sha256(pattern(100)).digest()


class Fan:
    """Two ends of RDMA, and some connections."""

    def __init__(self, stack: ExitStack, count: int, permissions: str = "rdma_atomic") -> None:
        self.devices = [stack.enter_context(pydoca.open_device(name)) for name in ("p0", "p1")]
        self.pe = stack.enter_context(pydoca.ProgressEngine())
        self.ends = [
            stack.enter_context(pydoca.Rdma(self.pe, each, permissions=permissions, max_num_connections=count))
            for each in self.devices
        ]
        self.pairs = [(self.ends[0].export(), self.ends[1].export()) for _ in range(count)]
        for here, there in self.pairs:
            here.connect(there.details)
            there.connect(here.details)


def names_wrong_connection() -> bool:
    with ExitStack() as stack:
        fan = Fan(stack, 2)
        for number in range(60):
            here, there = fan.pairs[number % 2]
            receive = fan.ends[1].receive(None)
            send = here.send(None)
            send.wait(10)
            receive.wait(10)
            if receive.connection is not there:
                return True
            send.free()
            receive.free()
    return False


def tells_compared_value() -> bool:
    with ExitStack() as stack:
        fan, bufs = Fan(stack, 1), stack.enter_context(pydoca.BufInventory(2))
        memory, old = pydoca.alloc(8), pydoca.alloc(8)
        memory[:] = (77).to_bytes(8, sys.byteorder)
        lent = stack.enter_context(fan.devices[1].mmap(memory, access="local_read_write|rdma_atomic"))
        remote = stack.enter_context(fan.devices[0].import_mmap(lent.export_rdma()))
        result = stack.enter_context(fan.devices[0].mmap(old))
        with bufs.get_by_data(remote) as target, bufs.get_by_addr(result) as sink:
            value = fan.pairs[0][0].atomic_cmp_swp(target, sink, 5, 6).wait(10)
        return (value, int.from_bytes(bytes(old), sys.byteorder)) == (5, 5)


def ends_another() -> bool:
    with ExitStack() as stack:
        fan = Fan(stack, 3)
        fan.pairs[0][0].disconnect().wait(10)
        with suppress(pydoca.TimeOutError):
            fan.pe.run_until(lambda: len(fan.ends[0].connections) < 2, 0.3)
        return not all(here.is_connected for here, _ in fan.pairs[1:])


def loses_many_messages() -> bool:
    """Tells whether one of 200 messages that were sent at once is lost."""
    with server() as (pe, service, host), comch.Client(pe, host, "check", num_send_tasks=200) as link:
        other = service.accept().wait(10)
        for number in range(200):
            link.send(str(number).encode())
        for number in range(200):
            try:
                if other.recv().wait(1) != str(number).encode():
                    return True
            except pydoca.TimeOutError:
                return True
    return False


def messages_grow() -> bool:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE

    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        begin = 0
        for number in range(2200):
            begin = resident() if number == 200 else begin
            task = link.send(b"text")
            task.wait(10)
            task.free()
            other.recv().wait(10)
        return resident() - begin > 8 << 20


def mixes_cookies() -> bool:
    seen: list[int] = []
    with ExitStack() as stack:
        slots = Slots(stack, 64)
        graph = pydoca.Graph(slots.pe, num_instances=64)
        moved = graph.node(slots.dma)
        check = graph.node(seen.append, after=[moved])
        stack.enter_context(graph)
        runs = []
        for number in range(64):
            source, sink = slots.bufs.get_by_data(slots.src), slots.bufs.get_by_addr(slots.dst)
            task = slots.dma.memcpy(source, sink, submit=False)
            runs.append(graph.run({moved: task, check: number}))
        for run in runs:
            run.wait(10)
        del source, sink, task, run, runs
    return sorted(seen) != list(range(64))


DEFECTS = [
    Defect(
        "dma-scatter-border",
        "A copy to a list of bufs repeats a byte at the beginning of each buf behind the first one.",
        border_of_destinations,
        scatters_wrongly,
    ),
    Defect(
        "dma-skewed",
        "Copies of more than 256 bytes whose two addresses differ modulo 4 have the bytes 255 and 256 swapped.",
        skewed,
        lambda: copies_wrongly(1000, begin=3),
    ),
    Defect(
        "dma-zeros-left-out",
        "A copy whose first 64 bytes are all zeros does not write them.",
        zeros_left_out,
        lambda: copies_wrongly(1000, zeros=64),
    ),
    Defect(
        "dma-stale-descriptor",
        "One in ten tasks that are submitted again with another source copies the first 16 bytes of the one before.",
        stale_descriptor,
        repeats_wrongly,
    ),
    Defect(
        "dma-crossed-contexts",
        "While another context has copies in flight, one in 50 copies begins with 16 bytes of that context's source.",
        crossed_contexts,
        mixes_contexts,
    ),
    Defect(
        "dma-unfair",
        "While a context that is older has copies in flight, those of a younger one take 3 ms longer.",
        unfair_contexts,
        is_unfair,
    ),
    Defect(
        "dma-cold",
        "The first copy after 0.3 s without copies takes 20 ms longer.",
        cold_engine,
        wakes_slowly,
    ),
    Defect(
        "link-degraded",
        "The first port of the card runs at a sixteenth of its rate.",
        degraded_link,
        has_slow_link,
    ),
    Defect(
        "stats-failures",
        "The statistics of contexts and engines count tasks that have failed as completed ones.",
        failures_as_successes,
        hides_failures,
    ),
    Defect(
        "context-untold-idle",
        "A context does not tell its on_state_changed that it has become IDLE.",
        untold_idle,
        hides_idle,
    ),
    Defect(
        "context-wrong-flush",
        "Copies that the stop of their context flushes end with IO_FAILED in place of SHUTDOWN.",
        wrong_flush,
        flushes_wrongly,
    ),
    Defect(
        "context-aging-start",
        "Each start of a context takes 2 ms longer than its start before.",
        aging_start,
        starts_slower,
    ),
    Defect(
        "pe-stuck-handle",
        "One in 20 times an engine's notification handle stays readable when it is cleared.",
        stuck_handle,
        stays_awake,
    ),
    Defect(
        "pe-lost-submission",
        "One in 100 tasks that are submitted from any thread is never begun.",
        lost_from_threads,
        forgets_submissions,
    ),
    Defect(
        "map-stale-export",
        "A map that was exported, stopped and started exports the description of before.",
        first_export,
        exports_old_map,
    ),
    Defect(
        "map-second-device",
        "Copies by a device that is not the first one of the map's devices succeed, and write nothing.",
        second_device,
        serves_one_device,
    ),
    Defect(
        "import-shifted",
        "Copies from memory of the other side that does not begin at a page are shifted by a byte behind the first.",
        shifted_import,
        imports_shifted,
    ),
    Defect(
        "buf-cut",
        "A buf that would reach beyond the end of its map is cut there, where it should be refused.",
        cut_bufs,
        cuts_bufs,
    ),
    Defect(
        "inventory-lost-bufs",
        "One in 100 bufs that were released does not come back to its inventory.",
        lost_bufs,
        loses_bufs,
    ),
    Defect(
        "pool-stale-section",
        "One in ten bufs that a pool gives again has data already.",
        stale_section,
        gives_used_bufs,
    ),
    Defect(
        "sync-torn-value",
        "One in five reads of a sync event whose upper half has changed gives the upper half of the read before.",
        torn_value,
        tears_values,
    ),
    Defect(
        "sync-signed-wait",
        "Waits until a sync event is greater than a number compare the two as signed numbers.",
        signed_waits,
        compares_signed,
    ),
    Defect(
        "sha-kept-algorithm",
        "One in four digests by another algorithm than the one before it is of the algorithm before.",
        kept_algorithm,
        keeps_algorithm,
        profile="bluefield2",
    ),
    Defect(
        "sha-padded-pieces",
        "The digest of a list of bufs takes each but the last one with zeros up to a multiple of four bytes.",
        padded_pieces,
        hashes_lists_wrongly,
        profile="bluefield2",
    ),
    Defect(
        "rdma-wrong-connection",
        "One in 20 receives of a context with several connections names another one than the message came over.",
        wrong_connection,
        names_wrong_connection,
    ),
    Defect(
        "rdma-compared-value",
        "A compare-and-swap gives the value that it was to compare with, also where another one was there.",
        compared_value,
        tells_compared_value,
    ),
    Defect(
        "rdma-shared-end",
        "The end of one connection ends another one of the context, too.",
        shared_end,
        ends_another,
    ),
    Defect(
        "comch-lost-in-queue",
        "One in 20 messages that are sent while 16 or more are in flight is lost.",
        lost_in_a_queue,
        loses_many_messages,
    ),
    Defect(
        "comch-leak",
        "Each message leaves 8 KiB of memory behind.",
        leak_of_messages,
        messages_grow,
    ),
    Defect(
        "graph-mixed-cookies",
        "While several instances of a graph exist, one in 20 functions gets what is meant for the run before.",
        mixed_cookies,
        mixes_cookies,
    ),
]

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    """Plants the defect of the run, first of all in each process."""
    unseen_defects.plant_in_started_process(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
