"""One run per device, and one case at a time on it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pydoca
from pydoca.qualify.session.choice import label


class InUse(RuntimeError):
    """Another run has the device."""


class DeviceLock:
    """Two files per device; the kernel gives both back when the process ends, however it ends."""

    def __init__(self, info: pydoca.DeviceInfo) -> None:
        folder = _folder()
        stem = re.sub(r"[^A-Za-z0-9._-]+", "_", f"{_place(info)}-{info.vuid or info.name}")
        self._label = label(info)
        self._run, self._case = folder / f"{stem}.run", folder / f"{stem}.case"
        self._held: int | None = None

    def take(self, *, force: bool) -> None:
        """For the whole run. Raises InUse, unless forced."""
        descriptor = _open(self._run)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(descriptor, 100, 0).decode(errors="replace").strip()
            os.close(descriptor)
            if force:
                return
            raise InUse(
                f"{self._label} is in use by another run ({owner or 'of a process that does not say its name'}): wait "
                "for its end, or use the device beside it by --pydoca-force"
            ) from None
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()}\n".encode(), 0)
        self._held = descriptor

    def release(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None

    @contextlib.contextmanager
    def case(self) -> Iterator[None]:
        """For one case: the workers of a run take turns."""
        descriptor = _open(self._case)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _place(info: pydoca.DeviceInfo) -> str:
    """Simulated devices of two fabrics are different devices."""
    return f"sim-{pydoca.sim.fabric()}" if info.backend == "sim" else info.backend


def _folder() -> Path:
    """Private to the user, as the fabrics are."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(base, "pydoca-qualify") if base else Path(f"/tmp/pydoca-qualify-{os.getuid()}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.lstat().st_uid != os.getuid():
        raise InUse(f"{folder} belongs to another user: set XDG_RUNTIME_DIR to a directory of yours")
    return folder


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
