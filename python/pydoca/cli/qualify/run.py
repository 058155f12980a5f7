"""`pydoca qualify [DEVICE]`: runs the cases of a level on a device, and writes what they found."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pydoca.cli._arguments import Subparsers, add_command, add_json
from pydoca.cli._errors import CommandError
from pydoca.cli._output import print_json
from pydoca.cli.qualify import fleet
from pydoca.cli.qualify._reason import is_told, reason, reason_of

if TYPE_CHECKING:
    from pydoca.qualify.front_end import FrontEnd


class RunInterrupted(CommandError):
    """Ctrl-C, while no case was running."""

    exit_code = 2  # also pytest's number for an interrupted run


def add(subparsers: Subparsers) -> None:
    from pydoca.cli.qualify._pytest import add_options

    description = "Test a device; 'pydoca qualify DEVICE' is the short form."
    parser = add_command(subparsers, "run", description, check=check, run=run)
    add_options(parser)
    fleet.add_options(parser)
    add_json(parser)


def check(arguments: argparse.Namespace) -> None:
    """argparse and the plug-in check the rest."""
    from pydoca.cli.qualify import _pytest

    fleet.check(arguments)
    _pytest.check(arguments)


def run(arguments: argparse.Namespace) -> int:
    """Runs pytest. Ctrl-C gives the exit code that the documentation names, also outside the plug-in's part."""
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        error: CommandError = RunInterrupted("interrupted")
    except CommandError as found:
        error = found
    if arguments.json:
        print_json({"exit_code": error.exit_code, "runs": [], "reason": reason(error.exit_code, str(error))})
    raise error from None


def _run(arguments: argparse.Namespace) -> int:
    from pydoca.cli.qualify._pytest import run_pytest, to_words

    if arguments.fleet is not None:
        return fleet.run(arguments)
    words = to_words(arguments)
    if not arguments.out and not arguments.resume:
        words.append("--pydoca-out=runs")  # a device need not be named
    code, front_end = run_pytest(words, arguments.tests, on_stderr=arguments.json)
    if arguments.json:
        print_json(_document(code, front_end))
    return code


def _document(code: int, front_end: FrontEnd) -> dict[str, Any]:
    """The runs that have begun, which have a directory, and the reason why there is none, or not another one."""
    session = front_end.session
    runs = [_summary(each) for each in session.runs.values() if each.has_begun] if session else []
    document = {"exit_code": code, "runs": runs}
    return document if runs and not is_told(front_end) else {**document, "reason": reason_of(code, front_end)}


def _summary(run: Any) -> dict[str, Any]:
    """The record without samples and logs."""
    record = run.record
    return {
        "id": record.id,
        "directory": str(run.target.directory),
        "device": record.device,
        "level": record.level,
        "seed": record.seed,
        "verdict": record.verdict.value,
        "exit_code": record.exit_code,
        "planned": record.planned,
        "findings": [each.to_dict() for each in run.findings()],
        "cases": [_case(case) for case in record.cases],
    }


def _case(case: Any) -> dict[str, Any]:
    own = ("id", "title", "node", "repeat", "reason", "seconds", "again")
    of_measurement = ("name", "unit", "stat", "value", "interval", "n", "reason")
    return {
        **{name: getattr(case, name) for name in own},
        "verdict": case.verdict.value,
        "measurements": [
            {**{name: getattr(each, name) for name in of_measurement}, "verdict": each.verdict.value}
            for each in case.measurements
        ],
    }
