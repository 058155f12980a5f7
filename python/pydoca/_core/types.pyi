from collections.abc import Sequence
from enum import IntEnum, IntFlag
from typing import Any

class Access(IntFlag):
    LOCAL_READ_ONLY = 0
    LOCAL_READ_WRITE = 1
    RDMA_READ = 2
    RDMA_WRITE = 4
    RDMA_ATOMIC = 8
    PCI_READ_ONLY = 16
    PCI_READ_WRITE = 32
    PCI_RELAXED_ORDERING = 64

class PciFuncType(IntEnum):
    PF = 0
    VF = 1
    SF = 2

class RepFilter(IntFlag):
    ALL = 0
    NET = 2
    EMULATED = 4

class Side(IntEnum):
    HOST = 0
    DPU = 1

class SubmitFlags(IntFlag):
    NONE = 0
    FLUSH = 1
    OPTIMIZE_REPORTS = 2

def read_toml(path: str | bytes, to_date: Any = None) -> dict[str, Any]: ...
def require_known(what: str, words: Sequence[str], known: Sequence[str]) -> None: ...
def nearest_to(word: str, known: Sequence[str]) -> str: ...
