"""`pydoca rdma-lab`: one command in a guest that has RDMA devices."""

from __future__ import annotations

import argparse
import os

from pydoca.cli._arguments import Subparsers, add_command, add_json, add_timeout
from pydoca.cli._errors import UsageError
from pydoca.cli._values import count, size

# The least memory that a guest boots with, and the most processors that its machine can have.
_LEAST_MEMORY = 256 << 20
_MOST_CPUS = 255


def add(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "rdma-lab",
        "Run a command where there is a real RDMA device: a QEMU guest with Soft-RoCE, and this machine's files.",
        check=check,
        run=run,
        usage="pydoca rdma-lab [options] COMMAND...",
    )
    add_json(parser)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="run in the current directory")
    parser.add_argument("--pair", action="store_true", help="two devices, rxe0 and rxe1, with a cable between them")
    parser.add_argument(
        "--results", metavar="DIR", help="what the command writes there stays; all else goes with the guest"
    )
    parser.add_argument("--memory", type=size, metavar="SIZE", default="2G", help="the guest's (default: 2G)")
    parser.add_argument("--cpus", type=count, metavar="N", help="the guest's (default: as here, at most 4)")
    parser.add_argument(
        "--accel", choices=["auto", "kvm", "tcg"], default="auto", help="how QEMU runs it (default: kvm where it can)"
    )
    add_timeout(parser, 600.0, "until the guest is ended")


def check(arguments: argparse.Namespace) -> None:
    if arguments.command[:1] == ["--"]:
        arguments.command.pop(0)
    if not arguments.command:
        raise UsageError("rdma-lab needs the COMMAND to run")
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if not _LEAST_MEMORY <= arguments.memory <= most:
        limits = f"{_LEAST_MEMORY >> 20}M to {most >> 20}M, which this machine has"
        raise UsageError(f"--memory {arguments.memory >> 20}M: a guest can have {limits}")
    if arguments.cpus is not None and arguments.cpus > _MOST_CPUS:
        raise UsageError(f"--cpus {arguments.cpus}: a guest can have 1 to {_MOST_CPUS}")


def run(arguments: argparse.Namespace) -> int:
    from pydoca.cli.rdma_lab import _run

    return _run.run(arguments)
