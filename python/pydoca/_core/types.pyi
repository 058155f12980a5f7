from collections.abc import Sequence
from enum import IntEnum, IntFlag

class Access(IntFlag):
    """The operations on a memory map's range that devices and peers may do. The local device may always
    read. PCI flags are for the other side of the PCIe link; RDMA flags are for network peers.
    """

    LOCAL_READ_ONLY = 0
    LOCAL_READ_WRITE = 1
    RDMA_READ = 2
    RDMA_WRITE = 4
    RDMA_ATOMIC = 8
    PCI_READ_ONLY = 16
    PCI_READ_WRITE = 32
    PCI_RELAXED_ORDERING = 64

class PciFuncType(IntEnum):
    """The type of a function: physical function, virtual function or scalable function."""

    PF = 0
    VF = 1
    SF = 2

class RepFilter(IntFlag):
    """The representors that a list contains."""

    ALL = 0
    NET = 2
    EMULATED = 4

class Side(IntEnum):
    """The side of the PCIe link on which a function appears."""

    HOST = 0
    DPU = 1

class SubmitFlags(IntFlag):
    """Flags of a submission. FLUSH posts the task and every task that is submitted and not yet posted.
    Without FLUSH the task may stay unposted until the next flush.
    """

    NONE = 0
    FLUSH = 1
    OPTIMIZE_REPORTS = 2

def require_known(what: str, words: Sequence[str], known: Sequence[str]) -> None:
    """Raises InvalidValueError for the first unknown word. The message has the nearest known word."""
