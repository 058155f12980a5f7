"""The option --trace: a timeline of everything that a command does, in all its processes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pydoca
from pydoca.cli._arguments import Parser
from pydoca.cli._errors import CommandError


def add_trace(parser: Parser) -> None:
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="write a timeline of all processes to this JSON file, for https://ui.perfetto.dev",
    )


@contextlib.contextmanager
def traced(path: str | None, *others: str) -> Iterator[None]:
    """Records what happens in the block, also when that fails. An impossible file is reported before the work.

    others: files that the command reads or writes, of which the file must be none.
    """
    if path is None:
        yield
        return
    for other in others:
        if os.path.realpath(path) == os.path.realpath(other):
            raise CommandError(f"--trace: {path} is a file of this command itself; give the timeline another file")
    try:
        with open(path, "ab"):
            pass
    except OSError as error:
        raise CommandError(f"--trace: {path} cannot be written: {error.strerror}") from error
    trace = pydoca.trace().start()
    try:
        yield
    finally:
        trace.stop()
        _save(trace, path)


def _save(trace: pydoca.Trace, path: str) -> None:
    try:
        trace.save(path)
    except OSError as error:
        raise CommandError(f"--trace: {path} cannot be written: {error.strerror}") from error
