"""The card of any object that has a display. Making it reads the object, in any state and from any thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydoca import _core
from pydoca._display.bufs import buf_card, inventory_card, pool_card
from pydoca._display.connections import connection_card, listener_card, rdma_connection_card
from pydoca._display.contexts import context_card
from pydoca._display.devices import device_card, info_card, representor_card, representor_info_card
from pydoca._display.engines import engine_card
from pydoca._display.errors import error_card
from pydoca._display.events import event_card, remote_event_card
from pydoca._display.frame.card import Card, Note, State
from pydoca._display.graphs import graph_card, instance_card
from pydoca._display.machine import machine_card, topology_card
from pydoca._display.memory import memory_card, mmap_card
from pydoca._display.tasks import task_card
from pydoca._errors import DocaError
from pydoca.sim import Topology

# The first class that fits counts.
_CARDS: list[tuple[type, Callable[[Any], Card]]] = [
    (Topology, topology_card),
    (_core.DeviceInfo, info_card),
    (_core.Device, device_card),
    (_core.RepresentorInfo, representor_info_card),
    (_core.Representor, representor_card),
    (_core.Memory, memory_card),
    (_core.Mmap, mmap_card),
    (_core.Buf, buf_card),
    (_core.BufInventory, inventory_card),
    (_core.BufPool, pool_card),
    (_core.ProgressEngine, engine_card),
    (_core.Context, context_card),
    (_core.Task, task_card),
    (_core.SyncEvent, event_card),
    (_core.SyncEventRemoteNet, remote_event_card),
    (_core.Connection, connection_card),
    (_core.RdmaConnection, rdma_connection_card),
    (_core.RdmaListener, listener_card),
    (_core.Graph, graph_card),
    (_core.GraphInstance, instance_card),
    (DocaError, error_card),
]


def _maker(shown: object) -> Callable[[Any], Card] | None:
    for owner, make in _CARDS:
        if isinstance(shown, owner):
            return make
    if isinstance(shown, (list, tuple)) and shown and all(isinstance(each, _core.DeviceInfo) for each in shown):
        return machine_card
    return None


def has_card(shown: object) -> bool:
    return _maker(shown) is not None


def card_of(shown: object) -> Card:
    """Never raises: what goes wrong stands on the card."""
    try:
        make = _maker(shown)
        assert make is not None
        return make(shown)
    except Exception as error:
        name = type(shown).__name__
        return Card(name, "", State("cannot be shown", "bad"), parts=[Note("Why", f"{type(error).__name__}: {error}")])
