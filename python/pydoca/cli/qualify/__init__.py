"""`pydoca qualify`: tests a device, and what is done with the results. A thin front end of pytest."""

from __future__ import annotations

from pydoca.cli._arguments import Subparsers, add_group
from pydoca.cli.qualify import compare, limits, plan, report, run, study, train

PARTS = (run, plan, report, compare, train, study, limits)


def add(subparsers: Subparsers) -> None:
    parts = add_group(subparsers, "qualify", "Test a device, and judge it by limits.", default="run")
    for part in PARTS:
        part.add(parts)
    for parser in parts.choices.values():
        parser.set_defaults(unwritten=3)  # 1 is that of a device that has failed, or become worse
