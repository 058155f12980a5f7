"""`pydoca sha`: digests of files by a device's SHA engine, as sha256sum prints them."""

from __future__ import annotations

import argparse

from pydoca.cli._arguments import Subparsers, add_command, add_json, add_profile, offer, tell_doca_flags
from pydoca.cli._candidates import devices
from pydoca.cli._values import utf8

_DESCRIPTION = "Compute digests of files with a device's SHA engine; the output is sha256sum's."
STANDARD_INPUT = "-"


def add(subparsers: Subparsers) -> None:
    parser = add_command(subparsers, "sha", _DESCRIPTION, check=check, run=run)
    tell_doca_flags(parser, {"-d --data": "FILE, or standard input", "-p --pci-addr": "--device"})
    add_json(parser)
    parser.add_argument(
        "files", nargs="*", metavar="FILE", default=[STANDARD_INPUT], help="- (the default) is standard input"
    )
    parser.add_argument("--algorithm", choices=("sha1", "sha256", "sha512"), default="sha256", help="(default: sha256)")
    device = "unless told, a DPU's device with a SHA engine"
    offer(parser.add_argument("--device", type=utf8, metavar="NAME", help=device), devices)
    add_profile(parser)


def check(arguments: argparse.Namespace) -> None:
    """argparse checks all of it."""


def run(arguments: argparse.Namespace) -> int:
    from pydoca.cli.sha import _run

    return _run.run(arguments)
