"""`pydoca sync-event local` and `pydoca sync-event remote`: the two parts of DOCA's sample."""

from __future__ import annotations

import argparse

import pydoca
from pydoca.cli._arguments import Parser, Subparsers, add_command, add_group, add_timeout
from pydoca.cli._errors import CommandError, UsageError
from pydoca.cli._values import count, log_level, utf8

# The flags that a file may hold.
_FILE_SECTIONS = {
    "doca_general_flags": ("log-level", "sdk-log-level"),
    "doca_program_flags": (
        "pci-addr",
        "rep-pci-addr",
        "async",
        "async_num_tasks",
        "atomic",
        "output",
        "name",
        "timeout",
        "debug",
    ),
}


def add(subparsers: Subparsers) -> None:
    description = "A host process and a DPU process signal each other by sync events: DOCA's sample, in two commands."
    parts = add_group(subparsers, "sync-event", description)
    _add_part(parts, "local", "Create the events (on the host unless told), signal, wait for the answer.")
    _add_part(parts, "remote", "Import the events (on the DPU unless told), wait for the signal, answer it.")


def _add_part(parts: Subparsers, name: str, description: str) -> None:
    parser = add_command(parts, name, description, check=check, run=run)
    parser.set_defaults(part=name)
    parser.add_argument("-d", "--pci-addr", type=utf8, metavar="DEVICE", help="the device, by PCI address or by name")
    parser.add_argument(
        "-r", "--rep-pci-addr", type=utf8, metavar="REP", help="the host function's representor (DPU side only)"
    )
    parser.add_argument("--async", dest="is_async", action="store_true", help="asynchronous mode: operations are tasks")
    parser.add_argument(
        "--async_num_tasks", type=count, metavar="N", help="with --async: tasks of each kind (default: 1)"
    )
    parser.add_argument("--atomic", action="store_true", help="publish by update_add instead of update_set")
    _add_general_flags(parser)
    parser.add_argument("--output", choices=["text", "json"], default="text", help="how the result is written")
    parser.add_argument("--name", type=utf8, default="sync-event", help="where the two meet (default: sync-event)")
    add_timeout(parser, 30.0, "to wait for the other, and then for the handshake with it")


def _add_general_flags(parser: Parser) -> None:
    """Adds the flags of every program that uses DOCA's argument parser."""
    levels = "10 (none), 20 (critical), 30 (errors), 40 (warnings), 50 (info), 60 (debug), 70 (trace)"
    parser.add_argument(
        "-l", "--log-level", type=log_level, metavar="N", help=f"messages of the command on standard error: {levels}"
    )
    parser.add_argument("--sdk-log-level", type=log_level, metavar="N", help="messages of the engine there")
    parser.add_argument(
        "-j",
        "--json",
        dest="flag_file",
        metavar="FILE",
        help="flags from a JSON file; the command line wins",
    )
    parser.add_argument("-v", "--version", action="version", version=f"pydoca {pydoca.__version__}")


def check(arguments: argparse.Namespace) -> None:
    """Also takes the flags of a file into the arguments."""
    if arguments.flag_file is not None:
        _take_defaults(arguments.parser, arguments.flag_file)
        vars(arguments).update(vars(arguments.parse_again()))
    if arguments.async_num_tasks is not None and not arguments.is_async:
        raise UsageError("--async_num_tasks goes with --async: synchronous mode has no tasks")


def _take_defaults(parser: Parser, path: str) -> None:
    """Makes the flags of the file the parser's defaults, so that the command line wins."""
    from pydoca.cli.sync_event._flag_file import read_flags

    try:
        flags = read_flags(path, _FILE_SECTIONS)
    except CommandError as error:
        raise UsageError(str(error)) from None
    parser.source = path
    parser.set_defaults(**vars(parser.parse_args(flags)))
    parser.source = ""


def run(arguments: argparse.Namespace) -> int:
    from pydoca.cli.sync_event import _handshake

    return _handshake.run(arguments)
