"""Connections: of comch, and of RDMA."""

from __future__ import annotations

from pydoca._core import Connection, RdmaConnection, RdmaConnectionState, RdmaListener
from pydoca._display.frame.panel import Code, Fact, Note, Panel, Part, State, Tone, Value
from pydoca._display.frame.reading import ABSENT, call, read
from pydoca._display.frame.values import clip, plural, size, word
from pydoca._errors import Status

_TONES: dict[RdmaConnectionState, Tone] = {
    RdmaConnectionState.ESTABLISHED: "good",
    RdmaConnectionState.CLOSED: "quiet",
}


def connection_panel(connection: Connection) -> Panel:
    endpoint, waiting = call(connection._snapshot, default=("", 0))
    state = State("connected", "good") if read(connection, "is_connected") else State("ended")
    facts: list[Fact] = [
        ("sent", _messages(connection, "sent")),
        ("received", _messages(connection, "recv")),
        ("not read yet", plural(waiting, "message")),
        ("longest message", size(read(connection, "max_msg_size", 0))),
    ]
    return Panel("comch.Connection", f"of {clip(endpoint)}", state, facts)


def _messages(connection: Connection, way: str) -> str:
    count = read(connection, f"{way}_messages")
    if count is None:
        return ABSENT
    return f"{plural(count, 'message')}, {size(read(connection, f'{way}_bytes', 0))}"


def rdma_connection_panel(connection: RdmaConnection) -> Panel:
    state = read(connection, "state", RdmaConnectionState.CLOSED)
    failure = read(connection, "failure", Status.SUCCESS)
    tone: Tone = "bad" if failure != Status.SUCCESS else _TONES.get(state, "busy")
    facts: list[Fact] = [
        ("context", _context(connection)),
        ("peer", _peer(connection)),
        ("details", _bytes(read(connection, "details", b""))),
        ("private data", _bytes(read(connection, "private_data", b""))),
    ]
    parts: list[Part] = []
    if failure != Status.SUCCESS:
        parts.append(Note("It ended", f"{failure.name}: {failure.descr}", "bad"))
    return Panel("RdmaConnection", f"number {connection.id}", State(word(state), tone), facts, parts)


def _context(connection: RdmaConnection) -> Value:
    rdma = read(connection, "rdma")
    if rdma is None:
        return "ended"
    kind, device, state, *_ = rdma._snapshot(0)
    return f"{kind} on {device}, {word(state)}"


def _peer(connection: RdmaConnection) -> Value:
    address = read(connection, "address")
    return Code(f"{address[0]}, port {address[1]}") if address else "by exported details"


def _bytes(data: bytes) -> str:
    """The number of bytes only: the bytes themselves would let peers connect."""
    return size(len(data)) if data else ABSENT


def listener_panel(listener: RdmaListener) -> Panel:
    state = State("closed") if read(listener, "closed", True) else State("listening", "good")
    return Panel("RdmaListener", f"port {read(listener, 'port', ABSENT)}", state)
