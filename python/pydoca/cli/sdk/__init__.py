"""`pydoca sdk`: headers and a library, with which programs in C for DOCA are built and run without a card."""

from __future__ import annotations

import argparse

from pydoca.cli._arguments import Subparsers, add_command, add_json, add_quiet

_DESCRIPTION = "Write the SDK for programs in C: DOCA's headers, a library, and what pkg-config and CMake read."


def add(subparsers: Subparsers) -> None:
    parser = add_command(subparsers, "sdk", _DESCRIPTION, check=check, run=run)
    add_json(parser)
    add_quiet(parser)
    parser.add_argument(
        "--prefix",
        metavar="DIR",
        required=True,
        help="where to write include/, lib/ and share/; an SDK there is replaced",
    )
    parser.add_argument(
        "--side",
        choices=["host", "dpu"],
        required=True,
        help="the side of the PCIe link whose devices the programs see; each side has a DIR of its own",
    )


def check(arguments: argparse.Namespace) -> None:
    """argparse checks all of it."""


def run(arguments: argparse.Namespace) -> int:
    from pydoca.cli.sdk import _run

    return _run.run(arguments)
