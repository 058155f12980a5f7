"""Thirty more defects of a device, written without a look at the cases, and none of them in the sets before.

A defect replaces methods of pydoca in the process that tests, and in those that it starts, as unseen_defects.py does.

usage: unseen_sixteenth.py list
       unseen_sixteenth.py check [NAME...]           # each is visible by the public API, and only when it is planted
       unseen_sixteenth.py run NAME LEVEL DIRECTORY  # NAME: a defect, or none, or hooks (replaced, and harmless)
"""

from __future__ import annotations

import hashlib
import select
import sys
import threading
import time
import weakref
import zlib
from collections.abc import Callable
from contextlib import ExitStack, suppress
from random import Random
from statistics import median
from typing import Any

from unseen_defects import (
    AT_ONCE,
    Engine,
    Function,
    Pair,
    Patch,
    Table,
    Work,
    before_each,
    main,
    pattern,
    peek,
    poke,
    replaced,
    spoiled_copies,
    together,
    with_argument,
)
from unseen_defects import plant_in_started_process as plant_from
from unseen_fifteenth import Copy, Plant, decompressed, defects_of, deflated, dpa, flipped, memory_of_peer, total
from unseen_fourteenth import (
    Hasher,
    device_and_engine,
    end_of,
    every,
    lent_event,
    quietly,
    stored,
    submitted,
    told,
    when_good,
    wrapped,
)

import pydoca
from pydoca import comch, workq

_MIB = 1 << 20

# Devices and representors


def only_long_addresses() -> Plant:
    """A short address leaves out the domain, and has no more than seven characters."""

    def is_equal(original: Function, self: Any, addr: Any) -> bool:
        return bool(original(self, addr)) and len(addr) > 7

    return replaced(pydoca.DeviceInfo, "is_equal_pci_addr", wrapped(is_equal))


def vuid_of_parent() -> Plant:
    def change(self: Any, vuid: str) -> str:
        return vuid.split("VF")[0] if self.func_type is pydoca.PciFuncType.VF else vuid

    def to_dict(original: Function, self: Any) -> dict[str, Any]:
        return {**original(self), "vuid": self.vuid}

    return together(
        replaced(pydoca.RepresentorInfo, "vuid", told(change)),
        replaced(pydoca.Representor, "vuid", told(change)),
        replaced(pydoca.RepresentorInfo, "to_dict", wrapped(to_dict)),
    )


# Memory


def export_of_first_device() -> Plant:
    def export(original: Function, self: Any, device: Any = None) -> Any:
        devices = self.devices if device is not None else []
        return original(self, devices[0] if device in devices else device)

    return together(*(replaced(pydoca.Mmap, name, wrapped(export)) for name in ("export_pci", "export_rdma")))


def early_release() -> Plant:
    def stop(original: Function, self: Any) -> None:
        release = self.free_callback if self.is_started and not self.is_from_export else None
        memory = self.memory if release else None
        original(self)
        if release:
            self.free_callback = None
            release(memory)

    return replaced(pydoca.Mmap, "stop", wrapped(stop))


def unpermitted_export() -> Plant:
    """The device exports another map of the same memory."""
    others: weakref.WeakKeyDictionary[pydoca.Mmap, pydoca.Mmap] = weakref.WeakKeyDictionary()

    def other_map(self: pydoca.Mmap, device: Any) -> pydoca.Mmap:
        if self not in others:
            devices = self.devices if device is None else [device]
            others[self] = pydoca.Mmap(self.memory, devices=devices, access="pci_read_only")
            others[self].start()
        return others[self]

    def export(original: Function, self: Any, device: Any = None) -> Any:
        try:
            return original(self, device)
        except pydoca.NotPermittedError:
            if not self.is_started or self.is_from_export or self.memory is None:
                raise
            with suppress(pydoca.NotSupportedError):
                return original(other_map(self, device), device)
            raise

    def end(self: Any) -> None:
        if other := others.pop(self, None):
            other.close()

    return together(
        replaced(pydoca.Mmap, "export_pci", wrapped(export)),
        *(replaced(pydoca.Mmap, name, before_each(end)) for name in ("stop", "close", "__exit__")),
    )


def zeros_of_nobody() -> Plant:
    """What is not there any more is zeros of this process, which are lent for good."""
    lent: dict[str, pydoca.Mmap] = {}

    def zeros_for(importer: Any) -> pydoca.Mmap:
        hosts = [info for info in pydoca.devices(side="host") if info.func_type is pydoca.PciFuncType.PF]
        host = next((info for info in hosts if info.name[-1] == importer.name[1:2]), hosts[0])
        if host.name not in lent:
            lent[host.name] = pydoca.open_device(host).mmap(pydoca.alloc(_MIB), access="pci_read_only")
        return lent[host.name]

    def import_mmap(original: Function, self: Any, blob: Any, **keys: Any) -> Any:
        try:
            return original(self, blob, **keys)
        except pydoca.NotConnectedError:
            is_of_network = memoryview(blob).tobytes()[12:13] == b"\4"
            if is_of_network or self.side is not pydoca.Side.DPU:
                raise
            return original(self, zeros_for(self).export_pci(), **keys)

    return replaced(pydoca.Device, "import_mmap", wrapped(import_mmap))


