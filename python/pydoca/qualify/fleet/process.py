"""The processes of a worker that run pytest, one per card, in sessions of their own: Ctrl-C at the front end reaches
them only through the coordinator."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pydoca.qualify.session.lock import is_of_wait

_MODULE = "pydoca.qualify.fleet.child"
_FILES = ("PYDOCA_FAULTS", "PYDOCA_TIMING", "PYDOCA_TOPOLOGY")
_GRACE = 30.0  # seconds from SIGINT to SIGKILL
_LOOK = 2.0  # seconds between two looks at the log
_BEGINNING = 1 << 18  # bytes of the log
_running: dict[str, CardProcess] = {}  # the key is the card's
_lock = threading.Lock()

Say = Callable[[str], None]


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

    def wait(self, seconds: float, say: Say | None) -> tuple[int, bool]:
        """Its exit code, and whether it had to be ended."""
        try:
            return self._wait_aloud(seconds, say) if say else self._process.wait(seconds), False
        except subprocess.TimeoutExpired:
            self.interrupt()
        try:
            return self._process.wait(_GRACE), True
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait(), True

    def _wait_aloud(self, seconds: float, say: Say) -> int:
        end, said = time.monotonic() + seconds, 0
        while (left := end - time.monotonic()) > _LOOK:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self._process.wait(_LOOK)
            lines = self._lines_of_wait()
            for line in lines[said:]:
                say(line)
            said = len(lines)
        return self._process.wait(max(0.0, left))

    def interrupt(self) -> None:
        """Does what Ctrl-C does: the sample ends, and everything is written. A second call does nothing."""
        if not self._interrupted.is_set():
            self._interrupted.set()
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """Kills the process and those that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _lines_of_wait(self) -> list[str]:
        """What the run has written of a wait for its device, which comes before its first case."""
        with self._log.open("rb") as log:
            whole = log.read(_BEGINNING).decode(errors="replace").rpartition("\n")[0]
        return [line for line in whole.splitlines() if is_of_wait(line)]


def _environment() -> dict[str, str]:
    """The worker's own: the process works in another directory, so relative names of files become absolute."""
    named = {name: Path(os.environ.get(name, "")) for name in _FILES}
    return {**os.environ, **{name: str(file.absolute()) for name, file in named.items() if file.is_file()}}


def run_process(
    card: str, words: Sequence[str], folder: Path, log: Path, seconds: float, say: Say | None = None
) -> tuple[int, bool]:
    """Only one of a card: what is left of an earlier one, whose result nobody waits for, is ended.

    say() is called with each line that the run writes while it waits for its device.
    """
    with _lock:
        if (before := _running.pop(card, None)) is not None:
            before.kill()
        process = _running[card] = CardProcess(words, folder, log)
    try:
        return process.wait(seconds, say)
    finally:
        process.kill()  # what it has left behind
        with _lock:
            if _running.get(card) is process:
                del _running[card]


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
