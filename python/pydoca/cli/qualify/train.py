"""`pydoca qualify train DIR...`: golden values from good runs."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from pydoca.cli._arguments import Subparsers, add_command, add_json
from pydoca.cli._errors import one_line
from pydoca.cli._output import print_json, print_table
from pydoca.cli.qualify._pytest import require_packages
from pydoca.cli.qualify._runs import USAGE, Refused, add_runs, load, percent, write
from pytest_pydoca.options import count

if TYPE_CHECKING:
    from pydoca.qualify.history.golden import Golden


def add(subparsers: Subparsers) -> None:
    parser = add_command(subparsers, "train", "Make golden values of good runs, for --baseline.", check=check, run=run)
    parser.usage_code = USAGE
    add_json(parser)
    add_runs(parser, "directories of runs that passed: five or more, best of several devices")
    parser.add_argument("--out", metavar="FILE", required=True, help="the limits file to write")
    parser.add_argument("--least", type=count, metavar="N", default=5, help="runs that are enough (default: 5)")
    parser.add_argument(
        "--largest-cv",
        type=percent,
        metavar="N%",
        default=0.05,
        help="values that vary more are refused (default: 5%%)",
    )
    parser.add_argument("--leave-out", action="store_true", help="leave out values that vary more, and go on")


def check(arguments: argparse.Namespace) -> None:
    """argparse checks all of it."""


def run(arguments: argparse.Namespace) -> int:
    require_packages()
    from pydoca.qualify.figures import CV, plural
    from pydoca.qualify.history import NotGolden, golden_toml, train

    runs = load(arguments.runs)
    try:
        golden = train(runs, fewest=arguments.least, largest_cv=arguments.largest_cv, leave_out=arguments.leave_out)
    except NotGolden as error:
        raise Refused(str(error)) from None
    write(arguments.out, golden_toml(golden, runs))
    if arguments.json:
        print_json({"file": arguments.out, "golden": [asdict(each) for each in golden]})
        return 0
    rows = [_row(each) for each in golden]
    print_table(("MEASUREMENT", "STATISTIC", "MEDIAN", "SIGMA", CV.upper(), "MIN", "MAX"), rows)
    print(f"\n{plural(len(golden), 'golden value')} of {plural(len(runs), 'run')} in {one_line(arguments.out)}")
    return 0


def _row(each: Golden) -> list[str]:
    from pydoca.qualify.figures import bound_text, cv_text, quantity, stat_text

    of = (each.unit, each.stat)
    return [
        each.name,
        stat_text(each.stat),
        *(quantity(value, *of) for value in (each.median, each.sigma)),
        cv_text(each.cv),
        *("" if bound is None else bound_text(bound, *of) for bound in (each.min, each.max)),
    ]
