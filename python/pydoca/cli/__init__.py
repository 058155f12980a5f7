"""The command `pydoca`: each of its commands is a module or a folder beside this file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pydoca import _log
from pydoca.cli._errors import describe, exit_code
from pydoca.cli._log_output import show_logs
from pydoca.cli._parser import parse

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code: 0, 1 after an error, 130 after Ctrl-C; 2 for a wrong command line."""
    _replace_closed_streams()
    arguments = parse(sys.argv[1:] if argv is None else argv)
    try:
        _show_logs(arguments)
        code = arguments.run(arguments)
        sys.stdout.flush()
        return int(code)
    except (Exception, KeyboardInterrupt) as error:
        _log.drain()  # what led to the error stands before it
        if arguments.debug or os.environ.get("PYDOCA_DEBUG"):
            raise
        if type(error) is BrokenPipeError and error.filename is None:
            _forget_output()
        else:
            print(f"pydoca: {describe(error)}", file=sys.stderr)
        return exit_code(error)


def _show_logs(arguments: argparse.Namespace) -> None:
    """Shows the messages that the command line asks for, or else the environment."""
    given = _log.environment
    if given.error is not None:
        raise given.error
    show_logs(arguments.log_level or given.level, arguments.sdk_log_level or given.sdk_level)


def _replace_closed_streams() -> None:
    """Output to a stream that the shell has closed, as by 2>&-, is lost; print() would write errors to output."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def _forget_output() -> None:
    """The reader of standard output is gone: the interpreter must not report that when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
