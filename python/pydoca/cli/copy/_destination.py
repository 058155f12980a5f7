"""The file, device or FIFO that the DPU writes. A file appears when it is complete; the others take bytes at once."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import secrets
import select
import stat
from abc import ABC, abstractmethod
from types import TracebackType

from pydoca.cli._errors import CommandError


class Destination(ABC):
    """Takes bytes in order, in one thread at a time. A context; without commit() a file leaves no trace."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> Destination:
        return self

    def __exit__(
        self, exception: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def write(self, data: memoryview) -> None: ...

    @abstractmethod
    def interrupt(self) -> None:
        """Makes a write that waits in another thread return, and all later writes."""

    @abstractmethod
    async def commit(self) -> None:
        """Makes the written bytes the content of the destination."""

    @abstractmethod
    def close(self) -> None: ...


def check(path: str) -> None:
    """Raises early what open_destination() would raise, as far as that does not depend on the source's name."""
    target = _target(path)
    if not os.path.exists(target):
        _require(os.path.dirname(target), os.W_OK | os.X_OK, shown=path)
    elif os.path.isdir(target):
        _require(target, os.W_OK | os.X_OK, shown=path)
    else:
        _require(target, os.W_OK, shown=path)


def open_destination(path: str, source_name: str) -> Destination:
    """Opens the destination; if path is a directory, the file of the source's name in it."""
    target = _target(path)
    if os.path.isdir(target):
        path = os.path.join(path, source_name)
        target = _target(path)
        if os.path.isdir(target):
            raise CommandError(f"{path}: it is a directory; remove it, or copy to another place")
    if os.path.exists(target) and not os.path.isfile(target):
        return Stream(path)
    return NewFile(path, target)


def _target(path: str) -> str:
    target = os.path.realpath(path)
    if not path or (path.endswith("/") and not os.path.isdir(target)):
        raise CommandError(f"{path!r}: no such directory; create it, or name a file")
    return target


def _require(target: str, mode: int, shown: str) -> None:
    if not os.path.exists(target):
        raise CommandError(f"{shown}: the directory {target} does not exist; create it first")
    if not os.access(target, mode):
        raise CommandError(f"{shown}: {target} is not writable; choose another place, or change its permissions")


class NewFile(Destination):
    """A file without a name, which commit() puts in place of the old one at once: no process ever sees half of it.

    On file systems without unnamed files it has a hidden name until then.
    """

    def __init__(self, path: str, target: str) -> None:
        super().__init__(path)
        self._base = os.path.basename(target)
        self._hidden = f".{self._base[:200]}.{secrets.token_hex(8)}.pydoca"
        self._mode = _mode_of(target, path)
        self._directory = _open_directory(os.path.dirname(target), path)
        try:
            self._fd, self._has_name = self._create()
        except BaseException:
            os.close(self._directory)
            raise

    def write(self, data: memoryview) -> None:
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            raise _about(error, self.path) from None

    def interrupt(self) -> None:
        pass  # writes to a file do not wait

    async def commit(self) -> None:
        try:
            if self._mode is not None:
                os.fchmod(self._fd, self._mode)
            await asyncio.to_thread(os.fsync, self._fd)
            self._put_in_place()
        except OSError as error:
            raise _about(error, self.path) from None

    def close(self) -> None:
        if self._has_name:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._hidden, dir_fd=self._directory)
        os.close(self._fd)
        os.close(self._directory)

    def _create(self) -> tuple[int, bool]:
        """Returns the descriptor, and whether the file has its hidden name."""
        with contextlib.suppress(OSError):  # some file systems cannot; other errors appear below
            return os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666, dir_fd=self._directory), False
        try:
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
            return os.open(self._hidden, flags, 0o666, dir_fd=self._directory), True
        except OSError as error:
            raise _about(error, self.path) from None

    def _put_in_place(self) -> None:
        if not self._has_name:
            try:
                self._link(self._base)
                return
            except FileExistsError:
                self._link(self._hidden)
                self._has_name = True
        os.replace(self._hidden, self._base, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        self._has_name = False

    def _link(self, name: str) -> None:
        # Python calls linkat() when it has both directories; only that call follows the link in /proc.
        os.link(
            f"/proc/self/fd/{self._fd}",
            name,
            src_dir_fd=self._directory,
            dst_dir_fd=self._directory,
            follow_symlinks=True,
        )


class Stream(Destination):
    """A device, FIFO or terminal. It keeps the bytes that it took; interrupt() ends the wait for a slow one."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._fd = self._open()
        self._interrupted = os.eventfd(0, os.EFD_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLOUT)
        self._poll.register(self._interrupted, select.POLLIN)

    def write(self, data: memoryview) -> None:
        while data:
            ready = [fd for fd, _ in self._poll.poll()]
            if self._interrupted in ready:
                return
            data = data[self._write_some(data) :]

    def interrupt(self) -> None:
        os.eventfd_write(self._interrupted, 1)

    async def commit(self) -> None:
        pass

    def close(self) -> None:
        os.close(self._fd)
        os.close(self._interrupted)

    def _open(self) -> int:
        try:
            return os.open(self.path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno == errno.ENXIO and stat.S_ISFIFO(os.stat(self.path).st_mode):
                raise CommandError(f"{self.path}: no process reads this FIFO; start its reader first") from None
            raise

    def _write_some(self, data: memoryview) -> int:
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise _about(error, self.path) from None


def _about(error: OSError, path: str) -> OSError:
    """The same error, with the path that the user gave."""
    return OSError(error.errno, error.strerror, path)


def _mode_of(target: str, path: str) -> int | None:
    """The permissions of the file that will be replaced; None when there is none.

    The result lacks set-user-ID, set-group-ID and sticky, which hold for the old content only.
    """
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _about(error, path) from None
    if not os.access(target, os.W_OK):
        raise CommandError(f"{path}: the file is not writable; remove it, or change its permissions")
    return status.st_mode & 0o777


def _open_directory(directory: str, path: str) -> int:
    try:
        return os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _about(error, path) from None
