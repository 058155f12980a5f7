"""The command line: what may be written, and what is wrong with it otherwise."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from typing import NoReturn

import pydoca

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"(\d+)\s*([KMG]?)(?:I?B)?", re.IGNORECASE | re.ASCII)

# Options of copy that only one of its sides has a use for.
_ONLY_FOR_DPU = ("dpu_device", "rep", "piece_size", "in_flight")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments, with the command's function as `run`. A wrong command line ends the process with code 2."""
    parser = _Parser(
        prog="pydoca",
        description="Devices of this machine's BlueField, real or simulated, and a copy between its two sides.",
    )
    parser.add_argument("--version", action="version", version=f"pydoca {pydoca.__version__}")
    parser.set_defaults(debug=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_devices(commands)
    _add_caps(commands)
    copy = _add_copy(commands)
    arguments = parser.parse_args(argv)
    if arguments.run is _run_copy:
        _check_copy(copy, arguments)
    return arguments


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"pydoca: {message}; see {self.prog} --help\n")


def _add_command(
    commands: argparse._SubParsersAction[_Parser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    description: str,
    usage: str | None = None,
) -> _Parser:
    parser = commands.add_parser(name, description=description, help=description, usage=usage, allow_abbrev=False)
    parser.set_defaults(run=run)
    parser.add_argument("--json", action="store_true", help="write one JSON document instead of text")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error (so does PYDOCA_DEBUG=1)")
    return parser


def _add_devices(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _add_command(commands, "devices", _run_devices, "List the devices of this machine.")
    parser.add_argument("--side", choices=["host", "dpu"], help="only devices of this side of the PCIe link")
    parser.add_argument(
        "--representors", action="store_true", help="also list the representors that each DPU device holds"
    )


def _add_caps(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _add_command(commands, "caps", _run_caps, "Show what a device can do, and its limits.")
    parser.add_argument("device", metavar="DEVICE", help="PCI address, name, ibdev name or interface")


def _add_copy(commands: argparse._SubParsersAction[_Parser]) -> _Parser:
    parser = _add_command(
        commands,
        "copy",
        _run_copy,
        "Copy a file from a host process to a DPU process by DMA. With --side, be one of the two.",
        usage="pydoca copy [options] SRC DST\n"
        "       pydoca copy --side dpu [options] DST\n"
        "       pydoca copy --side host [options] SRC",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="SRC is a regular file, DST a file or a directory")
    parser.add_argument("--side", choices=["host", "dpu"], help="run this half only; start the other one elsewhere")
    parser.add_argument("--name", help="the service by which the two halves find each other (default: copy)")
    parser.add_argument("--device", help="the host function (with --side dpu: the DPU device)")
    parser.add_argument("--dpu-device", help="the DPU device")
    parser.add_argument("--rep", help="the representor of the host function, on the DPU device")
    parser.add_argument(
        "--piece-size", type=_size, metavar="SIZE", help="bytes of one DMA task, as 65536, 64K or 2M (default: 512K)"
    )
    parser.add_argument("--in-flight", type=_count, metavar="N", help="DMA tasks under way at a time (default: 8)")
    parser.add_argument(
        "--timeout", type=_seconds, metavar="S", default=10.0, help="seconds to wait for the other half (default: 10)"
    )
    parser.add_argument("--quiet", action="store_true", help="write nothing but errors")
    parser.add_argument("--front-end", type=int, metavar="FD", help=argparse.SUPPRESS)
    return parser


def _check_copy(parser: _Parser, arguments: argparse.Namespace) -> None:
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


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: write bytes, or a number with K, M or G, as in 64K")
    return int(match[1]) * _UNITS[match[2].upper()]


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of tasks: it starts at 1")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write seconds, more than 0")
    return value


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
