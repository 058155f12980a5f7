"""`pydoca copy`: one half of a copy, or both."""

from __future__ import annotations

import argparse

from pydoca.cli._arguments import (
    Parser,
    Subparsers,
    add_command,
    add_json,
    add_quiet,
    add_rdma_meeting,
    add_side,
    add_timeout,
    check_rdma_meeting,
    offer,
    refuse_given,
    tell_doca_flags,
)
from pydoca.cli._candidates import devices, dpu_devices, representors
from pydoca.cli._errors import UsageError
from pydoca.cli._trace_file import add_trace
from pydoca.cli._values import count, size, utf8

_USAGE = """pydoca copy [options] SRC DST
       pydoca copy --side dpu [options] DST
       pydoca copy --side host [options] SRC
       pydoca copy --transport rdma --listen PORT [options] DST
       pydoca copy --transport rdma --connect ADDRESS:PORT [options] SRC"""

_DOCA_FLAGS = {
    "-f --file": "SRC or DST, without a flag",
    "-p --dev-pci --pci-addr": "--device, or --dpu-device",
    "-r --rep-pci --rep-pci-addr": "--rep",
    "-d --descriptor-path -b --buffer-path": "none is needed, as the two halves meet by --name",
}
_OF_PCI = ("side", "name", "dpu_device", "rep")
_OF_THE_READER = ("piece_size", "in_flight")


def add(subparsers: Subparsers) -> None:
    description = "Copy a file from a host process to a DPU process by DMA. With --side, be one of the two."
    parser = add_command(subparsers, "copy", description, check=check, run=run, usage=_USAGE)
    tell_doca_flags(parser, _DOCA_FLAGS)
    add_json(parser)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="SRC is a regular file, DST a file or a directory")
    add_side(parser, help="run this half only; start the other one elsewhere")
    parser.add_argument(
        "--transport",
        choices=["pci", "rdma"],
        default="pci",
        help="between the two sides, or between hosts (default: pci)",
    )
    add_rdma_meeting(parser)
    _add_pci_meeting(parser)
    _add_limits(parser)
    add_timeout(parser, 10.0, "to wait for the other half")
    add_quiet(parser)
    add_trace(parser)
    parser.add_argument("--front-end", type=int, metavar="FD", help=argparse.SUPPRESS)


def _add_pci_meeting(parser: Parser) -> None:
    parser.add_argument("--name", type=utf8, help="the service by which the two halves find each other (default: copy)")
    host = "the host function (with --side dpu: the DPU device)"
    rep = "the representor of the host function, on the DPU device"
    offer(parser.add_argument("--device", type=utf8, help=host), devices)
    offer(parser.add_argument("--dpu-device", type=utf8, help="the DPU device"), dpu_devices)
    offer(parser.add_argument("--rep", type=utf8, help=rep), representors)


def _add_limits(parser: Parser) -> None:
    parser.add_argument(
        "--piece-size",
        type=size,
        metavar="SIZE",
        help="bytes of one DMA task, as 65536, 64K or 2M (default: 512K)",
    )
    parser.add_argument("--in-flight", type=count, metavar="N", help="DMA tasks under way at a time (default: 8)")


def check(arguments: argparse.Namespace) -> None:
    if arguments.transport == "rdma":
        _check_over_rdma(arguments)
    else:
        _check_over_pci(arguments)


def _check_over_rdma(arguments: argparse.Namespace) -> None:
    check_rdma_meeting(arguments)
    if arguments.listen is None and arguments.connect is None:
        raise UsageError("--transport rdma needs --listen PORT, for DST, or --connect ADDRESS:PORT, for SRC")
    if len(arguments.paths) != 1:
        wanted = "DST, and no SRC" if arguments.connect is None else "SRC, and no DST"
        raise UsageError(f"this half of a copy over RDMA needs {wanted}, not {len(arguments.paths)} paths")
    refuse_given(arguments, _OF_PCI, "goes with --transport pci")
    if arguments.connect is not None:
        refuse_given(arguments, _OF_THE_READER, "goes with --listen: the half that reads decides it")


def _check_over_pci(arguments: argparse.Namespace) -> None:
    if arguments.listen is not None or arguments.connect is not None:
        raise UsageError("--listen and --connect go with --transport rdma")
    if arguments.backend == "verbs":
        raise UsageError("--backend verbs goes with --transport rdma: rdma-core does not reach across a PCIe link")
    wanted = {None: "SRC and DST", "host": "SRC, and no DST", "dpu": "DST, and no SRC"}[arguments.side]
    if len(arguments.paths) != (2 if arguments.side is None else 1):
        which = f"with --side {arguments.side}, " if arguments.side else ""
        raise UsageError(f"{which}copy needs {wanted}, not {len(arguments.paths)} paths")
    if arguments.side is None:
        refuse_given(arguments, ["name"], "goes with --side: one command makes up a name of its own")
    if arguments.side == "dpu" and arguments.device is not None and arguments.dpu_device is not None:
        raise UsageError("with --side dpu, --device and --dpu-device are the same: give one")
    if arguments.side == "host":
        refuse_given(
            arguments, ["dpu_device", "rep", *_OF_THE_READER], "goes with --side dpu: the DPU's half decides it"
        )


def run(arguments: argparse.Namespace) -> int:
    from pydoca.cli.copy import _run

    return _run.run(arguments)
