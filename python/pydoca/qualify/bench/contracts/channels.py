"""Comch: the values of its settings, tasks, counters and callbacks, and how connections begin and end."""

from __future__ import annotations

import time
from typing import Any

import pydoca
from pydoca import comch
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.messages import Link, check, message
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.sides import Sides, fresh_name
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, refused, until_true

_State = pydoca.ContextState
_End = comch.Server | comch.Client
_SETTINGS = ("max_msg_size", "recv_queue_size", "num_send_tasks")
_FEW = 4  # tasks: a device may have few
_SECONDS = 0.01
_LATE = 0.12  # seconds; on a busy machine even the best of several tries may be this late


def _server(pe: pydoca.ProgressEngine, sides: Sides, name: str, **options: Any) -> comch.Server:
    return comch.Server(pe, sides.dpu, sides.representor, name, num_send_tasks=_FEW, **options)


def _client(pe: pydoca.ProgressEngine, sides: Sides, name: str, **options: Any) -> comch.Client:
    return comch.Client(pe, sides.host, name, timeout=waiting.PATIENCE, num_send_tasks=_FEW, **options)


def settings(sides: Sides) -> None:
    """An end has its configured settings; a refusal changes nothing; a stopped end takes other settings."""
    chosen: dict[str, Any] = {"max_msg_size": 96, "recv_queue_size": 3, "num_send_tasks": 2}
    with Stand() as stand:
        pe, name = stand.engine(), fresh_name()
        with duty("a comch server and a client with settings"):
            server = comch.Server(pe, sides.dpu, sides.representor, name, **chosen)
            client = comch.Client(pe, sides.host, name, timeout=waiting.PATIENCE, **chosen)
        for end in (server, client):
            stand.callback(end.close)
            _refuse_settings(end, chosen)
            if end.device != (sides.dpu if end is server else sides.host) or end.progress_engine is not pe:
                raise DeviceFault(f"{_kind(end)} tells another device, or another engine, than it has")
        with duty("a server that is configured again"):
            server.max_msg_size, server.recv_queue_size = 80, 4
            server.set_send_conf(num_tasks=5)
            stand.enter_context(server)
            here = stand.enter_context(client)
        other: dict[str, Any] = {"max_msg_size": 80, "recv_queue_size": 4, "num_send_tasks": 5}
        require_told("a server that was configured again", _settings_of(server), other)
        require_told("a connection", {"max_msg_size": here.max_msg_size}, {"max_msg_size": 80})
        for end, expected in ((server, other), (client, chosen)):
            _refuse_all(end, 7, pydoca.BadStateError)
            for callback in ("on_message", "on_disconnect"):
                with refused(f"{callback} of {_kind(end)} that runs", pydoca.BadStateError):
                    setattr(end, callback, print)
            require_told(f"{_kind(end)} that runs", _settings_of(end), expected)


def _refuse_settings(end: _End, chosen: dict[str, Any]) -> None:
    """Sets numbers beyond the limits, which are refused."""
    limits: Any = end.device.info.capabilities.comch
    most = (limits.max_msg_size, limits.max_recv_queue_size, limits.max_send_tasks)
    require_told(_kind(end), _settings_of(end), chosen)
    for number in (0, max(most) + 1):
        _refuse_all(end, number, pydoca.InvalidValueError)
        require_told(f"{_kind(end)} after settings that it refused", _settings_of(end), chosen)


def _refuse_all(end: _End, number: int, error: type[pydoca.DocaError]) -> None:
    for name in _SETTINGS[:2]:
        with refused(f"{name} of {number}", error):
            setattr(end, name, number)
    with refused(f"{number} send tasks", error):
        end.set_send_conf(num_tasks=number)


def _settings_of(end: _End) -> dict[str, object]:
    return {name: getattr(end, name) for name in _SETTINGS}


def _kind(end: _End) -> str:
    return "a server" if isinstance(end, comch.Server) else "a client"