def rounded_elements() -> Plant:
    """The pool hides the size that it really has."""
    sizes: weakref.WeakKeyDictionary[pydoca.BufPool, int] = weakref.WeakKeyDictionary()

    def make(original: Function, self: Any, num_elements: Any, element_size: Any, *rest: Any, **keys: Any) -> None:
        is_large = isinstance(element_size, int) and element_size > 64
        original(self, num_elements, element_size & ~63 if is_large else element_size, *rest, **keys)
        sizes[self] = element_size

    return together(
        replaced(pydoca.BufPool, "__init__", wrapped(make)),
        replaced(pydoca.BufPool, "element_size", told(lambda self, size: sizes.get(self, size))),
    )


# Copies


def length_of_before() -> Plant:
    last, is_turn = [0], every(8)

    def spoil(work: Work) -> list[Patch]:
        before, last[0] = last[0], work.length
        if not 0 < before < work.length or not is_turn():
            return []
        return [(work.target + before, peek(work.target + before, work.length - before))]

    return spoiled_copies(spoil)


class Noting:
    """A callback that notes which task it is called for; it is equal to the function that it calls."""

    def __init__(self, function: Function, here: threading.local) -> None:
        self._function, self._here = function, here

    def __call__(self, task: Any, *more: Any) -> None:
        before = getattr(self._here, "task", None)
        self._here.task = task
        try:
            self._function(task, *more)
        finally:
            self._here.task = before

    def __eq__(self, other: object) -> bool:
        return self._function == (other._function if isinstance(other, Noting) else other)

    def __hash__(self) -> int:
        return hash(self._function)


def idle_in_callback() -> Plant:
    here = threading.local()

    def noting(function: Function | None) -> Any:
        return function if function is None else Noting(function, here)

    def submit(original: Function, self: Any, flags: Any = pydoca.SubmitFlags.FLUSH) -> None:
        is_again = isinstance(self, pydoca.DmaMemcpyTask) and getattr(here, "task", None) is self
        begin, length = (end_of(self.dst), total(self.src)) if is_again else (0, 0)
        before = peek(begin, length) if begin and length <= self.dst.tailroom else b""
        original(self, flags)
        if before and length <= AT_ONCE and flags & pydoca.SubmitFlags.FLUSH:
            poke([(begin, before)])
        elif before:
            when_good(self, lambda _: poke([(begin, before)]))

    return together(
        replaced(pydoca.Dma, "__init__", with_argument(99, "on_completion", noting)),
        replaced(pydoca.Dma, "set_memcpy_conf", with_argument(0, "on_completion", noting)),
        replaced(pydoca.Task, "add_done_callback", with_argument(0, "fn", noting)),
        *(replaced(pydoca.Task, name, wrapped(submit)) for name in ("submit", "try_submit")),
    )


def slow_to_host() -> Plant:
    def watch(task: Any) -> None:
        if task.dst.mmap.is_from_export:
            time.sleep(0.003)

    return submitted(pydoca.Dma, "memcpy", pydoca.DmaMemcpyTask, watch)


# SHA


def block_of_others() -> Plant:
    def make(original: Any) -> Any:
        def block_size(info: Any, algorithm: Any) -> Any:
            return min(original.__func__(info, algorithm), 64)

        return staticmethod(block_size)

    return replaced(pydoca.Sha, "partial_hash_block_size", make)


def first_of_piece() -> Plant:
    """The first buf of a piece that is a list counts alone."""
    pieces: weakref.WeakKeyDictionary[Any, list[bytes]] = weakref.WeakKeyDictionary()
    spoilt: weakref.WeakSet[Any] = weakref.WeakSet()

    def forget(task: Any) -> None:
        pieces.pop(task, None)
        spoilt.discard(task)

    def watch(task: Any) -> None:
        pieces.setdefault(task, []).append(bytes(task.src))
        if task.src.list_len > 1:
            spoilt.add(task)
        if task.is_final:
            digest = hashlib.new(task.algorithm, b"".join(pieces[task])).digest()
            if task in spoilt and (begin := end_of(task.dst)):
                when_good(task, lambda _: poke([(begin, digest)]))
            forget(task)

    return together(
        submitted(pydoca.Sha, "partial_hash", pydoca.ShaPartialHashTask, watch),
        replaced(pydoca.ShaPartialHashTask, "reset", before_each(forget)),
    )


# Decompression


def prepared(owner: type, name: str, kind: Any, prepare: Callable[[Any], Callable[[], object] | None]) -> Plant:
    """Changes each task of a kind before its submission; prepare returns what takes that back when the task has ended.

    kind: a class, or the name of a kind of an Rdma.
    """

    def prepare_quietly(task: Any) -> Callable[[], object] | None:
        is_met = getattr(task, "kind", "") == kind if isinstance(kind, str) else isinstance(task, kind)
        with suppress(pydoca.DocaError, AttributeError, TypeError, zlib.error):
            return prepare(task) if is_met else None
        return None

    def submit(original: Function, self: Any, flags: Any = pydoca.SubmitFlags.FLUSH) -> None:
        take_back = prepare_quietly(self)
        try:
            original(self, flags)
        except pydoca.DocaError:
            if take_back:
                take_back()
            raise
        if take_back:
            self.add_done_callback(quietly(lambda _: take_back()))

    def make_task(original: Function, self: Any, *arguments: Any, submit: bool = True, **keys: Any) -> Any:
        task = original(self, *arguments, submit=False, **keys)
        try:
            if submit:
                task.try_submit()
        except pydoca.DocaError:
            task.free()
            raise
        return task

    return together(
        replaced(owner, name, wrapped(make_task)),
        *(replaced(pydoca.Task, each, wrapped(submit)) for each in ("submit", "try_submit")),
    )


