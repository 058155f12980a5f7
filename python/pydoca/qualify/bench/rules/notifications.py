"""Notifications: whatever ends wakes its engine, whenever that was armed, and whichever of several engines it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

import pydoca
from pydoca import comch
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.patterns import view
from pydoca.qualify.bench.sides import Sides, fresh_name
from pydoca.qualify.bench.tasks.operations import operations
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty
from pydoca.qualify.bench.zones import require_equal

_REST = 0.001  # seconds; a small operation takes less
_SIZE = 64


def require_woken(pe: pydoca.ProgressEngine, what: str) -> None:
    """Raises DeviceFault unless the armed engine is woken; takes what has come."""
    if not waiting.is_woken(pe, waiting.PATIENCE):
        raise DeviceFault(f"{what}: an armed engine was not woken within {waiting.PATIENCE:g} s")
    pe.clear_notification()
    pe.drain()


def _there_before(pe: pydoca.ProgressEngine, condition: Callable[[], object], what: str) -> None:
    """The operation has ended when the engine is armed."""
    time.sleep(_REST)
    waiting.sleep_until(pe, condition, f"{what} that has ended before a notification was requested")


def _meanwhile(pe: pydoca.ProgressEngine, condition: Callable[[], object], what: str) -> None:
    """The engine is armed while the operation runs, and its descriptor is looked at later."""
    pe.request_notification()
    time.sleep(_REST)
    require_woken(pe, f"{what} that has ended after a notification was requested")
    waiting.sleep_until(pe, condition, what)


class _Armed:
    """A wait of an engine that was armed before the operation was submitted."""

    def __init__(self) -> None:
        self._pe: pydoca.ProgressEngine | None = None

    def arm(self) -> None:
        """Arms the engine of the operation before."""
        if self._pe is not None:
            self._pe.clear_notification()
            self._pe.request_notification()

    def wait(self, pe: pydoca.ProgressEngine, condition: Callable[[], object], what: str) -> None:
        """Requires that the engine was woken, if it was armed; waits for the rest."""
        if self._pe is pe:
            require_woken(pe, f"{what} that was submitted after a notification was requested")
        self._pe = pe
        waiting.sleep_until(pe, condition, what)


def whenever(device: pydoca.Device, rounds: int) -> int:
    """Operations of each library that end before, while and after their engine is armed; returns how many there were.

    In each round, two operations of a library take turns, each with an engine of its own.
    """
    done = 0
    for wait in (_there_before, _meanwhile):
        with Stand() as stand:
            found = [operations(stand, device, wait) for _ in range(2)]
            for name in found[0]:
                for number in range(rounds):
                    found[number % 2][name]()
                    done += 1
    with Stand() as stand:
        armed = _Armed()
        for run_one in operations(stand, device, armed.wait).values():
            for _ in range(rounds + 1):
                armed.arm()
                run_one()
                done += 1
    return done


class _Copier:
    """A context of an engine, with one copy of its own data."""

    def __init__(self, stand: Stand, device: pydoca.Device, pe: pydoca.ProgressEngine, number: int) -> None:
        memory = pydoca.alloc(2 * _SIZE)
        self._number, self._array, self.pe = number, view(memory), pe
        mmap, inventory = stand.enter_context(device.mmap(memory)), stand.bufs(2)
        self._dst = stand.keep(inventory.get_by_addr(mmap, mmap.addr + _SIZE, _SIZE))
        dma = stand.enter_context(pydoca.Dma(pe, device, num_tasks=1))
        self.task = dma.memcpy(stand.keep(inventory.get_by_data(mmap, mmap.addr, _SIZE)), self._dst, submit=False)
        stand.callback(self.task.free)

    def submit(self, seed: int) -> None:
        """Copies data of this number."""
        self._dst.reset_data_len()
        self._array[:_SIZE] = (seed + self._number) % 251
        self.task.submit()

    def require(self, seed: int, what: str) -> None:
        """Checks that the copy is done, and no other data came."""
        waiting.sleep_until(self.pe, lambda: self.task.done, what)
        require_equal(self._array[_SIZE:], np.full(_SIZE, (seed + self._number) % 251, np.uint8), what)


def several(device: pydoca.Device, rounds: int) -> int:
    """Contexts of one engine, and engines beside it: each wakes its own engine, alone and together with others.

    Returns the number of copies.
    """
    with Stand() as stand, duty("copies of several contexts and engines that are armed"):
        engines = [stand.engine() for _ in range(3)]
        copiers = [
            _Copier(stand, device, pe, 7 * number) for number, pe in enumerate([*engines, engines[0], engines[0]])
        ]
        subsets = [[each] for each in copiers] + [copiers[:2], copiers[3:], copiers]
        done = 0
        for seed in range(rounds):
            for chosen in subsets:
                for pe in engines:
                    pe.clear_notification()
                    pe.request_notification()
                for copier in chosen:
                    copier.submit(seed)
                what = f"{len(chosen)} copies of contexts whose engines are armed"
                for pe in dict.fromkeys(copier.pe for copier in chosen):
                    require_woken(pe, what)
                for copier in chosen:
                    copier.require(seed, what)
                done += len(chosen)
    return done


def connections(sides: Sides, rounds: int) -> int:
    """A server that sleeps is woken by each client's connection, message and end; returns how many there were."""
    with Stand() as stand:
        pe, name = stand.engine(), fresh_name()
        with duty("a comch server"):
            server = stand.enter_context(comch.Server(pe, sides.dpu, sides.representor, name))
        for number in range(rounds):
            _visit(pe, server, sides, f"client {number}".encode())
    return rounds


def _visit(pe: pydoca.ProgressEngine, server: comch.Server, sides: Sides, text: bytes) -> None:
    is_seen, is_read = threading.Event(), threading.Event()
    faults: list[BaseException] = []

    def be_client() -> None:
        try:
            with (
                pydoca.ProgressEngine() as own,
                comch.Client(own, sides.host, server.name, timeout=waiting.PATIENCE) as link,
            ):
                is_seen.wait(waiting.PATIENCE)
                link.send(text).wait(waiting.PATIENCE)
                is_read.wait(waiting.PATIENCE)
        except BaseException as error:
            faults.append(error)

    thread = threading.Thread(target=be_client)
    thread.start()
    try:
        waiting.sleep_until(pe, lambda: server.connections, "a server that sleeps, and a client that connects")
        [connection] = server.connections
        is_seen.set()
        waiting.sleep_until(pe, lambda: connection.recv_messages, "a server that sleeps, and a message")
        is_read.set()
        waiting.sleep_until(pe, lambda: not server.connections, "a server that sleeps, and a client that leaves")
    finally:
        is_seen.set()
        is_read.set()
        thread.join()
    if faults:
        raise DeviceFault(f"a client of a server that sleeps: {faults[0]}") from faults[0]
