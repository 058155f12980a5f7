"""RDMA between two contexts of one process: messages in order, remote memory, atomics that add up."""

from typing import Any

from hypothesis import strategies as st

import pydoca
from pydoca import ContextState, Status, TaskState
from soak.rules.engines import ENDED
from soak.rules.links import Links
from soak.world import NUMBER, WAIT, step

PERMISSIONS = "rdma_read|rdma_write|rdma_atomic"
LENT = 4096  # bytes that each pair's far end lends; the first eight are for atomics
REFUSED = {Status.NO_MEMORY, Status.BAD_STATE, Status.NOT_CONNECTED, Status.AGAIN, Status.INVALID_VALUE}


class Pair:
    """A connection between a host's and a DPU's context, and the memory that the DPU lends the host."""

    def __init__(self, contexts: Any, ends: Any, lent: Any, remote: Any) -> None:
        self.contexts = contexts
        self.ends = ends
        self.lent = lent
        self.remote = remote
        self.sum = 0
        self.received: list[Any] = []  # the posted receives in order: task and buf
        self.sent: list[bytes] = []
        self.written = b""

    @property
    def is_whole(self) -> bool:
        running = all(context.state is ContextState.RUNNING for context in self.contexts)
        return running and all(end.is_connected for end in self.ends)


