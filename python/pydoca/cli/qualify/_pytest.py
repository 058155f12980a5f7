"""The command line of `pydoca qualify` as one of pytest, and pytest's run."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from importlib.util import find_spec
from typing import Any

from pydoca.cli._arguments import Parser
from pydoca.cli._errors import CommandError
from pydoca.cli.qualify._spelling import Spelled
from pytest_pydoca.options import OPTIONS

SUITE = "pydoca.qualify"
_PACKAGES = ("pytest", "numpy", "scipy", "packaging")


class NotInstalled(CommandError):
    """A package of the extra `qualify` is missing."""

    exit_code = 4


def add_options(parser: Parser, *, without: tuple[str, ...] = ()) -> None:
    """The options of the plug-in, without its prefix; devices are words."""
    parser.usage_code = 4  # as pytest's
    devices = next(option for option in OPTIONS if option.name == "device")
    parser.add_argument("device", nargs="*", metavar="DEVICE", help=devices.help)
    for option in OPTIONS:
        if option.name not in ("device", "plan", *without):
            parser.add_argument(f"--{option.name}", **option.keywords())
    parser.add_argument(
        "--select", metavar="EXPR", help="only these cases: a word of an id or a name, or words with and, or, not"
    )
    side_by_side = "several devices side by side, by pytest-xdist; with --fleet: the processes of a local cluster"
    parser.add_argument("-n", "--workers", metavar="N", help=side_by_side)
    parser.add_argument("--tests", metavar="PATH", action="append", help="your own cases instead of pydoca's")


def to_words(arguments: argparse.Namespace) -> list[str]:
    """What the arguments are for pytest."""
    words = [f"--pydoca-device={device}" for device in arguments.device]
    for option in OPTIONS:
        value = getattr(arguments, option.name.replace("-", "_"), None)
        if option.name == "device" or value in (None, False, []):
            continue
        if value is True:
            words.append(option.flag)
        else:
            words += [f"{option.flag}={each}" for each in (value if isinstance(value, list) else [value])]
    words += ["-k", arguments.select] if arguments.select else []
    words += ["-n", arguments.workers] if arguments.workers else []
    return words


class Receiver:
    """Keeps what the plug-in knows at the end of pytest's run."""

    def __init__(self) -> None:
        self.session: Any = None

    def pytest_sessionfinish(self, session: Any) -> None:
        from pydoca.qualify.session.hooks import session_of

        self.session = session_of(session.config)


def run_pytest(words: list[str], tests: list[str] | None, *, on_stderr: bool, quiet: bool = False) -> tuple[int, Any]:
    """The exit code, and the plug-in's session where pytest has come so far. No configuration of pytest applies."""
    require_packages()
    import pytest

    own = ["-c", os.devnull, f"--rootdir={os.getcwd()}", "-p", "no:cacheprovider", "--tb=short", "--no-header"]
    own += ["-q", "-W", "ignore::pytest.PytestAssertRewriteWarning"]  # this process has imported the plug-in
    where = tests or ["--pyargs", SUITE]
    receiver = Receiver()
    with contextlib.ExitStack() as stack:
        if quiet:
            stack.enter_context(contextlib.redirect_stdout(stack.enter_context(open(os.devnull, "w"))))
        elif on_stderr:
            stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        for redirect, stream in ((contextlib.redirect_stdout, sys.stdout), (contextlib.redirect_stderr, sys.stderr)):
            stack.enter_context(redirect(Spelled(stream)))
        code = pytest.main([*own, *words, *where], plugins=[receiver])
    return int(code), receiver.session


def require_packages() -> None:
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise NotInstalled(f"qualification needs {package}, which is not installed: pip install 'pydoca[qualify]'")
