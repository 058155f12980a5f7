"""Promises of RDMA's connections, listeners and settings in each of their states."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from typing import Any

import pydoca
from pydoca import RdmaConnectionState as State
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.contracts.transfers import tasks
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, refused

REQUESTS = 3  # connections of one context to another, at a time
_SECONDS = 0.005  # seconds of a wait for an event that does not come
_REQUEST = 20  # milliseconds that a request may take
_LATE = 0.15  # seconds that the best of several tries may take longer
_ports = itertools.count(23_000 + os.getpid() % 1000 * 20)  # another process may also use the device


class _Two:
    """Two running contexts, and the arguments of their callbacks."""

    def __init__(self, stand: Stand, device: pydoca.Device, **settings: Any) -> None:
        settings.setdefault("num_tasks", tasks(device))
        self.pe, self.calls = stand.engine(), list[tuple[Any, ...]]()
        with duty("start two RDMA contexts"):
            self.a, self.b = (
                stand.enter_context(pydoca.Rdma(self.pe, device, user_data=name, **self._notes(), **settings))
                for name in "ab"
            )

    def _notes(self) -> dict[str, Any]:
        def note(event: str) -> Callable[..., None]:
            return lambda *told: self.calls.append((event, *told))

        return {f"on_{event}": note(event) for event in ("established", "failure", "disconnect")}

    def require_calls(self, expected: list[tuple[Any, ...]], what: str) -> None:
        """Checks that the callbacks were called with these arguments, in any order, and not once more."""
        waiting.until_true(self.pe, lambda: len(self.calls) >= len(expected), f"the callbacks of {what}")
        self.pe.drain(20)
        if len(self.calls) != len(expected) or any(call not in self.calls for call in expected):
            raise DeviceFault(f"the callbacks of {what} were called with {self.calls}; it must be {expected}")
        self.calls.clear()


def _require(connection: pydoca.RdmaConnection, what: str, state: State, **more: object) -> None:
    """Checks the state of a connection, and whether it takes tasks."""
    told: dict[str, object] = {"state": connection.state, "is_connected": connection.is_connected}
    told |= {name: getattr(connection, name) for name in more}
    require_told(what, told, {"state": state, "is_connected": state is State.ESTABLISHED, **more})


def exported(device: pydoca.Device) -> None:
    """A connection by details, from its export to its end."""
    with Stand() as stand:
        two = _Two(stand, device)
        here, there = two.a.export(), two.b.export()
        here.user_data, there.user_data = "here", "there"
        _export(two, here, there.details)
        with duty("connect two exported connections"):
            here.connect(there.details)
            there.connect(here.details)
            receive = two.b.receive(None)
            message = here.send_imm(None, 0)  # connect() promises that tasks may be submitted when it returns
            waits = (here.established().wait(waiting.PATIENCE), there.established().wait(waiting.PATIENCE))
        finish(message, "a message right behind connect()"), finish(receive, "the receive of a message")
        _require(here, "an established connection", State.ESTABLISHED, failure=pydoca.Status.SUCCESS, rdma=two.a)
        require_told("awaitables of connections", {"give": waits}, {"give": (here, there)})
        two.require_calls([("established", here, "here", "a"), ("established", there, "there", "b")], "connections")
        with refused("to connect what is connected", pydoca.BadStateError):
            here.connect(there.details)
        _end(two, here)


def _export(two: _Two, here: pydoca.RdmaConnection, details: bytes) -> None:
    what = "an exported connection"
    same: dict[str, object] = {"failure": pydoca.Status.SUCCESS, "rdma": two.a, "private_data": b""}
    _require(here, what, State.EXPORTED, **same)
    if not 0 < len(here.details) < 512 or here.details != here.details:
        raise DeviceFault(f"{what} has details of {len(here.details)} bytes; it must be 1 to 511, always the same")
    flipped = bytes((details[0] ^ 1, *details[1:]))
    damaged = (b"", b"x" * 40, details[:-1], details + b"x", flipped)
    for number, wrong in enumerate(damaged):
        with refused(f"to connect {what} to details that are damaged ({number})", *_DAMAGED):
            here.connect(wrong)
    for call in (here.accept, here.reject):
        with refused(f"to accept or reject {what}", pydoca.BadStateError):
            call()
    with refused(f"a message over {what}", pydoca.NotConnectedError):
        here.send(None)
    with refused(f"the address of {what}", pydoca.InvalidValueError):
        _ = here.address
    _require(here, f"{what} after calls that were refused", State.EXPORTED, **same)
    if two.a.connections != [here]:
        raise DeviceFault(f"a context with one connection tells {two.a.connections}")


_DAMAGED = (pydoca.InvalidValueError, pydoca.UnsupportedVersionError)


def _end(two: _Two, here: pydoca.RdmaConnection) -> None:
    """Ends the connection at this end: its messages fail, its receives stay, and it cannot be used again."""
    what, number = "a connection that this side ended", here.id
    with duty(f"the end of {what}"):
        stays, later = two.a.receive(None), here.send_imm(None, 2, submit=False)
        flushed = [here.send_imm(None, number) for number in range(3)]
        ends = (here.disconnect(), here.disconnect())
        for end in (*ends, here.ended()):
            end.wait(waiting.PATIENCE)
    for task in flushed:
        with refused(f"a message in flight over {what}", pydoca.ShutdownError):
            task.wait(waiting.PATIENCE)
    same: dict[str, object] = {"rdma": None, "id": number, "user_data": "here", "failure": pydoca.Status.SUCCESS}
    _require(here, what, State.CLOSED, **same)
    told: dict[str, object] = {"receive": stays.status, "context": two.a.state, "connections": two.a.connections}
    must: dict[str, object] = {"receive": pydoca.Status.IN_PROGRESS, "context": pydoca.ContextState.RUNNING}
    require_told(f"the context of {what}", told, {**must, "connections": []})
    for call in (later.submit, later.try_submit, lambda: here.send(None), lambda: here.connect(b"")):
        with refused(f"to use {what}", pydoca.NotConnectedError):
            call()
    if (later.state, here.state) != (pydoca.TaskState.IDLE, State.CLOSED):
        raise DeviceFault(f"a task that {what} has refused is {later.state.name}")
    two.pe.drain(20)
    ours = [call for call in two.calls if call[1] is here]
    if ours != [("disconnect", here, "here", "a")]:
        raise DeviceFault(f"the callbacks of {what} were called with {ours}")


def addressed(device: pydoca.Device) -> None:
    """Requests come in order, with all of their private data, and are accepted or rejected one by one."""
    with Stand() as stand:
        two = _Two(stand, device, max_num_connections=REQUESTS)
        listener = _listener(two)
        address = device.info.ipv4_addr, listener.port
        with refused("a request with 57 bytes", pydoca.InvalidValueError):
            two.a.connect(*address, private_data=bytes(57))
        texts = [bytes(range(1, 57)), b"\x02" * 55, b"\x03"]
        with duty("three requests"):
            attempts: list[Any] = [two.a.connect(*address, private_data=text, user_data=text) for text in texts]
        ends: list[pydoca.RdmaConnection] = [attempt.connection for attempt in attempts]
        _require(ends[0], "an attempt", State.CONNECTING, address=address, details=b"", user_data=texts[0])
        requests = [listener.request().wait(waiting.PATIENCE) for _ in texts]
        for text, request in zip(texts, requests, strict=True):
            _require_request(two, request, text)
        _answer(two, list(zip(ends, requests, strict=True)))
        with duty("the end of a listener"):
            waits = listener.request()
            listener.close()
            listener.close()
        with refused("a request of a listener that is closed meanwhile", pydoca.ShutdownError):
            waits.wait(waiting.PATIENCE)
        for end, request in ((ends[0], requests[0]), (ends[2], requests[2])):
            _talk(two, end, request)
            for one in (end, request):
                _require(one, "a connection after the end of its listener", State.ESTABLISHED)
        with duty("listen again to a port"):
            again = two.b.listen(listener.port)
        require_told("listeners", {"of": [listener.closed, again.closed]}, {"of": [True, False]})
        with duty("the stop of a context that listens"):
            two.b.stop()
        require_told("a listener whose context stops", {"closed": again.closed}, {"closed": True})


def at_each_address(device: pydoca.Device) -> int:
    """A peer is reached by each kind of address that the device has; returns how many."""
    addresses = _addresses(device)
    with Stand() as stand:
        two = _Two(stand, device, max_num_connections=len(addresses))
        listener = _listener(two)
        for kind, address in addresses.items():
            with duty(f"a connection to the {kind} address {address}"):
                attempt: Any = two.a.connect(address, listener.port, address_type=kind)
                there = listener.request().wait(waiting.PATIENCE)
                there.accept()
                here = attempt.wait(waiting.PATIENCE)
            _talk(two, here, there)
    return len(addresses)


def _addresses(device: pydoca.Device) -> dict[Any, str]:
    """The addresses of a device by kind, without those that need an interface beside the address to be routed."""
    info = device.info.to_dict()
    found = {"ipv4": info["ipv4_addr"], "ipv6": info["ipv6_addr"]}
    limits = device.info.capabilities.rdma
    assert limits is not None
    found["gid"] = next(iter(pydoca.Rdma.gids(device.info, limits.default_gid_index, 1)), None)
    local = () if device.info.backend == "sim" else ("fe80:",)
    return {kind: address for kind, address in found.items() if address and not address.startswith(local)}


def _talk(two: _Two, here: pydoca.RdmaConnection, there: pydoca.RdmaConnection) -> None:
    """Sends an empty message each way."""
    for sender, receiver in ((here, two.b), (there, two.a)):
        with duty("a message after the end of a listener"):
            message = receiver.receive(None)
            sender.send(None).wait(waiting.PATIENCE)
            message.wait(waiting.PATIENCE)
            message.free()


def _listener(two: _Two) -> pydoca.RdmaListener:
    with duty("listen to a port"):
        listener = two.b.listen(port := next(_ports))
    require_told("a listener", {"port": listener.port, "closed": listener.closed}, {"port": port, "closed": False})
    with refused("to listen to a port once more", pydoca.BadStateError):
        two.b.listen(port)
    with refused("to listen to a port of another context", pydoca.ConnectionAbortedError):
        two.a.listen(port)
    for wrong in (0, 1 << 16):
        with refused(f"port {wrong}", pydoca.InvalidValueError):
            two.b.listen(wrong)
    return listener


def _require_request(two: _Two, request: pydoca.RdmaConnection, text: bytes) -> None:
    what = f"a request with {len(text)} bytes"
    _require(request, what, State.REQUESTED, rdma=two.b, details=b"", failure=pydoca.Status.SUCCESS)
    if request.private_data[: len(text)] != text or request.private_data[len(text) :].strip(b"\0"):
        raise DeviceFault(f"{what} has other private data, or comes in another order")
    with refused(f"{what}: a message over it", pydoca.NotConnectedError):
        request.send(None)


def _answer(two: _Two, pairs: list[tuple[pydoca.RdmaConnection, pydoca.RdmaConnection]]) -> None:
    """Rejects the second request, and accepts the others, the last one first."""
    texts = [here.user_data for here, _ in pairs]
    answer = bytes(range(196))
    with refused("an acceptance with 197 bytes", pydoca.InvalidValueError):
        pairs[0][1].accept(bytes(197))
    _require(pairs[0][1], "a request after an acceptance that was refused", State.REQUESTED)
    with duty("accept and reject requests"):
        pairs[1][1].reject()
        accepted = [pairs[place][1].accept(answer) for place in (2, 0)]
        for each, (here, there) in zip(accepted, (pairs[2], pairs[0]), strict=True):
            ends = each.wait(waiting.PATIENCE), here.established().wait(waiting.PATIENCE)
            require_told("awaitables of connections", {"give": ends}, {"give": (there, here)})
    with refused("a request that is rejected", pydoca.ConnectionAbortedError):
        pairs[1][0].established().wait(waiting.PATIENCE)
    _require(pairs[1][0], "a rejected attempt", State.CLOSED, failure=pydoca.Status.CONNECTION_ABORTED, rdma=None)
    for here, there in (pairs[0], pairs[2]):
        _require(here, "an accepted attempt", State.ESTABLISHED, private_data=answer)
        _require(there, "an accepted request", State.ESTABLISHED)
        for call in (there.accept, there.reject):
            with refused("to answer a request again", pydoca.BadStateError):
                call()
    calls = [("failure", pairs[1][0], texts[1], "a")]
    for here, there in (pairs[0], pairs[2]):
        calls += [("established", here, here.user_data, "a"), ("established", there, None, "b")]
    two.require_calls(calls, "three requests")
    if len({here.id for here, _ in pairs}) != len(pairs):
        raise DeviceFault("two connections of a context have the same number")


def given_up(device: pydoca.Device) -> None:
    """This side ends an attempt to connect: it is over at once, the peer does not fail, and another one has room."""
    with Stand() as stand:
        two = _Two(stand, device, max_num_connections=1)
        listener = _listener(two)
        attempt: Any = two.a.connect(device.info.ipv4_addr, listener.port, user_data="mine")
        here, what = attempt.connection, "an attempt that this side ends"
        with refused(f"a connection beside {what}", pydoca.FullError):
            two.a.export()
        with duty(what):
            here.disconnect().wait(waiting.PATIENCE)
        with refused(what, pydoca.ShutdownError):
            attempt.wait(waiting.PATIENCE)
        _require(here, what, State.CLOSED, failure=pydoca.Status.SUCCESS, rdma=None)
        two.require_calls([("failure", here, "mine", "a")], what)
        with duty(f"a connection behind {what}"):
            two.a.export()


def time_outs(device: pydoca.Device, *, by_address: bool) -> None:
    """Waits for events that do not come end at their time."""
    with Stand() as stand:
        two = _Two(stand, device, connection_request_timeout=_REQUEST)
        here = two.b.export()
        receive = two.b.receive(None)
        waits: dict[str, Callable[[], object]] = {
            "a wait for a connection": lambda: here.established().wait(_SECONDS),
            "a wait for the end of a connection": lambda: here.ended().wait(_SECONDS),
            "a wait for a message": lambda: receive.wait(_SECONDS),
        }
        for what, wait in waits.items():
            _require_time_out(what, wait, _SECONDS)
        here.disconnect().wait(waiting.PATIENCE)
        if by_address:
            listener = _listener(two)
            _require_time_out("a wait for a request", lambda: listener.request().wait(_SECONDS), _SECONDS)
            address = device.info.ipv4_addr, listener.port
            what = f"a request of {_REQUEST} ms"
            _require_time_out(what, lambda: two.a.connect(*address).wait(waiting.PATIENCE), _REQUEST / 1000)
            failures = {call[0] for call in two.calls}, {call[1].failure for call in two.calls}
            require_told(what, {"failures": failures}, {"failures": ({"failure"}, {pydoca.Status.TIME_OUT})})


def _require_time_out(what: str, wait: Callable[[], object], seconds: float) -> None:
    """Checks that a wait does not end before its time, and in the best of several tries not much after it."""
    for _ in range(5):
        begin = time.monotonic()
        with refused(what, pydoca.TimeOutError):
            wait()
        taken = time.monotonic() - begin
        if taken < 0.95 * seconds:
            raise DeviceFault(f"{what} of {seconds:g} s has timed out after {taken:.3f} s")
        if taken < seconds + _LATE:
            return
    raise DeviceFault(f"{what} of {seconds:g} s times out {taken - seconds:.3f} s late, again and again")


def settings(device: pydoca.Device) -> int:
    """An idle context takes each setting, and keeps it after refusals and while it runs; returns how many."""
    limits = device.info.capabilities.rdma
    assert limits is not None
    mtus = [mtu for mtu in (256, 512, 1024, 2048, 4096) if mtu <= limits.max_mtu]
    chosen: dict[str, list[Any]] = {
        "mtu": [*mtus, mtus[0]],
        "sl": [15, 0, 3],
        "rnr_retry_count": [0, 7, 5],
        "connection_request_timeout": [1, 77],
        "permissions": [pydoca.Access.RDMA_READ, pydoca.Access.RDMA_WRITE | pydoca.Access.RDMA_ATOMIC],
        "max_num_connections": [1, limits.max_num_connections, min(2, limits.max_num_connections)],
        "max_send_buf_list_len": [limits.max_send_buf_list_len, 1],
        "receive_dst_buf_list_len": [limits.max_recv_buf_list_len, 1],
        "gid_index": [limits.default_gid_index],
    }
    wrong: dict[str, Any] = {"mtu": 1000, "sl": 16, "rnr_retry_count": 8, "connection_request_timeout": 0}
    wrong |= {"gid_index": pydoca.Rdma.gid_table_size(device.info), "max_num_connections": 0}
    with Stand() as stand:
        pe = stand.engine()
        rdma = pydoca.Rdma(pe, device, num_tasks=2)
        stand.callback(rdma.close)
        _require_defaults(rdma, limits, mtus)
        must: dict[str, object] = {}
        for name, values in chosen.items():
            for value in values:
                with duty(f"the setting {name} of {value}"):
                    setattr(rdma, name, value)
                must[name] = value
                _require_settings(rdma, must, f"an idle context after the setting {name} of {value}")
        for name, value in wrong.items():
            with refused(f"the setting {name} of {value}", pydoca.InvalidValueError, pydoca.NotSupportedError):
                setattr(rdma, name, value)
            _require_settings(rdma, must, f"an idle context that refused the setting {name} of {value}")
        with duty("one kind of tasks"):
            rdma.set_conf("send", None, None, 3)
        if (rdma.num_tasks("send"), rdma.num_tasks("read"), rdma.recv_queue_size) != (3, 2, 0):
            raise DeviceFault("a context with 3 messages and 2 reads tells others, or has receives before its start")
        _run(stand, rdma, must)
    return len(chosen)


def _require_defaults(rdma: pydoca.Rdma, limits: pydoca.RdmaCapabilities, mtus: list[int]) -> None:
    """Checks that a new context has the default entry of the GID table, and no MTU beyond the port's."""
    found: dict[str, object] = {"gid_index": rdma.gid_index, "max_mtu": limits.max_mtu, "mtu": rdma.mtu in mtus}
    require_told(
        "a new context", found, {"gid_index": limits.default_gid_index, "max_mtu": max(mtus, default=0), "mtu": True}
    )
    for mtu in (512, 1024, 2048, 4096):
        if mtu > limits.max_mtu:
            with refused(f"an MTU of {mtu}, beyond {limits.max_mtu}", pydoca.NotSupportedError):
                rdma.mtu = mtu


