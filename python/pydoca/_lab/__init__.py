"""A QEMU guest with real RDMA verbs (Soft-RoCE), whose root is this machine's root file system, seen read-only."""

from pydoca._lab._errors import LabError
from pydoca._lab._guest import Job, Outcome, run

__all__ = ["Job", "LabError", "Outcome", "run"]
