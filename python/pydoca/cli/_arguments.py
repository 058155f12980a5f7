"""The parser of command lines, and the options that several commands have."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, TypeAlias

import pydoca
from pydoca._text.nearest import nearest
from pydoca.cli._candidates import Candidates
from pydoca.cli._errors import UsageError, one_line
from pydoca.cli._values import log_level, place, port, seconds


class Parser(argparse.ArgumentParser):
    """A parser whose errors end the process with code 2 and one line, which names the command and its help."""

    usage_code = 2
    default_part = ""  # the part of a group that a command line means when its first word names none

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[argparse.Namespace, list[str]]:  # type: ignore[override]
        if self.default_part:
            args = self._with_part(list(args or []))
        return super().parse_known_args(args, namespace)

    def _with_part(self, words: list[str]) -> list[str]:
        parts = next(action for action in self._actions if isinstance(action, argparse._SubParsersAction))
        own = {*parts.choices, *self._option_string_actions}
        return words if words and words[0] in own else [self.default_part, *words]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Names the word that a wrong word resembles, or the place of a flag that precedes its command."""
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            near = nearest(str(value), action.choices)
            hint = f"did you mean {near!r}?" if near else f"there are {', '.join(action.choices)}"
            raise argparse.ArgumentError(action, f"{value!r} does not exist; {hint} (flags follow their command)")
        super()._check_value(action, value)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Writes the text; argparse would hide the errors of writing."""
        (file or sys.stderr).write(message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Ends the process; raises OSError when the help cannot be written."""
        sys.stdout.flush()
        super().exit(status, message)

    def error(self, message: str) -> NoReturn:
        self.exit(self.usage_code, f"{self.prog}: error: {one_line(message)}; see '{self.prog} --help'\n")


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
    _add_general_flags(parser)
    return parser


def offer(action: argparse.Action, values: Sequence[str] | Candidates) -> None:
    """Says what shells offer for the argument's value: words, or a function such as those of `_candidates.py`.

    The choices of an argument need no offer.
    """
    vars(action)["offers"] = values


def _add_general_flags(parser: Parser) -> None:
    """Adds the flags that every program has that uses DOCA's argument parser, and --debug."""
    flags = parser.add_argument_group("flags of every command")
    level = flags.add_argument(
        "-l",
        "--log-level",
        type=log_level,
        metavar="LEVEL",
        help="messages of the command on standard error, up to this level: 10=DISABLE, 20=CRITICAL, 30=ERROR, "
        "40=WARNING, 50=INFO, 60=DEBUG, 70=TRACE (so does PYDOCA_LOG_LEVEL)",
    )
    sdk_level = flags.add_argument(
        "--sdk-log-level",
        type=log_level,
        metavar="LEVEL",
        help="messages of the engine there (so does PYDOCA_SDK_LOG_LEVEL)",
    )
    for action in (level, sdk_level):
        offer(action, [each.name for each in pydoca.LogLevel])
    flags.add_argument(
        "-j",
        "--flag-file",
        metavar="FILE",
        help="flags from a JSON file, as DOCA's programs take by -j; the command line wins",
    )
    flags.add_argument("--debug", action="store_true", help="show the traceback of an error (so does PYDOCA_DEBUG=1)")
    add_version(flags)


def add_version(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "-v", "--version", action="version", version=f"pydoca {pydoca.__version__}", help="show pydoca's version"
    )


def add_group(
    subparsers: Subparsers, name: str, description: str, *, default: str = "", usage_code: int = 2
) -> Subparsers:
    """Returns the subparsers to which commands of two words, such as `pydoca rdma ping-pong`, add themselves.

    default: the part that a command line without one means. usage_code: the exit code of a wrong command line.
    """
    parser = subparsers.add_parser(name, description=description, help=description, allow_abbrev=False)
    parser.set_defaults(parser=parser)
    parser.default_part, parser.usage_code = default, usage_code
    add_version(parser)
    return parser.add_subparsers(title="parts", metavar="PART")


def tell_doca_flags(parser: Parser, flags: dict[str, str]) -> None:
    """Says for flags of DOCA's programs, which the command does not take, what it has instead."""
    parser.set_defaults(doca_flags={word: instead for words, instead in flags.items() for word in words.split()})


def add_json(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="write the result as one JSON document")


def add_quiet(parser: Parser) -> None:
    parser.add_argument("--quiet", action="store_true", help="write nothing but errors")


def add_side(parser: Parser, help: str) -> None:
    parser.add_argument("--side", choices=["host", "dpu"], help=help)


def add_profile(parser: Parser) -> None:
    parser.add_argument(
        "--profile",
        choices=("bluefield2", "bluefield3"),
        help="simulate the guide's machine with such cards; a BlueField-2 has a SHA engine",
    )


def load_profile(arguments: argparse.Namespace) -> None:
    """Simulates the machine that --profile names, if it is given."""
    if arguments.profile is not None:
        pydoca.sim.load_topology(pydoca.sim.default_topology(arguments.profile))


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
