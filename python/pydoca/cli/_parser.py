"""The command line: the list of commands, and the parser made of them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pydoca.cli import caps, copy, devices, explain, graph, qualify, rdma, rdma_lab, sdk, sha, sync_event
from pydoca.cli._arguments import Parser, add_version
from pydoca.cli._descriptions import add_descriptions
from pydoca.cli._errors import UsageError
from pydoca.cli._flag_file import read_flags

# The order is that of the help. A command imports what its work needs in run(): `pydoca --help` imports no asyncio.
COMMANDS = (devices, caps, copy, sync_event, rdma, graph, sha, qualify, rdma_lab, sdk, explain)


def create_parser() -> Parser:
    """The only description of the command line, from which its help, completion and manual are made."""
    parser = Parser(
        prog="pydoca",
        description="Devices of this machine's BlueField, real or simulated, and what its two sides do together.",
        allow_abbrev=False,
    )
    parser.set_defaults(parser=parser)
    add_version(parser)
    add_descriptions(parser)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        command.add(subparsers)
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments, with the command's function as `run`. A wrong command line ends the process with code 2."""
    parser = create_parser()
    arguments = _parse(parser, argv)
    try:
        if arguments.flag_file is not None:
            # The values are defaults, so that the command line wins.
            arguments.parser.set_defaults(**read_flags(arguments.flag_file, arguments.parser))
            arguments = _parse(parser, argv)
        arguments.check(arguments)
    except UsageError as error:
        arguments.parser.error(str(error))
    return arguments


def _parse(parser: Parser, argv: Sequence[str]) -> argparse.Namespace:
    """The parsed words. An unknown word is the command's error, whose help says more than that of pydoca."""
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        arguments.parser.error(f"unrecognized arguments: {' '.join(unknown)}{_hint(arguments, unknown[0])}")
    if "run" not in arguments:
        arguments.parser.print_help(sys.stderr)
        arguments.parser.exit(arguments.parser.usage_code)
    return arguments


def _hint(arguments: argparse.Namespace, word: str) -> str:
    flag = word.partition("=")[0]
    if (instead := getattr(arguments, "doca_flags", {}).get(flag)) is not None:
        return f" ({flag} of DOCA's programs: {instead})"
    if flag in arguments.parser._option_string_actions:
        return f" (flags follow their command: {arguments.parser.prog} {flag})"
    return " (--json takes no file; flags come from a file by -j)" if getattr(arguments, "json", False) else ""
