"""The file that the host lends."""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import stat
import threading
from types import TracebackType

from pydoca.cli._errors import CommandError

_BLOCK = 1 << 20


class Source:
    """A regular file, mapped for reading. Its pages are loaded when needed, so it may be larger than memory."""

    def __init__(self, path: str) -> None:
        self.path = path
        # O_NONBLOCK, because opening a FIFO would else wait for a writer.
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            self.size = self._checked_size()
            # Private, because up to Linux 6.1 an RDMA device refuses shared memory that is read-only.
            self._map = mmap.mmap(self._fd, self.size, mmap.MAP_PRIVATE, mmap.PROT_READ) if self.size else None
        except BaseException:
            os.close(self._fd)
            raise
        self._stopped = threading.Event()

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, exception: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._map is not None:
            with contextlib.suppress(BufferError):  # the frames of an error may still hold a view
                self._map.close()
        os.close(self._fd)

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    def view(self, offset: int, size: int) -> memoryview:
        """Memory of the file. After the file was cut, a CPU access to a lost page ends the process; a task fails."""
        assert self._map is not None
        return memoryview(self._map)[offset : offset + size]

    def sha256(self) -> str:
        """Reads the whole file, in a thread. Stops early, without a result, after stop()."""
        digest = hashlib.sha256()
        block = memoryview(bytearray(_BLOCK))
        offset = 0
        while offset < self.size and not self._stopped.is_set():
            count = os.preadv(self._fd, [block[: self.size - offset]], offset)
            if count == 0:
                self.require_whole()
            digest.update(block[:count])
            offset += count
        return digest.hexdigest()

    def stop(self) -> None:
        self._stopped.set()

    def require_whole(self) -> None:
        """Raises when the file has become shorter than it was."""
        now = os.fstat(self._fd).st_size
        if now < self.size:
            raise CommandError(f"{self.path}: the file was cut from {self.size} to {now} bytes while it was copied")

    def _checked_size(self) -> int:
        status = os.fstat(self._fd)
        if stat.S_ISDIR(status.st_mode):
            raise CommandError(f"{self.path}: a directory; give one file")
        if not stat.S_ISREG(status.st_mode):
            raise CommandError(f"{self.path}: not a regular file, so it cannot be mapped")
        if status.st_size == 0 and os.pread(self._fd, 1, 0):
            raise CommandError(f"{self.path}: its size is not known, so it cannot be mapped")
        return status.st_size
