"""The command line: the list of commands, and the parser made of them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

import pydoca
from pydoca.cli import caps, copy, devices, rdma, rdma_lab, sync_event
from pydoca.cli._arguments import Parser
from pydoca.cli._errors import UsageError

# In the order of the help. A command imports what its work needs in run(): `pydoca --help` imports no asyncio.
COMMANDS = (devices, caps, copy, sync_event, rdma, rdma_lab)


def create_parser() -> Parser:
    parser = Parser(
        prog="pydoca",
        description="Devices of this machine's BlueField, real or simulated, and what its two sides do together.",
    )
    parser.add_argument("--version", action="version", version=f"pydoca {pydoca.__version__}")
    parser.set_defaults(debug=False)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(subparsers)
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments, with the command's function as `run`. A wrong command line ends the process with code 2."""
    parser = create_parser()
    arguments = parser.parse_args(argv)
    arguments.parse_again = partial(parser.parse_args, argv)  # for a check that changes defaults
    try:
        arguments.check(arguments)
    except UsageError as error:
        arguments.parser.error(str(error))
    return arguments
