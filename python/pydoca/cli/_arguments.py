"""The command line: what may be written, and what is wrong with it otherwise."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import NoReturn

import pydoca
from pydoca.cli._errors import CommandError, one_line
from pydoca.cli._flag_file import read_flags
from pydoca.cli._values import count, log_level, place, port, seconds, size, utf8

# What a guest of the lab boots with, and how many processors its machine can have.
_LEAST_MEMORY = 256 << 20
_MOST_CPUS = 255

# Options of copy that only one of its sides has a use for.
_ONLY_FOR_DPU = ("dpu_device", "rep", "piece_size", "in_flight")

# What a file of flags for sync-event may hold.
_PROGRAM_FLAGS = (
    "pci-addr",
    "rep-pci-addr",
    "async",
    "async_num_tasks",
    "atomic",
    "output",
    "name",
    "timeout",
    "debug",
)
_FILE_SECTIONS = {
    "doca_general_flags": ("log-level", "sdk-log-level"),
    "doca_program_flags": _PROGRAM_FLAGS,
}


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments, with the command's function as `run`. A wrong command line ends the process with code 2."""
    parser = _Parser(
        prog="pydoca",
        description="Devices of this machine's BlueField, real or simulated, and what its two sides do together.",
    )
    parser.add_argument("--version", action="version", version=f"pydoca {pydoca.__version__}")
    parser.set_defaults(debug=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_devices(commands)
    _add_caps(commands)
    copy = _add_copy(commands)
    _add_sync_event(commands)
    rdma = _add_rdma(commands)
    rdma_lab = _add_rdma_lab(commands)
    arguments = parser.parse_args(argv)
    if arguments.run is _run_copy:
        _check_copy(copy, arguments)
    if arguments.run is _run_ping_pong:
        _check_ping_pong(rdma, arguments)
    if arguments.run is _run_rdma_lab:
        _check_rdma_lab(rdma_lab, arguments)
    if arguments.run is _run_sync_event:
        arguments = _complete_sync_event(parser, argv, arguments)
    return arguments


class _Parser(argparse.ArgumentParser):
    source = ""  # the file that the flags at hand come from

    def error(self, message: str) -> NoReturn:
        where = f"{self.source}: " if self.source else ""
        self.exit(2, f"pydoca: {one_line(where + message)}; see {self.prog} --help\n")


def _add_command(
    commands: argparse._SubParsersAction[_Parser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    description: str,
    usage: str | None = None,
) -> _Parser:
    parser = commands.add_parser(name, description=description, help=description, usage=usage, allow_abbrev=False)
    parser.set_defaults(run=run)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error (so does PYDOCA_DEBUG=1)")
    return parser


def _add_json(parser: _Parser) -> None:
    parser.add_argument("--json", action="store_true", help="write one JSON document instead of text")


def _add_devices(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _add_command(commands, "devices", _run_devices, "List the devices of this machine.")
    _add_json(parser)
    parser.add_argument("--side", choices=["host", "dpu"], help="only devices of this side of the PCIe link")
    parser.add_argument(
        "--representors", action="store_true", help="also list the representors that each DPU device holds"
    )


def _add_caps(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _add_command(commands, "caps", _run_caps, "Show what a device can do, and its limits.")
    _add_json(parser)
    parser.add_argument("device", type=utf8, metavar="DEVICE", help="PCI address, name, ibdev name or interface")
    parser.add_argument("--side", choices=["host", "dpu"], help="where, if a device of that name is on both")


def _add_copy(commands: argparse._SubParsersAction[_Parser]) -> _Parser:
    parser = _add_command(
        commands,
        "copy",
        _run_copy,
        "Copy a file from a host process to a DPU process by DMA. With --side, be one of the two.",
        usage="pydoca copy [options] SRC DST\n"
        "       pydoca copy --side dpu [options] DST\n"
        "       pydoca copy --side host [options] SRC\n"
        "       pydoca copy --transport rdma --listen PORT [options] DST\n"
        "       pydoca copy --transport rdma --connect ADDRESS:PORT [options] SRC",
    )
    _add_json(parser)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="SRC is a regular file, DST a file or a directory")
    parser.add_argument("--side", choices=["host", "dpu"], help="run this half only; start the other one elsewhere")
    parser.add_argument(
        "--transport",
        choices=["pci", "rdma"],
        default="pci",
        help="between the two sides, or between hosts (default: pci)",
    )
    _add_meeting(parser)
    parser.add_argument("--name", type=utf8, help="the service by which the two halves find each other (default: copy)")
    parser.add_argument("--device", type=utf8, help="the host function (with --side dpu: the DPU device)")
    parser.add_argument("--dpu-device", type=utf8, help="the DPU device")
    parser.add_argument("--rep", type=utf8, help="the representor of the host function, on the DPU device")
    parser.add_argument(
        "--piece-size",
        type=size,
        metavar="SIZE",
        help="bytes of one DMA task, as 65536, 64K or 2M (default: 512K)",
    )
    parser.add_argument("--in-flight", type=count, metavar="N", help="DMA tasks under way at a time (default: 8)")
    parser.add_argument(
        "--timeout",
        type=seconds,
        metavar="S",
        default=10.0,
        help="seconds to wait for the other half (default: 10)",
    )
    parser.add_argument("--quiet", action="store_true", help="write nothing but errors")
    parser.add_argument("--front-end", type=int, metavar="FD", help=argparse.SUPPRESS)
    return parser


def _add_meeting(parser: _Parser) -> None:
    parser.add_argument("--listen", type=port, metavar="PORT", help="over RDMA: wait for the other half at this port")
    parser.add_argument(
        "--connect", type=place, metavar="ADDRESS:PORT", help="over RDMA: where the other half listens; also NAME:PORT"
    )
    parser.add_argument(
        "--backend", choices=["sim", "verbs"], help="devices of this kind only (so does PYDOCA_BACKEND)"
    )


def _check_meeting(parser: _Parser, arguments: argparse.Namespace) -> None:
    if arguments.listen is not None and arguments.connect is not None:
        parser.error("--listen and --connect are the two halves: give one of them")


def _check_ping_pong(parser: _Parser, arguments: argparse.Namespace) -> None:
    _check_meeting(parser, arguments)
    for option, default in (("size", 64), ("count", 1000)):
        if getattr(arguments, option) is None:
            setattr(arguments, option, default)
        elif arguments.listen is not None:
            parser.error(f"--{option} goes with --connect: the half that connects decides it")


def _check_copy_over_rdma(parser: _Parser, arguments: argparse.Namespace) -> None:
    _check_meeting(parser, arguments)
    if arguments.listen is None and arguments.connect is None:
        parser.error("--transport rdma needs --listen PORT, for DST, or --connect ADDRESS:PORT, for SRC")
    if len(arguments.paths) != 1:
        wanted = "DST, and no SRC" if arguments.connect is None else "SRC, and no DST"
        parser.error(f"this half of a copy over RDMA needs {wanted}, not {len(arguments.paths)} paths")
    for option in ("side", "name", "dpu_device", "rep"):
        if getattr(arguments, option) is not None:
            parser.error(f"--{option.replace('_', '-')} goes with --transport pci")
    for option in ("piece_size", "in_flight"):
        if arguments.connect is not None and getattr(arguments, option) is not None:
            parser.error(f"--{option.replace('_', '-')} goes with --listen: the half that reads decides it")


def _check_copy(parser: _Parser, arguments: argparse.Namespace) -> None:
    if arguments.transport == "rdma":
        return _check_copy_over_rdma(parser, arguments)
    if arguments.listen is not None or arguments.connect is not None:
        parser.error("--listen and --connect go with --transport rdma")
    wanted = {None: "SRC and DST", "host": "SRC, and no DST", "dpu": "DST, and no SRC"}[arguments.side]
    if len(arguments.paths) != (2 if arguments.side is None else 1):
        which = f"with --side {arguments.side}, " if arguments.side else ""
        parser.error(f"{which}copy needs {wanted}, not {len(arguments.paths)} paths")
    if arguments.side is None and arguments.name is not None:
        parser.error("--name goes with --side: one command makes up a name of its own")
    if arguments.side == "dpu" and arguments.device is not None and arguments.dpu_device is not None:
        parser.error("with --side dpu, --device and --dpu-device are the same: give one")
    for option in _ONLY_FOR_DPU:
        if arguments.side == "host" and getattr(arguments, option) is not None:
            parser.error(f"--{option.replace('_', '-')} goes with --side dpu: the DPU's half decides it")
    return None


def _add_rdma(commands: argparse._SubParsersAction[_Parser]) -> _Parser:
    description = "Measure and try RDMA."
    parser = commands.add_parser("rdma", description=description, help=description, allow_abbrev=False)
    parts = parser.add_subparsers(title="parts", metavar="PART", required=True)
    ping_pong = _add_command(
        parts,
        "ping-pong",
        _run_ping_pong,
        "Send a message to and fro, and tell how long that takes: within this process, or with --listen and --connect "
        "between two.",
    )
    _add_json(ping_pong)
    _add_meeting(ping_pong)
    ping_pong.add_argument("--device", help="PCI address, name, ibdev name or interface")
    whose = "not with --listen: the other half decides"
    ping_pong.add_argument("--size", type=size, metavar="SIZE", help=f"bytes of a message (default: 64; {whose})")
    ping_pong.add_argument("--count", type=count, metavar="N", help=f"round trips (default: 1000; {whose})")
    ping_pong.add_argument(
        "--timeout", type=seconds, metavar="S", default=10.0, help="seconds to wait for the other half (default: 10)"
    )
    ping_pong.add_argument("--quiet", action="store_true", help="write nothing but errors")
    return ping_pong


def _add_sync_event(commands: argparse._SubParsersAction[_Parser]) -> None:
    description = "A host process and a DPU process signal each other by sync events: DOCA's sample, in two commands."
    parser = commands.add_parser("sync-event", description=description, help=description, allow_abbrev=False)
    parts = parser.add_subparsers(title="parts", metavar="PART", required=True)
    _add_sync_event_part(parts, "local", "Create the events (on the host unless told), signal, wait for the answer.")
    _add_sync_event_part(parts, "remote", "Import the events (on the DPU unless told), wait for the signal, answer it.")


def _add_sync_event_part(parts: argparse._SubParsersAction[_Parser], name: str, description: str) -> None:
    parser = _add_command(parts, name, _run_sync_event, description)
    parser.set_defaults(part=name, parser=parser)
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
    parser.add_argument(
        "--timeout",
        type=seconds,
        metavar="S",
        default=30.0,
        help="seconds to wait for the other, and then for the handshake with it (default: 30)",
    )


def _add_general_flags(parser: _Parser) -> None:
    """Those of every program that has DOCA's argument parser."""
    levels = "10 (none), 20 (critical), 30 (errors), 40 (warnings), 50 (info), 60 (debug), 70 (trace)"
    parser.add_argument(
        "-l", "--log-level", type=log_level, metavar="N", help=f"what it tells on standard error: {levels}"
    )
    parser.add_argument("--sdk-log-level", type=log_level, metavar="N", help="what the engine tells there")
    parser.add_argument(
        "-j",
        "--json",
        dest="flag_file",
        metavar="FILE",
        help="flags from a JSON file; the command line wins",
    )
    parser.add_argument("-v", "--version", action="version", version=f"pydoca {pydoca.__version__}")


def _complete_sync_event(parser: _Parser, argv: Sequence[str], arguments: argparse.Namespace) -> argparse.Namespace:
    if arguments.flag_file is not None:
        _take_defaults(arguments.parser, arguments.flag_file)
        arguments = parser.parse_args(argv)
    if arguments.async_num_tasks is not None and not arguments.is_async:
        arguments.parser.error("--async_num_tasks goes with --async: synchronous mode has no tasks")
    return arguments


def _take_defaults(parser: _Parser, path: str) -> None:
    """What a file says holds where the command line says nothing."""
    try:
        flags = read_flags(path, _FILE_SECTIONS)
    except CommandError as error:
        parser.error(str(error))
    parser.source = path
    parser.set_defaults(**vars(parser.parse_args(flags)))
    parser.source = ""


def _add_rdma_lab(commands: argparse._SubParsersAction[_Parser]) -> _Parser:
    parser = _add_command(
        commands,
        "rdma-lab",
        _run_rdma_lab,
        "Run a command where there is a real RDMA device: a QEMU guest with Soft-RoCE, and this machine's files.",
        usage="pydoca rdma-lab [options] COMMAND...",
    )
    _add_json(parser)
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
    parser.add_argument(
        "--timeout", type=seconds, metavar="S", default=600.0, help="seconds until the guest is ended (default: 600)"
    )
    return parser


def _check_rdma_lab(parser: _Parser, arguments: argparse.Namespace) -> None:
    if arguments.command[:1] == ["--"]:
        arguments.command.pop(0)
    if not arguments.command:
        parser.error("rdma-lab needs the COMMAND to run")
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if not _LEAST_MEMORY <= arguments.memory <= most:
        limits = f"{_LEAST_MEMORY >> 20}M to {most >> 20}M, which this machine has"
        parser.error(f"--memory {arguments.memory >> 20}M: a guest can have {limits}")
    if arguments.cpus is not None and arguments.cpus > _MOST_CPUS:
        parser.error(f"--cpus {arguments.cpus}: a guest can have 1 to {_MOST_CPUS}")


# Commands are imported when they run: `pydoca --version` needs none of them, `pydoca devices` no asyncio.
def _run_devices(arguments: argparse.Namespace) -> int:
    from pydoca.cli._devices import run

    return run(arguments)


def _run_caps(arguments: argparse.Namespace) -> int:
    from pydoca.cli._caps import run

    return run(arguments)


def _run_copy(arguments: argparse.Namespace) -> int:
    from pydoca.cli._copy import run

    return run(arguments)


def _run_ping_pong(arguments: argparse.Namespace) -> int:
    from pydoca.cli._ping_pong import run

    return run(arguments)


def _run_sync_event(arguments: argparse.Namespace) -> int:
    from pydoca.cli._sync_event import run

    return run(arguments)


def _run_rdma_lab(arguments: argparse.Namespace) -> int:
    from pydoca.cli._rdma_lab import run

    return run(arguments)
