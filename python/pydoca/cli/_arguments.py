"""The parser of command lines, and the options that several commands have."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import NoReturn, TypeAlias

from pydoca.cli._errors import UsageError, one_line
from pydoca.cli._values import place, port, seconds


class Parser(argparse.ArgumentParser):
    """A wrong command line ends the process with code 2 and one line."""

    source = ""  # the file whose flags are being parsed

    def error(self, message: str) -> NoReturn:
        where = f"{self.source}: " if self.source else ""
        self.exit(2, f"pydoca: {one_line(where + message)}; see {self.prog} --help\n")


Subparsers: TypeAlias = "argparse._SubParsersAction[Parser]"


def add_command(
    subparsers: Subparsers,
    name: str,
    description: str,
    *,
    check: Callable[[argparse.Namespace], None],
    run: Callable[[argparse.Namespace], int],
    usage: str | None = None,
) -> Parser:
    """Returns the parser of a new command; the arguments that it parses have the command's check and run."""
    parser = subparsers.add_parser(name, description=description, help=description, usage=usage, allow_abbrev=False)
    parser.set_defaults(check=check, run=run, parser=parser)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error (so does PYDOCA_DEBUG=1)")
    return parser


def add_group(subparsers: Subparsers, name: str, description: str) -> Subparsers:
    """Returns the subparsers to which commands of two words, such as `pydoca rdma ping-pong`, add themselves."""
    parser = subparsers.add_parser(name, description=description, help=description, allow_abbrev=False)
    return parser.add_subparsers(title="parts", metavar="PART", required=True)


def add_json(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="write one JSON document instead of text")


def add_quiet(parser: Parser) -> None:
    parser.add_argument("--quiet", action="store_true", help="write nothing but errors")


def add_side(parser: Parser, help: str) -> None:
    parser.add_argument("--side", choices=["host", "dpu"], help=help)


def add_timeout(parser: Parser, default: float, what: str) -> None:
    parser.add_argument(
        "--timeout", type=seconds, metavar="S", default=default, help=f"seconds {what} (default: {default:g})"
    )


def add_rdma_meeting(parser: Parser) -> None:
    """Adds the options by which the two halves of a command find each other over RDMA."""
    parser.add_argument("--listen", type=port, metavar="PORT", help="over RDMA: wait for the other half at this port")
    parser.add_argument(
        "--connect", type=place, metavar="ADDRESS:PORT", help="over RDMA: where the other half listens; also NAME:PORT"
    )
    parser.add_argument(
        "--backend", choices=["sim", "verbs"], help="devices of this backend only (so does PYDOCA_BACKEND)"
    )


def check_rdma_meeting(arguments: argparse.Namespace) -> None:
    if arguments.listen is not None and arguments.connect is not None:
        raise UsageError("--listen and --connect are the two halves: give one of them")


def refuse_given(arguments: argparse.Namespace, options: Iterable[str], why: str) -> None:
    """Raises UsageError for the first of these options that is given; none of them has a default."""
    for option in options:
        if getattr(arguments, option) is not None:
            raise UsageError(f"--{option.replace('_', '-')} {why}")