def counters(sides: Sides, rounds: int) -> int:
    """Two clients and their server each count the messages sent and received; returns the messages.

    Messages of 0 bytes count; tasks that are not submitted and messages that are refused do not.
    """
    with Stand() as stand:
        link = Link(stand, sides, num_send_tasks=_FEW)
        with duty("a second client"):
            second = comch.Client(link.pe, sides.host, link.server.name, timeout=waiting.PATIENCE, num_send_tasks=_FEW)
            here = stand.enter_context(second)
            there = link.server.accept().wait(waiting.PATIENCE)
        ways = [(link.at_host, link.at_dpu), (here, there), (link.at_dpu, link.at_host), (there, here)]
        sent = [[0, 0] for _ in ways]
        for number in range(rounds):
            for place, (sender, receiver) in enumerate(ways):
                text = message(number, (0, 1, 7, 64)[(number + place) % 4])
                if (number + place) % 5 == 0:
                    sender.send(text, submit=False).free()
                    with refused("a message that is too long", pydoca.InvalidValueError):
                        sender.send(bytes(sender.max_msg_size + 1))
                else:
                    with duty("a message"):
                        sender.send(text).wait(waiting.PATIENCE)
                        check(receiver.recv().wait(waiting.PATIENCE), text, "a message of one of two clients")
                    sent[place] = [sent[place][0] + 1, sent[place][1] + len(text)]
                _require_counts(ways, sent)
        total = sum(messages for messages, _ in sent)
        link.at_dpu.close()
        until_true(link.pe, lambda: not link.at_host.is_connected, "the end of a connection")
        _require_counts(ways, sent)
    return total


def _require_counts(ways: list[tuple[comch.Connection, comch.Connection]], sent: list[list[int]]) -> None:
    for (sender, receiver), expected in zip(ways, sent, strict=True):
        found = [sender.sent_messages, sender.sent_bytes], [receiver.recv_messages, receiver.recv_bytes]
        if found != (expected, expected):
            raise DeviceFault(f"{expected[0]} messages of {expected[1]} bytes in all: the ends count {found}")


def tasks(sides: Sides, rounds: int) -> int:
    """Send tasks have their message, and take another one; slots and callbacks are right; returns the sends."""
    done: list[tuple[Any, ...]] = []
    with Stand() as stand:
        pe, name, owner = stand.engine(), fresh_name(), object()
        with duty("a comch server and a client"):
            server = stand.enter_context(_server(pe, sides, name))
            client = comch.Client(pe, sides.host, name, timeout=waiting.PATIENCE, user_data=owner, num_send_tasks=_FEW)
            client.set_send_conf(lambda *told: done.append(told), lambda *told: done.append(told), 2)
            here = stand.enter_context(client)
            there = server.accept().wait(waiting.PATIENCE)
        data = bytearray(b"the first message")
        task = here.send(data, user_data="task", submit=False)
        spare = here.send(b"spare", submit=False)
        for number in range(rounds):
            expected = bytes(data)
            _one_send(here, task, expected)
            data[:] = message(number, 5 + number % 40)  # the program may change it since it was sent or set
            with duty("a message of a task"):
                task.submit()
                finish(task, "a message of a task")
                check(there.recv().wait(waiting.PATIENCE), expected, "a message whose memory was the program's again")
            if done != [(task, "task", owner)] or task.status is not pydoca.Status.SUCCESS:
                raise DeviceFault(f"a send has ended with {task.status.name}, and its callback was told {done}")
            done.clear()
            task.message = data
        with refused("one more send than tasks", pydoca.NoMemoryError):
            here.send(b"one more")
        task.free()
        if (task.message, task.state) != (None, pydoca.TaskState.FREE):
            raise DeviceFault(f"a send that is freed tells {task.message!r}")
        with duty("a send in the place of one that is freed"):
            here.send(b"last").wait(waiting.PATIENCE)
        spare.free()
        check(there.recv().wait(waiting.PATIENCE), b"last", "the message after those of a task")
    return rounds


