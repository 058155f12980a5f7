"""Classes of the extension that programs do not call: the error of a call names what makes such an object."""

from __future__ import annotations

from typing import Any

from pydoca import _core

_MADE_BY: dict[str, str] = {
    "Awaitable": "a call that is awaited, such as RdmaConnection.established()",
    "Buf": "BufInventory.get_by_data() and its siblings, BufPool.alloc()",
    "Capabilities": "DeviceInfo.capabilities",
    "ClockCapabilities": "Capabilities.clock",
    "ComchCapabilities": "Capabilities.comch",
    "Connection": "comch.Client.connection, comch.Server.accept()",
    "Context": "one of its libraries, such as Dma()",
    "CrossTimestamp": "Clock.crosstimestamp()",
    "Device": "open_device()",
    "DmaCapabilities": "Capabilities.dma",
    "DmaMemcpyTask": "Dma.memcpy()",
    "DpaCapabilities": "Capabilities.dpa",
    "DpaSyncEvent": "SyncEvent.dpa_handle()",
    "DpaThread": "Dpa.launch()",
    "GraphInstance": "Graph.create_instance()",
    "GraphNode": "Graph.node()",
    "Memory": "alloc()",
    "MmapAdviseCapabilities": "Capabilities.mmap_advise",
    "MmapAdviseInvalidateCacheTask": "MmapAdvise.invalidate_cache()",
    "RdmaCapabilities": "Capabilities.rdma",
    "RdmaConnection": "Rdma.export(), Rdma.connect()",
    "RdmaListener": "Rdma.listen()",
    "RdmaTask": "RdmaConnection.write() and its siblings, Rdma.receive()",
    "Representor": "Device.open_representor()",
    "RepresentorInfo": "Device.representors()",
    "SendTask": "comch.Connection.send()",
    "ShaCapabilities": "Capabilities.sha",
    "ShaHashTask": "Sha.hash()",
    "ShaPartialHashTask": "Sha.partial_hash()",
    "SyncEventCapabilities": "Capabilities.sync_event",
    "SyncEventContext": "SyncEvent.as_context()",
    "SyncEventRemoteNet": "Device.import_sync_event_remote_net()",
    "SyncEventTask": "SyncEventContext.wait_eq() and its siblings",
    "Task": "one of its libraries, such as Dma.memcpy()",
}


def explain_calls() -> None:
    """Gives each of these classes a TypeError that says what to do, instead of pybind11's."""
    for name, made_by in _MADE_BY.items():
        getattr(_core, name).__init__ = _refusal(name, made_by)


def _refusal(name: str, made_by: str) -> Any:
    def refuse(self: object, *_: object, **__: object) -> None:
        raise TypeError(f"{name} has no constructor: get one from {made_by}")

    return refuse