def stream_of(task: Any) -> bytes:
    return b"".join(bytes(element) for element in task.src)


def half_window() -> Plant:
    """Matches that are farther away than 16 KiB, which a window of 14 bits does not have."""

    def is_far(stream: bytes) -> bool:
        try:
            zlib.decompressobj(wbits=-14).decompress(stream)
        except zlib.error:
            return True
        return False

    def watch(task: Any) -> None:
        begin = end_of(task.dst)
        if begin and not task.src.mmap.is_from_export and is_far(stream_of(task)):
            when_good(task, lambda ended: poke(flipped(end_of(ended.dst) - 1)))

    return decompressed(watch)


def no_exact_fit() -> Plant:
    """The destination has a byte less while the device works."""

    def prepare(task: Any) -> Callable[[], object] | None:
        dst = task.dst
        if not end_of(dst) or task.src.mmap.is_from_export or total(task.src) > _MIB:
            return None
        length, room = len(zlib.decompressobj(wbits=-15).decompress(stream_of(task))), dst.tailroom
        if not length or length != room:
            return None
        before = dst.data_len
        dst.data_len = before + 1
        return lambda: setattr(dst, "data_len", before)

    return prepared(pydoca.Compress, "decompress_deflate", pydoca.CompressDecompressDeflateTask, prepare)


# Sync events


def blind_import() -> Plant:
    def wait(original: Function, self: Any, *arguments: Any, timeout: float | None = None, **keys: Any) -> None:
        if timeout is None or not self.is_from_export:
            original(self, *arguments, timeout=timeout, **keys)
            return
        try:
            original(self, *arguments, timeout=0, **keys)
        except pydoca.TimeOutError:
            time.sleep(timeout)
            raise

    names = ["wait_eq", "wait_neq", "wait_gt"]
    return together(
        *(replaced(pydoca.SyncEvent, name + more, wrapped(wait)) for name in names for more in ("", "_yield"))
    )


def added_by_other_side() -> Plant:
    def update_set(original: Function, self: Any, value: Any) -> None:
        is_fit = isinstance(value, int) and 0 <= value < 1 << 64
        original(self, (self.get() + value) % 2**64 if is_fit and self.is_from_export else value)

    return replaced(pydoca.SyncEvent, "update_set", wrapped(update_set))


# RDMA


def seam_of_packets() -> Plant:
    """The second small packet of data begins as the first one ends."""

    def patch(begin: int, packet: int, length: int) -> None:
        if length > packet + 4:
            poke([(begin + packet, peek(begin + packet - 4, 4))])

    def watch(task: Any) -> None:
        packet, begin = (task.connection.rdma if task.kind == "read" else task.context).mtu, end_of(task.dst)
        if begin and packet <= 512:
            when_good(task, lambda ended: patch(begin, packet, ended.result_len))

    return together(
        submitted(pydoca.RdmaConnection, "read", "read", watch), submitted(pydoca.Rdma, "receive", "receive", watch)
    )


def addend_without_sign() -> Plant:
    def low(value: Any) -> Any:
        return value & (1 << 63) - 1 if isinstance(value, int) and 0 <= value < 1 << 64 else value

    return together(
        replaced(pydoca.RdmaConnection, "atomic_fetch_add", with_argument(2, "add_data", low)),
        replaced(pydoca.RdmaTask, "add_data", stored(low)),
    )


def established_for_good() -> Plant:
    reset, established = pydoca.Status.CONNECTION_RESET, pydoca.RdmaConnectionState.ESTABLISHED
    return together(
        replaced(
            pydoca.RdmaConnection,
            "state",
            told(lambda self, state: established if self.failure is reset else state),
        ),
        replaced(
            pydoca.RdmaConnection,
            "is_connected",
            told(lambda self, is_connected: is_connected or self.failure is reset),
        ),
    )


def whole_lines() -> Plant:
    def prepare(task: Any) -> Callable[[], object] | None:
        src, length = task.src, total(task.src)
        if src is None or src.list_len != 1 or length <= 4096 or not length % 64:
            return None
        src.data_len = length // 64 * 64
        return lambda: setattr(src, "data_len", length)

    return prepared(pydoca.RdmaConnection, "write", "write", prepare)


# Comch


def parent_of_function() -> Plant:
    """A client of a VF uses the PF; it does not tell."""
    given: weakref.WeakKeyDictionary[comch.Client, tuple[Any, Any]] = weakref.WeakKeyDictionary()

    def make(original: Function, self: Any, pe: Any, dev: Any, *arguments: Any, **keys: Any) -> None:
        used = dev
        if isinstance(dev, pydoca.Device) and dev.info.func_type is pydoca.PciFuncType.VF:
            used = pydoca.open_device(dev.name.split("vf")[0], side=dev.side)
        original(self, pe, used, *arguments, **keys)
        given[self] = dev, used

    return together(
        replaced(comch.Client, "__init__", wrapped(make)),
        replaced(comch.Client, "device", told(lambda self, device: given[self][0] if self in given else device)),
    )


