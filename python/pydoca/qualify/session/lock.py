"""One run per device, and one case at a time on it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pydoca
from pydoca._display.frame.escaping import printable
from pydoca.qualify.figures import duration
from pydoca.qualify.session.choice import label

_PAUSE = 0.1  # seconds between two looks
_LONGEST_SILENCE, _LINES = 30.0, 10  # seconds without a line while a device is waited for; lines of a short wait
_LONGEST_COMMAND = 400  # characters
_OF_WAIT = re.compile(r"(?:\.\.\. )?\S+ is (?:in use\b|free after )")


class InUse(RuntimeError):
    """Another run has the device."""

    kind: str = "in_use"  # the reason in JSON

    def __init__(self, text: str, device: str = "") -> None:
        super().__init__(text)
        self.device: str = device  # its label


class WaitEnded(InUse):
    """A signal has ended the wait for the device."""

    kind: str = "interrupted"


@dataclass(frozen=True)
class Owner:
    """The run that has a device, as its lock's file says."""

    process: int
    command: str = ""
    since: float = 0.0  # seconds since the epoch

    @classmethod
    def this_process(cls) -> Owner:
        return cls(os.getpid(), printable(_command())[:_LONGEST_COMMAND], time.time())

    @classmethod
    def read(cls, descriptor: int) -> Owner | None:
        """The owner; None: the run has not written it yet, or has another version."""
        try:
            found = json.loads(os.pread(descriptor, 4 * _LONGEST_COMMAND, 0))
            return cls(int(found["process"]), str(found["command"]), float(found["since"]))
        except (ValueError, KeyError, TypeError):
            return None

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    def __str__(self) -> str:
        ago = duration(max(0, round(time.time() - self.since)))
        began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.since))
        return f"process {self.process}, since {began}, which is {ago} ago: {self.command}"


class DeviceLock:
    """Two files per device; the kernel gives both back when the process ends, however it ends.

    A run removes its files at its end, with their locks taken; a lock of a file that was removed meanwhile is none.
    """

    def __init__(self, info: pydoca.DeviceInfo) -> None:
        folder = _folder()
        stem = re.sub(r"[^A-Za-z0-9._-]+", "_", f"{_place(info)}-{info.vuid or info.name}")
        self._label = label(info)
        self._run, self._case = folder / f"{stem}.run", folder / f"{stem}.case"
        self._held: int | None = None

    def take(
        self,
        *,
        force: bool,
        until: float = 0.0,
        tell: Callable[[str], None] = lambda text: None,
        must_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Takes the device for the whole run. Raises InUse at the time `until` of the monotonic clock, unless forced.

        tell: is told that the device is waited for, and then from time to time how long already.
        must_stop: is asked meanwhile; when it is true, WaitEnded is raised.
        """
        held = _try(self._run)
        if held is None and not force:
            held = self._wait(until, tell, must_stop)
        if held is None and not force:
            raise self._in_use(waited=bool(until))
        if held is not None:
            os.truncate(held, 0)
            os.pwrite(held, Owner.this_process().to_bytes(), 0)
        self._held = held

    def _wait(self, until: float, tell: Callable[[str], None], must_stop: Callable[[], bool]) -> int | None:
        """The lock, if the device becomes free. Looks repeatedly, because a wait for the lock has no time limit."""
        begin = said = time.monotonic()
        if begin >= until:
            return None
        most = until - begin
        tell(
            f"{self._label} is in use by another run ({_owner(self._run)}): this run waits for its end, at most "
            f"{duration(round(most, 1))}; Ctrl-C ends that"
        )
        while (held := _try(self._run)) is None:
            now = time.monotonic()
            if must_stop():
                waited = duration(round(now - begin, 1))
                raise WaitEnded(f"interrupted: {waited} of waiting for {self._label}, and no test", self._label)
            if now >= until:
                return None
            if now - said >= min(_LONGEST_SILENCE, most / _LINES):
                waited = f"{duration(round(now - begin, 1))} of {duration(round(most, 1))}"
                tell(f"... {self._label} is in use: waited {waited}")
                said = now
            time.sleep(min(_PAUSE, until - now))
        tell(f"{self._label} is free after {duration(time.monotonic() - begin)}")
        return held

    def _in_use(self, *, waited: bool) -> InUse:
        still = "still in use" if waited else "in use"
        wait = "give --pydoca-wait more time" if waited else "wait for its end by --pydoca-wait SECONDS"
        return InUse(
            f"{self._label} is {still} by another run ({_owner(self._run)}): {wait}, or use the device beside it "
            "by --pydoca-force",
            self._label,
        )

    def release(self) -> None:
        if (idle := _try(self._case)) is not None:
            _remove(self._case, idle)
        if self._held is not None:
            _remove(self._run, self._held)
            self._held = None

    @contextlib.contextmanager
    def case(self) -> Iterator[None]:
        """Takes the device for one case: the workers of a run take turns."""
        while True:
            descriptor = _open(self._case)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                if not _is_removed(descriptor):
                    yield
                    return
            finally:
                os.close(descriptor)


def is_of_wait(line: str) -> bool:
    """Whether a run has written this line while it waited for its device, or at the end of the wait."""
    return bool(_OF_WAIT.match(line))


def _place(info: pydoca.DeviceInfo) -> str:
    """The place of the device: simulated devices of two fabrics are different devices."""
    return f"sim-{pydoca.sim.fabric()}" if info.backend == "sim" else info.backend


def _folder() -> Path:
    """The folder of the locks, which is private to the user, as those of fabrics are."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(base, "pydoca-qualify") if base else Path(f"/tmp/pydoca-qualify-{os.getuid()}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.lstat().st_uid != os.getuid():
        raise InUse(f"{folder} belongs to another user: set XDG_RUNTIME_DIR to a directory of yours")
    return folder


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _is_removed(descriptor: int) -> bool:
    return os.fstat(descriptor).st_nlink == 0


def _remove(path: Path, descriptor: int) -> None:
    """Removes the file whose lock the descriptor has, and gives the lock back."""
    path.unlink(missing_ok=True)
    os.close(descriptor)


def _owner(path: Path) -> str:
    """The owner's sentence. Waits a moment for the name of a run that has just taken the device."""
    for _ in range(3):
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            if owner := Owner.read(file.fileno()):
                return str(owner)
        time.sleep(_PAUSE)
    return "of a process that does not say its name"


def _try(path: Path) -> int | None:
    """A descriptor that has the lock of the file; None while another one has it."""
    while True:
        descriptor = _open(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        if not _is_removed(descriptor):
            return descriptor
        os.close(descriptor)


def _command() -> str:
    """The command as it was typed, without the path of Python and of the program."""
    program, words = Path(sys.argv[0] if sys.argv else ""), sys.argv[1:]
    name = f"python -m {program.parent.name}" if program.name == "__main__.py" else program.name
    return " ".join(["python -c" if name == "-c" else name or "python", shlex.join(words)]).strip()
