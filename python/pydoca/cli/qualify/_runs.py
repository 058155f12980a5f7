"""Functions for the commands that read runs which have ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydoca._text.quantities import to_share
from pydoca.cli._arguments import Parser
from pydoca.cli._errors import CommandError

_SHOWN = 5  # runs in a directory
_WRONG = 5  # paths that are not runs
USAGE = 4  # the exit code of a wrong command line, for every command of qualification

if TYPE_CHECKING:
    from pydoca.qualify.history import Runs


class Refused(CommandError):
    """The runs, or what is to be done with them, are not right."""

    exit_code = USAGE


def add_runs(parser: Parser, help: str) -> None:
    parser.add_argument("runs", nargs="+", metavar="DIR", help=help)


def load(paths: Sequence[str]) -> Runs:
    """The runs at the paths. Raises Refused, which says of each path why it is not a run, and which runs are inside."""
    from pydoca.qualify.history import load_runs

    runs, wrong = [], []
    for path in paths:
        try:
            runs += load_runs([path])
        except (ValueError, OSError) as error:
            wrong.append(f"{error}{_inside(path)}")
    if wrong:
        more = [f"and {len(wrong) - _WRONG} more are not, either"] if len(wrong) > _WRONG else []
        raise Refused("; ".join([*wrong[:_WRONG], *more]))
    return runs


def _inside(path: str) -> str:
    """Names the newest runs in a directory of runs, such as `runs`: one of them may be meant."""
    from pydoca.qualify.figures import plural

    found = [str(state.parent) for state in Path(path).glob("*/state.json")]
    if not found:
        return ""
    newest = sorted(found, key=lambda run: Path(run).name, reverse=True)
    more = f" and {plural(len(newest) - _SHOWN, 'older one')}" if len(newest) > _SHOWN else ""
    return f", but has these runs, of which one may be meant: {', '.join(newest[:_SHOWN])}{more}"


def write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None


def percent(text: str) -> float:
    """The percentage as a fraction: "3%" and "3 %" are 0.03."""
    import argparse

    value = to_share(text)
    if value is None or not 0 <= value <= 10:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage: write 0% to 1000%, as in 3%")
    return value