def no_long_names() -> Plant:
    def checked(name: Any) -> Any:
        if isinstance(name, str) and len(name.encode()) > 63:
            raise pydoca.InvalidValueError(
                f"comch: the name has {len(name.encode())} bytes; the device has room for 63"
            )
        return name

    return together(
        replaced(comch.Server, "__init__", with_argument(3, "name", checked)),
        replaced(comch.Client, "__init__", with_argument(2, "name", checked)),
    )


# Graphs and work queues


class LateFunctions:
    """Functions of last nodes, other than the first of these, that wait until their run is over."""

    def __init__(self) -> None:
        self._real: dict[Any, Any] = {}
        self._waiting: list[tuple[Any, Function, Any]] = []  # the graph, the function, and what it is given

    def node(self, original: Function, graph: Any, source: Any, **keys: Any) -> Any:
        if isinstance(source, pydoca.Context | pydoca.Graph) or not callable(source):
            return original(graph, source, **keys)
        nodes: list[Any] = []

        def call(cookie: Any) -> Any:
            others = [each for each in nodes[0].graph.nodes if each.index < nodes[0].index and not each.successors]
            if nodes[0].successors or not others:
                return source(cookie)
            self._waiting.append((nodes[0].graph, source, cookie))
            return None

        self._real[call] = source
        nodes.append(original(graph, call, **keys))
        return nodes[0]

    def told(self, _: object, source: Any) -> Any:
        return self._real.get(source, source)

    def call_all(self, run: Any) -> None:
        mine = [each for each in self._waiting if each[0] is run.graph]
        self._waiting = [each for each in self._waiting if each[0] is not run.graph]
        for _, function, cookie in mine:
            with suppress(Exception):
                function(cookie)


def early_end() -> Plant:
    late = LateFunctions()
    return together(
        replaced(pydoca.Graph, "node", wrapped(late.node)),
        replaced(pydoca.GraphNode, "source", told(late.told)),
        *(replaced(pydoca.GraphInstance, name, before_each(late.call_all)) for name in ("submit", "destroy")),
    )


def value_of_before() -> Plant:
    last: weakref.WeakKeyDictionary[workq.WorkQueue, int] = weakref.WeakKeyDictionary()

    def retrieve(original: Function, self: Any) -> Any:
        ended = original(self)
        if ended.type is not workq.JobType.SYNC_EVENT_GET:
            return ended
        before = last.get(self, ended.value)
        last[self] = ended.value
        return ended._replace(value=before)

    return replaced(workq.WorkQueue, "progress_retrieve", wrapped(retrieve))


# The DPA


def hasty_kernel() -> Plant:
    def launch(original: Function, self: Any, *arguments: Any, **keys: Any) -> Any:
        return original(self, *arguments, **{**keys, "wait_event": None, "wait_threshold": 0})

    return replaced(pydoca.Dpa, "launch", wrapped(launch))


def used_up_threads() -> Plant:
    """What a DPA has begun since it was made."""
    counts: weakref.WeakKeyDictionary[pydoca.Dpa, int] = weakref.WeakKeyDictionary()

    def launch(original: Function, self: Any, *arguments: Any, **keys: Any) -> Any:
        claim, count = self.device.info.capabilities.dpa, counts.get(self, 0) + keys.get("num_threads", 1)
        if claim and self.is_running and count > claim.max_num_threads:
            raise pydoca.FullError("launch a kernel: the DPA has no thread left")
        run = original(self, *arguments, **keys)
        counts[self] = count
        return run

    return together(*(replaced(pydoca.Dpa, name, wrapped(launch)) for name in ("launch", "thread")))


# Progress engines and contexts


def failed_in_flight() -> Plant:
    def change(self: Any, count: int) -> int:
        return count if self.closed else count + self.stats().failed

    return replaced(pydoca.ProgressEngine, "num_inflight_tasks", told(change))


def unarmed_for_receives() -> Plant:
    """A request is forgotten when the engine has nothing in flight but receives."""
    receives: weakref.WeakKeyDictionary[pydoca.ProgressEngine, weakref.WeakSet[Any]] = weakref.WeakKeyDictionary()

    def note(task: Any) -> None:
        receives.setdefault(task.context.progress_engine, weakref.WeakSet()).add(task)

    def request(original: Function, self: Any) -> None:
        in_flight = [task for task in receives.get(self, ()) if task.state is pydoca.TaskState.SUBMITTED]
        if not in_flight or len(in_flight) < self.num_inflight_tasks:
            original(self)

    return together(
        submitted(pydoca.Rdma, "receive", "receive", note),
        replaced(pydoca.ProgressEngine, "request_notification", wrapped(request)),
    )


def slow_stop() -> Plant:
    def rest(self: Any) -> None:
        if self.state is pydoca.ContextState.RUNNING:
            time.sleep(0.1)

    return together(*(replaced(pydoca.Context, name, before_each(rest)) for name in ("stop", "close", "__exit__")))


