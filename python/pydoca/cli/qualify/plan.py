"""`pydoca qualify plan`: what would run, how long it takes, and what is skipped and why."""

from __future__ import annotations

import argparse

from pydoca.cli._arguments import Subparsers, add_command, add_json
from pydoca.cli._output import print_json
from pydoca.cli.qualify._reason import reason_of


def add(subparsers: Subparsers) -> None:
    from pydoca.cli.qualify._pytest import add_options
    from pytest_pydoca.options import OF_REPORTS

    description = "Say what a run would do, and how long it takes; touch no device."
    parser = add_command(subparsers, "plan", description, check=check, run=run)
    of_verdicts = ("fail-early", "strict-skips", "strict-marginal", "allow-unmet")
    add_options(parser, without=("out", "force", "wait", "no-plots", *of_verdicts, *OF_REPORTS))
    add_json(parser)


def check(arguments: argparse.Namespace) -> None:
    """argparse and the plug-in check the rest."""
    from pydoca.cli.qualify import _pytest

    _pytest.check(arguments)


def run(arguments: argparse.Namespace) -> int:
    from pydoca.cli.qualify._pytest import run_pytest, to_words

    words = [*to_words(arguments), "--pydoca-plan"]
    code, front_end = run_pytest(words, arguments.tests, on_stderr=arguments.json, quiet=arguments.json)
    session = front_end.session
    if arguments.json:
        plan = session.plan if session else None
        print_json(
            plan.to_dict() if plan and plan.devices else {"exit_code": code, "reason": reason_of(code, front_end)}
        )
    return code
