"""`pydoca devices`: the functions of this machine, and the representors behind them."""

from __future__ import annotations

import argparse
import fnmatch
import os
import re
import sys
from typing import Any

import pydoca
from pydoca.cli import _candidates as candidates
from pydoca.cli._arguments import Subparsers, add_command, add_json, add_side, offer
from pydoca.cli._errors import one_line
from pydoca.cli._output import print_json, print_table, rate_text

_HEADS = ("NAME", "PCI ADDRESS", "TYPE", "SIDE", "BACKEND", "PROFILE", "INTERFACE", "IBDEV", "RATE")
_REPRESENTOR_HEADS = ("DEVICE", "REPRESENTOR", "PCI ADDRESS", "TYPE", "INTERFACE")


def add(subparsers: Subparsers) -> None:
    parser = add_command(subparsers, "devices", "List the devices of this machine.", check=check, run=run)
    match = parser.add_argument(
        "--match",
        action="append",
        metavar="PATTERN",
        help="only devices whose name, PCI address or interface fits, such as 'card25?-p*'; may be repeated",
    )
    offer(match, candidates.devices)
    add_json(parser)
    add_side(parser, help="only devices of this side of the PCIe link")
    parser.add_argument(
        "--representors", action="store_true", help="also list the representors that each DPU device holds"
    )


def check(arguments: argparse.Namespace) -> None:
    """argparse checks all of it."""


def run(arguments: argparse.Namespace) -> int:
    infos = _fitting(pydoca.devices(side=arguments.side), arguments.match)
    absent = pydoca.unavailable_backends()
    representors = {info: _representors(info) for info in infos} if arguments.representors else None
    if arguments.json:
        documents = [_document(info, representors) for info in infos]
        print_json({"devices": documents, "unavailable_backends": absent})
    else:
        print_table(_HEADS, [_row(info) for info in infos])
        hidden = os.environ.get("PYDOCA_SIDE")
        if not infos and hidden:
            print(f"pydoca: PYDOCA_SIDE={hidden} hides the devices of the other side", file=sys.stderr)
        if representors is not None:
            _print_representors(representors)
        _print_absent(absent)
    return 0


def _fitting(infos: list[pydoca.DeviceInfo], patterns: list[str] | None) -> list[pydoca.DeviceInfo]:
    """The functions that a pattern fits. Raises NotFoundError for a pattern that fits none."""
    if not patterns:
        return infos
    found: set[int] = set()
    for pattern in patterns:
        fits = re.compile(fnmatch.translate(pattern)).match
        new = {
            index for index, info in enumerate(infos) if fits(info.name) or fits(info.pci_addr) or fits(info.iface_name)
        }
        if not new:
            raise pydoca.NotFoundError(f"no device fits {pattern!r}; `pydoca devices` lists all {len(infos)}")
        found |= new
    return [infos[index] for index in sorted(found)]


def _representors(info: pydoca.DeviceInfo) -> list[pydoca.RepresentorInfo]:
    """The device's representors; empty where the device may not see any, as on the host."""
    if not info.supports("representors"):
        return []
    with pydoca.open_device(info) as device:
        return device.representors()


def _document(
    info: pydoca.DeviceInfo, representors: dict[pydoca.DeviceInfo, list[pydoca.RepresentorInfo]] | None
) -> dict[str, Any]:
    document = dict(info.to_dict())
    if representors is not None:
        document["representors"] = [representor.to_dict() for representor in representors[info]]
    return document


def _row(info: pydoca.DeviceInfo) -> list[str]:
    function, side = info.func_type.name, info.side.name.lower()
    address, rate = info.pci_addr or "-", rate_text(info.active_rate)
    return [info.name, address, function, side, info.backend, info.profile, info.iface_name, info.ibdev_name, rate]


def _print_representors(representors: dict[pydoca.DeviceInfo, list[pydoca.RepresentorInfo]]) -> None:
    rows = [
        [info.name, rep.name, rep.pci_addr, rep.func_type.name, rep.iface_name]
        for info, reps in representors.items()
        for rep in reps
    ]
    print()
    if rows:
        print_table(_REPRESENTOR_HEADS, rows)
    else:
        print("no representors: only DPU devices have them")


def _print_absent(absent: dict[str, str]) -> None:
    if absent:
        print()
    for name, reason in absent.items():
        print(one_line(f"{name}: unavailable: {reason}"))
