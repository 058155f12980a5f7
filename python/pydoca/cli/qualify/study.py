"""`pydoca qualify study repeatability DIR...`: how well the tester repeats its measurements."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from pydoca.cli._arguments import Subparsers, add_command, add_json
from pydoca.cli._output import print_json, print_table
from pydoca.cli.qualify._pytest import require_packages
from pydoca.cli.qualify._runs import USAGE, Refused, add_runs, load, percent


def add(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "study",
        "Compare the tester's spread with the tolerances.",
        check=check,
        run=run,
    )
    parser.usage_code = USAGE
    add_json(parser)
    parser.add_argument("kind", choices=["repeatability"], help="gauge repeatability and reproducibility")
    add_runs(parser, "directories of runs with repeats (pydoca qualify DEVICE --repeat 30); each one is a session")
    parser.add_argument(
        "--tolerance", type=percent, metavar="N%", help="of each mean (default: between the measurement's limits)"
    )


def check(arguments: argparse.Namespace) -> None:
    """argparse checks all of it."""


def run(arguments: argparse.Namespace) -> int:
    require_packages()
    from pydoca.qualify.figures import figure, quantity, stat_text
    from pydoca.qualify.history import study
    from pydoca.qualify.history.study import WORDS

    try:
        found = study(load(arguments.runs), tolerance=arguments.tolerance)
    except ValueError as error:
        raise Refused(str(error)) from None
    if arguments.json:
        print_json({"measurements": [asdict(each) for each in found]})
    else:
        rows = [
            [each.verdict, each.name, stat_text(each.stat), "" if each.percent is None else f"{each.percent:,.1f} %",
             *(quantity(value, each.unit, each.stat)
               for value in (each.mean, each.repeatability, each.reproducibility, each.parts)),
             figure(each.values)]
            for each in found
        ]  # fmt: skip
        spreads = ("REPEATABILITY", "REPRODUCIBILITY", "DEVICES")
        heads = ("", "MEASUREMENT", "STATISTIC", "%R&R", "MEAN", *spreads, "VALUES")
        print_table(heads, rows)
        print()
        for word in dict.fromkeys(each.verdict for each in found):
            print(f"{word}: {WORDS[word]}")
    return int(any(each.verdict == "unfit" for each in found))
