"""Ways to make a simulated card defective, other than fault plans: they replace methods of pydoca while a test runs."""

import contextlib
import ctypes
import functools
import itertools
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

import pydoca
from pydoca import comch, workq

Function = Callable[..., Any]
Plant = Callable[[pytest.MonkeyPatch, ExitStack], None]
LOW = 0xFFFFFFFF


def replaced(owner: Any, name: str, make: Callable[[Function], Function]) -> Plant:
    """Replaces the method by the result of make()."""

    def plant(patch: pytest.MonkeyPatch, _: ExitStack) -> None:
        original = getattr(owner, name)
        patch.setattr(owner, name, functools.wraps(original)(make(original)))

    return plant


def together(*plants: Plant) -> Plant:
    def plant(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
        for each in plants:
            each(patch, stack)

    return plant


def with_changed(place: int, change: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Changes one argument if it is given; place counts from the argument after self."""

    def make(original: Function) -> Function:
        def call(self: Any, *given: Any, **keys: Any) -> Any:
            changed = [change(each) if number == place else each for number, each in enumerate(given)]
            return original(self, *changed, **keys)

        return call

    return make


def with_key(key: str, change: Callable[[Any], Any]) -> Callable[[Function], Function]:
    def make(original: Function) -> Function:
        def call(*given: Any, **keys: Any) -> Any:
            return original(*given, **{**keys, **({key: change(keys[key])} if key in keys else {})})

        return call

    return make


def _to_another(others: Callable[[Any], list[Any]], every: int) -> Callable[[Function], Function]:
    """Sends a message of one connection to another one of the same end, once in several calls."""
    numbers = itertools.count(1)

    def make(original: Function) -> Function:
        def call(self: Any, *given: Any, **keys: Any) -> Any:
            found = [each for each in others(self) if each is not self]
            return original(found[-1] if found and next(numbers) % every == 0 else self, *given, **keys)

        return call

    return make


wrong_client = replaced(
    comch.Connection, "send", _to_another(lambda link: link.server.connections if link.server else [], 70)
)
wrong_peer = replaced(pydoca.RdmaConnection, "send", _to_another(lambda link: link.rdma.connections, 11))


def _atomics_too(access: Any) -> Any:
    """The permissions, widened so that a writer may also change words atomically."""
    is_given = isinstance(access, pydoca.Access) and pydoca.Access.RDMA_WRITE in access
    return access | pydoca.Access.RDMA_ATOMIC if is_given else access


atomics_for_writers = together(
    replaced(pydoca.Device, "mmap", with_key("access", _atomics_too)),
    replaced(pydoca.Rdma, "__init__", with_key("permissions", _atomics_too)),
)


def swap_not_stored(patch: pytest.MonkeyPatch, _: ExitStack) -> None:
    """Makes one exchange in 32 store nothing; if good and bad exchanges take turns, it is always a bad one."""
    original, calls = pydoca.RdmaConnection.atomic_cmp_swp, itertools.count()

    def swap(self: Any, dst: Any, result: Any, cmp_data: Any, swap_data: Any, **keys: Any) -> Any:
        return original(self, dst, result, cmp_data, swap_data if next(calls) % 32 else cmp_data, **keys)

    patch.setattr(pydoca.RdmaConnection, "atomic_cmp_swp", functools.wraps(original)(swap))


narrow_compare = replaced(pydoca.RdmaConnection, "atomic_cmp_swp", with_changed(3, lambda number: number & LOW))
narrow_number = replaced(pydoca.RdmaConnection, "send_imm", with_changed(1, lambda number: number & 0x7FFFFFFF))
narrow_mask = replaced(pydoca.SyncEventContext, "wait_neq", with_changed(1, lambda mask: mask >> 8 << 8))


def _cut(original: Function) -> Function:
    """Makes a read take as many bytes as fit."""

    def read(self: Any, src: Any, dst: Any, **keys: Any) -> Any:
        if 0 < dst.tailroom < src.data_len and dst.list_len == 1:
            src.data_len = dst.tailroom
        return original(self, src, dst, **keys)

    return read


def _with_fewer(original: Function) -> Function:
    """Gives a context 20,000 receives, whatever number the device reports."""
    numbers = itertools.count(1)

    def receive(self: Any, *given: Any, **keys: Any) -> Any:
        if self.num_tasks("receive") > 20_000 < next(numbers):
            raise pydoca.NoMemoryError("receive: the device has no entry left")
        return original(self, *given, **keys)

    return receive


fewer_receives = replaced(pydoca.Rdma, "receive", _with_fewer)
cut_reads = replaced(pydoca.RdmaConnection, "read", _cut)


def _with_jumps(original: Function) -> Function:
    numbers = itertools.count(1)

    def timestamp(self: Any, which: Any) -> int:
        is_late = which == pydoca.ClockType.NIC_FREE_RUNNING and next(numbers) > 500
        return original(self, which) + (3_000_000 if is_late else 0)

    return timestamp


clock_jumps = replaced(pydoca.Clock, "timestamp", _with_jumps)


def _left_by(leave: Callable[[ExitStack], object]) -> Plant:
    """Makes each sync event leave something behind."""

    def plant(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
        original = pydoca.SyncEvent.__init__

        def leaving(self: Any, *given: Any, **keys: Any) -> None:
            original(self, *given, **keys)
            leave(stack)

        patch.setattr(pydoca.SyncEvent, "__init__", leaving)

    return plant


def _leave_thread(stack: ExitStack) -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    stack.callback(thread.join)
    stack.callback(end.set)


events_leave_threads = _left_by(_leave_thread)
events_leave_memory = _left_by(lambda stack: stack.callback(bytes(b"\x01" * 12288).find, b"\x02"))


def same_address(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """Gives both ports of the host one MAC address."""
    functions = [{k: v for k, v in each.items() if v is not None} for each in pydoca.sim.topology()["function"]]
    first, second = (next(each for each in functions if each["name"] == name) for name in ("pf0", "pf1"))
    second["mac_addr"] = first["mac_addr"]
    pydoca.sim.load_topology({"function": functions})


def same_type(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """Makes representors of VFs report the type of physical functions."""
    patch.setattr(pydoca.RepresentorInfo, "func_type", property(lambda info: pydoca.PciFuncType.PF))


def lost_line(patch: pytest.MonkeyPatch, _: ExitStack) -> None:
    """Makes one invalidation of changed memory in four restore the first bytes of the previous one."""
    seen: dict[int, bytes] = {}
    changes = itertools.count(1)

    def make(original: Function) -> Function:
        def submit(self: Any, *given: Any, **keys: Any) -> Any:
            if isinstance(self, pydoca.MmapAdviseInvalidateCacheTask) and self.buf.data_len:
                first = (ctypes.c_char * min(64, self.buf.data_len)).from_address(self.buf.data)
                before = seen.get(self.buf.data, first.raw)
                if before != first.raw and next(changes) % 4 == 0:
                    first.raw = before
                seen[self.buf.data] = first.raw
            return original(self, *given, **keys)

        return submit

    replaced(pydoca.Task, "submit", make)(patch, _)


def overwritten_full_bufs(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """Makes a copy to a list whose first buf is full overwrite the data of that buf."""

    def make(original: Function) -> Function:
        def memcpy(self: Any, src: Any, dst: Any, **keys: Any) -> Any:
            task = original(self, src, dst, **keys)
            if dst is not None and dst.list_len > 1 and dst.data_len and not dst.tailroom:
                data = (ctypes.c_char * min(dst.data_len, src.data_len)).from_address(dst.data)
                task.add_done_callback(lambda _: setattr(data, "raw", bytes(byte ^ 0xFF for byte in data.raw)))
            return task

        return memcpy

    replaced(pydoca.Dma, "memcpy", make)(patch, stack)


def _with_delay(seconds: Callable[[Any], float]) -> Callable[[Function], Function]:
    """Delays each call by the seconds that the method's object gives."""

    def make(original: Function) -> Function:
        def delayed(self: Any, *given: Any, **keys: Any) -> Any:
            time.sleep(seconds(self))
            return original(self, *given, **keys)

        return delayed

    return make


def slow_new_maps(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """Delays the first copy from each memory map by 5 ms."""
    known = weakref.WeakSet[pydoca.Mmap]()

    def seconds(task: pydoca.Task) -> float:
        if not isinstance(task, pydoca.DmaMemcpyTask) or task.src.mmap in known:
            return 0
        known.add(task.src.mmap)
        return 0.005

    replaced(pydoca.Task, "submit", _with_delay(seconds))(patch, stack)


def slow_large_copies(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """Delays each copy of 1 MiB and more by 20 ms."""

    def seconds(task: pydoca.Task) -> float:
        return 0.02 if isinstance(task, pydoca.DmaMemcpyTask) and task.src and task.src.data_len >= 1 << 20 else 0

    replaced(pydoca.Task, "submit", _with_delay(seconds))(patch, stack)


def slow_other_algorithms(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """Delays a digest by 5 ms if the previous one had another algorithm."""
    last = ["sha256"]

    def seconds(task: pydoca.Task) -> float:
        if not isinstance(task, pydoca.ShaHashTask) or task.algorithm == last[0]:
            return 0
        last[0] = task.algorithm
        return 0.005

    replaced(pydoca.Task, "submit", _with_delay(seconds))(patch, stack)


def slow_readings_across(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """Delays each reading of an imported sync event by 2 ms."""
    replaced(pydoca.SyncEvent, "get", _with_delay(lambda event: 0.002 if event.is_from_export else 0))(patch, stack)


def readings_of_the_dead(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """An imported sync event whose owner's process has died still tells the value of the last look."""
    last: weakref.WeakKeyDictionary[pydoca.SyncEvent, int] = weakref.WeakKeyDictionary()

    def make(original: Function) -> Function:
        def get(self: pydoca.SyncEvent) -> int:
            try:
                last[self] = original(self)
            except pydoca.ConnectionResetError:
                if self not in last:
                    raise
            return last[self]

        return get

    replaced(pydoca.SyncEvent, "get", make)(patch, stack)


def kept_memory(patch: pytest.MonkeyPatch, _: ExitStack) -> None:
    """Makes each connection leave 1 MiB of memory in use, up to 500 MiB."""
    kept: list[bytearray] = []

    def make(original: Function) -> Function:
        def export(self: Any) -> Any:
            if len(kept) < 500:
                kept.append(bytearray(b"\1") * 2**20)
            return original(self)

        return export

    replaced(pydoca.Rdma, "export", make)(patch, _)


def slow_large_maps(patch: pytest.MonkeyPatch, _: ExitStack) -> None:
    """Delays a map by 4 ms for each MiB."""

    def make(original: Function) -> Function:
        def mmap(self: Any, *given: Any, **keys: Any) -> Any:
            made = original(self, *given, **keys)
            time.sleep(made.len * 0.004 / 2**20)
            return made

        return mmap

    replaced(pydoca.Device, "mmap", make)(patch, _)


def late_wake_ups(patch: pytest.MonkeyPatch, _: ExitStack) -> None:
    """Makes engines' waits that have slept return 10 ms late."""

    def make(original: Function) -> Function:
        def wait(self: Any, *given: Any, **keys: Any) -> Any:
            begin = time.monotonic()
            try:
                return original(self, *given, **keys)
            finally:
                if time.monotonic() - begin > 0.001:
                    time.sleep(0.01)

        return wait

    replaced(pydoca.ProgressEngine, "run_until", make)(patch, _)


def spinning_waits(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """Waits of an engine look for completions all the time and never sleep."""

    def make(original: Function) -> Function:
        def wait(self: Any, timeout: float | None = None) -> int:
            end = time.monotonic() + (timeout or 0)
            while time.monotonic() < end:
                if done := self.drain():
                    return done
            return original(self, 0)

        return wait

    replaced(pydoca.ProgressEngine, "wait", make)(patch, stack)


def silent_job_failures(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """The event of a job that has failed tells success."""

    def make(original: Function) -> Function:
        def retrieve(self: Any) -> workq.Event:
            try:
                return original(self)
            except workq.JobFailedError as failed:
                return failed.event._replace(result=pydoca.Status.SUCCESS)

        return retrieve

    replaced(workq.WorkQueue, "progress_retrieve", make)(patch, stack)


def wrong_adler(patch: pytest.MonkeyPatch, _: ExitStack) -> None:
    """A bit of the Adler-32 of more than 5,552 bytes flips."""
    original = pydoca.CompressDecompressDeflateTask.adler_cs

    def adler(task: pydoca.CompressDecompressDeflateTask) -> int:
        length = sum(buf.data_len for buf in task.dst or ())
        return int(original.__get__(task)) ^ (length > 5552)

    patch.setattr(pydoca.CompressDecompressDeflateTask, "adler_cs", property(adler))


class _First:
    """Says the signal of a launch when the first of its threads has ended."""

    def __init__(self, say: Callable[[], object]) -> None:
        self._say, self._numbers = say, itertools.count()

    def thread_has_ended(self) -> None:
        if next(self._numbers) == 0:
            self._say()


def _of_kernels(change: Callable[[Function], Function]) -> Plant:
    changed = functools.cache(change)
    return replaced(pydoca.Dpa, "register", with_changed(1, changed))


def _signalling(kernel: Function) -> Function:
    @functools.wraps(kernel)
    def run(thread: Any, *given: Any) -> None:
        first = given[0] if given and isinstance(given[0], _First) else None
        kernel(thread, *(given[1:] if first else given))
        if first:
            first.thread_has_ended()

    return run


def _with_first(original: Function) -> Function:
    def launch(self: Any, name: str, *given: Any, **keys: Any) -> Any:
        event = keys.pop("done_event", None)
        to, by = keys.pop("done_set", None), keys.pop("done_add", None)
        if event is None or keys.get("num_threads", 1) < 2:
            return original(self, name, *given, done_event=event, done_set=to, done_add=by, **keys)
        say = (
            functools.partial(event.update_set, to) if to is not None else functools.partial(event.update_add, by or 1)
        )
        return original(self, name, _First(say), *given, **keys)

    return launch


early_signals = together(_of_kernels(_signalling), replaced(pydoca.Dpa, "launch", _with_first))


def _never_failing(kernel: Function) -> Function:
    @functools.wraps(kernel)
    def run(*given: Any) -> None:
        with contextlib.suppress(Exception):
            kernel(*given)

    return run


silent_kernels = _of_kernels(_never_failing)


def _with_less(original: Function) -> Function:
    """Refuses the last thread of those that the DPA claims."""

    def launch(self: Any, *given: Any, **keys: Any) -> Any:
        limits = self.device.info.capabilities.dpa
        if self.is_running and limits and self.num_threads + keys.get("num_threads", 1) >= limits.max_num_threads:
            raise pydoca.FullError("launch a kernel: the DPA has no thread left")
        return original(self, *given, **keys)

    return launch


fewer_threads = replaced(pydoca.Dpa, "launch", _with_less)


def unwritten_optimized(patch: pytest.MonkeyPatch, _: ExitStack) -> None:
    """One copy in eight with OPTIMIZE_REPORTS gives its destination the bytes back that it had before."""
    numbers = itertools.count(1)

    def make(original: Function) -> Function:
        def submit(self: Any, flags: Any = pydoca.SubmitFlags.FLUSH) -> None:
            is_meant = isinstance(self, pydoca.DmaMemcpyTask) and flags & pydoca.SubmitFlags.OPTIMIZE_REPORTS
            if is_meant and self.dst.list_len == 1 and next(numbers) % 8 == 0:
                room = (ctypes.c_char * self.src.data_len).from_address(self.dst.data + self.dst.data_len)
                before = room.raw
                self.add_done_callback(lambda _: setattr(room, "raw", before))
            original(self, flags)

        return submit

    replaced(pydoca.Task, "submit", make)(patch, _)


def deaf_to_the_past(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """A copy that has been there for half a millisecond when a notification is requested brings none."""
    last: weakref.WeakKeyDictionary[Any, tuple[float, Any]] = weakref.WeakKeyDictionary()

    def submitting(original: Function) -> Function:
        def submit(self: Any, *given: Any, **keys: Any) -> None:
            if isinstance(self, pydoca.DmaMemcpyTask) and self.src.data_len <= 4096:
                last[self.context.progress_engine] = time.monotonic(), weakref.ref(self)
            original(self, *given, **keys)

        return submit

    def requesting(original: Function) -> Function:
        def request(self: Any) -> None:
            begin, find = last.get(self, (0.0, lambda: None))
            task = find()
            if task is None or task.done or time.monotonic() - begin < 0.0005:
                original(self)

        return request

    replaced(pydoca.Task, "submit", submitting)(patch, stack)
    replaced(pydoca.ProgressEngine, "request_notification", requesting)(patch, stack)


def swapped_gids(patch: pytest.MonkeyPatch, _: ExitStack) -> None:
    """Each port tells the GIDs of the other one of its side."""
    original = pydoca.Rdma.gids

    def gids(info: Any, *given: Any) -> list[str]:
        ports = [each for each in pydoca.devices(side=info.side) if each.func_type is pydoca.PciFuncType.PF]
        return original(ports[1 - ports.index(info)] if info in ports and len(ports) == 2 else info, *given)

    patch.setattr(pydoca.Rdma, "gids", staticmethod(gids))


def _after_the_last(original: Function) -> Function:
    """The first message of each connection of a server comes behind the last one of the connection before."""
    last: weakref.WeakKeyDictionary[Any, tuple[Any, bytes]] = weakref.WeakKeyDictionary()

    def send(self: Any, data: Any, **keys: Any) -> Any:
        if self.server is not None:
            link, text = last.get(self.server, (self, b""))
            if link is not self and not link.is_connected:
                original(self, text)
            last[self.server] = self, bytes(data)
        return original(self, data, **keys)

    return send


stale_greetings = replaced(comch.Connection, "send", _after_the_last)


def exchanged_lines(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """Copies from memory that was lent with relaxed ordering have their first two lines exchanged."""
    blobs = set[bytes]()
    relaxed: weakref.WeakSet[pydoca.Mmap] = weakref.WeakSet()

    def exporting(original: Function) -> Function:
        def export(self: Any, *given: Any) -> bytes:
            blob = bytes(original(self, *given))
            if pydoca.Access.PCI_RELAXED_ORDERING in self.access:
                blobs.add(blob)
            return blob

        return export

    def importing(original: Function) -> Function:
        def import_mmap(self: Any, blob: Any, **keys: Any) -> Any:
            made = original(self, blob, **keys)
            if bytes(blob) in blobs:
                relaxed.add(made)
            return made

        return import_mmap

    def copying(original: Function) -> Function:
        def memcpy(self: Any, src: Any, dst: Any, **keys: Any) -> Any:
            task = original(self, src, dst, **keys)
            if src is not None and src.mmap in relaxed and src.data_len >= 128:
                lines = (ctypes.c_char * 128).from_address(dst.data + dst.data_len)
                task.add_done_callback(lambda _: setattr(lines, "raw", lines.raw[64:] + lines.raw[:64]))
            return task

        return memcpy

    replaced(pydoca.Mmap, "export_pci", exporting)(patch, stack)
    replaced(pydoca.Device, "import_mmap", importing)(patch, stack)
    replaced(pydoca.Dma, "memcpy", copying)(patch, stack)


def _one_more(owner: Any, name: str) -> Plant:
    """A static method that tells a limit tells one more."""

    def plant(patch: pytest.MonkeyPatch, _: ExitStack) -> None:
        original = getattr(owner, name)
        patch.setattr(owner, name, staticmethod(lambda *given: original(*given) + 1))

    return plant


long_gid_table = _one_more(pydoca.Rdma, "gid_table_size")


def kept_compare(patch: pytest.MonkeyPatch, _: ExitStack) -> None:
    """An exchange keeps the number to compare with that it was made with."""
    patch.setattr(pydoca.RdmaTask, "cmp_data", property(pydoca.RdmaTask.cmp_data.fget, lambda *_: None))  # type: ignore[attr-defined]


def short_between_hosts(patch: pytest.MonkeyPatch, _: ExitStack) -> None:
    """A copy from memory of the host to memory of the host gives its last eight bytes back what they had before."""

    def make(original: Function) -> Function:
        def memcpy(self: Any, src: Any, dst: Any, **keys: Any) -> Any:
            if not (src.mmap.is_from_export and dst.mmap.is_from_export and src.data_len > 8):
                return original(self, src, dst, **keys)
            # One process has both sides here, so the host's addresses are valid in it.
            rest = (ctypes.c_char * 8).from_address(dst.data + dst.data_len + src.data_len - 8)
            before = rest.raw
            task = original(self, src, dst, **keys)
            task.add_done_callback(lambda _: setattr(rest, "raw", before))
            return task

        return memcpy

    replaced(pydoca.Dma, "memcpy", make)(patch, _)


def names_of_the_card(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """A name serves one function of the card at a time."""
    servers: weakref.WeakSet[comch.Server] = weakref.WeakSet()

    def starting(original: Function) -> Function:
        def start(self: Any) -> Any:
            others = [each for each in servers if each is not self and each.state != pydoca.ContextState.IDLE]
            if any(each.name == self.name and each.representor is not self.representor for each in others):
                raise pydoca.AlreadyExistError(f"start a server: the card has a server {self.name!r}")
            servers.add(self)
            return original(self)

        return start

    for name in ("start", "__enter__"):
        replaced(comch.Server, name, starting)(patch, stack)


def only_ipv4(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """Peers are not found by their IPv6 address or GID."""

    def make(original: Function) -> Function:
        def connect(self: Any, address: str, *given: Any, **keys: Any) -> Any:
            if ":" in address:
                raise pydoca.NotFoundError(f"connect to an address: no route to {address}")
            return original(self, address, *given, **keys)

        return connect

    replaced(pydoca.Rdma, "connect", make)(patch, stack)
