"""The link between the command line and the guest: what the guest runs, and where its output goes."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from pydoca.cli._errors import CommandError
from pydoca.cli._log_output import log
from pydoca.cli._output import print_json
from pydoca.cli.rdma_lab import _guest
from pydoca.cli.rdma_lab._errors import LabError

_MOST_CPUS = 4


def run(arguments: argparse.Namespace) -> int:
    """Returns the command's own status."""
    out, err = (io.BytesIO(), io.BytesIO()) if arguments.json else (sys.stdout.buffer, sys.stderr.buffer)
    line = _Line()
    try:
        outcome = _guest.run(_job(arguments), _writer(out), _writer(err), line.show)
    except LabError as error:
        raise _Failure(error) from error
    finally:
        line.show("")
    if isinstance(out, io.BytesIO) and isinstance(err, io.BytesIO):
        print_json(_document(arguments, outcome, out, err))
    return outcome.status


class _Failure(CommandError):
    def __init__(self, error: LabError) -> None:
        super().__init__(str(error))
        self.exit_code = error.exit_code


class _Line:
    """One line on a terminal, and in the log, that names the step under way; it disappears when the command runs."""

    def __init__(self) -> None:
        self._is_shown = False

    def show(self, text: str) -> None:
        if text:
            log.info(text)
        if sys.stderr.isatty() and (text or self._is_shown):
            print(f"\r\x1b[K{text and f'pydoca: {text} ...'}", end="", file=sys.stderr, flush=True)
            self._is_shown = bool(text)


def _job(arguments: argparse.Namespace) -> _guest.Job:
    results = arguments.results and Path(arguments.results).absolute()
    if results:
        results.mkdir(parents=True, exist_ok=True)
    return _guest.Job(
        command=arguments.command,
        directory=Path.cwd(),
        environment=os.environ,
        pair=arguments.pair,
        results=results or None,
        memory=arguments.memory >> 20,
        cpus=arguments.cpus or min(os.cpu_count() or 1, _MOST_CPUS),
        timeout=arguments.timeout,
        accel=arguments.accel,
    )


def _writer(stream: BinaryIO) -> Callable[[bytes], None]:
    def write(data: bytes) -> None:
        stream.write(data)
        stream.flush()

    return write


def _document(
    arguments: argparse.Namespace, outcome: _guest.Outcome, out: io.BytesIO, err: io.BytesIO
) -> dict[str, object]:
    return {
        "command": arguments.command,
        "exit_code": outcome.status,
        "stdout": out.getvalue().decode(errors="replace"),
        "stderr": err.getvalue().decode(errors="replace"),
        "kernel": outcome.kernel,
        "accel": outcome.accel,
        "boot_seconds": round(outcome.boot_seconds, 3),
        "seconds": round(outcome.seconds, 3),
    }
