"""Limits of RDMA: queues, lists, messages, connections."""

from __future__ import annotations

from typing import Any

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.capabilities.taking import refuse_more, run, take
from pydoca.qualify.bench.maps import chained
from pydoca.qualify.bench.patterns import noise, prbs31
from pydoca.qualify.bench.rdma.pair import Pair, done
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, finish_all, refused
from pydoca.qualify.bench.zones import require_equal

_WORD = 8
_PIECE = 48


def writes(device: pydoca.Device, most: int) -> None:
    """max_send_queue_size: as many tasks are in flight on a connection."""
    with Stand() as stand:
        pair = Pair(stand, device, device, most * _WORD, send_queue_size=most, num_tasks={"write": most})
        pair.here.data(0, most * _WORD)[:] = noise(most * _WORD, 1)
        inventory = stand.bufs(2 * most + 2)

        def make(number: int) -> pydoca.Task:
            here, there = (end.address(number * _WORD) for end in (pair.here, pair.theirs))
            src = inventory.get_by_data(pair.here.mmap, here, _WORD)
            return pair.ab.write(src, inventory.get_by_addr(pair.there, there, _WORD), submit=False)

        with Stand() as taken:
            run(pair.a, take(taken, most, make, "writes"), "writes")
        require_equal(pair.theirs.data(0, most * _WORD), pair.here.data(0, most * _WORD), f"{most} writes at a time")
        refuse_more(most, lambda number: _context(pair, send_queue_size=number), "tasks in a send queue")


def receives(device: pydoca.Device, most: int) -> None:
    """max_recv_queue_size: as many receives are posted."""
    with Stand() as stand:
        pair = Pair(stand, device, device, _WORD, num_tasks={"receive": most, "send_imm": 64})
        with Stand() as taken:
            posted = take(taken, most, lambda _: pair.b.receive(None, submit=False), "receives")
            with duty(f"post {most} receives"):
                for receive in posted:
                    receive.submit()
            for number in range(most):
                done(pair.ab.send_imm(None, number), f"message {number}")
            finish_all(pair.pe, posted, f"{most} receives")
            arrived = [receive.result_immediate_data for receive in posted]  # type: ignore[attr-defined]
        if arrived != list(range(most)):
            raise DeviceFault(f"{most} messages arrived in another order than they were sent")
        refuse_more(most, lambda number: _context(pair, num_tasks={"receive": number}), "receives")


def sent_elements(device: pydoca.Device, most: int) -> None:
    """Reaches max_send_buf_list_len."""
    with Stand() as stand:
        size = (most + 1) * _PIECE
        pair = Pair(stand, device, device, size, max_send_buf_list_len=most)
        pair.here.data(0, size)[:] = prbs31(size, 1)
        inventory = stand.bufs(most + 2)

        def write(count: int) -> pydoca.RdmaTask:
            with Stand() as bufs:
                pieces = [
                    inventory.get_by_data(pair.here.mmap, pair.here.address(i * _PIECE), _PIECE) for i in range(count)
                ]
                dst = bufs.keep(inventory.get_by_addr(pair.there, pair.theirs.address(0), count * _PIECE))
                task = pair.ab.write(bufs.keep(chained(pieces)), dst)
                task.wait(timeout=waiting.PATIENCE)
                task.free()
            return task

        with duty(f"a write of {most} elements"):
            write(most)
        written = most * _PIECE
        require_equal(pair.theirs.data(0, written), pair.here.data(0, written), f"a write of {most} elements")
        with refused(f"a write of {most + 1} elements, one more than the limit", pydoca.InvalidValueError):
            write(most + 1)
        refuse_more(most, lambda number: _context(pair, max_send_buf_list_len=number), "elements of a list to send")


def received_elements(device: pydoca.Device, most: int) -> None:
    """Reaches max_recv_buf_list_len."""
    with Stand() as stand:
        size = (most + 1) * _PIECE
        pair = Pair(stand, device, device, size, receive_dst_buf_list_len=most)
        sent = most * _PIECE
        pair.here.data(0, sent)[:] = prbs31(sent, 2)
        inventory = stand.bufs(most + 2)

        def room(count: int) -> pydoca.Buf:
            memory = pair.theirs
            return chained(
                [inventory.get_by_addr(memory.mmap, memory.address(i * _PIECE), _PIECE) for i in range(count)]
            )

        what = f"a message to {most} elements"
        with Stand() as bufs, duty(what):
            receive = pair.b.receive(bufs.keep(room(most)))
            done(pair.ab.send(pair.data(pair.here.mmap, pair.here.address(0), sent)), what)
            finish(receive, what)
            receive.free()
        require_equal(pair.theirs.data(0, sent), pair.here.data(0, sent), what)
        with refused(f"a receive to {most + 1} elements, one more than the limit", pydoca.InvalidValueError):
            pair.b.receive(stand.keep(room(most + 1)))
        refuse_more(most, lambda number: _context(pair, receive_dst_buf_list_len=number), "elements of a receive")


def bytes_of_message(device: pydoca.Device, most: int) -> None:
    """max_message_size of a write."""
    with Stand() as stand:
        pair = Pair(stand, device, device, most + 1)
        pair.here.data(0, most + 1)[:] = noise(most + 1, 3)

        def write(size: int) -> None:
            src = pair.data(pair.here.mmap, pair.here.address(0), size)
            pair.ab.write(src, pair.room(pair.there, pair.theirs.address(0), size)).wait(timeout=waiting.PATIENCE)

        with duty(f"a write of {most} bytes"):
            write(most)
        require_equal(pair.theirs.data(0, most), pair.here.data(0, most), f"a write of {most} bytes")
        with refused(f"a write of {most + 1} bytes, one more than the limit", pydoca.InvalidValueError):
            write(most + 1)


def connections(device: pydoca.Device, most: int) -> None:
    """Reaches max_num_connections of a context: each connection takes a task."""
    with Stand() as stand:
        pe, ends = stand.engine(), []
        for _ in range(2):
            rdma = pydoca.Rdma(pe, device, max_num_connections=most, num_tasks={"send_imm": 1, "receive": 1})
            ends.append(stand.enter_context(rdma))
        with duty(f"connect two contexts {most} times"):
            pairs = [(ends[0].export(), ends[1].export()) for _ in range(most)]
            with refused(f"connection {most + 1}, one more than the limit", pydoca.FullError):
                ends[0].export()
            for here, there in pairs:
                here.connect(there.details)
                there.connect(here.details)
            for place, (here, there) in enumerate(pairs):
                receive = ends[1].receive(None)
                done(here.send_imm(None, place), f"a message of connection {place}")
                finish(receive, f"a message of connection {place}")
                if receive.connection is not there or receive.result_immediate_data != place:
                    raise DeviceFault(f"a message of connection {place} of {most} came over another one")
                receive.free()
        refuse_more(most, lambda number: pydoca.Rdma(pe, device, max_num_connections=number), "connections")


def _context(pair: Pair, **options: Any) -> pydoca.Rdma:
    return pydoca.Rdma(pair.pe, pair.a.device, **options)
