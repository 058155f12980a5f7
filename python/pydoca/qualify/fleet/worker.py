"""What Dask runs on the workers: they tell their cards, test one, and end their tests."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pydoca
from pydoca.qualify.fleet import waits
from pydoca.qualify.fleet.archive import pack
from pydoca.qualify.fleet.cards import Card, list_cards
from pydoca.qualify.fleet.order import Order, write_files
from pydoca.qualify.fleet.process import run_process
from pydoca.qualify.start import words_of_pytest

_LOG_MOST = 200_000  # bytes of what pytest has written


@dataclass(frozen=True)
class Description:
    """What a worker says of itself."""

    host: str
    process: str  # another one after a restart, also at the same address
    version: str  # pydoca's
    cards: tuple[Card, ...]


@dataclass(frozen=True)
class Outcome:
    """The end of one run of a card."""

    process: str  # Description.process of its worker
    exit_code: int
    timed_out: bool
    archive: bytes  # empty where pytest has made no directory
    left_out: tuple[str, ...]
    said: str  # the end of what pytest has written
    begin: float
    end: float


async def describe(
    selectors: Sequence[str], backend: str | None, ignore_sigint: bool, dask_worker: Any = None
) -> Description:
    """Each card becomes a resource of the worker, of which there is one: Dask gives it to one task at a time."""
    if ignore_sigint:  # the terminal's Ctrl-C reaches a local cluster
        with contextlib.suppress(ValueError):  # the main thread has the front end's own handler
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    cards = tuple(list_cards(selectors, backend))
    known = dask_worker.state.total_resources
    if new := {card.resource: 1.0 for card in cards if card.resource not in known}:
        await dask_worker.set_resources(**new)
    return Description(socket.gethostname(), process_name(), pydoca.__version__, cards)


def process_name() -> str:
    """The kernel gives the number of a process again, but not with the same start."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return f"{os.getpid()}-{fields[19]}"


def run_card(card: Card, order: Order) -> Outcome:
    begin = time.time()
    with tempfile.TemporaryDirectory(prefix="pydoca-fleet-", dir=_scratch()) as name:
        folder, log = Path(name), Path(name, "pytest.log")
        words, say = _words(card, order, folder), waits.say if order.waits else None
        code, timed_out = run_process(card.key, words, folder, log, order.seconds, say)
        run = _directory_of(folder)
        if run is not None:
            (run / "logs").mkdir(exist_ok=True)
            log.replace(run / "logs" / log.name)
            log = run / "logs" / log.name
        said = _end_of(log)
        archive, left_out = pack(run) if run is not None else (b"", [])
        return Outcome(process_name(), code, timed_out, archive, tuple(left_out), said, begin, time.time())


def _scratch() -> str | None:
    """Dask removes the folder of a worker, also of one that was killed."""
    from distributed import get_worker

    try:
        return str(get_worker().local_directory)
    except ValueError:  # this is not a task
        return None


def _words(card: Card, order: Order, folder: Path) -> list[str]:
    """Paths are relative, so that reports name no folder of the worker."""
    options, cases = write_files(order.files, folder)
    own = [f"--pydoca-device={card.device}", "--pydoca-out=runs"]
    return words_of_pytest([*order.words, *options, *own], cases, ".")


def _directory_of(folder: Path) -> Path | None:
    found = sorted((folder / "runs").glob("*/state.json"))
    return found[0].parent if found else None


def _end_of(log: Path) -> str:
    data = log.read_bytes()
    return data[-_LOG_MOST:].decode(errors="replace")
