"""The processes of a worker that run pytest, one per card, in sessions of their own: Ctrl-C at the front end reaches
them only through the coordinator."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from pydoca.qualify.session.lock import is_of_wait

_MODULE = "pydoca.qualify.fleet.child"
_FILES = ("PYDOCA_FAULTS", "PYDOCA_TIMING", "PYDOCA_TOPOLOGY")
_GRACE = 30.0  # seconds from SIGINT to SIGKILL
_BEGINNING = 1 << 18  # bytes of the log
_running: dict[str, CardProcess] = {}  # the key is the card's
_lock = threading.Lock()


class CardProcess:
    def __init__(self, words: Sequence[str], folder: Path, log: Path) -> None:
        self._interrupted = threading.Event()
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", _MODULE, str(os.getpid()), *words],
                cwd=folder,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self, seconds: float) -> tuple[int, bool]:
        """Its exit code, and whether it had to be ended."""
        try:
            return self._process.wait(seconds), False
        except subprocess.TimeoutExpired:
            self.interrupt()
        try:
            return self._process.wait(_GRACE), True
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait(), True

    def interrupt(self) -> None:
        """Does what Ctrl-C does: the sample ends, and everything is written. A second call does nothing."""
        if not self._interrupted.is_set():
            self._interrupted.set()
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """Kills the process and those that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def lines_of_wait(self) -> list[str]:
        """What the run has written of a wait for its device, which comes before its first case."""
        try:
            with self._log.open("rb") as log:
                text = log.read(_BEGINNING).decode(errors="replace")
        except FileNotFoundError:  # it has just ended, and the log is in its directory
            return []
        return [line for line in text.splitlines() if is_of_wait(line)]


def _environment() -> dict[str, str]:
    """The worker's own: the process works in another directory, so relative names of files become absolute."""
    named = {name: Path(os.environ.get(name, "")) for name in _FILES}
    return {**os.environ, **{name: str(file.absolute()) for name, file in named.items() if file.is_file()}}


def run_process(card: str, words: Sequence[str], folder: Path, log: Path, seconds: float) -> tuple[int, bool]:
    """Only one of a card: what is left of an earlier one, whose result nobody waits for, is ended."""
    with _lock:
        if (before := _running.pop(card, None)) is not None:
            before.kill()
        process = _running[card] = CardProcess(words, folder, log)
    try:
        return process.wait(seconds)
    finally:
        process.kill()  # what it has left behind
        with _lock:
            if _running.get(card) is process:
                del _running[card]


def lines_of_waits() -> dict[str, list[str]]:
    """The lines of each run, by the key of its card."""
    with _lock:
        processes = dict(_running)
    return {card: lines for card, process in processes.items() if (lines := process.lines_of_wait())}


def interrupt_all() -> int:
    """Returns how many there were."""
    return _for_all(CardProcess.interrupt)


def kill_all() -> int:
    return _for_all(CardProcess.kill)


def _for_all(act: Callable[[CardProcess], None]) -> int:
    with _lock:
        processes = list(_running.values())
    for process in processes:
        act(process)
    return len(processes)
