"""Promises of RDMA's tasks: their properties, repeated submission, and the memory that they leave unchanged."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.maps import REFUSALS, chained
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.patterns import noise
from pydoca.qualify.bench.rdma.pair import ACCESS, Pair
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, refused, require_value
from pydoca.qualify.bench.zones import Zoned, require_equal

_ROOM = 512  # bytes of memory at each end
_LONGEST = 64  # bytes of a transfer
WORD = 8
MOST = 2**64 - 1
_BUFS = ("src", "dst", "result_buf", "sync_event")


def has(device: pydoca.Device, kind: Any) -> bool:
    """Tells whether the device has tasks of this kind."""
    return pydoca.Rdma.is_task_supported(device.info, kind)


def tasks(device: pydoca.Device) -> int:
    """The number of tasks of each kind: a few, which the device and its queues have."""
    limits = device.info.capabilities.rdma
    assert limits is not None
    return min(8, limits.max_send_queue_size, limits.max_recv_queue_size)


class _Place(NamedTuple):
    """A buf, its memory, the begin of its data there, and the length of its data."""

    buf: pydoca.Buf
    end: Zoned
    begin: int
    length: int

    def bytes(self, size: int, *, behind: bool = False) -> Any:
        """The first bytes of its data, or of the room behind it."""
        return self.end.data(self.begin + (self.length if behind else 0), size)


class _Ends:
    """Two contexts with two connections, and memory of both."""

    def __init__(self, stand: Stand, device: pydoca.Device, rng: random.Random) -> None:
        limits = device.info.capabilities.rdma
        assert limits is not None
        most = min(2, limits.max_num_connections)
        self.rng, self.pair = rng, Pair(stand, device, device, _ROOM, max_num_connections=most, num_tasks=tasks(device))
        self.connections = [(self.pair.ab, self.pair.ba), *(self._connect() for _ in range(most - 1))]
        self._inventory, self._bufs = stand.bufs(8), stand.enter_context(Stand())

    def _connect(self) -> tuple[pydoca.RdmaConnection, pydoca.RdmaConnection]:
        with duty("a second connection of two RDMA contexts"):
            here, there = self.pair.a.export(), self.pair.b.export()
            here.connect(there.details)
            there.connect(here.details)
            for end in (here, there):
                end.established().wait(timeout=waiting.PATIENCE)
        return here, there

    def data(self, end: Zoned, mmap: pydoca.Mmap, size: int, unit: int = 1) -> _Place:
        """A buf with size bytes of data at a random place."""
        begin = unit * self.rng.randrange((_ROOM - size) // unit + 1)
        buf = self._bufs.keep(self._inventory.get_by_data(mmap, end.address(begin), size))
        return _Place(buf, end, begin, size)

    def room(self, end: Zoned, mmap: pydoca.Mmap, size: int, unit: int = 1) -> _Place:
        """A buf with some data or none, and with room for at least size bytes behind it."""
        length, spare = unit * self.rng.randrange(5), self.rng.randrange(9)
        most = length + max(size, 1) + spare
        begin = unit * self.rng.randrange((_ROOM - most) // unit + 1)
        address = end.address(begin)
        return _Place(
            self._bufs.keep(self._inventory.get_by_args(mmap, address, most, address, length)), end, begin, length
        )

    def fill(self) -> list[Any]:
        """Fills all memory of both ends with other data; returns copies, which the caller changes as the task must."""
        for end in (self.pair.here, self.pair.theirs):
            end.array[:] = noise(len(end.array), self.rng.getrandbits(32))
        return [end.array.copy() for end in (self.pair.here, self.pair.theirs)]

    def require(self, expected: list[Any], what: str) -> None:
        """Checks all memory of both ends, and releases the bufs."""
        require_equal(self.pair.here.array, expected[0], f"memory of this end after {what}")
        require_equal(self.pair.theirs.array, expected[1], f"memory of the peer after {what}")
        self._bufs.close()


class _Again(_Ends):
    """A task of each kind that the device has; each is submitted again and again, with other operands."""

    def __init__(self, stand: Stand, device: pydoca.Device, rng: random.Random) -> None:
        super().__init__(stand, device, rng)
        ab, word = self.pair.ab, self.data(self.pair.theirs, self.pair.there, WORD, WORD).buf
        makers: dict[str, Callable[[], pydoca.RdmaTask]] = {
            "send": lambda: ab.send(None, submit=False),
            "send_imm": lambda: ab.send_imm(None, 1, submit=False),
            "write": lambda: ab.write(None, None, submit=False),
            "write_imm": lambda: ab.write_imm(None, None, 1, submit=False),
            "read": lambda: ab.read(None, None, submit=False),
            "atomic_cmp_swp": lambda: ab.atomic_cmp_swp(word, word, 1, 2, submit=False),
            "atomic_fetch_add": lambda: ab.atomic_fetch_add(word, word, 1, submit=False),
        }
        with duty("tasks of RDMA"):
            self.tasks = {kind: make() for kind, make in makers.items() if has(device, kind)}
            self.receive = self.pair.b.receive(None, submit=False)
        for task in (*self.tasks.values(), self.receive):
            stand.callback(task.free)

    def run(self, kind: str, what: str) -> None:
        """Runs the task of this kind with random operands, and compares all that it may have changed."""
        if kind.startswith("atomic"):
            self._atomic(kind, what)
        else:
            self._transfer(kind, what, self.rng.choice((0, 1, self.rng.randrange(2, _LONGEST + 1))))

    def _transfer(self, kind: str, what: str, size: int) -> None:
        expected, pair, task = self.fill(), self.pair, self.tasks[kind]
        from_, to = ((pair.theirs, pair.there), (pair.here, pair.here.mmap)) if kind == "read" else self._outwards(kind)
        src = self.data(*from_, size) if size else None
        dst = self.room(*to, size)
        if src:
            _part(expected[kind != "read"], dst, size)[:] = src.bytes(size)
        task.src = src.buf if src else None
        if not kind.startswith("send"):
            task.dst = dst.buf if size else None
        number = self.rng.choice((0, 1, 2**31, 2**32 - 1)) if kind.endswith("_imm") else None
        if number is not None:
            task.immediate_data = number
        value = self._submit(task, dst if kind.startswith("send") else None, size, number, what)
        grown = 0 if kind.startswith("write") else size
        lengths = {"dst": dst.buf.data_len, "src": src.buf.data_len if src else 0}
        require_told(f"the bufs of {what}", {**lengths}, {"dst": dst.length + grown, "src": size})
        brought = size if kind == "read" else None
        require_told(what, {"value": value, "length": task.result_len}, {"value": brought, "length": brought})
        self.require(expected, what)

    def _outwards(self, kind: str) -> tuple[tuple[Zoned, pydoca.Mmap], tuple[Zoned, pydoca.Mmap]]:
        pair = self.pair
        there = pair.theirs.mmap if kind.startswith("send") else pair.there
        return (pair.here, pair.here.mmap), (pair.theirs, there)

    def _atomic(self, kind: str, what: str) -> None:
        expected, pair, task = self.fill(), self.pair, self.tasks[kind]
        word, result = (
            self.data(pair.theirs, pair.there, WORD, WORD),
            self.room(pair.here, pair.here.mmap, WORD, WORD),
        )
        old, operand = int(word.bytes(WORD).view(np.uint64)[0]), self.rng.getrandbits(64)
        new = (old + operand) & MOST
        if kind == "atomic_cmp_swp":
            compared = old ^ self.rng.choice((0, 1, 2**63))
            task.cmp_data, task.swap_data = compared, operand
            require_told(what, {"cmp_data": task.cmp_data, "swap_data": task.swap_data}, _pair_of(compared, operand))
            new = operand if compared == old else old
        else:
            task.add_data = operand
        task.dst, task.result_buf = word.buf, result.buf
        _part(expected[0], result, WORD)[:] = word.bytes(WORD)
        expected[1][_at(word) : _at(word) + WORD] = np.array([new], np.uint64).view(np.uint8)
        require_value(self._submit(task, None, 0, None, what), old, f"the result of {what}")
        lengths = {"word": word.buf.data_len, "result": result.buf.data_len}
        require_told(f"the bufs of {what}", {**lengths}, {"word": WORD, "result": result.length + WORD})
        self.require(expected, what)

    def _submit(self, task: pydoca.RdmaTask, room: _Place | None, size: int, number: int | None, what: str) -> Any:
        """Runs the task over either connection, and its receive, if it has one."""
        (here, there), operands = self.rng.choice(self.connections), {name: getattr(task, name) for name in _BUFS}
        is_received = task.kind.startswith("send") or task.kind == "write_imm"
        with duty(what):
            task.connection = here
            if is_received:
                self.receive.dst = room.buf if room else None
                self.receive.submit()
            task.submit()
        value = finish(task, what)
        require_told(what, {name: getattr(task, name) for name in _BUFS}, operands)
        if is_received:
            opcode = _OPCODES[task.kind]
            told: dict[str, object] = {"value": finish(self.receive, what), "length": self.receive.result_len}
            told |= {"number": self.receive.result_immediate_data, "opcode": self.receive.result_opcode}
            told |= {"connection": self.receive.connection}
            must: dict[str, object] = {
                "value": size,
                "length": size,
                "number": number,
                "opcode": opcode,
                "connection": there,
            }
            require_told(f"the receive of {what}", told, must)
        return value


_OPCODES = {
    "send": pydoca.RdmaOpcode.RECV_SEND,
    "send_imm": pydoca.RdmaOpcode.RECV_SEND_WITH_IMM,
    "write_imm": pydoca.RdmaOpcode.RECV_WRITE_WITH_IMM,
}


def _at(place: _Place) -> int:
    """The index of the first byte of its data in the array of its memory."""
    return place.end.address(place.begin) - place.end.mmap.addr


def _part(array: Any, place: _Place, size: int) -> Any:
    """The size bytes behind the data of the place, in a copy of its memory."""
    begin = _at(place) + place.length
    return array[begin : begin + size]


def again(device: pydoca.Device, rounds: int, rng: random.Random) -> int:
    """Submits each task repeatedly with other operands: it changes the bytes of these, at either end.

    Returns the number of submissions.
    """
    with Stand() as stand:
        made = _Again(stand, device, rng)
        for number in range(rounds):
            for kind in made.tasks:
                made.run(kind, f"submission {number} of a task ({kind}) with other operands")
    return rounds * len(made.tasks)


def in_flight(device: pydoca.Device) -> None:
    """A waiting receive, and a message that waits for one, stay unchanged until they end; then they are free."""
    with Stand() as stand:
        pair = Pair(stand, device, device, _LONGEST, num_tasks=tasks(device))
        src = pair.data(pair.here.mmap, pair.here.address(0), _LONGEST)
        with duty("a receive, and a message without one"):
            receive, send = pair.a.receive(None, user_data="r"), pair.ab.send_imm(src, 7, user_data="s")
            pair.pe.drain(20)
        require_value(pair.a.num_inflight_tasks, 2, "the number of tasks of a context in flight")
        for task, names in ((receive, ("dst", "connection")), (send, ("src", "connection", "immediate_data"))):
            _require_in_flight(task, names)
        told: dict[str, object] = {"src": send.src, "number": send.immediate_data, "connection": send.connection}
        told |= {"of a receive": receive.connection, "length": receive.result_len, "opcode": receive.result_opcode}
        must: dict[str, object] = {"src": src, "number": 7, "connection": pair.ab}
        require_told("a task in flight", told, {**must, "of a receive": None, "length": None, "opcode": None})
        with duty("the ends of tasks that have waited"):
            other = pair.b.receive(pair.room(pair.theirs.mmap, pair.theirs.address(0), _LONGEST))
            answer = pair.ba.send(None)
        for each in (send, other, answer, receive):
            finish(each, "a task that has waited")
        require_value(pair.a.num_inflight_tasks + pair.b.num_inflight_tasks, 0, "the number of tasks in flight")
        for each in (send, other, answer, receive):
            require_freed(each)


def _require_in_flight(task: pydoca.RdmaTask, names: tuple[str, ...]) -> None:
    what = f"a task ({task.kind}) in flight"
    told: dict[str, object] = {"state": task.state, "status": task.status, "done": task.done}
    must: dict[str, object] = {"state": pydoca.TaskState.SUBMITTED, "status": pydoca.Status.IN_PROGRESS, "done": False}
    require_told(what, told, must)
    for name in names:
        with refused(f"to set {name} of {what}", pydoca.InUseError):
            setattr(task, name, getattr(task, name) or task.context)
    with refused(f"to free {what}", pydoca.InUseError):
        task.free()
    with refused(f"to submit {what}", pydoca.BadStateError):
        task.submit()
    with refused(f"the result of {what}", pydoca.InProgressError):
        task.result()


def require_freed(task: pydoca.RdmaTask) -> None:
    """Frees the task, and checks that it refuses further use."""
    what = f"a task ({task.kind}) that is freed"
    with duty(what):
        task.free()
    told = {"state": task.state, **{name: getattr(task, name) for name in _BUFS}}
    require_told(what, told, {"state": pydoca.TaskState.FREE, **dict.fromkeys(_BUFS)})
    for call in (task.free, task.submit):
        with refused(f"to use {what}", pydoca.BadStateError):
            call()


def over_maps(device: pydoca.Device, most: int) -> int:
    """Writes, sends, reads and fills lists whose elements lie in several memory maps; returns how many elements."""
    limits = device.info.capabilities.rdma
    assert limits is not None
    count, size = min(most, limits.max_send_buf_list_len, limits.max_recv_buf_list_len), 24
    with Stand() as stand:
        lists: dict[str, Any] = {
            "max_send_buf_list_len": count,
            "receive_dst_buf_list_len": count,
            "num_tasks": tasks(device),
        }
        pair = Pair(stand, device, device, count * size, **lists)
        near, far = ([Zoned(stand, device, size, ACCESS) for _ in range(count)] for _ in range(2))
        whole = pair.theirs.data(0, count * size)
        for number, kind in enumerate(("write", "send", "read")):
            what = f"a list over {count} memory maps ({kind})"
            for place, end in enumerate((*near, *far)):
                end.data(0, size)[:] = noise(size, 100 * number + place)
            whole[:] = noise(count * size, number)
            with duty(what):
                moved = _listed(pair, kind, near, far, size)
            for task in moved:
                finish(task, what)
                task.free()
            found, must = (np.concatenate([end.data(0, size) for end in ends]) for ends in (far, near))
            require_equal(found if kind == "send" else whole, must, what)
            pair.bufs.close()
    return 3 * count


def _listed(pair: Pair, kind: str, near: list[Zoned], far: list[Zoned], size: int) -> list[pydoca.RdmaTask]:
    """Begins a transfer from the near list, or a read into it. A message goes to the far list."""
    ab, get, there = pair.ab, pair.inventory, (pair.theirs.address(0), len(near) * size)

    def chain(ends: list[Zoned], get: Any) -> pydoca.Buf:
        return pair.bufs.keep(chained([get(end.mmap, end.address(0), size) for end in ends]))

    if kind == "read":
        return [ab.read(pair.data(pair.there, *there), chain(near, get.get_by_addr))]
    if kind == "write":
        return [ab.write(chain(near, get.get_by_data), pair.room(pair.there, *there))]
    return [pair.b.receive(chain(far, get.get_by_addr)), ab.send(chain(near, get.get_by_data))]


class _Failure(NamedTuple):
    """A task that fails in the device, and the sizes of its bufs, whose data stays unchanged."""

    kind: str
    sizes: tuple[int, int]  # the source's size, and the room's, which is too short

    def make(self, pair: Pair) -> list[pydoca.RdmaTask]:
        """Makes the task, and a receive that fails with it; submits neither."""
        size, room = self.sizes
        here, there = pair.here.address(0), pair.theirs.address(0)
        if self.kind == "read":
            src, dst = pair.data(pair.there, there, size), pair.room(pair.here.mmap, here, room)
            return [pair.ab.read(src, dst, user_data="fails", submit=False)]
        src = pair.data(pair.here.mmap, here, size)
        if self.kind == "write":
            return [pair.ab.write(src, pair.room(pair.there, there, room), user_data="fails", submit=False)]
        if self.kind == "send":
            receive = pair.b.receive(pair.room(pair.theirs.mmap, there, room), user_data="receive", submit=False)
            return [pair.ab.send(src, user_data="fails", submit=False), receive]
        word, old = pair.data(pair.there, there, WORD), pair.room(pair.here.mmap, here, room)
        return [pair.ab.atomic_fetch_add(word, old, 1, user_data="fails", submit=False)]


_FAILURES = [
    _Failure("read", (64, 63)),
    _Failure("write", (64, 63)),
    _Failure("send", (64, 63)),
    _Failure("atomic_fetch_add", (WORD, WORD - 1)),
]


def failed(device: pydoca.Device) -> int:
    """A task that fails leaves the data of its bufs, ends its connection, and stops its context; returns how many."""
    found = [each for each in _FAILURES if has(device, each.kind)]
    for failure in found:
        with Stand() as stand:
            _fail(stand, device, failure)
    return len(found)


def _fail(stand: Stand, device: pydoca.Device, failure: _Failure) -> None:
    calls: list[tuple[Any, ...]] = []
    told_to: dict[str, Any] = {"user_data": "owner", "on_error": lambda *told: calls.append(told)}
    pair = Pair(stand, device, device, _ROOM, num_tasks=tasks(device), **told_to)
    what = f"a task ({failure.kind}) that fails in the device"
    with duty(what):
        task, *receives = failure.make(pair)
        bufs = [buf for each in (task, *receives) for buf in (each.src, each.dst, each.result_buf) if buf]
        lengths, waits = [buf.data_len for buf in bufs], pair.a.receive(None, user_data="waits")
        for each in (*receives, task):
            each.submit()
    with refused(what, *REFUSALS):
        task.wait(timeout=waiting.PATIENCE)
    waiting.until_true(pair.pe, lambda: waits.done and all(each.done for each in receives), f"tasks beside {what}")
    told: dict[str, object] = {"data_len": [buf.data_len for buf in bufs], "length": task.result_len}
    told |= {"connected": pair.ab.is_connected, "failure": pair.ab.failure, "of the context": pair.a.failure}
    told |= {"a receive": waits.status, "the peer's context": pair.b.state, "running": pair.a.state}
    must: dict[str, object] = {"data_len": lengths, "length": None, "connected": False, "failure": task.status}
    must |= {"of the context": task.status, "a receive": pydoca.Status.SHUTDOWN}
    must |= {"the peer's context": pydoca.ContextState.RUNNING, "running": pydoca.ContextState.STOPPING}
    require_told(what, told, must)
    ended = {each: (each, each.user_data, "owner") for each in (task, waits, *receives)}
    if len(calls) != len(ended) or any(ended.get(call[0]) != call for call in calls):
        raise DeviceFault(f"{what}: the callback of errors was called with {calls}; it must be {list(ended.values())}")
    for each in (task, waits, *receives):
        each.free()
    waiting.until_true(pair.pe, lambda: pair.a.state is pydoca.ContextState.IDLE, f"the end of a context after {what}")
    with duty(f"the next start of a context after {what}"):
        pair.a.start()
    waiting.until_true(pair.pe, lambda: pair.a.state is pydoca.ContextState.RUNNING, f"a start after {what}")


def _pair_of(compared: int, swapped: int) -> dict[str, object]:
    return {"cmp_data": compared, "swap_data": swapped}
