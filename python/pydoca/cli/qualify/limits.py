"""`pydoca qualify limits check FILE`: reads a limits file as a run would."""

from __future__ import annotations

import argparse
import datetime
from typing import TYPE_CHECKING, Any

from pydoca.cli._arguments import Subparsers, add_command, add_group, add_json
from pydoca.cli._errors import CommandError, one_line
from pydoca.cli._output import print_json, print_table
from pydoca.cli.qualify._pytest import require_packages
from pydoca.cli.qualify._runs import load

if TYPE_CHECKING:
    from pydoca.qualify.limits.file import FileLimit, LimitsFile
    from pydoca.qualify.records import RunRecord

_HEADS = ("MEASUREMENT", "STAT", "MIN", "MAX", "SAMPLES")


class WrongFile(CommandError):
    """The file, the place in it and the remedy."""

    exit_code = 4


def add(subparsers: Subparsers) -> None:
    parts = add_group(subparsers, "limits", "Look at limits files.", usage_code=4)
    description = "Check a limits file, and whether it fits a run: its device, its measurements and their units."
    parser = add_command(parts, "check", description, check=check, run=run)
    parser.usage_code = 4
    parser.add_argument("file", metavar="FILE", help="the limits, in TOML")
    parser.add_argument("--run", dest="run_directory", metavar="DIR", help="the directory of a run to compare with")
    add_json(parser)


def check(arguments: argparse.Namespace) -> None:
    """argparse checks all of it."""


def run(arguments: argparse.Namespace) -> int:
    require_packages()
    from pydoca.qualify.limits.file import LimitsError, read_limits

    try:
        file = read_limits(arguments.file)
        record = load([arguments.run_directory])[0][1] if arguments.run_directory is not None else None
    except LimitsError as error:
        raise WrongFile(str(error)) from None
    problems, findings = _problems(file, record), _findings(file, record)
    if arguments.json:
        print_json({**_document(file), "problems": problems, "findings": findings})
    else:
        _show(file)
        for word, texts in (("problem", problems), ("finding", findings)):
            print("".join(f"{word}: {text}\n" for text in texts), end="")
    return WrongFile.exit_code if problems else 0


def _problems(file: LimitsFile, run: RunRecord | None) -> list[str]:
    """The reasons why a run like the given one would refuse the file, or end with errors."""
    from pydoca.qualify.limits import Limits
    from pydoca.qualify.limits.match import mismatch

    if run is None:
        return []
    why = mismatch(file, {name: str(value) for name, value in run.device.items()})
    other = [f"{file.path} is not for the device of that run: {why}"] if why else []
    return other + Limits([file]).wrong_units(each for case in run.cases for each in case.measurements)


def _findings(file: LimitsFile, run: RunRecord | None) -> list[str]:
    from pydoca.qualify.limits import Limits

    if run is None:
        today = datetime.date.today()
        return [f"{each.source}: expired on {each.until}" for each in file.waivers if each.until < today]
    measured = [each.name for case in run.cases for each in case.measurements]
    limits = Limits([file])
    return [*limits.unjudged(measured).values(), *limits.findings(measured)]


def _show(file: LimitsFile) -> None:
    print(f"{one_line(file.path)}: {file.name or 'limits'} for {_matches(file)}\n")
    rows = [
        [each.name, each.stat or "-", *(_bound(bound, each) for bound in (each.min, each.max)), _count(each.n_min)]
        for each in file.limits
    ]
    print_table(_HEADS, rows)
    for name, value in file.expect.items():
        print(f"expects {name} = {value!r}")
    for waiver in file.waivers:
        print(f"waives {waiver.name} until {waiver.until}: {waiver.reason}")


def _document(file: LimitsFile) -> dict[str, Any]:
    of_limit = ("name", "stat", "min", "max", "unit", "n_min", "marginal")
    return {
        "file": file.path,
        "name": file.name,
        "match": {key: list(values) for key, values in file.match.items()},
        "limits": [{name: getattr(each, name) for name in of_limit} for each in file.limits],
        "expect": {name: str(value) for name, value in file.expect.items()},
        "waivers": [{"name": each.name, "reason": each.reason, "until": str(each.until)} for each in file.waivers],
    }


def _matches(file: LimitsFile) -> str:
    return ", ".join(f"{key} {' or '.join(values)}" for key, values in file.match.items()) or "every device"


def _bound(bound: float | None, limit: FileLimit) -> str:
    from pydoca.qualify.figures import bound_text

    return "-" if bound is None else bound_text(bound, limit.unit, limit.stat or "")


def _count(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
