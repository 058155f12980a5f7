"""Sync events."""

from __future__ import annotations

from pydoca._core import SyncEvent, SyncEventRemoteNet
from pydoca._display.frame.panel import Code, Fact, Note, Panel, Part, State, Tone
from pydoca._display.frame.reading import ABSENT, call, read, refusal
from pydoca._display.frame.values import word, yes

_TONES: dict[str, Tone] = {"started": "good", "asynchronous": "good"}


def event_panel(event: SyncEvent) -> Panel:
    state, waits = call(event._snapshot, default=("unknown", 0))
    value = call(event.get)
    facts: list[Fact] = [
        ("value", value if value is not None else ABSENT),
        ("hexadecimal", Code(f"{value:#018x}" if value is not None else ABSENT)),
        ("waiting threads", waits),
        ("device", _device(event)),
        *_ends(event),
    ]
    name = f"value {value:,}" if value is not None else ""
    is_lost = state == "started" and value is None
    badge = State("started, out of reach", "bad") if is_lost else State(state, _TONES.get(state, "quiet"))
    return Panel("SyncEvent", name, badge, facts, _notes(event, state))


def _device(event: SyncEvent | SyncEventRemoteNet) -> Code:
    device = read(event, "device")
    return Code(f"{device.name} ({device.side.name.lower()})" if device is not None else ABSENT)


def _ends(event: SyncEvent) -> list[Fact]:
    if read(event, "is_from_export"):
        return [("owner", "another process")]
    return [
        ("publisher", word(read(event, "publisher", ABSENT))),
        ("subscriber", word(read(event, "subscriber", ABSENT))),
        ("outlives importers", yes(read(event, "outlives_importers"))),
    ]


def _notes(event: SyncEvent, state: str) -> list[Part]:
    if state == "asynchronous":
        return [Note("Value", "a get task of its context (as_context()) reads it")]
    reason = refusal(event.get) if state == "started" else ""
    return [Note("No value", reason, "bad")] if reason else []


def remote_event_panel(event: SyncEventRemoteNet) -> Panel:
    state = State("closed") if read(event, "closed", True) else State("imported", "good")
    facts: list[Fact] = [("owner", "a network peer"), ("device", _device(event)), ("value", "an Rdma task reads it")]
    return Panel("SyncEventRemoteNet", "", state, facts)
