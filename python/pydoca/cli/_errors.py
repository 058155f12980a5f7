"""The errors that commands raise; each error becomes one line and an exit code."""

from __future__ import annotations

import errno
import os
import signal

from pydoca import DocaError

_PLACE_IS_GONE = "the current directory has been removed; change to another one"


class CommandError(Exception):
    """A failure that its message explains completely."""

    exit_code = 1


class UsageError(CommandError):
    """The command line lacks an argument, has one too many, or has some that exclude each other."""

    exit_code = 2


class PeerError(CommandError):
    """The other process failed or ended, and reports the cause itself."""


class Interrupted(CommandError):
    """A signal asked the command to end."""

    def __init__(self, number: int) -> None:
        super().__init__("interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}")
        self.exit_code = 128 + number


def describe(error: BaseException) -> str:
    """The error in one line, without control characters."""
    return one_line(_explain(error))


def exit_code(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt):
        return 128 + signal.SIGINT
    return error.exit_code if isinstance(error, CommandError) else 1


def one_line(text: str) -> str:
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _place_is_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _explain(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, MemoryError) and not isinstance(error, DocaError):
        return "memory is short; ask for less at a time, or raise the limit of this process (ulimit -v, its cgroup)"
    if isinstance(error, CommandError | DocaError):
        return str(error)
    if isinstance(error, OSError) and error.errno == errno.EMFILE:  # any file can be the one too many
        return "too many open files; raise the limit of this process (ulimit -n)"
    if isinstance(error, OSError) and error.strerror:
        remedy = "; raise the limit of this process (ulimit -f)" if error.errno == errno.EFBIG else ""
        if error.filename is not None:
            return f"{error.filename}: {error.strerror}{remedy}"
        return _PLACE_IS_GONE if _place_is_gone() else error.strerror + remedy
    return f"unexpected {type(error).__name__}: {error} (PYDOCA_DEBUG=1 shows where)"
