"""RDMA contexts that start again, connections that end while others go on, and full queues."""

from __future__ import annotations

from typing import Any

import numpy as np

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.patterns import prbs31
from pydoca.qualify.bench.rdma.pair import ACCESS, Pair
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, refused, require_value
from pydoca.qualify.bench.zones import Zoned, require_equal

_SIZE = 256
_PERMISSIONS = "rdma_read|rdma_write|rdma_atomic"


class _Restarted:
    """Two contexts that stop and start again, and memory of both."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        self.pe, self.inventory = stand.engine(), stand.bufs(8)
        self.here, self.theirs = (Zoned(stand, device, _SIZE, ACCESS) for _ in range(2))
        with duty("two RDMA contexts"):
            settings: dict[str, Any] = {"permissions": _PERMISSIONS, "max_num_connections": 2}
            self.ends = [pydoca.Rdma(self.pe, device, **settings) for _ in range(2)]
            for end in self.ends:
                stand.callback(end.close)
            self.there = stand.enter_context(device.import_mmap(self.theirs.mmap.export_rdma()))
        self._device = device

    def live(self, number: int) -> None:
        """Starts both, connects them, moves data in each way, and stops them."""
        what = f"life {number} of two RDMA contexts"
        for end in self.ends:
            with duty(f"{what}: start"):
                end.start()
                self.pe.run_until(lambda end=end: end.state is pydoca.ContextState.RUNNING, timeout=waiting.PATIENCE)  # type: ignore[misc]
        with Stand() as bufs, duty(what):
            here, there = self._connect()
            if not self.ends[0].connections or here.rdma is not self.ends[0] or not here.is_connected:
                raise DeviceFault(f"{what}: a connection does not tell its context, or that it is connected")
            self._move(bufs, here, number, what)
            for connection in (here, there):  # peers that met by their details need not learn of each other's end
                connection.disconnect().wait(waiting.PATIENCE)
            if here.is_connected or here.failure is not pydoca.Status.SUCCESS:
                raise DeviceFault(f"{what}: a connection that this side ended tells {here.failure.name}")
        for end in self.ends:
            with duty(f"{what}: stop"):
                end.stop()
            waiting.until_true(self.pe, lambda end=end: end.state is pydoca.ContextState.IDLE, f"{what}: stop")

    def _connect(self) -> list[pydoca.RdmaConnection]:
        here, there = (end.export() for end in self.ends)
        here.connect(there.details)
        there.connect(here.details)
        for end in (here, there):
            end.established().wait(timeout=waiting.PATIENCE)
        return [here, there]

    def _move(self, bufs: Stand, connection: pydoca.RdmaConnection, number: int, what: str) -> None:
        def data(zoned: Zoned, mmap: pydoca.Mmap, size: int = _SIZE) -> pydoca.Buf:
            return bufs.keep(self.inventory.get_by_data(mmap, zoned.address(0), size))

        def room(zoned: Zoned, mmap: pydoca.Mmap, size: int = _SIZE) -> pydoca.Buf:
            return bufs.keep(self.inventory.get_by_addr(mmap, zoned.address(0), size))

        here, theirs = self.here, self.theirs
        here.data(0, _SIZE)[:] = prbs31(_SIZE, number + 1)
        finish(connection.write(data(here, here.mmap), room(theirs, self.there)), f"{what}: a write")
        require_equal(theirs.data(0, _SIZE), here.data(0, _SIZE), f"{what}: a write")
        theirs.data(0, _SIZE)[:] = prbs31(_SIZE, number + 101)
        finish(connection.read(data(theirs, self.there), room(here, here.mmap)), f"{what}: a read")
        require_equal(here.data(0, _SIZE), theirs.data(0, _SIZE), f"{what}: a read")
        word = theirs.data(0, 8).view(np.uint64)
        if pydoca.Rdma.is_task_supported(self._device.info, "atomic_fetch_add"):
            before = int(word[0])
            add = connection.atomic_fetch_add(data(theirs, self.there, 8), room(here, here.mmap, 8), 3)
            require_value(finish(add, f"{what}: an addition"), before, f"{what}: the value before an addition")
            require_value(int(word[0]), (before + 3) % 2**64, f"{what}: the value after an addition")
        received = self.ends[1].receive(room(theirs, theirs.mmap))
        here.data(0, _SIZE)[:] = prbs31(_SIZE, number + 201)
        finish(connection.send(data(here, here.mmap)), f"{what}: a message")
        finish(received, f"{what}: a message")
        require_equal(theirs.data(0, _SIZE), here.data(0, _SIZE), f"{what}: a message")


def restarts(device: pydoca.Device, lives: int) -> int:
    """Two contexts start and stop several times, each time with their original permissions."""
    with Stand() as stand:
        both = _Restarted(stand, device)
        for number in range(lives):
            both.live(number)
    return lives


def settings(device: pydoca.Device) -> None:
    """A context reports the settings that it was made with."""
    limits = device.info.capabilities.rdma
    assert limits is not None
    chosen: dict[str, Any] = {
        "max_num_connections": min(3, limits.max_num_connections),
        "send_queue_size": min(64, limits.max_send_queue_size),
        "max_send_buf_list_len": min(2, limits.max_send_buf_list_len),
        "receive_dst_buf_list_len": min(2, limits.max_recv_buf_list_len),
        "rnr_retry_count": 3,
        "permissions": pydoca.Access.RDMA_READ | pydoca.Access.RDMA_WRITE,
    }
    with Stand() as stand, duty("an RDMA context with settings"):
        pe = stand.engine()
        rdma = stand.enter_context(pydoca.Rdma(pe, device, user_data="mine", **chosen))
        found = {name: getattr(rdma, name) for name in chosen}
        require_told(
            "an RDMA context",
            {**found, "user_data": rdma.user_data, "device": rdma.device, "pe": rdma.progress_engine},
            {**chosen, "user_data": "mine", "device": device, "pe": pe},
        )


def ends(device: pydoca.Device, count: int) -> int:
    """Connections of two contexts end one after the other; messages over the others go to the right connection.

    Returns how many messages there were.
    """
    limits = device.info.capabilities.rdma
    assert limits is not None
    count, sent = min(count, limits.max_num_connections), 0
    with Stand() as stand:
        pe = stand.engine()
        with duty(f"{count} connections of two RDMA contexts"):
            a, b = (stand.enter_context(pydoca.Rdma(pe, device, max_num_connections=count)) for _ in range(2))
            pairs = [(a.export(), b.export()) for _ in range(count)]
            for here, there in pairs:
                here.connect(there.details)
                there.connect(here.details)
            for pair in pairs:
                for end in pair:
                    end.established().wait(timeout=waiting.PATIENCE)
        numbers = [here.id for here, _ in pairs]
        if len(set(numbers)) != count:
            raise DeviceFault(f"the connections of a context have the numbers {numbers}")
        for ended in range(count):
            for place, (here, there) in enumerate(pairs[ended:], ended):
                _message(a, b, here, there, place, f"connection {place} after the end of {ended} others")
                sent += 2
            for end in pairs[ended]:
                with duty(f"the end of connection {ended}"):
                    end.disconnect().wait(waiting.PATIENCE)
            left = [place for place, pair in enumerate(pairs) if all(each.is_connected for each in pair)]
            if left != list(range(ended + 1, count)):
                raise DeviceFault(f"connections up to {ended} have ended, and of {count} these are connected: {left}")
    return sent


def _message(
    a: pydoca.Rdma,
    b: pydoca.Rdma,
    here: pydoca.RdmaConnection,
    there: pydoca.RdmaConnection,
    number: int,
    what: str,
) -> None:
    for receiver, sender, expected in ((b, here, there), (a, there, here)):
        with duty(f"a message of {what}"):
            received = receiver.receive(None)
            finish(sender.send_imm(None, number), f"a message of {what}")
        finish(received, f"a message of {what}")
        if received.connection is not expected or received.result_immediate_data != number:
            raise DeviceFault(f"a message of {what} came over another one, or with another number")
        received.free()


def full_queue(device: pydoca.Device) -> int:
    """More messages than a connection's queue has room for, to a peer without receives, give AGAIN; later they go.

    Returns how many were taken.
    """
    with Stand() as stand:
        pair = Pair(stand, device, device, 64, send_queue_size=8, num_tasks=256, rnr_retry_count=7)
        taken: list[pydoca.RdmaTask] = []
        with duty("messages to a peer without receives"):
            tasks = [pair.ab.send_imm(None, number, submit=False) for number in range(128)]
        try:
            for task in tasks:
                task.try_submit()
                taken.append(task)
        except pydoca.AgainError:
            pass
        except pydoca.DocaError as error:
            raise DeviceFault(f"a message for a queue that is full is refused with {type(error).__name__}") from error
        for number, task in enumerate(taken):
            receive = pair.b.receive(None)
            finish(receive, f"the receive of message {number}")
            require_value(receive.result_immediate_data or 0, number, f"the number of message {number}")
            finish(task, f"message {number}")
            receive.free()
        if len(taken) < len(tasks):
            with duty("a message for a queue that was full"):
                tasks[len(taken)].try_submit()
                finish(pair.b.receive(None), "its receive")
            finish(tasks[len(taken)], "a message for a queue that was full")
        for task in tasks:
            task.free()
    return len(taken)


def refused_tasks(device: pydoca.Device) -> int:
    """Kinds of tasks that the device does not have are refused; returns how many kinds it has."""
    kinds = ("send", "send_imm", "read", "write", "write_imm", "receive", "atomic_cmp_swp", "atomic_fetch_add")
    missing = [kind for kind in kinds if not pydoca.Rdma.is_task_supported(device.info, kind)]  # type: ignore[arg-type]
    with Stand() as stand:
        pe = stand.engine()
        for kind in missing:
            with refused(f"tasks of the kind {kind}, which the device does not have", pydoca.NotSupportedError):
                pydoca.Rdma(pe, device, num_tasks={kind: 1})  # type: ignore[dict-item]
    return len(kinds) - len(missing)
