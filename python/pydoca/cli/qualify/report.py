"""`pydoca qualify report DIR`: the reports of a run, made anew."""

from __future__ import annotations

import argparse

from pydoca.cli._arguments import Subparsers, add_command, add_json
from pydoca.cli._errors import one_line
from pydoca.cli._output import print_json
from pydoca.cli.qualify._pytest import require_packages
from pydoca.cli.qualify._runs import USAGE, Refused, load

_FORMS = {
    "html": "report.html, the page for people",
    "junit": "junit.xml, for CI servers",
    "csv": "measurements.csv, a table of all measurements",
    "ocp": "results.jsonl, the stream in OCP's Test & Validation format",
}


def add(subparsers: Subparsers) -> None:
    parser = add_command(subparsers, "report", "Make the reports of a run anew.", check=check, run=run)
    parser.usage_code = USAGE
    add_json(parser)
    parser.add_argument("run_directory", metavar="DIR", help="the directory of the run")
    for form, what in _FORMS.items():
        parser.add_argument(f"--{form}", action="store_true", help=f"write {what}")
    parser.epilog = "Without an option it writes report.html and junit.xml. SHA256SUMS is written in any case."


def check(arguments: argparse.Namespace) -> None:
    """argparse checks all of it."""


def run(arguments: argparse.Namespace) -> int:
    require_packages()
    from pydoca.qualify.verdicts import ExitCode

    forms = [form for form in _FORMS if getattr(arguments, form)] or ["html", "junit"]
    ((directory, record),) = load([arguments.run_directory])
    try:
        written = directory.report(record, forms)
    except OSError as error:
        raise Refused(f"{error.filename}: {error.strerror}") from None
    if arguments.json:
        files = [str(path) for path in written]
        code = ExitCode.INTERRUPTED if record.exit_code is None else record.exit_code
        print_json({"run": record.id, "verdict": record.verdict.value, "exit_code": int(code), "files": files})
    else:
        print(f"{record.id}: {record.verdict.value}")
        print("\n".join(one_line(str(path)) for path in written))
    return 0
