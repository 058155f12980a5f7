"""`pydoca sync-event local` and `pydoca sync-event remote`: the two parts of DOCA's sample."""

from __future__ import annotations

import argparse

from pydoca.cli._arguments import Subparsers, add_command, add_group, add_json, add_timeout, offer
from pydoca.cli._candidates import devices, representors
from pydoca.cli._errors import UsageError
from pydoca.cli._values import count, utf8


def add(subparsers: Subparsers) -> None:
    description = "A host process and a DPU process signal each other by a sync event: DOCA's sample, in two commands."
    parts = add_group(subparsers, "sync-event", description)
    _add_part(parts, "local", "Create the event (on the host unless told), signal, wait for the answer.")
    _add_part(parts, "remote", "Import the event (on the DPU unless told), wait for the signal, answer it.")


def _add_part(parts: Subparsers, name: str, description: str) -> None:
    parser = add_command(parts, name, description, check=check, run=run)
    parser.set_defaults(part=name)
    device = "the device, by PCI address or by name"
    offer(parser.add_argument("-d", "--pci-addr", type=utf8, metavar="DEVICE", help=device), devices)
    rep = parser.add_argument(
        *("-r", "--rep-pci-addr", "--rep-pci"),  # the second long name is that of later releases
        type=utf8,
        metavar="REP",
        help="the host function's representor (DPU side only)",
    )
    offer(rep, representors)
    parser.add_argument("--async", dest="is_async", action="store_true", help="asynchronous mode: operations are tasks")
    parser.add_argument(
        *("--async_num_tasks", "--async-num-tasks", "--qdepth"),  # the names in the releases of DOCA
        type=count,
        metavar="N",
        help="with --async: tasks of each kind (default: 1)",
    )
    parser.add_argument("--atomic", action="store_true", help="publish by update_add instead of update_set")
    add_json(parser)
    parser.add_argument("--name", type=utf8, default="sync-event", help="where the two meet (default: sync-event)")
    add_timeout(parser, 30.0, "to wait for the other, and then for the handshake with it")


def check(arguments: argparse.Namespace) -> None:
    if arguments.async_num_tasks is not None and not arguments.is_async:
        raise UsageError("--async_num_tasks goes with --async: synchronous mode has no tasks")


def run(arguments: argparse.Namespace) -> int:
    from pydoca.cli.sync_event import _handshake

    return _handshake.run(arguments)