def _run(stand: Stand, rdma: pydoca.Rdma, must: dict[str, object]) -> None:
    """Checks that a running context has the same settings and refuses others, and keeps them when it is idle again."""
    what, pe = "a context that runs", rdma.progress_engine
    assert pe is not None
    with duty("the start of a context with settings"):
        rdma.start()
    stand.callback(_stop, pe, rdma)
    waiting.until_true(pe, lambda: rdma.state is pydoca.ContextState.RUNNING, "the start of a context with settings")
    for name, value in must.items():
        with refused(f"the setting {name} of {what}", pydoca.BadStateError):
            setattr(rdma, name, value)
    with refused(f"the tasks of {what}", pydoca.BadStateError):
        rdma.set_conf("send", None, None, 1)
    _require_settings(rdma, must, what)
    if rdma.recv_queue_size < 2 or rdma.num_tasks("send") != 3:
        raise DeviceFault(f"{what} with 2 receives and 3 messages tells {rdma.recv_queue_size} receives, or others")
    _stop(pe, rdma)
    _require_settings(rdma, must, "a context that is idle again")


def _stop(pe: pydoca.ProgressEngine, rdma: pydoca.Rdma) -> None:
    if rdma.state is pydoca.ContextState.RUNNING:
        rdma.stop()
        waiting.until_true(pe, lambda: rdma.state is pydoca.ContextState.IDLE, "the stop of a context")


def _require_settings(rdma: pydoca.Rdma, must: dict[str, object], what: str) -> None:
    require_told(what, {name: getattr(rdma, name) for name in must}, must)


def gids(device: pydoca.Device) -> int:
    """Each part of the GID table equals that part of the whole table, and it ends where it says.

    Returns how many entries there are.
    """
    every, size = pydoca.Rdma.gids(device.info), pydoca.Rdma.gid_table_size(device.info)
    with duty("the last entry of the GID table"):
        last = pydoca.Rdma.gids(device.info, size - 1, 1)
    with refused(f"entry {size} of a GID table of {size}", pydoca.InvalidValueError):
        pydoca.Rdma.gids(device.info, size, 1)
    if len(last) != 1:
        raise DeviceFault(f"the last entry of the GID table is {last}")
    with duty("parts of the GID table"):
        parts = [gid for start in range(len(every)) for gid in pydoca.Rdma.gids(device.info, start, 1)]
    limits = device.info.capabilities.rdma
    assert limits is not None
    if parts != every or not limits.default_gid_index < len(every) <= pydoca.Rdma.gid_table_size(device.info):
        raise DeviceFault(f"the GID table is {every}, and its parts are {parts}")
    return len(every)
