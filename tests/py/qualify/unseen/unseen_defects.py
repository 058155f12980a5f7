"""Thirty defects of a device, written without a look at the cases. The first run (level quick) found 14 of them.

A defect replaces methods of pydoca in the process that tests, and in those that it starts, by functions that call the
original ones and then misbehave as a bad card, driver or firmware does.

The first run missed MISSED below, since it had no case of their kinds. The suite has such cases now, and finds all
thirty; that says nothing about defects that its authors have not seen.

usage: unseen_defects.py list
       unseen_defects.py check [NAME...]              # each is visible by the public API, and only when it is planted
       unseen_defects.py run NAME LEVEL DIRECTORY     # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import itertools
import mmap
import os
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pydoca
from pydoca import comch, faults

_PAGE = 4096
_LINE = 64
AT_ONCE = 65536  # the simulator has copied this many bytes when submit() returns
_LOW = 0xFFFFFFFF
_VARIABLE = "PYDOCA_UNSEEN_DEFECT"

# The reason why the first run missed each defect, and the cases that find it.
MISSED = {
    "dma-file-source": ("no case copied from a mapped file", "MEM-7"),
    "dma-pci-remainder": ("lengths across PCIe were all multiples of 4", "DMA-PCI"),
    "dma-appended-length": ("no destination had data already", "BUF-4"),
    "dma-short-destination": ("the one destination that was too short had no room at all", "BUF-5"),
    "dma-tail": ("two late samples of 1,024 passed, and those of DMA-DRIFT were not judged", "DMA-LAT, PE-4"),
    "dma-periodic-stall": ("drift and step are ratios of means", "PE-4"),
    "comch-thread-leak": ("descriptors were counted, threads were not", "COM-1"),
    "dma-fewer-tasks": ("no context had its max_num_tasks", "CAP-1"),
    "same-mac": ("properties of two functions were not compared", "INV-7"),
    "representors-swapped": ("a representor was not compared with its function", "INV-4, COM-6"),
    "clock-backwards": ("no case read a clock", "INV-8"),
    "rdma-permission": ("no remote access was forbidden", "RDMA-4"),
    "sync-mask": ("no wait had a mask", "SYN-1, SYN-TASK"),
    "rdma-narrow-addend": ("no addend was above 32 bits", "RDMA-3"),
    "rdma-short-immediate": ("no case used write_imm", "RDMA-2"),
    "comch-wrong-peer": ("no server with several clients sent", "COM-4"),
}

Function = Callable[..., Any]
Patch = tuple[int, bytes]


class Work(NamedTuple):
    """A submitted task as the device sees it: it moves data from one piece of memory to another."""

    source: int  # addresses
    target: int
    length: int
    src: pydoca.Buf
    dst: pydoca.Buf
    algorithm: str


Spoil = Callable[[Work], list[Patch]]
Look = Callable[[Spoil, Any, Any, str], tuple[list[Patch], int]]


class Defect(NamedTuple):
    name: str
    sentence: str
    plant: Callable[[], AbstractContextManager[object]]
    is_visible: Callable[[], bool]
    profile: str = "bluefield3"


def peek(address: int, length: int) -> bytes:
    return ctypes.string_at(address, length)


def poke(patches: list[Patch]) -> None:
    for address, data in patches:
        ctypes.memmove(address, data, len(data))


# Replacing methods


@contextmanager
def replaced(owner: Any, name: str, make: Callable[[Any], Any]) -> Iterator[None]:
    """Replaces the attribute of a class by one that make() derives from it."""
    is_own = name in vars(owner)
    original = vars(owner)[name] if is_own else getattr(owner, name)
    setattr(owner, name, make(original))
    try:
        yield
    finally:
        if is_own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)


@contextmanager
def together(*plants: AbstractContextManager[object]) -> Iterator[None]:
    with ExitStack() as stack:
        for plant in plants:
            stack.enter_context(plant)
        yield


def with_argument(place: int, name: str, change: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Changes one argument of a method if it is given; place counts from the argument after self."""

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def call(self: Any, *arguments: Any, **keys: Any) -> Any:
            if name in keys:
                keys[name] = change(keys[name])
            elif len(arguments) > place:
                arguments = (*arguments[:place], change(arguments[place]), *arguments[place + 1 :])
            return original(self, *arguments, **keys)

        return call

    return make


def before_each(act: Callable[[Any], object]) -> Callable[[Function], Function]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def call(self: Any, *arguments: Any, **keys: Any) -> Any:
            act(self)
            return original(self, *arguments, **keys)

        return call

    return make


def after_each(act: Callable[[Any, Any], object]) -> Callable[[Function], Function]:
    """Calls act with self and the result after each call of the method."""

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def call(self: Any, *arguments: Any, **keys: Any) -> Any:
            result = original(self, *arguments, **keys)
            act(self, result)
            return result

        return call

    return make


def look_at(spoil: Spoil, src: Any, dst: Any, algorithm: str) -> tuple[list[Patch], int]:
    """The patches of a task and its length; nothing if its bufs are lists or of another process."""
    with suppress(pydoca.DocaError):
        if src is None or dst is None or src.list_len != 1 or dst.list_len != 1 or not is_writable(dst):
            return [], 0
        work = Work(src.data, dst.data + dst.data_len, src.data_len, src, dst, algorithm)
        return (spoil(work) if work.length else []), work.length
    return [], 0


def is_writable(dst: Any) -> bool:
    """Tells whether a task may write to the buf, and this process has its memory."""
    return not dst.mmap.is_from_export and bool(dst.mmap.access & pydoca.Access.LOCAL_READ_WRITE)