def kept_reason() -> Plant:
    reasons: weakref.WeakKeyDictionary[pydoca.Context, Any] = weakref.WeakKeyDictionary()

    def change(self: Any, reason: Any) -> Any:
        if reason is pydoca.Status.SUCCESS:
            return reasons.get(self, reason)
        reasons[self] = reason
        return reason

    return together(
        replaced(pydoca.Context, "failure", told(change)),
        *(replaced(pydoca.Context, name, before_each(lambda self: self.failure)) for name in ("start", "__enter__")),
    )


# What shows a defect, apart from the suite


def ignores_short_address() -> bool:
    return any(not info.is_equal_pci_addr(info.pci_addr[5:]) for info in pydoca.devices(side="dpu"))


def vuids_differ() -> bool:
    with pydoca.open_device("p0") as device:
        seen = {each.pci_addr: each.vuid for each in device.representors()}
    return any(seen.get(info.pci_addr, info.vuid) != info.vuid for info in pydoca.devices(side="host"))


def exports_for_other_device() -> bool:
    with ExitStack() as stack:
        hosts = [stack.enter_context(pydoca.open_device(name)) for name in ("pf0", "pf1")]
        port = stack.enter_context(pydoca.open_device("p1"))
        lent = stack.enter_context(pydoca.Mmap(pydoca.alloc(64), devices=hosts, access="pci_read_only"))
        try:
            port.import_mmap(lent.export_pci(hosts[1])).close()
        except pydoca.NotPermittedError:
            return True
        return False


def releases_early() -> bool:
    released: list[Any] = []
    with pydoca.open_device("p0") as device, device.mmap(pydoca.alloc(64), free_callback=released.append) as area:
        area.stop()
        return bool(released)


def exports_without_permission() -> bool:
    with ExitStack() as stack:
        dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
        kept = stack.enter_context(host.mmap(pydoca.alloc(64), access="local_read_write"))
        try:
            dpu.import_mmap(kept.export_pci()).close()
        except pydoca.NotPermittedError:
            return False
        return True


def imports_what_is_gone() -> bool:
    with ExitStack() as stack:
        dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
        with host.mmap(pydoca.alloc(64), access="pci_read_only") as lent:
            blob = lent.export_pci()
        try:
            dpu.import_mmap(blob).close()
        except pydoca.NotConnectedError:
            return False
        return True


def pool_gives_short_bufs() -> bool:
    with ExitStack() as stack:
        area = stack.enter_context(stack.enter_context(pydoca.open_device("p0")).mmap(pydoca.alloc(400)))
        pool = stack.enter_context(pydoca.BufPool(4, 100, area))
        return stack.enter_context(pool.alloc()).len < 100


def copies_less_than_asked() -> bool:
    with ExitStack() as stack:
        engine, target = Engine(stack), pydoca.alloc(256)
        src = stack.enter_context(engine.device.mmap(pattern(256)))
        dst = stack.enter_context(engine.device.mmap(target))
        for _ in range(20):
            for length in (64, 256):
                target[:] = bytes(256)
                engine.copy(src, dst, length)
                if bytes(target)[:length] != pattern(length):
                    return True
    return False


def copies_nothing_in_callback() -> bool:
    texts = [b"first", b"again"]
    memory = pydoca.alloc(5)

    def again(task: Any, *_: Any) -> None:
        if texts:
            memory[:] = texts.pop(0)
            task.dst.reset_data_len()
            task.submit()

    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        bufs = stack.enter_context(pydoca.BufInventory(2))
        src, target = stack.enter_context(device.mmap(memory)), pydoca.alloc(5)
        dst = stack.enter_context(device.mmap(target))
        dma = stack.enter_context(pydoca.Dma(pe, device, on_completion=again))
        with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
            task = dma.memcpy(source, sink)
            pe.run_until(lambda: not pe.num_inflight_tasks, 10)
            task.free()
        return bytes(target) != b"again"


def host_is_slow() -> bool:
    times: list[float] = []
    with ExitStack() as stack:
        engine = Engine(stack)
        host = stack.enter_context(pydoca.open_device("pf0"))
        lent = stack.enter_context(host.mmap(pydoca.alloc(64), access="pci_read_write"))
        dst = stack.enter_context(engine.device.import_mmap(lent.export_pci()))
        src = stack.enter_context(engine.device.mmap(pattern(64)))
        for _ in range(20):
            begin = time.perf_counter()
            engine.copy(src, dst, 64)
            times.append(time.perf_counter() - begin)
    return median(times) > 0.0025


def partial_digest(hasher: Hasher, pieces: list[pydoca.Buf], algorithm: Any) -> bytes:
    """The digest of a message, and the end of its pieces."""
    with hasher.bufs.get_by_addr(hasher.dst) as sink:
        task = hasher.sha.partial_hash(None, sink, algorithm, submit=False)
        try:
            for piece in pieces:
                task.src = piece
                if piece is pieces[-1]:
                    task.set_is_final_buf()
                task.submit()
                task.wait(10)
            return bytes(hasher.target)[: sink.data_len]
        finally:
            task.free()
            for piece in pieces:
                piece.close()


