"""`pydoca rdma ping-pong`: how long a message takes to and fro."""

from __future__ import annotations

import argparse

from pydoca.cli._arguments import (
    Subparsers,
    add_command,
    add_json,
    add_quiet,
    add_rdma_meeting,
    add_timeout,
    check_rdma_meeting,
    offer,
    refuse_given,
)
from pydoca.cli._candidates import devices
from pydoca.cli._values import count, size

_SIZE, _COUNT = 64, 1000


def add(subparsers: Subparsers) -> None:
    description = (
        "Send a message to and fro, and tell how long that takes: within this process, or with --listen and --connect "
        "between two."
    )
    parser = add_command(subparsers, "ping-pong", description, check=check, run=run)
    add_json(parser)
    add_rdma_meeting(parser)
    offer(parser.add_argument("--device", help="PCI address, name, ibdev name or interface"), devices)
    whose = "not with --listen: the other half decides"
    parser.add_argument("--size", type=size, metavar="SIZE", help=f"bytes of a message (default: {_SIZE}; {whose})")
    parser.add_argument("--count", type=count, metavar="N", help=f"round trips (default: {_COUNT}; {whose})")
    add_timeout(parser, 10.0, "to wait for the other half")
    add_quiet(parser)


def check(arguments: argparse.Namespace) -> None:
    check_rdma_meeting(arguments)
    if arguments.listen is not None:
        refuse_given(arguments, ("size", "count"), "goes with --connect: the half that connects decides it")
    arguments.size = arguments.size or _SIZE
    arguments.count = arguments.count or _COUNT


def run(arguments: argparse.Namespace) -> int:
    from pydoca.cli.rdma import _round_trips

    return _round_trips.run(arguments)