def _one_send(here: comch.Connection, task: comch.SendTask, expected: bytes) -> None:
    """Checks the task before a submission."""
    told: dict[str, object] = {"message": task.message, "connection": task.connection, "state": task.state}
    require_told("a send", told, {"message": expected, "connection": here, "state": pydoca.TaskState.IDLE})
    with refused("a message of a task that is too long", pydoca.InvalidValueError):
        task.message = bytes(here.max_msg_size + 1)
    require_told("a send that has refused a message", {"message": task.message}, {"message": expected})


class _Notes:
    """The callbacks of an end, in the order of their calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def of(self, name: str) -> Any:
        """Makes a callback of this name."""
        return lambda *told: self.calls.append((name, *told))

    def require(self, expected: list[tuple[object, ...]], what: str) -> None:
        """Raises DeviceFault unless exactly these calls were made."""
        if self.calls != expected:
            raise DeviceFault(f"{what}: the callbacks were {self.calls}; they must be {expected}")


def callbacks(sides: Sides) -> None:
    """Each callback gets the connection, the event, and its context's user data, in the order of the events."""
    notes, name = _Notes(), fresh_name()
    texts = [message(number, length) for number, length in enumerate((0, 1, 64))]
    with Stand() as stand:
        pe = stand.engine()
        on: dict[str, Any] = {"on_message": notes.of("message"), "on_disconnect": notes.of("disconnect")}
        on["num_send_tasks"] = _FEW
        with duty("a comch server and a client with callbacks"):
            server = comch.Server(
                pe, sides.dpu, sides.representor, name, user_data="server", on_connect=notes.of("connect"), **on
            )
            stand.enter_context(server)
            there = comch.Client(pe, sides.host, name, timeout=waiting.PATIENCE, user_data="client", **on)
            here = stand.enter_context(there)
            at_dpu = server.accept().wait(waiting.PATIENCE)
        for sender, receiver, owner, more in (
            (here, at_dpu, "server", [("connect", at_dpu, True, "server")]),
            (at_dpu, here, "client", []),
        ):
            for text in texts:
                finish(sender.send(text), "a message to a callback")
            until_true(pe, lambda receiver=receiver: receiver.recv_messages == len(texts), "messages to a callback")  # type: ignore[misc]
            with refused("recv() beside on_message", pydoca.BadStateError):
                receiver.recv().wait(0)
            notes.require([*more, *(("message", receiver, text, owner) for text in texts)], f"messages to a {owner}")
            notes.calls.clear()
        at_dpu.close()
        at_dpu.close()
        until_true(pe, lambda: there.state is _State.IDLE, "the end of a client whose server has disconnected")
        notes.calls.sort(key=lambda call: str(call[-1]), reverse=True)
        expected: list[tuple[object, ...]] = [
            ("disconnect", at_dpu, True, "server"),
            ("disconnect", here, True, "client"),
        ]
        notes.require(expected, "the end of a connection")
        links = (at_dpu.server, here.client, at_dpu.is_connected, here.is_connected, server.connections)
        if links != (None, None, False, False, []) or there.failure is not pydoca.Status.CONNECTION_RESET:
            raise DeviceFault(f"both ends of an ended connection tell {links}, and the client {there.failure.name}")
        with refused("the connection of a client that has ended", pydoca.BadStateError):
            _ = there.connection


