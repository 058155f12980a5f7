"""RDMA between contexts of this process: transfers, permissions, peers, speed."""

from pydoca.qualify.bench.rdma.pair import ACCESS, Pair
from pydoca.qualify.bench.rdma.peers import events, several, successors
from pydoca.qualify.bench.rdma.permissions import cells
from pydoca.qualify.bench.rdma.speed import Writes, bandwidth, late_share, write_latency
from pydoca.qualify.bench.rdma.transfers import atomics, integrity, messages

__all__ = [
    "ACCESS",
    "Pair",
    "Writes",
    "atomics",
    "bandwidth",
    "cells",
    "events",
    "integrity",
    "late_share",
    "messages",
    "several",
    "successors",
    "write_latency",
]
