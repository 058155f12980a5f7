"""`pydoca --completion SHELL` and `pydoca --man`: what other programs read about the command line.

Both come from the parser, by libraries of the extra `cli`, which are imported only here.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from typing import Any

import pydoca
from pydoca.cli import _completion

_SHELLS = ("bash", "zsh", "fish")
# Sections of the manual page that the parser does not have.
_SECTIONS = {
    "EXIT STATUS": {
        "0": "success",
        "1": "an error, which one line on standard error explains",
        "2": "a wrong command line",
        "124, 125, 127": "of rdma-lab: --timeout has passed; there is no guest; there is no COMMAND",
        "128 + N": "signal N has ended the command: 130 after Ctrl-C",
    },
    "ENVIRONMENT": {
        "PYDOCA_ASYNCIO_INTERNALS": "0: awaits do not read asyncio's private state",
        "PYDOCA_BACKEND": "sim or verbs: only devices of this kind",
        "PYDOCA_DEBUG": "1: errors show their traceback",
        "PYDOCA_EXPLORE_SEED": "the one seed that explore() runs, to repeat a failure",
        "PYDOCA_FABRIC": "the name of the simulated PCIe domain in which processes meet (default)",
        "PYDOCA_FABRIC_DIR": "the directory of the fabrics; processes in different containers share it",
        "PYDOCA_FAULTS": "a TOML file with a fault plan: devices misbehave on purpose",
        "PYDOCA_LATENCY": "low, balanced or power: how long an event loop looks for completions before it sleeps",
        "PYDOCA_LOG_LEVEL": "as --log-level",
        "PYDOCA_PROFILE": "the cards of the simulated machine: bluefield2, bluefield3 or all",
        "PYDOCA_SDK_LOG_LEVEL": "as --sdk-log-level",
        "PYDOCA_SIDE": "host or dpu: only devices of this side",
        "PYDOCA_TIMING": "a TOML file that says how long operations of simulated devices take",
        "PYDOCA_TOPOLOGY": "a TOML file with other devices to simulate",
    },
}


def add_descriptions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--completion",
        action=_Print,
        make=_completion.script,
        choices=_SHELLS,
        metavar="SHELL",
        help=f"write what completes command lines in SHELL ({', '.join(_SHELLS)})",
    )
    parser.add_argument("--man", action=_Print, make=_manual, nargs=0, help="write the manual page, in roff")
    # The scripts of --completion call it.
    parser.add_argument("--complete-values", action=_Print, make=_values, nargs=2, help=argparse.SUPPRESS)


class _Print(argparse.Action):
    """Writes a text about the parser and ends the process, as --help does."""

    def __init__(self, make: Callable[[argparse.ArgumentParser, Any], str], **options: Any) -> None:
        super().__init__(**options, default=argparse.SUPPRESS)
        self._make = make

    def __call__(self, parser: argparse.ArgumentParser, _: object, value: Any, option: str | None = None) -> None:
        try:
            text = self._make(parser, value)
        except ModuleNotFoundError as error:
            parser.exit(1, f"pydoca: {option} needs {error.name}: pip install 'pydoca[cli]'\n")
        for line in text.splitlines():  # the stream keeps what it cannot write, unless that is large
            print(line)
        parser.exit()


def _values(parser: argparse.ArgumentParser, given: list[str]) -> str:
    """The values for a word. Nothing about a failure: it would stand in the line that the user types."""
    kind, word = given
    with contextlib.suppress(Exception):
        return "\n".join(_completion.values(parser, kind, word))
    return ""


def _manual(parser: argparse.ArgumentParser, _: object) -> str:
    from argparse_manpage.manpage import Manpage

    for part in _completion.parts(parser):
        part.description = None  # the page has it already, as the help of the command
    page = Manpage(parser, format="single-commands-section")
    page.description = "devices of a BlueField, and what its two sides do together"
    page.source, page.manual = f"pydoca {pydoca.__version__}", "pydoca"
    for title, entries in _SECTIONS.items():
        page.add_section(title, "=", "\n".join(f".TP\n.B {name}\n{text}" for name, text in entries.items()))
    return str(page)
