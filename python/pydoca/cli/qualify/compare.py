"""`pydoca qualify compare FIRST SECOND`: whether a run is worse than an earlier one."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from pydoca.cli._arguments import Subparsers, add_command, add_json
from pydoca.cli._output import print_json, print_table
from pydoca.cli.qualify._pytest import require_packages
from pydoca.cli.qualify._runs import USAGE, Refused, load, percent, write

if TYPE_CHECKING:
    from pydoca.qualify.history import Comparison

_RULE = "regress:"
NOTHING_COMPARED = 5  # also the exit code of a run in which nothing was tested


def add(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "compare",
        "Compare two runs: what differs beyond chance.",
        check=check,
        run=run,
    )
    parser.usage_code = USAGE
    add_json(parser)
    parser.add_argument("first", metavar="DIR", help="the directory of the run to compare with")
    parser.add_argument("second", metavar="DIR", help="the directory of the run in question")
    parser.add_argument(
        "--fail-on",
        type=_rule,
        metavar="regress:N%",
        help="exit with 1 if a value is worse by N %% or more, a measurement is missing or a case passes no longer; "
        "with 6 if a value is so much worse, and was measured too few times to tell the device from the machine; "
        "with 5 if the selections of the runs have nothing in common",
    )
    parser.add_argument("--html", metavar="FILE", help="write the comparison as a page, with the distributions")


def check(arguments: argparse.Namespace) -> None:
    """argparse checks all of it."""


def run(arguments: argparse.Namespace) -> int:
    require_packages()
    from pydoca.qualify.history import compare
    from pydoca.qualify.history.comparison import THRESHOLD
    from pydoca.qualify.verdicts import ExitCode

    first, second = load([arguments.first, arguments.second])
    try:
        found = compare(first, second, threshold=THRESHOLD if arguments.fail_on is None else arguments.fail_on)
    except ValueError as error:
        raise Refused(str(error)) from None
    if arguments.html:
        from pydoca.qualify.history.page import comparison_html

        write(arguments.html, comparison_html(found, first, second))
    if arguments.json:
        print_json({**asdict(found), "regressions": found.regressions, "suspicions": found.suspicions})
    else:
        _print(found)
    if arguments.fail_on is None:
        return 0
    if found.is_empty:
        return NOTHING_COMPARED
    return int(ExitCode.FAILED if found.regressions else ExitCode.INCOMPLETE if found.suspicions else ExitCode.PASSED)


def _rule(text: str) -> float:
    if not text.startswith(_RULE):
        raise argparse.ArgumentTypeError(f"{text!r} is not a rule: write regress:N%, as in regress:3%")
    return percent(text.removeprefix(_RULE))


def _print(found: Comparison) -> None:
    from pydoca.qualify.history.comparison import SUSPECTED

    rows = [[row.word, row.name, row.statistic, *row.texts, row.effect_text, row.p_text] for row in found.rows]
    print(f"{found.second}, compared with {found.first}\n")
    print_table(("", "MEASUREMENT", "STATISTIC", "FIRST", "SECOND", "EFFECT", "P (HOLM)"), rows)
    if found.missing:
        print(f"missing in {found.second}: {', '.join(found.missing)}")
    for text in found.left_out_texts:
        print(text)
    for case, one, other in found.verdicts:
        print(f"{case}: {one} in the first run, {other} in the second one")
    for name, one, other in found.machine:
        print(f"machine: {name}: {one}; in the second run {other}")
    for reason in dict.fromkeys(row.reason for row in found.rows if row.word == SUSPECTED):
        print(f"{SUSPECTED}: {reason}")
    for note in found.notes:
        print(f"note: {note}")
    print(f"\n{_summary(found)}")


def _summary(found: Comparison) -> str:
    from pydoca.qualify.history.comparison import ORDER

    counts = [(sum(row.word == word for row in found.rows), word) for word in ORDER]
    nothing = "nothing is in both runs" if found.is_empty else "nothing was measured"
    return ", ".join(f"{count:,} {word}" for count, word in counts if count) or nothing
