"""`pydoca rdma`: the commands that measure and try RDMA."""

from __future__ import annotations

from pydoca.cli._arguments import Subparsers, add_group
from pydoca.cli.rdma import ping_pong

PARTS = (ping_pong,)


def add(subparsers: Subparsers) -> None:
    parts = add_group(subparsers, "rdma", "Measure and try RDMA.")
    for part in PARTS:
        part.add(parts)
