"""`pydoca qualify [DEVICE]`: runs the cases of a level on a device, and writes what they found."""

from __future__ import annotations

import argparse
from typing import Any

from pydoca.cli._arguments import Subparsers, add_command, add_json
from pydoca.cli._output import print_json
from pydoca.cli.qualify import fleet


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
    from pydoca.cli.qualify._pytest import run_pytest, to_words

    if arguments.fleet is not None:
        return fleet.run(arguments)
    words = to_words(arguments)
    if not arguments.out and not arguments.resume:
        words.append("--pydoca-out=runs")  # also where no device is named
    code, session = run_pytest(words, arguments.tests, on_stderr=arguments.json)
    if arguments.json and session is not None and session.runs:
        print_json({"exit_code": code, "runs": [_summary(each) for each in session.runs.values()]})
    return code


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