def blocks_are_refused() -> bool:
    with ExitStack() as stack:
        hasher = Hasher(stack, pattern(256))
        block = pydoca.Sha.partial_hash_block_size(hasher.src.devices[0].info, "sha512")
        pieces = [hasher.bufs.get_by_data(hasher.src, hasher.src.addr + place, block) for place in (0, block)]
        try:
            return partial_digest(hasher, pieces, "sha512") != hashlib.sha512(pattern(2 * block)).digest()
        except pydoca.DocaError:
            return True


def hashes_lists_in_pieces_wrongly() -> bool:
    with ExitStack() as stack:
        hasher = Hasher(stack, pattern(192))
        first, more, last = (hasher.bufs.get_by_data(hasher.src, hasher.src.addr + at, 64) for at in (0, 64, 128))
        first.chain(more)
        return partial_digest(hasher, [first, last], "sha256") != hashlib.sha256(pattern(192)).digest()


def expanded(plain: bytes) -> bytes | None:
    """What the device makes of the compressed data, with no more room than they need; nothing when it fails."""
    with ExitStack() as stack:
        device, pe = device_and_engine(stack)
        engine, bufs = stack.enter_context(pydoca.Compress(pe, device)), stack.enter_context(pydoca.BufInventory(2))
        target = pydoca.alloc(len(plain))
        src, dst = stack.enter_context(device.mmap(deflated(plain))), stack.enter_context(device.mmap(target))
        with bufs.get_by_data(src) as source, bufs.get_by_addr(dst) as sink:
            task = engine.decompress_deflate(source, sink)
            try:
                task.wait(10)
            except pydoca.DocaError:
                return None
            finally:
                task.free()
        return bytes(target)


def expands_far_matches_wrongly() -> bool:
    block = Random(16).randbytes(20_000)
    return expanded(block * 2) != block * 2


def does_not_fill() -> bool:
    return expanded(pattern(1000)) is None


def does_not_see_change() -> bool:
    with ExitStack() as stack:
        dpu, owner = lent_event(stack)
        other = stack.enter_context(dpu.import_sync_event(owner.export_to_remote_pci()))
        timer = threading.Timer(0.2, owner.update_set, [1])
        timer.start()
        try:
            other.wait_eq(1, timeout=2)
        except pydoca.TimeOutError:
            return True
        finally:
            timer.join()
        return False


def adds_when_set() -> bool:
    with ExitStack() as stack:
        dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0"))
        owner = stack.enter_context(pydoca.SyncEvent(host, publisher="remote_pci"))
        other = stack.enter_context(dpu.import_sync_event(owner.export_to_remote_pci()))
        other.update_set(5)
        other.update_set(7)
        return owner.get() != 7


def reads_small_packets_wrongly() -> bool:
    memory, target = pydoca.alloc(1000), pydoca.alloc(1000)
    memory[:] = pattern(1000)
    with ExitStack() as stack:
        devices = [stack.enter_context(pydoca.open_device(name)) for name in ("p0", "p1")]
        pe, bufs = stack.enter_context(pydoca.ProgressEngine()), stack.enter_context(pydoca.BufInventory(2))
        ends = [stack.enter_context(pydoca.Rdma(pe, each, permissions="rdma_read", mtu=256)) for each in devices]
        here, there = (end.export() for end in ends)
        here.connect(there.details)
        there.connect(here.details)
        lent = stack.enter_context(devices[1].mmap(memory, access="local_read_write|rdma_read"))
        remote = stack.enter_context(devices[0].import_mmap(lent.export_rdma()))
        dst = stack.enter_context(devices[0].mmap(target))
        with bufs.get_by_data(remote) as source, bufs.get_by_addr(dst) as sink:
            task = here.read(source, sink)
            task.wait(10)
            task.free()
        return bytes(target) != pattern(1000)


def cannot_subtract() -> bool:
    memory = pydoca.alloc(8)
    memory[:] = (7).to_bytes(8, sys.byteorder)
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_atomic")
        remote = memory_of_peer(stack, pair, memory, "rdma_atomic")
        result = stack.enter_context(pair.devices[0].mmap(pydoca.alloc(8)))
        with pair.bufs.get_by_data(remote) as target, pair.bufs.get_by_addr(result) as old:
            task = pair.here.atomic_fetch_add(target, old, 2**64 - 5)
            task.wait(10)
            task.free()
        return int.from_bytes(bytes(memory), sys.byteorder) != 2


def stays_established() -> bool:
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_read")
        pair.there.disconnect().wait(10)
        pair.pe.run_until(lambda: pair.here.failure is not pydoca.Status.SUCCESS, 10)
        return pair.here.is_connected


def writes_whole_lines() -> bool:
    memory, length = pydoca.alloc(5000), 5000
    with ExitStack() as stack:
        pair = Pair(stack, "rdma_write")
        remote = memory_of_peer(stack, pair, memory, "rdma_write")
        src = stack.enter_context(pair.devices[0].mmap(pattern(length)))
        with pair.bufs.get_by_data(src) as source, pair.bufs.get_by_addr(remote) as sink:
            task = pair.here.write(source, sink)
            task.wait(10)
            task.free()
        return bytes(memory) != pattern(length)


