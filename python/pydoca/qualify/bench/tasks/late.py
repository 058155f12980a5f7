"""Small operations of each library, in turn, again and again: none may be late, now and then or at intervals."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable

import pydoca
from pydoca.qualify.bench import dma, waiting
from pydoca.qualify.bench.events import with_tasks
from pydoca.qualify.bench.messages import Link, check, message
from pydoca.qualify.bench.patterns import prbs31
from pydoca.qualify.bench.rdma.speed import Writes
from pydoca.qualify.bench.sides import both_sides, names_of_link
from pydoca.qualify.bench.tail import Lateness, share_of, without_collections
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty

_SIZE = 64
_LOOKS = 6


def shares(device: pydoca.Device, seconds: float, must_stop: Callable[[], bool]) -> dict[str, float]:
    """The share of late operations of each library that the device has, and of all, as `bench.tail` tells them.

    They take turns: where the device stands still for some milliseconds, one of them is late. Late operations of which
    chance could be the cause are looked for again, some times at most, for as many seconds.
    """
    with Stand() as stand, without_collections():
        all_of_them = {name: Lateness(run_one) for name, run_one in operations(stand, device).items()}
        for _ in range(_LOOKS):
            _take_turns(list(all_of_them.values()), time.monotonic() + seconds, must_stop)
            late = sum(lateness.late for lateness in all_of_them.values())
            if not late or share_of(*all_of_them.values()) or must_stop():
                break
        found = {name: share_of(lateness) for name, lateness in all_of_them.items()}
        return {**found, "all": share_of(*all_of_them.values())}


def operations(stand: Stand, device: pydoca.Device) -> dict[str, Callable[[], int]]:
    """A small operation of each library that the device has; each does one, and returns its nanoseconds."""
    return {name: make(stand, device) for name, (has, make) in _OPERATIONS.items() if has(device)}


def _take_turns(several: list[Lateness], end: float, must_stop: Callable[[], bool]) -> None:
    while time.monotonic() < end and not must_stop():
        for lateness in several:
            lateness.sample()


def _copy(stand: Stand, device: pydoca.Device) -> Callable[[], int]:
    return dma.Copies(stand, device, dma.local(stand, device, _SIZE), _SIZE, 1).poll_one


def _copy_across(stand: Stand, device: pydoca.Device) -> Callable[[], int]:
    sides = stand.enter_context(both_sides(device))
    ends = dma.remote(stand, sides.dpu, sides.host, _SIZE, read=True)
    return dma.Copies(stand, sides.dpu, ends, _SIZE, 1).poll_one


def _write(stand: Stand, device: pydoca.Device) -> Callable[[], int]:
    return Writes(stand, device, device, _SIZE).poll_one


def _hash(stand: Stand, device: pydoca.Device) -> Callable[[], int]:
    data = prbs31(_SIZE, 1).tobytes()
    digest, expected = stand.enter_context(pydoca.alloc(32)), hashlib.sha256(data).digest()
    pe, inventory = stand.engine(), stand.bufs(2)
    with duty("start the SHA engine"):
        sha = stand.enter_context(pydoca.Sha(pe, device, num_tasks=1))
    src = stand.keep(inventory.get_by_data(stand.enter_context(device.mmap(data))))
    dst = stand.keep(inventory.get_by_addr(stand.enter_context(device.mmap(digest))))
    task = sha.hash(src, dst, "sha256", submit=False)
    stand.callback(task.free)

    def run_one() -> int:
        dst.reset_data_len()
        digest[:] = bytes(32)
        taken = waiting.time_without_sleep(pe, task, "a digest")
        if digest[:] != expected:
            raise DeviceFault("a digest differs from hashlib's")
        return taken

    return run_one


def _add(stand: Stand, device: pydoca.Device) -> Callable[[], int]:
    pe, context = with_tasks(stand, device, 1)
    task = context.notify_add(1, submit=False)
    stand.callback(task.free)
    return lambda: waiting.time_without_sleep(pe, task, "an addition to a sync event")


def _send(stand: Stand, device: pydoca.Device) -> Callable[[], int]:
    sides = stand.enter_context(both_sides(device))
    link, text = Link(stand, sides), message(1, _SIZE)

    def run_one() -> int:
        arrived = link.at_dpu.recv_messages
        with duty("a message"):
            begin = time.perf_counter_ns()
            link.at_host.send(text)
            waiting.poll(link.pe, lambda: link.at_dpu.recv_messages > arrived, "a message")
            taken = time.perf_counter_ns() - begin
            check(link.at_dpu.recv().wait(waiting.PATIENCE), text, "a message")
        return taken

    return run_one


def _has(library: str) -> Callable[[pydoca.Device], bool]:
    return lambda device: getattr(device.info.capabilities, library) is not None


def _has_link(device: pydoca.Device) -> bool:
    """This process sees both ends of the link."""
    return device.info.backend == "sim" and names_of_link(device) is not None


_OPERATIONS: dict[str, tuple[Callable[[pydoca.Device], bool], Callable[[Stand, pydoca.Device], Callable[[], int]]]] = {
    "copy": (_has("dma"), _copy),
    "copy.across": (lambda device: device.info.supports("dma") and _has_link(device), _copy_across),
    "digest": (_has("sha"), _hash),
    "addition": (_has("sync_event"), _add),
    "rdma.write": (_has("rdma"), _write),
    "message": (_has_link, _send),
}