def spoiled(owner: type, name: str, kind: Any, spoil: Spoil, look: Look = look_at) -> AbstractContextManager[None]:
    """Makes tasks of one kind write the patches of spoil, over their own data or next to it."""
    when_done = pydoca.Task.add_done_callback

    def finish(task: Any, patches: list[Patch], at_once: bool) -> None:
        if patches and at_once:
            poke(patches)
        elif patches:
            when_done(task, lambda ended: _poke_of(ended, patches))

    def make_call(original: Function) -> Function:
        @functools.wraps(original)
        def call(self: Any, src: Any, dst: Any, *rest: Any, submit: bool = True, **keys: Any) -> Any:
            algorithm = rest[0] if rest else keys.get("algorithm", "sha256")
            patches, length = look(spoil, src, dst, algorithm) if submit else ([], 0)
            task = original(self, src, dst, *rest, submit=submit, **keys)
            finish(task, patches, length <= AT_ONCE)
            return task

        return call

    def make_submit(original: Function) -> Function:
        @functools.wraps(original)
        def submit(self: Any, flags: pydoca.SubmitFlags = pydoca.SubmitFlags.FLUSH) -> None:
            if not isinstance(self, kind):
                original(self, flags)
                return
            patches, length = look(spoil, self.src, self.dst, getattr(self, "algorithm", ""))
            original(self, flags)
            finish(self, patches, bool(flags & pydoca.SubmitFlags.FLUSH) and length <= AT_ONCE)

        return submit

    return together(
        replaced(owner, name, make_call),
        replaced(pydoca.Task, "submit", make_submit),
        replaced(pydoca.Task, "try_submit", make_submit),
    )


def _poke_of(ended: Any, patches: list[Patch]) -> None:
    if ended.dst is not None and not ended.status:
        poke(patches)


def spoiled_copies(spoil: Spoil) -> AbstractContextManager[None]:
    def of_fitting(work: Work) -> list[Patch]:
        return spoil(work) if work.length <= work.dst.tailroom else []

    return spoiled(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, of_fitting)


def watched(
    owner: type, name: str, is_met: Callable[[Any], bool], watch: Callable[[Any], object]
) -> AbstractContextManager[None]:
    """Calls watch with each submitted task of a kind, whether its maker or its own method submits it."""

    def make_call(original: Function) -> Function:
        @functools.wraps(original)
        def call(self: Any, *arguments: Any, submit: bool = True, **keys: Any) -> Any:
            task = original(self, *arguments, submit=submit, **keys)
            if submit:
                watch(task)
            return task

        return call

    def watch_again(task: Any, _: object) -> None:
        if is_met(task):
            watch(task)

    return together(
        replaced(owner, name, make_call),
        replaced(pydoca.Task, "submit", after_each(watch_again)),
        replaced(pydoca.Task, "try_submit", after_each(watch_again)),
    )


# Copies with wrong data


def bit_per_thousand() -> AbstractContextManager[None]:
    count, rng = itertools.count(1), Random(36)

    def spoil(work: Work) -> list[Patch]:
        if next(count) % 1000 or work.src.mmap.is_from_export:
            return []
        place = rng.randrange(work.length)
        return [(work.target + place, bytes([peek(work.source + place, 1)[0] ^ 1 << rng.randrange(8)]))]

    return spoiled_copies(spoil)


