"""`pydoca explain NAME`: what a name of DOCA or pydoca means, its states and its errors."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from pydoca.cli._arguments import Subparsers, add_command, add_json, offer
from pydoca.cli._errors import CommandError
from pydoca.cli._output import print_json
from pydoca.cli._values import utf8


def add(subparsers: Subparsers) -> None:
    description = "Explain a name of DOCA or pydoca: a function, a struct, a status or a state."
    parser = add_command(subparsers, "explain", description, check=check, run=run)
    add_json(parser)
    name = parser.add_argument(
        "name",
        type=utf8,
        metavar="NAME",
        help="such as doca_mmap_create, Mmap.export_pci, DOCA_ERROR_IN_USE or DOCA_CTX_STATE_STOPPING",
    )
    offer(name, explained)


def explained(word: str) -> Iterator[tuple[str, str]]:
    """The names, for shells, which take those without blanks."""
    from pydoca.cli.explain._names import Names
    from pydoca.cli.explain._table import load

    return ((name, "") for name in Names(load()).known() if " " not in name)


def check(arguments: argparse.Namespace) -> None:
    """argparse checks all of it."""


def run(arguments: argparse.Namespace) -> int:
    import shutil

    from pydoca.cli.explain._document import document_of
    from pydoca.cli.explain._names import Names, title_of
    from pydoca.cli.explain._table import load
    from pydoca.cli.explain._text import text_of

    table = load()
    names = Names(table)
    answers = names.find(arguments.name)
    if len(answers) != 1:
        meant = [title_of(answer) for answer in answers]
        raise CommandError(_which(arguments.name, meant, names.similar(arguments.name)))
    document = document_of(answers[0], table)
    if arguments.json:
        print_json(document)
    else:
        print(text_of(document, min(shutil.get_terminal_size().columns, 100)))
    return 0


def _which(name: str, meant: list[str], similar: list[str]) -> str:
    if meant:
        return f'"{name}" can be one of {", ".join(meant)}: name one of them'
    known = f"did you mean {', '.join(similar)}?" if similar else "pydoca --help lists what there is"
    if name.lower().startswith("doca_"):
        known += " Libraries beside DOCA Core, such as DOCA Flow, are not here."
    return f'"{name}" is not a name of DOCA Core or pydoca; {known}'
