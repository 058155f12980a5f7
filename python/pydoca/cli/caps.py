"""`pydoca caps DEVICE`: what a device can do, and its limits."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

import pydoca
from pydoca.cli._arguments import Subparsers, add_command, add_json, add_side, offer
from pydoca.cli._candidates import devices
from pydoca.cli._output import bytes_text, print_json, print_table
from pydoca.cli._values import utf8


def add(subparsers: Subparsers) -> None:
    parser = add_command(subparsers, "caps", "Show what a device can do, and its limits.", check=check, run=run)
    add_json(parser)
    offer(
        parser.add_argument("device", type=utf8, metavar="DEVICE", help="PCI address, name, ibdev name or interface"),
        devices,
    )
    add_side(parser, help="where, if a device of that name is on both")


def check(arguments: argparse.Namespace) -> None:
    """argparse checks all of it."""


def run(arguments: argparse.Namespace) -> int:
    with pydoca.open_device(arguments.device, side=arguments.side) as device:
        info = device.info
    document = info.to_dict()
    if arguments.json:
        print_json(document)
        return 0
    print(f"{info.name}  {info.pci_addr}  {info.side.name.lower()}  {info.backend}  {info.profile}\n")
    print_table(("CAPABILITY", "VALUE"), list(_rows(document["capabilities"])))
    return 0


def _rows(capabilities: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in capabilities.items():
        if isinstance(value, Mapping):
            yield from _rows(value, f"{prefix}{key}.")
        else:
            yield prefix + key, _text(key, value)


def _text(key: str, value: Any) -> str:
    if value is None:
        return "no"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return bytes_text(value) if key.endswith("_size") and not key.endswith("queue_size") else str(value)
