"""The callbacks at both ends of a comch connection at its beginning and end."""

from __future__ import annotations

from typing import Any

import pydoca
from pydoca import comch
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.sides import Sides, fresh_name
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, until_true


class _Told:
    """The callbacks of both ends, by name."""

    def __init__(self) -> None:
        self.calls: dict[str, list[tuple[Any, Any]]] = {}

    def note(self, name: str) -> Any:
        """Makes a callback that notes its connection and its user data."""
        return lambda connection, *rest: self.calls.setdefault(name, []).append((connection, rest[-1]))

    def require(self, name: str, count: int, what: str) -> None:
        """Raises DeviceFault unless the callback had count calls, each for another connection, with the user data."""
        calls = self.calls.get(name, [])
        if len(calls) != count or len({id(connection) for connection, _ in calls}) != count:
            raise DeviceFault(f"{what}: {name} was called {len(calls)} times instead of {count}")
        if any(data != name.split(" ")[0] for _, data in calls):
            raise DeviceFault(f"{what}: {name} is given other user data than its context has")


def connections(sides: Sides, rounds: int) -> int:
    """Clients connect; the client, the server's connection and the server end the connection in turn."""
    for number in range(rounds):
        _one_round(sides, ("client", "connection", "server")[number % 3])
    return rounds


def _one_round(sides: Sides, who: str) -> None:
    told, name = _Told(), fresh_name()
    with Stand() as stand:
        pe = stand.engine()
        with duty("connect two clients"):
            server = comch.Server(
                pe,
                sides.dpu,
                sides.representor,
                name,
                on_connect=told.note("server connect"),
                on_disconnect=told.note("server disconnect"),
                user_data="server",
            )
            stand.enter_context(server)
            clients = [_client(pe, sides, name, told) for _ in range(2)]
            for client in clients:
                stand.callback(client.close)
            first = clients[0].__enter__()
            at_server = server.accept().wait(timeout=waiting.PATIENCE)
            clients[1].__enter__()
        what = f"two clients, and the end of one by the {who}"
        told.require("server connect", 2, what)
        if who == "client":
            clients[0].stop()
        elif who == "connection":
            at_server.close()
        else:
            server.stop()
        ended = 2 if who == "server" else 1
        until_true(pe, lambda: len(told.calls.get("server disconnect", [])) >= ended, f"{what}: the server's callback")
        until_true(pe, lambda: clients[0].state is pydoca.ContextState.IDLE, f"{what}: the client's end")
        pe.drain(100)
        told.require("server disconnect", ended, what)
        if who != "client":
            told.require("client disconnect", ended, what)
        if first.is_connected:
            raise DeviceFault(f"{what}: the client says that it is connected")
        if who != "server":
            _require_message(clients[1], server, what)
            clients[1].stop()
            until_true(pe, lambda: clients[1].state is pydoca.ContextState.IDLE, f"{what}: the other client's end")


def _client(pe: pydoca.ProgressEngine, sides: Sides, name: str, told: _Told) -> comch.Client:
    on_disconnect = told.note("client disconnect")
    return comch.Client(pe, sides.host, name, timeout=waiting.PATIENCE, on_disconnect=on_disconnect, user_data="client")


def _require_message(client: comch.Client, server: comch.Server, what: str) -> None:
    with duty(f"{what}: a message of the other client"):
        client.connection.send(b"goes on").wait(waiting.PATIENCE)
        text = server.accept().wait(waiting.PATIENCE).recv().wait(waiting.PATIENCE)
    if text != b"goes on":
        raise DeviceFault(f"{what}: a message of the other client has arrived as {text!r}")
