"""The command `pydoca`: each of its commands is a module or a folder beside this file."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Any

from pydoca import _log
from pydoca.cli._errors import describe, exit_code
from pydoca.cli._log_output import show_logs
from pydoca.cli._parser import parse

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code: 0, 1 after an error, 130 after Ctrl-C; 2 for a wrong command line."""
    _replace_closed_streams()
    _accept_all_characters()
    errors_of_output = _errors_of_output()
    shows_where = bool(os.environ.get("PYDOCA_DEBUG"))
    arguments = argparse.Namespace()
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
        shows_where = shows_where or arguments.debug
        _show_logs(arguments)
        code = arguments.run(arguments)
        sys.stdout.flush()
        return int(code)
    except (Exception, KeyboardInterrupt) as error:
        _log.drain()  # shows what led to the error before the error
        if shows_where:
            raise
        if not _is_of_output(error, errors_of_output):
            print(f"pydoca: {describe(error)}", file=sys.stderr)
        elif not isinstance(error, BrokenPipeError):
            print(f"pydoca: standard output: {describe(error)}", file=sys.stderr)
            return int(getattr(arguments, "unwritten", 1))
        return exit_code(error)


def _show_logs(arguments: argparse.Namespace) -> None:
    """Shows the messages that the command line asks for, or else the environment."""
    given = _log.environment
    if given.error is not None:
        raise given.error
    show_logs(arguments.log_level or given.level, arguments.sdk_log_level or given.sdk_level)


def _replace_closed_streams() -> None:
    """Replaces streams that the shell has closed, as by 2>&-: output to them is lost, else print() would report errors.

    No file that is opened later gets the number of a standard stream.
    """
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def _accept_all_characters() -> None:
    """Lets both streams take any name of a file: characters that the terminal lacks, bytes that are not characters."""
    codecs.register_error("pydoca", _as_named)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError):  # the stream's descriptor is another file by now, which does not seek
                stream.reconfigure(errors="pydoca")


def _as_named(error: UnicodeError) -> tuple[str | bytes, int]:
    """Writes the bytes of a file's name that are not characters, and escapes for characters that the encoding lacks."""
    assert isinstance(error, UnicodeEncodeError)
    word = error.object[error.start : error.end]
    if all("\udc80" <= character <= "\udcff" for character in word):
        return word.encode(errors="surrogateescape"), error.end
    return codecs.backslashreplace_errors(error)


def _errors_of_output() -> list[OSError]:
    """A list that gets the errors of writes to standard output from now on: like those of other files, they do not
    name their file.
    """
    found: list[OSError] = []
    output = sys.stdout.buffer if isinstance(sys.stdout, io.TextIOWrapper) else None
    raw: Any = getattr(output, "raw", output)  # python -u has no buffer between

    def noting(data: Any) -> int | None:
        try:
            return io.FileIO.write(raw, data)
        except OSError as error:
            found.append(error)
            raise

    if isinstance(raw, io.FileIO):
        raw.write = noting  # type: ignore[method-assign]
    return found


def _is_of_output(error: BaseException, noted: list[OSError]) -> bool:
    """Whether standard output could not be written. It is forgotten then: the interpreter must not report that once
    more when it flushes at exit.
    """
    if not isinstance(error, OSError) or error.filename is not None:
        return False
    try:
        sys.stdout.flush()  # raises again for what could not be written, if it was kept
        if not isinstance(error, BrokenPipeError) and not noted:
            return False
    except OSError:
        pass
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True
