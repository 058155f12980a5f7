"""What the commands share that look at runs which have been made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydoca.cli._arguments import Parser
from pydoca.cli._errors import CommandError

_SHOWN = 5
USAGE = 4  # of every command of qualification

if TYPE_CHECKING:
    from pydoca.qualify.history import Runs


class Refused(CommandError):
    """The runs, or what is to be done with them, are not right."""

    exit_code = USAGE


def add_runs(parser: Parser, help: str) -> None:
    parser.add_argument("runs", nargs="+", metavar="DIR", help=help)


def load(paths: Sequence[str]) -> Runs:
    from pydoca.qualify.history import load_runs

    try:
        return load_runs(paths)
    except (ValueError, OSError) as error:
        raise Refused(str(error) + _inside(paths)) from None


def _inside(paths: Sequence[str]) -> str:
    """Names the newest runs in a directory of runs, such as `runs`: one of them may be meant."""
    from pydoca.qualify.figures import plural

    found = [str(state.parent) for path in paths for state in Path(path).glob("*/state.json")]
    if not found or any(Path(path, "state.json").exists() for path in paths):
        return ""
    newest = sorted(found, key=lambda run: Path(run).name, reverse=True)
    more = f" and {plural(len(newest) - _SHOWN, 'older one')}" if len(newest) > _SHOWN else ""
    return f"; it has these runs, of which one may be meant: {', '.join(newest[:_SHOWN])}{more}"


def write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None


def percent(text: str) -> float:
    """As a fraction: "3%" and "3 %" are 0.03."""
    import argparse

    number = text.strip().removesuffix("%").strip()
    try:
        value = float(number) / 100
    except ValueError:
        value = -1.0
    if not text.strip().endswith("%") or not 0 <= value <= 10:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage: write 0% to 1000%, as in 3%")
    return value
