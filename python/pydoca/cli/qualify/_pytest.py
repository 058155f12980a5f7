"""The command line of `pydoca qualify` as one of pytest, and pytest's run."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pydoca._text.quantities import to_whole
from pydoca.cli._arguments import Parser, offer
from pydoca.cli._candidates import Candidates, cases, devices_under_test, representors
from pydoca.cli._errors import CommandError, UsageError
from pydoca.qualify.installing import command_for, command_for_extra
from pytest_pydoca.options import BACKENDS, LEVELS, OPTIONS, utf8

if TYPE_CHECKING:
    from pydoca.qualify.front_end import FrontEnd

_PACKAGES = ("pytest", "numpy", "scipy", "packaging", "jinja2")
MOST_PROCESSES = 256
_OFFERS: dict[str, Sequence[str] | Candidates] = {
    "backend": BACKENDS,
    "level": LEVELS,
    "peer": devices_under_test,
    "rep": representors,
    "select": cases,
}


class NotInstalled(CommandError):
    """A package of the extra `qualify` is missing."""

    exit_code = 4


def add_options(parser: Parser, *, without: tuple[str, ...] = ()) -> None:
    """The options of the plug-in, without its prefix; devices are words."""
    parser.usage_code = 4  # pytest's code for a wrong command line
    devices = next(option for option in OPTIONS if option.name == "device")
    words = parser.add_argument("device", nargs="*", metavar="DEVICE", type=utf8, help=devices.help)
    offer(words, devices_under_test)
    for option in OPTIONS:
        if option.name not in ("device", "plan", "select", *without):
            _offer_values(parser.add_argument(f"--{option.name}", **option.keywords()))
    select = next(option for option in OPTIONS if option.name == "select")
    help = f"{select.help}; what has spaces or brackets is an expression as of pytest's -k ('dma and not latency')"
    _offer_values(parser.add_argument("--select", **{**select.keywords(), "help": help}))
    side_by_side = "several devices side by side, by pytest-xdist; with --fleet: the processes of a local cluster"
    offer(parser.add_argument("-n", "--workers", metavar="N", help=side_by_side), ["auto", "logical"])
    own = "your own cases instead of pydoca's"
    parser.add_argument("--tests", metavar="PATH", action="append", type=utf8, help=own)


def _offer_values(action: argparse.Action) -> None:
    if action.dest in _OFFERS:
        offer(action, _OFFERS[action.dest])


def to_words(arguments: argparse.Namespace) -> list[str]:
    """The arguments as pytest's command line."""
    words = [f"--pydoca-device={device}" for device in arguments.device]
    for option in OPTIONS:
        value = getattr(arguments, option.name.replace("-", "_"), None)
        if option.name in ("device", "select") or value in (None, False, []):
            continue
        if value is True:
            words.append(option.flag)
        else:
            words += [f"{option.flag}={each}" for each in (value if isinstance(value, list) else [value])]
    words += selection(arguments.select)
    if arguments.workers:
        if find_spec("xdist") is None:
            how = command_for("pytest-xdist")
            raise NotInstalled(f"-n needs pytest-xdist, which is not installed; this installs it: {how}")
        words += ["-n", arguments.workers]
    return words


def selection(given: list[str]) -> list[str]:
    """Ids for the plug-in, or an expression for -k."""
    if not any(_is_expression(text) for text in given):
        return [f"--pydoca-select={text}" for text in given]
    return ["-k", *given]


def check(arguments: argparse.Namespace) -> None:
    """Raises UsageError for what pytest would refuse in words of its own options."""
    if (workers := arguments.workers) not in (None, "auto", "logical") and not is_count_of_processes(workers):
        raise UsageError(f"-n {workers}: write a number of processes up to {MOST_PROCESSES}, or auto")
    expressions = [text for text in arguments.select if _is_expression(text)]
    if expressions and len(arguments.select) > 1:
        raise UsageError(f"--select {expressions[0]!r} is an expression, and only one can be given: join them with or")
    if expressions and find_spec("pytest") is not None:
        _check_expression(expressions[0])


def is_count_of_processes(text: str, least: int = 0) -> bool:
    """0 is xdist's word for no other process."""
    return to_whole(text, least, MOST_PROCESSES) is not None


def _is_expression(text: str) -> bool:
    return any(char in " ()" for char in text.replace(", ", ","))


def _check_expression(text: str) -> None:
    from pydoca.qualify.pytest_private import fault_of_expression

    if fault := fault_of_expression(text):
        raise UsageError(f"--select {text!r}: {fault}")


def run_pytest(
    words: list[str], tests: list[str] | None, *, on_stderr: bool, quiet: bool = False
) -> tuple[int, FrontEnd]:
    """The exit code, and what pytest's plug-in knows at the end."""
    require_packages()
    import pytest

    from pydoca.qualify.front_end import FrontEnd
    from pydoca.qualify.spelling import spelled_output
    from pydoca.qualify.start import QUIET_IMPORTS, without_settings, words_of_pytest

    front_end = FrontEnd(_command(words, tests))
    with contextlib.ExitStack() as stack:
        if quiet:
            stack.enter_context(contextlib.redirect_stdout(stack.enter_context(open(os.devnull, "w"))))
        elif on_stderr:
            stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        stack.enter_context(spelled_output())
        stack.enter_context(without_settings())
        code = pytest.main(words_of_pytest([*QUIET_IMPORTS, *words], tests, os.getcwd()), plugins=[front_end])
    return int(code), front_end


def _command(words: list[str], tests: list[str] | None) -> str:
    """The command that continues a run; the run's directory has the other options."""
    parts = ["pydoca", "qualify", *(f"--tests={path}" for path in tests or [])]
    parts += [f"--select={words[words.index('-k') + 1]}"] if "-k" in words else []
    return shlex.join(parts)


def require_packages() -> None:
    for package in _PACKAGES:
        if find_spec(package) is None:
            how = command_for_extra("qualify")
            raise NotInstalled(f"qualification needs {package}, which is not installed; this installs it: {how}")
