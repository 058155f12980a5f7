"""`pydoca qualify train DIR...`: golden values from good runs."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from pydoca.cli._arguments import Subparsers, add_command, add_json
from pydoca.cli._output import print_json, print_table
from pydoca.cli._values import count
from pydoca.cli.qualify._pytest import require_packages
from pydoca.cli.qualify._runs import USAGE, Refused, add_runs, load, percent, write


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
    from pydoca.qualify.history import NotGolden, golden_toml, train
    from pydoca.qualify.report.words import figure

    runs = load(arguments.runs)
    try:
        golden = train(runs, fewest=arguments.least, largest_cv=arguments.largest_cv, leave_out=arguments.leave_out)
    except NotGolden as error:
        raise Refused(str(error)) from None
    write(arguments.out, golden_toml(golden, runs))
    if arguments.json:
        print_json({"file": arguments.out, "golden": [asdict(each) for each in golden]})
        return 0
    rows = [
        [each.name, each.stat, figure(each.median), figure(each.sigma), f"{100 * each.cv:.2g} %", _bound(each.min),
         _bound(each.max), each.unit]
        for each in golden
    ]  # fmt: skip
    print_table(("MEASUREMENT", "STATISTIC", "MEDIAN", "SIGMA", "CV", "MIN", "MAX", "UNIT"), rows)
    print(f"\n{len(golden)} golden values of {len(runs)} runs in {arguments.out}")
    return 0


def _bound(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"
