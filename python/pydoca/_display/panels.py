"""The panel of any object that has a display. Making it reads the object, in any state and from any thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydoca import _core
from pydoca._display.bufs import buf_panel, inventory_panel, pool_panel
from pydoca._display.connections import connection_panel, listener_panel, rdma_connection_panel
from pydoca._display.contexts import context_panel
from pydoca._display.devices import device_panel, info_panel, representor_info_panel, representor_panel
from pydoca._display.engines import engine_panel
from pydoca._display.errors import error_panel
from pydoca._display.events import event_panel, remote_event_panel
from pydoca._display.frame.panel import Note, Panel, State
from pydoca._display.graphs import graph_panel, instance_panel, node_panel
from pydoca._display.machine import machine_panel
from pydoca._display.memory import memory_panel, mmap_panel
from pydoca._display.tasks import task_panel
from pydoca._errors import DocaError

# The first class that fits counts.
_PANELS: list[tuple[type, Callable[[Any], Panel]]] = [
    (_core.DeviceInfo, info_panel),
    (_core.Device, device_panel),
    (_core.RepresentorInfo, representor_info_panel),
    (_core.Representor, representor_panel),
    (_core.Memory, memory_panel),
    (_core.Mmap, mmap_panel),
    (_core.Buf, buf_panel),
    (_core.BufInventory, inventory_panel),
    (_core.BufPool, pool_panel),
    (_core.ProgressEngine, engine_panel),
    (_core.Context, context_panel),
    (_core.Task, task_panel),
    (_core.SyncEvent, event_panel),
    (_core.SyncEventRemoteNet, remote_event_panel),
    (_core.Connection, connection_panel),
    (_core.RdmaConnection, rdma_connection_panel),
    (_core.RdmaListener, listener_panel),
    (_core.Graph, graph_panel),
    (_core.GraphNode, node_panel),
    (_core.GraphInstance, instance_panel),
    (DocaError, error_panel),
]


def _maker(shown: object) -> Callable[[Any], Panel] | None:
    own: Callable[[Any], Panel] | None = getattr(type(shown), "_panel", None)  # defined by a package above this one
    if own is not None:
        return own
    for owner, make in _PANELS:
        if isinstance(shown, owner):
            return make
    if isinstance(shown, (list, tuple)) and shown and all(isinstance(each, _core.DeviceInfo) for each in shown):
        return machine_panel
    return None


def has_panel(shown: object) -> bool:
    return _maker(shown) is not None


def panel_of(shown: object) -> Panel:
    """The object's panel. Never raises: the panel shows what goes wrong."""
    try:
        make = _maker(shown)
        assert make is not None
        return make(shown)
    except Exception as error:
        name = type(shown).__name__
        return Panel(name, "", State("cannot be shown", "bad"), parts=[Note("Why", f"{type(error).__name__}: {error}")])