def held_back(sides: Sides, depth: int = 64) -> int:
    """Sends that wait for a reader end once when their connection ends; returns how many were held back.

    They end with SHUTDOWN at the end that closes the connection, and with CONNECTION_RESET at the other one.
    """
    limits: Any = sides.host.info.capabilities.comch
    depth, held = min(depth, limits.max_send_tasks), 0
    for own in (True, False):
        failed: list[Any] = []
        with Stand() as stand:
            pe, name = stand.engine(), fresh_name()
            with duty("a comch server and a client"):
                server = _server(pe, sides, name, recv_queue_size=1)
                stand.enter_context(server)
                client = comch.Client(
                    pe, sides.host, name, num_send_tasks=depth, on_error=lambda task, *_, f=failed: f.append(task)
                )
                stand.callback(client.close)
                here = client.__enter__()
                there = server.accept().wait(waiting.PATIENCE)
                sends = [here.send(message(number, 64), user_data=number) for number in range(depth)]
            pe.drain(100)
            waits = [send for send in sends if not send.done]
            if client.num_inflight_tasks != len(waits) or client.stats().completed != depth - len(waits):
                raise DeviceFault(f"{len(waits)} sends wait, and their client counts {client.num_inflight_tasks}")
            _misuse_in_flight(waits[:1])
            (here if own else there).close()
            until_true(pe, lambda sends=sends: all(send.done for send in sends), "sends at the end of a connection")  # type: ignore[misc]
            expected = pydoca.Status.SHUTDOWN if own else pydoca.Status.CONNECTION_RESET
            _require_ends(sends, waits, failed, expected)
            held += len(waits)
            for send in sends:
                send.free()
            until_true(pe, lambda client=client: client.state is _State.IDLE, "the end of a client")  # type: ignore[misc]
    return held


def _misuse_in_flight(waits: list[comch.SendTask]) -> None:
    for task in waits:
        before = task.message
        with refused("another message for a send in flight", pydoca.InUseError):
            task.message = b"other"
        with refused("freeing a send in flight", pydoca.InUseError):
            task.free()
        if task.message != before or task.status is not pydoca.Status.IN_PROGRESS:
            raise DeviceFault(f"a send in flight tells {task.status.name}, and has another message than before")


def _require_ends(
    sends: list[comch.SendTask], waits: list[comch.SendTask], failed: list[Any], expected: pydoca.Status
) -> None:
    ends = {send.user_data: send.status for send in sends if send.status is not pydoca.Status.SUCCESS}
    if set(ends.values()) - {expected} or not {send.user_data for send in waits} >= ends.keys():
        raise DeviceFault(f"sends at the end of a connection ended with {set(ends.values())}, not {expected.name}")
    if sorted(task.user_data for task in failed) != sorted(ends):
        raise DeviceFault(
            f"{len(ends)} sends failed at the end of a connection, and on_error was called {len(failed)}x"
        )
    if len(ends) != len(waits):
        raise DeviceFault(f"{len(waits)} sends waited for a reader that has left, and {len(ends)} of them failed")


def accepting(sides: Sides, clients: int = 3) -> int:
    """A server accepts connections in their order; a wait without an event ends at its time, and takes nothing.

    Returns the number of lives of the server.
    """
    with Stand() as stand:
        pe, name, notes = stand.engine(), fresh_name(), _Notes()
        server = _server(pe, sides, name, on_connect=notes.of("connect"))
        stand.callback(server.close)
        for life in range(2):
            with refused("accept() of a server that does not run", pydoca.BadStateError):
                server.accept().wait(0)
            with duty("start a comch server"):
                server.start()
            if server.connections:
                raise DeviceFault(f"a server has connections at the begin of its life {life}: {server.connections}")
            _require_time_out(lambda: server.accept().wait(_SECONDS), "accept()")
            with duty("several clients"):
                made = [_client(pe, sides, name) for _ in range(clients)]
                ends = [client.__enter__() for client in made]
                until_true(pe, lambda: len(server.connections) == clients, "the connections of several clients")
            notes.require([("connect", each, True, None) for each in server.connections], "several clients")
            notes.calls.clear()
            _require_order(server, ends)
            accepting = server.accept()
            server.stop()
            with refused("accept() of a server that has stopped meanwhile", pydoca.ShutdownError, pydoca.BadStateError):
                accepting.wait(waiting.PATIENCE)
            until_true(pe, lambda: all(each.state is _State.IDLE for each in made), "clients of a server that stops")  # noqa: B023
            if any(end.is_connected for end in ends) or server.connections or server.state is not _State.IDLE:
                raise DeviceFault("a server has stopped, and one of its connections has not ended")
            for client in made:
                client.close()
    return 2


