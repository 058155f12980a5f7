"""Connections by address: both ends learn of each step, and settings have their effect."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.rdma.pair import Pair
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, refused, until_true

_TIME = 400  # milliseconds that a request may take
_ports = itertools.count(21_000)


class _Ends:
    """A context that listens, one that calls, and the calls of their callbacks."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        self.told: list[tuple[str, str, Any]] = []
        self.pe = stand.engine()
        self.address, self.port = device.info.ipv4_addr, next(_ports)
        with duty("start two RDMA contexts"):
            self.caller = stand.enter_context(self._make(device, "caller"))
            self.server = stand.enter_context(self._make(device, "server"))
            self.listener = stand.enter_context(self.server.listen(self.port))

    def _make(self, device: pydoca.Device, name: str) -> pydoca.Rdma:
        def note(event: str) -> Any:
            return lambda connection, *rest: self.told.append((event, rest[-1], connection))

        names = ("request", "established", "failure", "disconnect")
        callbacks = {f"on_{event}": note(event) for event in names}
        return pydoca.Rdma(self.pe, device, user_data=name, connection_request_timeout=_TIME, **callbacks)

    def request(self) -> pydoca.RdmaConnection:
        """Waits for the caller's request, which the callback gets."""
        until_true(self.pe, lambda: self.count("request", "server"), "a request")
        made: pydoca.RdmaConnection = next(each for event, _, each in self.told if event == "request")
        return made

    def count(self, event: str, name: str) -> int:
        """The number of calls of the callback with the context's user data."""
        return sum((event, name) == (told, owner) for told, owner, _ in self.told)

    def require(self, expected: dict[tuple[str, str], int], what: str) -> None:
        """Raises DeviceFault unless exactly the expected callbacks were called."""
        until_true(self.pe, lambda: all(self.count(*key) >= times for key, times in expected.items()), what)
        self.pe.drain(100)
        found = {key: self.count(*key) for key in {(event, name) for event, name, _ in self.told}}
        if found != expected:
            raise DeviceFault(f"{what}: the callbacks were {found}; they must be {expected}")


def connected(device: pydoca.Device, rounds: int) -> int:
    """A request is accepted, a message goes both ways, and one end disconnects: both learn of each step once."""
    for number in range(rounds):
        with Stand() as stand:
            ends = _Ends(stand, device)
            what, hello = f"connection {number}", bytes([1 + number % 251] * 8)  # a real network pads it with zeros
            with duty(what):
                attempt = ends.caller.connect(ends.address, ends.port, private_data=hello, user_data=what)
                request = ends.request()
                if bytes(request.private_data)[:8] != hello:
                    raise DeviceFault(f"{what}: the request has other private data than was given")
                accepted = request.accept(hello[::-1] + b"accepted")
                there, here = accepted.wait(waiting.PATIENCE), attempt.wait(waiting.PATIENCE)
            if bytes(here.private_data)[:16] != hello[::-1] + b"accepted":
                raise DeviceFault(f"{what}: its acceptance has other private data than was given")
            if here.user_data != what:
                raise DeviceFault(f"{what}: its user data is {here.user_data!r}")
            _exchange(here, there, what)
            (here if number % 2 else there).disconnect().wait(waiting.PATIENCE)
            expected = {("request", "server"): 1}
            for name in ("caller", "server"):
                expected |= {("established", name): 1, ("disconnect", name): 1}
            ends.require(expected, what)
    return rounds


def _exchange(here: pydoca.RdmaConnection, there: pydoca.RdmaConnection, what: str) -> None:
    for sender, receiver in ((here, there), (there, here)):
        assert receiver.rdma is not None
        received = receiver.rdma.receive(None)
        with duty(f"{what}: a message"):
            finish(sender.send_imm(None, 77), f"{what}: a message")
        finish(received, f"{what}: the receive of a message")
        if received.result_immediate_data != 77 or received.connection is not receiver:
            raise DeviceFault(f"{what}: a message came with another number, or over another connection")


def rejected(device: pydoca.Device) -> None:
    """A rejected peer learns of it before the time of its request is over."""
    with Stand() as stand:
        ends, what = _Ends(stand, device), "a request that is rejected"
        with duty(what):
            attempt = ends.caller.connect(ends.address, ends.port)
            ends.request().reject()
        with refused(what, pydoca.ConnectionAbortedError):
            attempt.wait(waiting.PATIENCE)
        ends.require({("request", "server"): 1, ("failure", "caller"): 1}, what)


def unanswered(device: pydoca.Device) -> float:
    """An unanswered request ends at its time, and one without a listener at once; seconds of the first one."""
    with Stand() as stand:
        ends = _Ends(stand, device)
        with refused("a request to a port at which nobody listens", pydoca.NotFoundError):
            ends.caller.connect(ends.address, next(_ports)).wait(waiting.PATIENCE)
        begin = time.monotonic()
        attempt = ends.caller.connect(ends.address, ends.port)
        with refused("a request that nobody answers", pydoca.TimeOutError):
            attempt.wait(waiting.PATIENCE)
        taken = time.monotonic() - begin
    if taken < 0.9 * _TIME / 1000:
        raise DeviceFault(f"a request that nobody answers has ended after {taken:.3f} s; its time is {_TIME} ms")
    return taken


def late_receives(device: pydoca.Device, count: int) -> int:
    """Messages to a peer that posts its receives later arrive, within the time of rnr_retry_count: 7 means for ever."""
    with Stand() as stand:
        pair = Pair(stand, device, device, 64, rnr_retry_count=7)
        for number in range(count):
            with duty(f"message {number} before its receive"):
                send = pair.ab.send_imm(None, number)
                _progress_for(pair.pe, 0.03)  # a device that does not wait has given up now
                receive = pair.b.receive(None)
            finish(send, f"message {number} before its receive")
            finish(receive, f"the late receive of message {number}")
            if receive.result_immediate_data != number:
                raise DeviceFault(f"the late receive of message {number} got {receive.result_immediate_data}")
            send.free()
            receive.free()
    return count


def _progress_for(pe: pydoca.ProgressEngine, seconds: float) -> None:
    end = time.monotonic() + seconds
    pe.run_until(lambda: time.monotonic() > end, timeout=waiting.PATIENCE)