class Connections(Links):
    def set_up(self) -> None:
        super().set_up()
        self.makers["pair"] = self.add_pair

    @step(engine=NUMBER, tasks=st.integers(2, 16), callback=NUMBER)
    def make_pair(self, engine: int, tasks: int, callback: int) -> None:
        self.add_pair(engine, tasks, callback)

    def add_pair(self, engine: int, tasks: int = 8, callback: int = 0) -> None:
        options = {"permissions": PERMISSIONS, "num_tasks": tasks, "on_completion": self.callback(callback)}
        a = pydoca.Rdma(self.engine(engine), self.host, **options)
        b = pydoca.Rdma(self.engine(engine // 2), self.dpu, **options, on_disconnect=self.callback(callback + 1))
        for context in (a, b):
            self.add_context(context)
        near, far = a.export(), b.export()
        near.connect(far.details)
        far.connect(near.details)
        both = lambda: near.is_connected and far.is_connected  # noqa: E731
        self.both_until(both, "a connection")
        lent = self.dpu.mmap(pydoca.alloc(LENT), access=f"local_read_write|{PERMISSIONS}")
        remote = self.host.import_mmap(lent.export_rdma())
        self.keep("pair", Pair((a, b), (near, far), lent, remote))

    def room(self, device: Any, size: int) -> Any:
        return self.attempt({Status.NO_MEMORY}, self.work_inventory.get_by_addr, device.mmap(bytearray(size)))

    def finish(self, task: Any, pair: Pair, *engines: Any) -> bool:
        """Waits for the task, and tells whether it succeeded. A task of a whole pair must succeed."""
        if task is None:
            return False
        was_whole = pair.is_whole
        self.both_until(lambda: task.done or task.state is TaskState.FREE, f"the end of {task!r}")
        if task.state is TaskState.FREE or task.status is not Status.SUCCESS:
            assert not was_whole or not pair.is_whole, (
                f"{task!r} failed with {task.status.name} over a whole connection"
            )
            return False
        return True

    @step(number=NUMBER, size=st.integers(1, LENT - 8))
    def write_remote(self, number: int, size: int) -> None:
        pair = self.pick("pair", number)
        if pair is None:
            return
        content = self.content(size)
        src = self.work_inventory.get_by_data(self.host.mmap(content))
        dst = self.work_inventory.get_by_addr(pair.remote, pair.remote.addr + 8, size)
        if self.finish(self.attempt(REFUSED, pair.ends[0].write, src, dst), pair):
            pair.written = content
            assert bytes(memoryview(pair.lent)[8 : 8 + size]) == content

    @step(number=NUMBER)
    def read_remote(self, number: int) -> None:
        pair = self.pick("pair", number)
        if pair is None or not pair.written:
            return
        src = self.work_inventory.get_by_data(pair.remote, pair.remote.addr + 8, len(pair.written))
        dst = self.room(self.host, len(pair.written))
        if self.finish(self.attempt(REFUSED, pair.ends[0].read, src, dst), pair):
            assert bytes(dst) == pair.written

    @step(number=NUMBER, value=st.integers(0, (1 << 64) - 1), swap=st.booleans())
    def change_atomically(self, number: int, value: int, swap: bool) -> None:
        pair = self.pick("pair", number)
        if pair is None:
            return
        word = self.work_inventory.get_by_data(pair.remote, pair.remote.addr, 8)
        old = self.room(self.host, 8)
        end = pair.ends[0]
        verb, operands = (end.atomic_cmp_swp, (pair.sum, value)) if swap else (end.atomic_fetch_add, (value,))
        task = self.attempt(REFUSED, verb, word, old, *operands)
        if self.finish(task, pair):
            assert task.result() == pair.sum
            pair.sum = value if swap else (pair.sum + value) % (1 << 64)
            assert int.from_bytes(memoryview(pair.lent)[:8], "little") == pair.sum

    @step(number=NUMBER, count=st.integers(1, 6))
    def post_receives(self, number: int, count: int) -> None:
        if pair := self.pick("pair", number):
            for _ in range(count):
                dst = self.room(self.dpu, 1000)
                task = self.attempt(REFUSED, pair.contexts[1].receive, dst) if dst is not None else None
                if task is not None:
                    pair.received.append((task, dst))

    @step(number=NUMBER, size=st.integers(0, 1000), immediate=st.booleans())
    def send_message(self, number: int, size: int, immediate: bool) -> None:
        """Sends a message into the receive that was posted first."""
        pair = self.pick("pair", number)
        if pair is None or not pair.received:
            return
        content = self.content(size)
        src = self.work_inventory.get_by_data(self.host.mmap(content)) if size else None
        end = pair.ends[0]
        task = self.attempt(REFUSED, end.send_imm, src, size) if immediate else self.attempt(REFUSED, end.send, src)
        receive, dst = pair.received.pop(0)
        if self.finish(task, pair) and self.finish(receive, pair):
            assert bytes(dst) == content
            assert receive.result() == size
            assert receive.result_immediate_data == (size if immediate else None)
        else:
            pair.received.clear()

    @step(number=NUMBER, size=st.integers(1, 100))
    def reach_too_far(self, number: int, size: int) -> None:
        """Asks for bytes beyond the lent memory: the map refuses, because it knows its range."""
        if pair := self.pick("pair", number):
            self.refused(
                (pydoca.InvalidValueError,), self.work_inventory.get_by_addr, pair.remote, pair.remote.addr + LENT, size
            )

    @step(number=NUMBER, withdraw=NUMBER)
    def withdraw_lent(self, number: int, withdraw: int) -> None:
        """The peer withdraws its memory: accesses fail, and do not reach it."""
        pair = self.pick("pair", number)
        if pair is None or withdraw % 4:
            return
        self.forget("pair", pair)
        before = bytes(pair.lent)
        pair.lent.stop()
        dst = self.attempt({Status.BAD_STATE}, self.work_inventory.get_by_addr, pair.remote)
        src = self.work_inventory.get_by_data(self.host.mmap(bytes(8)))
        task = self.attempt(REFUSED, pair.ends[0].write, src, dst) if dst is not None else None
        if task is not None:
            self.both_until(lambda: task.done or task.state is TaskState.FREE, "the failure of a write")
            assert task.status is not Status.SUCCESS
        assert bytes(memoryview(pair.lent)) == before

    @step(number=NUMBER, end=st.integers(0, 1))
    def disconnect(self, number: int, end: int) -> None:
        pair = self.pick("pair", number)
        if pair is None:
            return
        ending = pair.ends[end].disconnect()
        for each in (ending, pair.ends[1 - end].ended()):
            self.attempt(ENDED, each.wait, WAIT)
        assert not pair.ends[end].is_connected

    @step(number=NUMBER)
    def drop_pair(self, number: int) -> None:
        if pair := self.pick("pair", number):
            self.forget("pair", pair)