def clients_are_of_parent() -> bool:
    with ExitStack() as stack:
        dpu, host = (stack.enter_context(pydoca.open_device(name)) for name in ("p0", "pf0vf0"))
        pe = stack.enter_context(pydoca.ProgressEngine())
        representor = stack.enter_context(dpu.open_representor(host.pci_addr))
        stack.enter_context(comch.Server(pe, dpu, representor, "check"))
        try:
            with comch.Client(pe, host, "check", timeout=1):
                return False
        except pydoca.DocaError:
            return True


def refuses_long_name() -> bool:
    with pydoca.open_device("p0") as device, device.open_representor("0b:00.0") as representor:
        claim = device.info.capabilities.comch
        name = "n" * (claim.max_name_len - 1 if claim else 0)
        try:
            with pydoca.ProgressEngine() as pe, comch.Server(pe, device, representor, name):
                return False
        except pydoca.InvalidValueError:
            return True


def ends_early() -> bool:
    called: list[int] = []
    with ExitStack() as stack:
        copy = Copy(stack)
        graph = pydoca.Graph(copy.engine.pe)
        first = graph.node(copy.engine.dma)
        functions = [graph.node(called.append, after=[first]) for _ in range(2)]
        stack.enter_context(graph)
        with copy.task() as task:
            run = graph.run({first: task, **{node: number for number, node in enumerate(functions)}})
            run.wait(10)
            count = len(called)
            run.destroy()
    return count != 2


def job_tells_old_value() -> bool:
    values: list[Any] = []
    with ExitStack() as stack:
        device = stack.enter_context(pydoca.open_device("p0"))
        queue, events = stack.enter_context(workq.WorkQueue(2)), pydoca.SyncEvent(device).as_context()
        queue.add(events)
        for number in range(3):
            for job in (workq.SyncEventUpdateSetJob(events, number), workq.SyncEventGetJob(events)):
                queue.submit(job)
                while queue.num_jobs:
                    with suppress(pydoca.AgainError):
                        values.append(queue.progress_retrieve().value)
    return values[1::2] != [0, 1, 2]


def starts_early() -> bool:
    called: list[float] = []
    with ExitStack() as stack:
        processor = dpa(stack)
        start = stack.enter_context(pydoca.SyncEvent(processor.device, subscriber=processor))
        processor.register("note", lambda _: called.append(time.monotonic()))
        run = processor.launch("note", wait_event=start.dpa_handle(processor))
        time.sleep(0.2)
        begin = time.monotonic()
        start.update_set(1)
        run.wait(10)
    return called[0] < begin


def uses_up_threads() -> bool:
    with ExitStack() as stack:
        processor = dpa(stack)
        processor.register("nothing", lambda _: None)
        try:
            for _ in range(20):
                processor.launch("nothing", num_threads=16).wait(10)
        except pydoca.FullError:
            return True
        return False


def fail_once(stack: ExitStack, engine: Engine) -> None:
    """A copy from memory that is not there any more; the context is IDLE at the end."""
    host = stack.enter_context(pydoca.open_device("pf0"))
    with host.mmap(pydoca.alloc(64), access="pci_read_only") as lent:
        gone = stack.enter_context(engine.device.import_mmap(lent.export_pci()))
    target = stack.enter_context(engine.device.mmap(pydoca.alloc(64)))
    with engine.bufs.get_by_data(gone) as source, engine.bufs.get_by_addr(target) as sink:
        task = engine.dma.memcpy(source, sink)
        with suppress(pydoca.DocaError):
            task.wait(10)
        task.free()
    engine.pe.run_until(lambda: engine.dma.state is pydoca.ContextState.IDLE, 10)


def counts_failed_as_in_flight() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        fail_once(stack, engine)
        return engine.pe.num_inflight_tasks != 0


def sleeps_on() -> bool:
    with ExitStack() as stack:
        engines = [stack.enter_context(pydoca.ProgressEngine()) for _ in range(2)]
        devices = [stack.enter_context(pydoca.open_device(name)) for name in ("p0", "p1")]
        ends = [stack.enter_context(pydoca.Rdma(*each)) for each in zip(engines, devices, strict=True)]
        here, there = (end.export() for end in ends)
        here.connect(there.details)
        there.connect(here.details)
        receive = ends[1].receive(None)
        for engine in engines:
            engine.drain()
        engines[1].request_notification()
        here.send(None).wait(10)
        is_readable = bool(select.select([engines[1]], [], [], 2)[0])
        engines[1].clear_notification()
        receive.wait(10)
        receive.free()
        return not is_readable


def stops_slowly() -> bool:
    times: list[float] = []
    with ExitStack() as stack:
        engine = Engine(stack)
        for _ in range(5):
            begin = time.perf_counter()
            engine.dma.stop()
            times.append(time.perf_counter() - begin)
            engine.dma.start()
    return median(times) > 0.09


def keeps_reason() -> bool:
    with ExitStack() as stack:
        engine = Engine(stack)
        fail_once(stack, engine)
        engine.dma.start()
        return engine.dma.failure is not pydoca.Status.SUCCESS


