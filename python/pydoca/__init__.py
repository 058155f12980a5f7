"""NVIDIA DOCA Core's programming model for Python, on a simulated BlueField or any RDMA NIC."""

import pydoca._interpreter  # the first import: it refuses where the rest would hang

# isort: split
from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

import pydoca._augment  # noqa: F401  completes the extension's classes
from pydoca import comch, log, rdma_bridge, sim
from pydoca._augment import display as display  # not in __all__, as notebooks have a function of this name
from pydoca._core import (
    CAPABILITIES,
    Access,
    Awaitable,
    Buf,
    BufInventory,
    BufPool,
    Capabilities,
    Clock,
    ClockCapabilities,
    ClockType,
    ComchCapabilities,
    Compress,
    CompressCapabilities,
    CompressDecompressDeflateTask,
    Context,
    ContextState,
    CrossTimestamp,
    Device,
    DeviceInfo,
    Dma,
    DmaCapabilities,
    DmaMemcpyBatch,
    DmaMemcpyTask,
    DpaCapabilities,
    DpaSyncEvent,
    DpaThread,
    EventMode,
    Graph,
    GraphInstance,
    GraphNode,
    GraphNodeState,
    Memory,
    Mmap,
    MmapAdvise,
    MmapAdviseCapabilities,
    MmapAdviseInvalidateCacheTask,
    PciFuncType,
    ProgressEngine,
    Rdma,
    RdmaCapabilities,
    RdmaConnection,
    RdmaConnectionState,
    RdmaListener,
    RdmaOpcode,
    RdmaTask,
    RdmaTransport,
    RepFilter,
    Representor,
    RepresentorInfo,
    Sha,
    ShaCapabilities,
    ShaHashTask,
    ShaPartialHashTask,
    Side,
    SubmitFlags,
    SyncEvent,
    SyncEventCapabilities,
    SyncEventContext,
    SyncEventLocation,
    SyncEventRemoteNet,
    SyncEventTask,
    Task,
    TaskState,
    __version__,
    alloc,
    devices,
    open_device,
    unavailable_backends,
    version,
    version_runtime,
)
from pydoca._dpa import Dpa, DpaRun
from pydoca._errors import (
    AgainError,
    AlreadyExistError,
    AuthenticationError,
    BadConfigError,
    BadStateError,
    BufferInUseError,
    ConnectionInprogressError,
    DeadlockError,
    DocaError,
    DriverError,
    EmptyError,
    ForkedError,
    FullError,
    InitializationError,
    InProgressError,
    InUseError,
    InvalidValueError,
    IoFailedError,
    NoLockError,
    NoMemoryError,
    NotConnectedError,
    NotFoundError,
    NotPermittedError,
    NotSupportedError,
    OperatingSystemError,
    ShutdownError,
    SkippedError,
    Status,
    TimeOutError,
    TooBigError,
    UnexpectedError,
    UnknownError,
    UnsupportedVersionError,
    WrongThreadError,
)
from pydoca._errors import (  # not in __all__, as built-in exceptions have these names
    ConnectionAbortedError as ConnectionAbortedError,
)
from pydoca._errors import (
    ConnectionResetError as ConnectionResetError,
)
from pydoca._log import LogLevel, set_log_level, set_sdk_log_level
from pydoca._publication import publish as _publish
from pydoca._stats import EngineStats, TaskStats
from pydoca._timeline.events import TraceEvent, TraceProcess
from pydoca._trace import Trace, trace

if TYPE_CHECKING:
    from pydoca import faults, workq
else:
    del TYPE_CHECKING  # not a name of this package

__all__ = [
    "CAPABILITIES",
    "Access",
    "AgainError",
    "AlreadyExistError",
    "AuthenticationError",
    "Awaitable",
    "BadConfigError",
    "BadStateError",
    "Buf",
    "BufInventory",
    "BufPool",
    "BufferInUseError",
    "Capabilities",
    "Clock",
    "ClockCapabilities",
    "ClockType",
    "ComchCapabilities",
    "Compress",
    "CompressCapabilities",
    "CompressDecompressDeflateTask",
    "ConnectionInprogressError",
    "Context",
    "ContextState",
    "CrossTimestamp",
    "DeadlockError",
    "Device",
    "DeviceInfo",
    "Dma",
    "DmaCapabilities",
    "DmaMemcpyBatch",
    "DmaMemcpyTask",
    "DocaError",
    "Dpa",
    "DpaCapabilities",
    "DpaRun",
    "DpaSyncEvent",
    "DpaThread",
    "DriverError",
    "EmptyError",
    "EngineStats",
    "EventMode",
    "ForkedError",
    "FullError",
    "Graph",
    "GraphInstance",
    "GraphNode",
    "GraphNodeState",
    "InProgressError",
    "InUseError",
    "InitializationError",
    "InvalidValueError",
    "IoFailedError",
    "LogLevel",
    "Memory",
    "Mmap",
    "MmapAdvise",
    "MmapAdviseCapabilities",
    "MmapAdviseInvalidateCacheTask",
    "NoLockError",
    "NoMemoryError",
    "NotConnectedError",
    "NotFoundError",
    "NotPermittedError",
    "NotSupportedError",
    "OperatingSystemError",
    "PciFuncType",
    "ProgressEngine",
    "Rdma",
    "RdmaCapabilities",
    "RdmaConnection",
    "RdmaConnectionState",
    "RdmaListener",
    "RdmaOpcode",
    "RdmaTask",
    "RdmaTransport",
    "RepFilter",
    "Representor",
    "RepresentorInfo",
    "Sha",
    "ShaCapabilities",
    "ShaHashTask",
    "ShaPartialHashTask",
    "ShutdownError",
    "Side",
    "SkippedError",
    "Status",
    "SubmitFlags",
    "SyncEvent",
    "SyncEventCapabilities",
    "SyncEventContext",
    "SyncEventLocation",
    "SyncEventRemoteNet",
    "SyncEventTask",
    "Task",
    "TaskState",
    "TaskStats",
    "TimeOutError",
    "TooBigError",
    "Trace",
    "TraceEvent",
    "TraceProcess",
    "UnexpectedError",
    "UnknownError",
    "UnsupportedVersionError",
    "WrongThreadError",
    "__version__",
    "alloc",
    "comch",
    "devices",
    "faults",
    "log",
    "open_device",
    "rdma_bridge",
    "set_log_level",
    "set_sdk_log_level",
    "sim",
    "trace",
    "unavailable_backends",
    "version",
    "version_runtime",
    "workq",
]

_publish(__name__)


def __getattr__(name: str) -> _Any:
    if name in ("faults", "workq"):  # imported by their first use: only tests, and programs for DOCA 2.0 to 2.2
        return _import_module(f"pydoca.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(ipython: _Any) -> None:
    """`%load_ext pydoca`: adds the magics %%pydoca and %pydoca."""
    _import_module("pydoca._notebook.magic").load(ipython)


def unload_ipython_extension(ipython: _Any) -> None:
    """`%unload_ext pydoca`: stops the processes that cells have started, and removes the magics."""
    _import_module("pydoca._notebook.magic").unload(ipython)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
