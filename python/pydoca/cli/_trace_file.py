"""The option --trace: a timeline of everything that a command does, in all its processes."""

from __future__ import annotations

import contextlib
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
def traced(path: str | None) -> Iterator[None]:
    """Records what happens in the block, also when that fails. An impossible file is reported before the work."""
    if path is None:
        yield
        return
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
        trace.save(path)