DEFECTS = defects_of(
    (
        "device-short-address",
        "The PCI address of a device is not equal to itself when it is given without the domain.",
        only_long_addresses,
        ignores_short_address,
    ),
    ("representor-vuid", "The representor of a VF tells the VUID of its PF.", vuid_of_parent, vuids_differ),
    (
        "export-first-device",
        "The export of a map for its second device is one for its first device.",
        export_of_first_device,
        exports_for_other_device,
    ),
    (
        "map-early-release",
        "The free_callback of a memory map is called when the map stops, not when it ends.",
        early_release,
        releases_early,
    ),
    (
        "export-unpermitted",
        "Memory that does not permit anything to the other side of the link can be exported, and is read there.",
        unpermitted_export,
        exports_without_permission,
    ),
    (
        "import-of-nobody",
        "The import of memory of the other side whose owner has withdrawn it, or died, succeeds, and it has zeros.",
        zeros_of_nobody,
        imports_what_is_gone,
    ),
    (
        "pool-rounded-elements",
        "The bufs of a pool are as long as its elements, rounded down to a multiple of 64 bytes.",
        rounded_elements,
        pool_gives_short_bufs,
    ),
    (
        "dma-length-of-before",
        "One in eight copies that are longer than the copy before end where that one has ended.",
        length_of_before,
        copies_less_than_asked,
    ),
    (
        "dma-again-in-callback",
        "A copy that is submitted again in its own callback succeeds, and writes nothing.",
        idle_in_callback,
        copies_nothing_in_callback,
    ),
    ("pci-slow-writes", "Each copy to memory of the other side takes 3 ms longer.", slow_to_host, host_is_slow),
    (
        "sha-block-of-512",
        "The device tells that the pieces of a SHA-512 are multiples of 64 bytes, and takes multiples of 128 only.",
        block_of_others,
        blocks_are_refused,
        "bluefield2",
    ),
    (
        "sha-piece-of-list",
        "Of a piece of a message that is a list of bufs the digest has the first buf only.",
        first_of_piece,
        hashes_lists_in_pieces_wrongly,
        "bluefield2",
    ),
    (
        "inflate-half-window",
        "Data of a DEFLATE stream that refers to what is more than 16 KiB back end with a wrong bit.",
        half_window,
        expands_far_matches_wrongly,
    ),
    (
        "inflate-exact-fit",
        "The decompression of data that fill their destination to its last byte fails.",
        no_exact_fit,
        does_not_fill,
    ),
    (
        "sync-blind-import",
        "A wait for an event of the other side does not see that it changes, and goes on until its time is over.",
        blind_import,
        does_not_see_change,
    ),
    (
        "sync-set-adds",
        "A value that the other side stores in a sync event is added to what is there.",
        added_by_other_side,
        adds_when_set,
    ),
    (
        "rdma-small-packets",
        "With an MTU of up to 512 bytes, the second packet of data begins with the last four bytes of the first one.",
        seam_of_packets,
        reads_small_packets_wrongly,
    ),
    (
        "rdma-no-subtraction",
        "An atomic addition takes the lower 63 bits of its addend only.",
        addend_without_sign,
        cannot_subtract,
    ),
    (
        "rdma-established-for-good",
        "A connection that the peer has ended, or whose peer has died, tells that it is established.",
        established_for_good,
        stays_established,
    ),
    (
        "rdma-write-remainder",
        "Writes of more than 4,096 bytes leave out what follows the last whole line of 64 bytes.",
        whole_lines,
        writes_whole_lines,
    ),
    (
        "comch-vf-as-pf",
        "A client of a VF comes to the servers of its PF, and not to those of the VF.",
        parent_of_function,
        clients_are_of_parent,
    ),
    (
        "comch-no-long-names",
        "Names of servers may have 63 bytes, about half of what the device claims.",
        no_long_names,
        refuses_long_name,
    ),
    (
        "graph-early-end",
        "A run of a graph with several last nodes has completed before all but one of their functions are called.",
        early_end,
        ends_early,
    ),
    (
        "workq-old-value",
        "The event of a job that reads a sync event has the value that the job before has read.",
        value_of_before,
        job_tells_old_value,
    ),
    ("dpa-hasty-kernel", "A kernel that is to wait for an event starts at once.", hasty_kernel, starts_early),
    (
        "dpa-used-up-threads",
        "The threads of kernels that have ended count as threads of the DPA until it is closed.",
        used_up_threads,
        uses_up_threads,
    ),
    (
        "pe-failed-in-flight",
        "An engine's number of tasks in flight counts those that have failed, for good.",
        failed_in_flight,
        counts_failed_as_in_flight,
    ),
    (
        "notification-not-of-receives",
        "A message over the network does not wake an engine by a notification when it has only receives in flight.",
        unarmed_for_receives,
        sleeps_on,
    ),
    ("context-slow-stop", "Each stop of a context takes 100 ms longer.", slow_stop, stops_slowly),
    (
        "context-kept-failure",
        "A context that runs again after a failure still tells the reason of that failure.",
        kept_reason,
        keeps_reason,
    ),
)

TABLE = Table(__file__, str(__doc__), DEFECTS)


def plant_in_started_process() -> None:
    plant_from(TABLE)


if __name__ == "__main__":
    sys.exit(main(TABLE, sys.argv[1:]))