def page_crossing() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        boundary = (work.target // _PAGE + 1) * _PAGE
        if not work.target % _LINE or boundary >= work.target + work.length or work.src.mmap.is_from_export:
            return []
        return [(boundary, peek(work.source + boundary - work.target - 1, 1))]

    return spoiled_copies(spoil)


def one_length() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        return [(work.target + 1496, bytes(4))] if work.length == 1500 else []

    return spoiled_copies(spoil)


def file_source() -> AbstractContextManager[None]:
    known: weakref.WeakKeyDictionary[pydoca.Mmap, bool] = weakref.WeakKeyDictionary()

    def spoil(work: Work) -> list[Patch]:
        origin = work.src.mmap
        if origin.is_from_export or work.length < 2 * _PAGE:
            return []
        if origin not in known:
            known[origin] = _is_of_file(origin.addr)
        return [(work.target + _PAGE, peek(work.source, _PAGE))] if known[origin] else []

    return spoiled_copies(spoil)


def _is_of_file(address: int) -> bool:
    for line in Path("/proc/self/maps").read_text().splitlines():
        area, _, _, _, _, *path = line.split(maxsplit=5)
        first, last = (int(number, 16) for number in area.split("-"))
        if first <= address < last:
            return bool(path) and path[0].startswith("/") and not path[0].startswith(("/memfd:", "/dev/"))
    return False


def overrun() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        end = work.target + work.length
        more = min(-end % _LINE, _room_behind(work.dst.mmap, end))
        if work.length <= _PAGE or not more or work.src.mmap.is_from_export:
            return []
        source_end = work.source + work.length
        rest = min(more, work.src.mmap.addr + work.src.mmap.len - source_end)
        return [(end, peek(source_end, rest) + b"\xee" * (more - rest))]

    return spoiled_copies(spoil)


def _room_behind(target: pydoca.Mmap, end: int) -> int:
    """The number of bytes behind end that a defect may overwrite without harm to the process."""
    memory = target.memory
    owner = memory.obj if isinstance(memory, memoryview) else memory
    return _LINE if isinstance(owner, pydoca.Memory | mmap.mmap) else target.addr + target.len - end


def stale_source() -> AbstractContextManager[None]:
    seen: dict[int, bytes] = {}
    count = itertools.count(1)

    def spoil(work: Work) -> list[Patch]:
        if work.length < _LINE or work.src.mmap.is_from_export:
            return []
        before, now = seen.get(work.source), peek(work.source, _LINE)
        if len(seen) > 10_000:
            seen.clear()
        seen[work.source] = now
        is_stale = before is not None and before != now and next(count) % 50 == 0
        return [(work.target, before)] if before is not None and is_stale else []

    return spoiled_copies(spoil)


def pci_remainder() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        rest = work.length % 4
        if not work.src.mmap.is_from_export or not rest:
            return []
        place = work.target + work.length - rest
        return [(place, peek(place, rest))]

    return spoiled_copies(spoil)


def two_threads() -> AbstractContextManager[None]:
    last: dict[int, float] = {}  # the key is the thread
    count = itertools.count(1)

    def spoil(work: Work) -> list[Patch]:
        here, now = threading.get_ident(), time.monotonic()
        last[here] = now
        is_shared = any(then > now - 0.05 for thread, then in list(last.items()) if thread != here)
        if not is_shared or work.src.mmap.is_from_export or next(count) % 20:
            return []
        return [(work.target, bytes([peek(work.source, 1)[0] ^ 0x80]))]

    return spoiled_copies(spoil)


# Copies with wrong results


def appended_length() -> AbstractContextManager[None]:
    def watch(task: Any) -> None:
        with suppress(pydoca.DocaError):
            if task.dst.data_len and task.src.list_len == task.dst.list_len == 1:
                length = task.src.data_len
                task.add_done_callback(lambda ended: set_length(ended, length))

    def set_length(task: Any, length: int) -> None:
        if task.dst is not None and not task.status:
            task.dst.data_len = length

    return watched(pydoca.Dma, "memcpy", lambda task: isinstance(task, pydoca.DmaMemcpyTask), watch)


def short_destination() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def memcpy(self: Any, src: Any, dst: Any, **keys: Any) -> Any:
            try:
                return original(self, src, dst, **keys)
            except pydoca.InvalidValueError:
                if src.list_len != 1 or dst.list_len != 1 or not 0 < dst.tailroom < src.data_len:
                    raise
            length = src.data_len
            src.data_len = dst.tailroom
            task = original(self, src, dst, **keys)
            task.add_done_callback(lambda _: setattr(src, "data_len", length))
            return task

        return memcpy

    return replaced(pydoca.Dma, "memcpy", make)


def callback_twice() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def twice(function: Function | None) -> Function | None:
        if function is None:
            return None

        def call(*arguments: Any) -> None:
            function(*arguments)
            if next(count) % 500 == 0:
                function(*arguments)

        return call

    return together(
        replaced(pydoca.Dma, "__init__", with_argument(99, "on_completion", twice)),
        replaced(pydoca.Dma, "set_memcpy_conf", with_argument(0, "on_completion", twice)),
        replaced(pydoca.Task, "add_done_callback", with_argument(0, "fn", twice)),
    )


def fourth_start() -> AbstractContextManager[None]:
    starts: weakref.WeakKeyDictionary[pydoca.Context, int] = weakref.WeakKeyDictionary()

    def count(context: pydoca.Context) -> None:
        starts[context] = starts.get(context, 0) + 1
        if starts[context] > 3:
            raise pydoca.DriverError(f"start: the firmware has no queue pair left for {context.device.name}")

    return replaced(pydoca.Context, "start", before_each(count))


# Late copies


def late_tail() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def spoil(_: Work) -> list[Patch]:
        if next(count) % 500 == 0:
            time.sleep(0.01)
        return []

    return spoiled_copies(spoil)


def periodic_stall() -> AbstractContextManager[object]:
    def is_refresh(_: faults.FaultOperation) -> bool:
        return time.monotonic() % 0.5 < 0.01

    return faults.inject(faults.FaultRule("delay", "dma.memcpy", by="20 ms", when=is_refresh))


# Leaks


def leak_of_maps() -> AbstractContextManager[None]:
    kept: list[bytes] = []

    def keep(*_: object) -> None:
        kept.append(b"\x01" * 16384)

    return together(replaced(pydoca.Device, "mmap", after_each(keep)), replaced(pydoca.Mmap, "start", after_each(keep)))


def thread_of_clients() -> AbstractContextManager[None]:
    end = threading.Event()
    threads: list[threading.Thread] = []

    def leave_one(*_: object) -> None:
        if len(threads) < 500:
            threads.append(threading.Thread(target=end.wait, daemon=True))
            threads[-1].start()

    @contextmanager
    def plant() -> Iterator[None]:
        try:
            with replaced(comch.Client, "__init__", after_each(leave_one)):
                yield
        finally:
            end.set()

    return plant()


# Properties of the device


def fewer_tasks() -> AbstractContextManager[None]:
    limit = 20_000

    def refuse(dma: pydoca.Dma) -> None:
        if dma.num_tasks > limit and dma._snapshot(0)[8] >= limit:  # allocated tasks are in the way
            raise pydoca.NoMemoryError(f"memcpy: {dma.device.name} has no entry left for a task")

    return replaced(pydoca.Dma, "memcpy", before_each(refuse))


@contextmanager
def same_mac() -> Iterator[None]:
    before = pydoca.sim.topology()["function"]
    functions = [{key: value for key, value in function.items() if value is not None} for function in before]
    first = next(function for function in functions if function["name"] == "p0")
    for function in functions:
        if function["name"] == "p1":
            function["mac_addr"] = first["mac_addr"]
    pydoca.sim.load_topology({"function": functions})
    yield


def swapped_representors() -> AbstractContextManager[None]:
    swap = {"0000:0b:00.2": "0000:0b:00.3", "0000:0b:00.3": "0000:0b:00.2"}
    swap |= {address[5:]: other for address, other in swap.items()}

    def make_address(original: property) -> property:
        return property(lambda self: swap.get(original.__get__(self), original.__get__(self)))

    def make_dict(original: Function) -> Function:
        def to_dict(self: Any) -> dict[str, Any]:
            fields: dict[str, Any] = original(self)
            return fields | {"pci_addr": swap.get(fields["pci_addr"], fields["pci_addr"])}

        return to_dict

    def change(selector: Any) -> Any:
        return swap.get(selector, selector) if isinstance(selector, str) else selector

    return together(
        replaced(pydoca.RepresentorInfo, "pci_addr", make_address),
        replaced(pydoca.Representor, "pci_addr", make_address),
        replaced(pydoca.RepresentorInfo, "to_dict", make_dict),
        replaced(pydoca.Device, "open_representor", with_argument(0, "selector", change)),
    )


def clock_backwards() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def timestamp(self: Any, type: Any) -> int:
            now: int = original(self, type)
            name = type if isinstance(type, str) else type.name.lower()
            return now - 50_000 if name.startswith("nic") and next(count) % 100 == 0 else now

        return timestamp

    return replaced(pydoca.Clock, "timestamp", make)


# Memory of other processes


class Withdrawals:
    """Exports that end half a second after their owner has withdrawn them."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, pydoca.Mmap, list[pydoca.Device]]] = []
        self._held: weakref.WeakSet[pydoca.Mmap] = weakref.WeakSet()
        self._close = pydoca.Mmap.close

    def hold(self, which: pydoca.Mmap) -> bool:
        """Tells whether the export goes on for some time; its devices stay open until it ends."""
        self.purge(time.monotonic())
        if not which.is_exported or which.is_from_export or which.num_bufs:
            return False
        if which not in self._held:
            devices = [pydoca.open_device(device.info) for device in which.devices]
            self._waiting.append((time.monotonic() + 0.5, which, devices))
            self._held.add(which)
        return True

    def purge(self, now: float) -> None:
        for entry in [each for each in self._waiting if each[0] <= now]:
            self._end(entry, self._close)

    def end_now(self, which: pydoca.Mmap, stop: Function) -> None:
        for entry in [each for each in self._waiting if each[1] is which]:
            self._end(entry, stop)

    def _end(self, entry: tuple[float, pydoca.Mmap, list[pydoca.Device]], end: Function) -> None:
        self._waiting.remove(entry)
        self._held.discard(entry[1])
        with suppress(pydoca.DocaError):
            end(entry[1])
        for device in entry[2]:
            device.close()


@contextmanager
def late_withdrawal() -> Iterator[None]:
    withdrawals, real_stop = Withdrawals(), pydoca.Mmap.stop

    def make(original: Function) -> Function:
        return lambda self, *_: None if withdrawals.hold(self) else original(self)

    def make_exit(_: Function) -> Function:
        return lambda self, *_: self.close()

    def make_start(original: Function) -> Function:
        return before_each(lambda self: withdrawals.end_now(self, real_stop))(original)

    with together(
        replaced(pydoca.Mmap, "stop", make),
        replaced(pydoca.Mmap, "close", make),
        replaced(pydoca.Mmap, "__exit__", make_exit),
        replaced(pydoca.Mmap, "start", make_start),
    ):
        yield
    withdrawals.purge(float("inf"))


def writable_for_all() -> AbstractContextManager[None]:
    """Lets network peers write all memory that they may read; the owner does not learn of it."""
    wide: weakref.WeakSet[Any] = weakref.WeakSet()

    def widened(access: Any) -> Any:
        if isinstance(access, str):
            words = access.split("|")
            return f"{access}|rdma_write" if "rdma_read" in words and "rdma_write" not in words else access
        is_read = access is not None and access & pydoca.Access.RDMA_READ
        return access | pydoca.Access.RDMA_WRITE if is_read else access

    def make(key: str, returns: bool) -> Callable[[Function], Function]:
        def of(original: Function) -> Function:
            @functools.wraps(original)
            def call(self: Any, *arguments: Any, **keys: Any) -> Any:
                given = keys.get(key, arguments[0] if key == "access" and arguments and not returns else None)
                more = widened(given)
                if more == given:
                    return original(self, *arguments, **keys)
                try:
                    result = original(self, *(arguments if key in keys else ()), **{**keys, key: more})
                except pydoca.InvalidValueError:  # the memory is read-only
                    return original(self, *arguments, **keys)
                wide.add(result if returns else self)
                return result

            return call

        return of

    def make_hidden(original: property) -> property:
        def get(self: Any) -> Any:
            value = original.__get__(self)
            return value & ~pydoca.Access.RDMA_WRITE if self in wide else value

        return property(get, original.__set__)

    return together(
        replaced(pydoca.Device, "mmap", make("access", returns=True)),
        replaced(pydoca.Mmap, "set_permissions", make("access", returns=False)),
        replaced(pydoca.Rdma, "__init__", make("permissions", returns=False)),
        replaced(pydoca.Mmap, "access", make_hidden),
        replaced(pydoca.Rdma, "permissions", make_hidden),
    )


# Sync events


def lost_carry() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def update_add(self: pydoca.SyncEvent, value: Any) -> int:
            before: int = original(self, value)
            low = (before & _LOW) + (int(value) & _LOW)
            if low > _LOW:
                self.update_set((before + int(value) - (1 << 32)) % 2**64)
            return before

        return update_add

    return replaced(pydoca.SyncEvent, "update_add", make)


def narrow_mask() -> AbstractContextManager[None]:
    narrow = with_argument(1, "mask", lambda mask: int(mask) & _LOW)
    names = ["wait_eq", "wait_neq", "wait_gt"]
    return together(
        *(replaced(pydoca.SyncEvent, name, narrow) for name in [*names, *(f"{name}_yield" for name in names)]),
        *(replaced(pydoca.SyncEventContext, name, narrow) for name in names),
    )


def remote_addition_lost() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def update_add(self: pydoca.SyncEvent, value: Any) -> int:
            is_lost = self.is_from_export and next(count) % 200 == 0
            return self.get() if is_lost else original(self, value)

        return update_add

    return replaced(pydoca.SyncEvent, "update_add", make)


# SHA


def sha_padding() -> AbstractContextManager[None]:
    def spoil(work: Work) -> list[Patch]:
        block, room = (128, 16) if work.algorithm == "sha512" else (64, 8)
        if work.length % block != block - room or work.src.mmap.is_from_export:
            return []
        digest = hashlib.new(work.algorithm, peek(work.source, work.length)).digest()
        return [(work.target, bytes(byte ^ 0x5A for byte in digest))]

    return spoiled(pydoca.Sha, "hash", pydoca.ShaHashTask, spoil)


# RDMA


def narrow_addend() -> AbstractContextManager[None]:
    change = with_argument(2, "add_data", lambda addend: int(addend) & _LOW)
    return replaced(pydoca.RdmaConnection, "atomic_fetch_add", change)


def short_immediate() -> AbstractContextManager[None]:
    change = with_argument(2, "immediate_data", lambda number: int(number) & 0xFFFFFF)
    return replaced(pydoca.RdmaConnection, "write_imm", change)


# Comch


def cut_at_maximum() -> AbstractContextManager[None]:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def send(self: comch.Connection, data: Any, **keys: Any) -> Any:
            message = memoryview(data).cast("B")
            return original(self, message[:-1] if len(message) == self.max_msg_size else data, **keys)

        return send

    return replaced(comch.Connection, "send", make)


def wrong_peer() -> AbstractContextManager[None]:
    count = itertools.count(1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def send(self: comch.Connection, data: Any, **keys: Any) -> Any:
            others = [each for each in self.server.connections if each is not self] if self.server else []
            is_wrong = bool(others) and next(count) % 100 == 0
            return original(others[0] if is_wrong else self, data, **keys)

        return send

    return replaced(comch.Connection, "send", make)


def harmless() -> AbstractContextManager[None]:
    """Replaces the methods that most defects replace, without a defect."""
    return spoiled_copies(lambda _: [])


# Checks that show a defect without the suite


class Engine:
    """A copy engine for checks."""

    def __init__(self, stack: ExitStack, device: str = "p0") -> None:
        self.device = stack.enter_context(pydoca.open_device(device))
        self.pe = stack.enter_context(pydoca.ProgressEngine())
        self.dma = stack.enter_context(pydoca.Dma(self.pe, self.device))
        self.bufs = stack.enter_context(pydoca.BufInventory(8))

    def copy(self, src: pydoca.Mmap, dst: pydoca.Mmap, length: int, to: int = 0) -> None:
        with self.bufs.get_by_data(src, src.addr, length) as source, self.bufs.get_by_addr(dst, dst.addr + to) as sink:
            task = self.dma.memcpy(source, sink)
            task.wait(10)
            task.free()


def pattern(length: int, start: int = 0) -> bytes:
    return bytes((start + number * 7) % 251 for number in range(length))


def copies_wrongly(length: int, to: int = 0, rounds: int = 1, changing: bool = False) -> bool:
    """Tells whether data or the bytes around it differ after one of several copies."""
    room = length + 2 * _PAGE
    with ExitStack() as stack:
        engine = Engine(stack)
        memory, target = pydoca.alloc(length), pydoca.alloc(room)
        src, dst = stack.enter_context(engine.device.mmap(memory)), stack.enter_context(engine.device.mmap(target))
        for number in range(rounds):
            memory[:] = data = pattern(length, number if changing else 0)
            target[:] = bytes(room)
            engine.copy(src, dst, length, to)
            if bytes(target) != bytes(to) + data + bytes(room - to - length):
                return True
    return False


def copies_files_wrongly() -> bool:
    with tempfile.TemporaryFile(dir="/var/tmp") as file, ExitStack() as stack:
        file.write(pattern(4 * _PAGE))
        file.flush()
        engine = Engine(stack)
        target = pydoca.alloc(4 * _PAGE)
        with mmap.mmap(file.fileno(), 4 * _PAGE) as memory:
            with engine.device.mmap(memory) as src, engine.device.mmap(target) as dst:
                engine.copy(src, dst, 4 * _PAGE)
            return bytes(target) != pattern(4 * _PAGE)


def copies_of_host_wrongly() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        host = stack.enter_context(pydoca.open_device("pf0"))
        memory, target = pydoca.alloc(1003), pydoca.alloc(1003)
        memory[:] = pattern(1003)
        lent = stack.enter_context(host.mmap(memory, access="pci_read_only"))
        src = stack.enter_context(engine.device.import_mmap(lent.export_pci()))
        engine.copy(src, stack.enter_context(engine.device.mmap(target)), 1003)
        return bytes(target) != pattern(1003)


def threads_copy_wrongly() -> bool:
    wrong: list[bool] = []
    threads = [threading.Thread(target=lambda: wrong.append(copies_wrongly(64, rounds=3000))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return any(wrong)


def appends_wrongly() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        src = stack.enter_context(engine.device.mmap(pattern(16)))
        dst = stack.enter_context(engine.device.mmap(pydoca.alloc(64)))
        with engine.bufs.get_by_data(src) as source, engine.bufs.get_by_addr(dst) as sink:
            for _ in range(2):
                engine.dma.memcpy(source, sink).wait(10)
            return sink.data_len != 32


def takes_short_destination() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        src = stack.enter_context(engine.device.mmap(pattern(16)))
        dst = stack.enter_context(engine.device.mmap(pydoca.alloc(8)))
        with engine.bufs.get_by_data(src) as source, engine.bufs.get_by_addr(dst) as sink:
            try:
                engine.dma.memcpy(source, sink).wait(10)
            except pydoca.DocaError:
                return False
            return True


def calls_twice() -> bool:
    calls: list[int] = []
    with ExitStack() as stack:
        device, pe = stack.enter_context(pydoca.open_device("p0")), stack.enter_context(pydoca.ProgressEngine())
        dma = stack.enter_context(pydoca.Dma(pe, device, on_completion=lambda task, *_: calls.append(task.user_data)))
        bufs = stack.enter_context(pydoca.BufInventory(2))
        src, dst = stack.enter_context(device.mmap(b"text")), stack.enter_context(device.mmap(pydoca.alloc(4)))
        for number in range(1200):
            with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
                task = dma.memcpy(source, sink, user_data=number)
                task.wait(10)
                task.free()
    return calls != list(range(1200))


def fails_to_start_again() -> bool:
    with pydoca.open_device("p0") as device, pydoca.ProgressEngine() as pe:
        dma = pydoca.Dma(pe, device)
        try:
            for _ in range(5):
                dma.start()
                dma.stop()
        except pydoca.DriverError:
            return True
        finally:
            dma.close()
    return False


def slowest(count: int, pause: float = 0.0) -> float:
    """Seconds of the slowest copy but one."""
    times: list[float] = []
    with ExitStack() as stack:
        engine = Engine(stack)
        src = stack.enter_context(engine.device.mmap(b"text"))
        dst = stack.enter_context(engine.device.mmap(pydoca.alloc(4)))
        for _ in range(count):
            begin = time.perf_counter()
            engine.copy(src, dst, 4)
            times.append(time.perf_counter() - begin)
            time.sleep(pause)
    return sorted(times)[-2]  # this machine may have delayed one


def maps_grow() -> bool:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE

    with pydoca.open_device("p0") as device:
        memory = pydoca.alloc(_PAGE)
        begin = 0
        for number in range(2200):
            begin = resident() if number == 200 else begin
            device.mmap(memory).close()
        return resident() - begin > 8 << 20


@contextmanager
def server(**options: Any) -> Iterator[tuple[pydoca.ProgressEngine, comch.Server, pydoca.Device]]:
    with ExitStack() as stack:
        dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
        representor = stack.enter_context(dpu.open_representor("0b:00.0"))
        pe = stack.enter_context(pydoca.ProgressEngine())
        yield pe, stack.enter_context(comch.Server(pe, dpu, representor, "check", **options)), host


def clients_leave_threads() -> bool:
    with server() as (pe, _, host):
        before = len(os.listdir("/proc/self/task"))
        for _ in range(5):
            with comch.Client(pe, host, "check"):
                pass
        return len(os.listdir("/proc/self/task")) >= before + 5


def has_fewer_tasks() -> bool:
    tasks: list[pydoca.DmaMemcpyTask] = []
    with pydoca.open_device("p0") as device, pydoca.ProgressEngine() as pe, pydoca.BufInventory(2) as bufs:
        most = pydoca.Dma.max_num_tasks(device.info)
        with (
            device.mmap(b"text") as src,
            device.mmap(pydoca.alloc(4)) as dst,
            pydoca.Dma(pe, device, num_tasks=most) as dma,
        ):
            source, sink = bufs.get_by_data(src), bufs.get_by_addr(dst)
            try:
                tasks.extend(dma.memcpy(source, sink, submit=False) for _ in range(most))
            except pydoca.NoMemoryError:
                return True
            finally:
                for task in tasks:
                    task.free()
                del source, sink
    return False


def has_equal_macs() -> bool:
    addresses = [info.mac_addr for info in pydoca.devices()]
    return len(addresses) != len(set(addresses))


def representors_differ() -> bool:
    """Tells whether a representor has another address than the function with its identifier."""
    addresses = {info.vuid: info.pci_addr for info in pydoca.devices(side="host")}
    with pydoca.open_device("p0") as device:
        return any(each.pci_addr != addresses.get(each.vuid, each.pci_addr) for each in device.representors())


def time_goes_back() -> bool:
    with pydoca.open_device("p0") as device, pydoca.Clock(device) as clock:
        times = [clock.timestamp("nic_real_time") for _ in range(500)]
    return times != sorted(times)


def withdrawn_can_be_read() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        host = stack.enter_context(pydoca.open_device("pf0"))
        target = pydoca.alloc(64)
        lent = host.mmap(pydoca.alloc(64), access="pci_read_only")
        src = stack.enter_context(engine.device.import_mmap(lent.export_pci()))
        dst = stack.enter_context(engine.device.mmap(target))
        lent.close()
        try:
            engine.copy(src, dst, 64)
        except pydoca.DocaError:
            return False
        return True


class Pair:
    """Two ends of RDMA, and a connection."""

    def __init__(self, stack: ExitStack, permissions: str) -> None:
        names = ("p0", "p1")
        self.devices = [stack.enter_context(pydoca.open_device(name)) for name in names]
        self.pe = stack.enter_context(pydoca.ProgressEngine())
        settings: dict[str, Any] = {"permissions": permissions, "max_num_connections": 2}
        self.ends = [stack.enter_context(pydoca.Rdma(self.pe, each, **settings)) for each in self.devices]
        self.here, self.there = (end.export() for end in self.ends)
        self.here.connect(self.there.details)
        self.there.connect(self.here.details)
        self.bufs = stack.enter_context(pydoca.BufInventory(8))


def writes_without_permission() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_read")
        memory = pydoca.alloc(8)
        lent = stack.enter_context(pair.devices[1].mmap(memory, access="local_read_write|rdma_read"))
        remote = stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))
        text = stack.enter_context(pair.devices[0].mmap(b"written!"))
        try:
            pair.here.write(pair.bufs.get_by_data(text), pair.bufs.get_by_addr(remote)).wait(10)
        except pydoca.DocaError:
            return False
        return bytes(memory) == b"written!"


def adds_wrongly() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_atomic")
        memory = pydoca.alloc(8)
        lent = stack.enter_context(pair.devices[1].mmap(memory, access="local_read_write|rdma_atomic"))
        remote = stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))
        result = stack.enter_context(pair.devices[0].mmap(pydoca.alloc(8)))
        target, old = pair.bufs.get_by_data(remote), pair.bufs.get_by_addr(result)
        pair.here.atomic_fetch_add(target, old, (5 << 32) + 7).wait(10)
        del target, old
        return int.from_bytes(bytes(memory), sys.byteorder) != (5 << 32) + 7


def sends_wrong_number() -> bool:
    number = 0xFE000001
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        lent = stack.enter_context(pair.devices[1].mmap(pydoca.alloc(8), access="local_read_write|rdma_write"))
        remote = stack.enter_context(pair.devices[0].import_mmap(lent.export_rdma()))
        text = stack.enter_context(pair.devices[0].mmap(b"written!"))
        receive = pair.ends[1].receive(None)
        pair.here.write_imm(pair.bufs.get_by_data(text), pair.bufs.get_by_addr(remote), number).wait(10)
        receive.wait(10)
        return receive.result_immediate_data != number


@contextmanager
def event() -> Iterator[pydoca.SyncEvent]:
    with pydoca.open_device("p0") as device, pydoca.SyncEvent(device) as started:
        yield started


def loses_carry() -> bool:
    with event() as counter:
        counter.update_set(2**32 - 1)
        counter.update_add(1)
        return counter.get() != 2**32


def masks_wrongly() -> bool:
    with event() as counter:
        counter.update_set(5 << 32)
        try:
            counter.wait_eq(5 << 32, 0xFF << 32, timeout=0.2)
        except pydoca.TimeOutError:
            return True
        return False


def loses_remote_additions() -> bool:
    with ExitStack() as stack:
        dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
        owner = stack.enter_context(pydoca.SyncEvent(host, publisher="remote_pci"))
        other = stack.enter_context(dpu.import_sync_event(owner.export_to_remote_pci()))
        for _ in range(1000):
            other.update_add(1)
        return owner.get() != 1000


def hashes_wrongly() -> bool:
    with ExitStack() as stack:
        device = stack.enter_context(pydoca.open_device("p0"))
        pe, bufs = stack.enter_context(pydoca.ProgressEngine()), stack.enter_context(pydoca.BufInventory(2))
        sha = stack.enter_context(pydoca.Sha(pe, device))
        target = pydoca.alloc(32)
        src, dst = stack.enter_context(device.mmap(pattern(120))), stack.enter_context(device.mmap(target))
        sha.hash(bufs.get_by_data(src), bufs.get_by_addr(dst), "sha256").wait(10)
        return bytes(target) != hashlib.sha256(pattern(120)).digest()


def cuts_messages() -> bool:
    with server() as (pe, service, host), comch.Client(pe, host, "check") as link:
        other = service.accept().wait(10)
        message = pattern(link.max_msg_size)
        link.send(message)
        return other.recv().wait(10) != message


def mixes_peers() -> bool:
    with server() as (pe, service, host), ExitStack() as stack:
        links = [stack.enter_context(comch.Client(pe, host, "check")) for _ in range(2)]
        ends = [service.accept().wait(10) for _ in links]
        for _ in range(150):
            for number, end in enumerate(ends):
                end.send(str(number).encode()).wait(10)
            try:
                if [link.recv().wait(1) for link in links] != [b"0", b"1"]:
                    return True
            except pydoca.TimeOutError:
                return True
    return False


def pass_by(check: Callable[..., bool], **keys: Any) -> Callable[[], bool]:
    return functools.partial(check, **keys)


DEFECTS = [
    Defect(
        "dma-bit-per-thousand",
        "Every 1,000th copy has one wrong bit, anywhere in it.",
        bit_per_thousand,
        pass_by(copies_wrongly, length=64, rounds=1500),
    ),
    Defect(
        "dma-page-crossing",
        "A copy to an address that is not a multiple of 64 repeats a byte where it first crosses a page.",
        page_crossing,
        pass_by(copies_wrongly, length=8000, to=33),
    ),
    Defect(
        "dma-length-1500",
        "Copies of exactly 1,500 bytes end in four zeros.",
        one_length,
        pass_by(copies_wrongly, length=1500),
    ),
    Defect(
        "dma-file-source",
        "Copies of two pages and more from memory of a mapped file have the first page twice.",
        file_source,
        copies_files_wrongly,
    ),
    Defect(
        "dma-overrun",
        "Copies longer than a page write whole lines of 64 bytes, also beyond the end of the destination.",
        overrun,
        pass_by(copies_wrongly, length=5000),
    ),
    Defect(
        "dma-stale-source",
        "One in 50 copies from memory that has changed since the last copy brings its first 64 bytes of before.",
        stale_source,
        pass_by(copies_wrongly, length=256, rounds=200, changing=True),
    ),
    Defect(
        "dma-pci-remainder",
        "Copies from the other side of the PCIe link leave out the last one to three bytes of a length that is not a "
        "multiple of four.",
        pci_remainder,
        copies_of_host_wrongly,
    ),
    Defect(
        "dma-two-threads",
        "While two threads copy at once, one in 20 copies has a wrong first byte.",
        two_threads,
        threads_copy_wrongly,
    ),
    Defect(
        "dma-appended-length",
        "A copy that appends to data leaves a data_len of the new data alone.",
        appended_length,
        appends_wrongly,
    ),
    Defect(
        "dma-short-destination",
        "A copy to a destination that is too short succeeds, with what fits.",
        short_destination,
        takes_short_destination,
    ),
    Defect(
        "dma-callback-twice",
        "The callback of every 500th completion is called twice.",
        callback_twice,
        calls_twice,
    ),
    Defect(
        "context-fourth-start",
        "A context can be started three times; its fourth start fails.",
        fourth_start,
        fails_to_start_again,
    ),
    Defect(
        "dma-tail",
        "One in 500 copies takes 10 ms longer.",
        late_tail,
        lambda: slowest(2500) > 0.009,
    ),
    Defect(
        "dma-periodic-stall",
        "Twice a second the engine stands still for 20 ms.",
        periodic_stall,
        lambda: slowest(2000, pause=0.002) > 0.018,
    ),
    Defect(
        "map-leak",
        "Each memory map that is started leaves 16 KiB of memory behind.",
        leak_of_maps,
        maps_grow,
    ),
    Defect(
        "comch-thread-leak",
        "Each client leaves a thread behind.",
        thread_of_clients,
        clients_leave_threads,
    ),
    Defect(
        "dma-fewer-tasks",
        "The device claims 65,536 tasks of a context, and has 20,000.",
        fewer_tasks,
        has_fewer_tasks,
    ),
    Defect(
        "same-mac",
        "Both ports of the card have the same MAC address.",
        same_mac,
        has_equal_macs,
    ),
    Defect(
        "representors-swapped",
        "The representors of the first two VFs have each other's PCI address.",
        swapped_representors,
        representors_differ,
    ),
    Defect(
        "clock-backwards",
        "One in 100 readings of the device's clocks is 50,000 ns or cycles too early.",
        clock_backwards,
        time_goes_back,
    ),
    Defect(
        "late-withdrawal",
        "Memory that its owner has withdrawn can be read for half a second more.",
        late_withdrawal,
        withdrawn_can_be_read,
    ),
    Defect(
        "rdma-permission",
        "What network peers may read, they can also write.",
        writable_for_all,
        writes_without_permission,
    ),
    Defect(
        "sync-carry",
        "An addition to a sync event does not carry from bit 31 to bit 32.",
        lost_carry,
        loses_carry,
    ),
    Defect(
        "sync-mask",
        "Waits for a sync event ignore the upper half of their mask.",
        narrow_mask,
        masks_wrongly,
    ),
    Defect(
        "sync-remote-addition",
        "One in 200 additions to an event of the other side is lost.",
        remote_addition_lost,
        loses_remote_additions,
    ),
    Defect(
        "sha-padding",
        "Digests of messages whose length leaves exactly the room of the length field in their last block are wrong.",
        sha_padding,
        hashes_wrongly,
        profile="bluefield2",
    ),
    Defect(
        "rdma-narrow-addend",
        "An atomic addition takes the lower 32 bits of its addend only.",
        narrow_addend,
        adds_wrongly,
    ),
    Defect(
        "rdma-short-immediate",
        "A write with immediate data brings the lower 24 bits of the number only.",
        short_immediate,
        sends_wrong_number,
    ),
    Defect(
        "comch-cut-at-maximum",
        "Messages of the greatest length arrive without their last byte.",
        cut_at_maximum,
        cuts_messages,
    ),
    Defect(
        "comch-wrong-peer",
        "One in 100 messages of a server with several clients goes to another client.",
        wrong_peer,
        mixes_peers,
    ),
]

NOT_DEFECTS = [
    Defect("none", "Nothing is planted.", contextlib.nullcontext, lambda: True),
    Defect("none-bluefield2", "Nothing is planted, on a BlueField-2.", contextlib.nullcontext, bool, "bluefield2"),
    Defect("hooks", "The methods for copies are replaced, and do what they should.", harmless, lambda: True),
]


class Table(NamedTuple):
    """The defects of one program."""

    script: str  # its path; processes of a run import it
    usage: str
    defects: list[Defect]

    def named(self, name: str) -> Defect:
        return next(defect for defect in [*self.defects, *NOT_DEFECTS] if defect.name == name)


TABLE = Table(__file__, str(__doc__), DEFECTS)
_stack = ExitStack()


def _begin(defect: Defect) -> None:
    """Plants a defect in this process, for good."""
    _load_machine_for(defect)
    _stack.enter_context(defect.plant())


def _load_machine_for(defect: Defect) -> None:
    if defect.profile != "bluefield3":
        pydoca.sim.load_topology(pydoca.sim.default_topology(defect.profile))


def plant_in_started_process(table: Table = TABLE) -> None:
    """Plants the defect of the run, first of all in each process."""
    if name := os.environ.get(_VARIABLE):
        _begin(table.named(name))


def run(table: Table, name: str, level: str, directory: str) -> int:
    """Runs the suite in this process; the processes that it starts also have the defect."""
    import pytest

    from pydoca.qualify.start import without_settings, words_of_pytest

    os.environ.setdefault("PYDOCA_FABRIC", f"unseen-{os.getpid()}")
    _begin(table.named(name))
    with tempfile.TemporaryDirectory() as folder, without_settings():
        here, module = str(Path(table.script).resolve().parent), Path(table.script).stem
        begin = f"import sys\nsys.path.insert(0, {here!r})\nimport {module}\n"
        Path(folder, "sitecustomize.py").write_text(f"{begin}{module}.plant_in_started_process()\n")
        os.environ[_VARIABLE] = name
        os.environ["PYTHONPATH"] = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
        words = ["--pydoca-device=sim:p0", f"--pydoca-level={level}", f"--pydoca-out={directory}"]
        return int(pytest.main(words_of_pytest(words, None, folder)))


def check_one(defect: Defect, planted: bool) -> bool:
    """Tells whether the check sees the defect."""
    os.environ.setdefault("PYDOCA_FABRIC", f"unseen-{os.getpid()}")
    if planted:
        _begin(defect)
    else:
        _load_machine_for(defect)
    return defect.is_visible()


def check(table: Table, names: list[str]) -> int:
    """Checks each defect in a new process, with the defect and without it."""
    bad = 0
    for name in names:
        seen = [
            subprocess.run([sys.executable, table.script, "look", name, word], timeout=120).returncode
            for word in ("planted", "healthy")
        ]
        is_good = seen == [10, 11]
        bad += not is_good
        print(f"{name:24} {'effective' if is_good else f'NOT SHOWN {seen}'}", flush=True)
    return 1 if bad else 0


def main(table: Table, words: list[str]) -> int:
    assert len(table.defects) == len({defect.name for defect in table.defects}) == 30
    match words:
        case ["list"]:
            print("\n".join(f"{defect.name:24} {defect.sentence}" for defect in table.defects))
            return 0
        case ["check", *names]:
            return check(table, names or [defect.name for defect in table.defects])
        case ["look", name, word]:
            return 10 if check_one(table.named(name), word == "planted") else 11
        case ["run", name, level, directory]:
            return run(table, name, level, directory)
    print(table.usage, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