def _require_order(server: comch.Server, ends: list[comch.Connection]) -> None:
    """Reads the first message of each client, which shows whose connection it is."""
    listed = server.connections
    for place, end in enumerate(ends):
        finish(end.send(bytes([place])), "a message that tells its client")
    for place, end in enumerate(ends):
        accepted = server.accept().wait(waiting.PATIENCE)
        check(accepted.recv().wait(waiting.PATIENCE), bytes([place]), f"the message of client {place}, in their order")
        if accepted not in listed or server.connections != listed:
            raise DeviceFault("connections before and after they are accepted are not the same ones")
        if place == 0:
            _require_time_out(lambda: accepted.recv().wait(_SECONDS), "recv()")  # noqa: B023
            accepted.send(b"answer").wait(waiting.PATIENCE)
            check(end.recv().wait(waiting.PATIENCE), b"answer", "an answer after a receive that timed out")


def _require_time_out(wait: Any, what: str) -> None:
    least = waiting.PATIENCE
    for _ in range(3):
        begin = time.monotonic()
        with refused(f"{what} of what does not come", pydoca.TimeOutError):
            wait()
        taken = time.monotonic() - begin
        if taken < _SECONDS * 0.99:
            raise DeviceFault(f"{what} of {_SECONDS} s has timed out after {taken:.4f} s")
        least = min(least, taken)
        if least < _SECONDS + _LATE:
            return
    raise DeviceFault(f"{what} of {_SECONDS} s has timed out {least - _SECONDS:.3f} s too late, at best")


def beginnings(sides: Sides) -> None:
    """A client waits for its server, and gives up in time; each of two servers has its client; one reader sleeps."""
    with Stand() as stand:
        pe, names = stand.engine(), (fresh_name(), fresh_name())
        alone: comch.Client

        def start() -> None:
            nonlocal alone  # a client that gave up is closed
            alone = comch.Client(pe, sides.host, names[0], timeout=_SECONDS, num_send_tasks=_FEW)
            stand.callback(alone.close)
            alone.__enter__()

        _require_time_out(start, "a client's start")
        if (alone.state, alone.failure, alone.timeout) != (_State.IDLE, pydoca.Status.TIME_OUT, _SECONDS):
            raise DeviceFault(f"a client without a server is {alone.state.name} after {alone.failure.name}")
        early = [_client(pe, sides, name) for name in reversed(names)]
        for client in early:
            stand.callback(client.close)
            started = client.start()
            with refused("the connection of a client that waits", pydoca.BadStateError):
                _ = client.connection
            if (started, client.state) != (pydoca.Status.IN_PROGRESS, _State.STARTING):
                raise DeviceFault(f"a client that waits for its server is {client.state.name} ({started.name})")
        with duty("servers that start after their clients"):
            servers = [stand.enter_context(_server(pe, sides, name, recv_queue_size=1)) for name in names]
            pe.run_until(lambda: all(client.state is _State.RUNNING for client in early), timeout=waiting.PATIENCE)
        for client in early:
            for number in range(3):  # more messages than the first server has room for, as it does not read
                finish(
                    client.connection.send(client.name.encode() + bytes([number])), "a message to one of two servers"
                )
        for server in reversed(servers):
            accepted = server.accept().wait(waiting.PATIENCE)
            for number in range(3):
                with duty("a message to one of two servers"):
                    text = accepted.recv().wait(waiting.PATIENCE)
                check(text, server.name.encode() + bytes([number]), "a message to one of two servers")
        for client in early:
            client.stop()
        until_true(pe, lambda: all(client.state is _State.IDLE for client in early), "the end of two clients")
