"""DOCA's statuses, and one exception class for each of them.

Every class is also the built-in exception that it corresponds to, so ``except TimeoutError`` catches a
`TimeOutError`. The names are DOCA's. `ConnectionResetError` and `ConnectionAbortedError` are also names of
built-in exceptions, and these classes are subclasses of those.
"""

from __future__ import annotations

import builtins
import sys
from enum import IntEnum
from typing import Any, ClassVar

from pydoca import _core
from pydoca._enums import print_names


@print_names
class Status(IntEnum):
    """The outcome of an operation; the numbers are DOCA's."""

    SUCCESS = 0
    UNKNOWN = 1
    NOT_PERMITTED = 2
    IN_USE = 3
    NOT_SUPPORTED = 4
    AGAIN = 5
    INVALID_VALUE = 6
    NO_MEMORY = 7
    INITIALIZATION = 8
    TIME_OUT = 9
    SHUTDOWN = 10
    CONNECTION_RESET = 11
    CONNECTION_ABORTED = 12
    CONNECTION_INPROGRESS = 13
    NOT_CONNECTED = 14
    NO_LOCK = 15
    NOT_FOUND = 16
    IO_FAILED = 17
    BAD_STATE = 18
    UNSUPPORTED_VERSION = 19
    OPERATING_SYSTEM = 20
    DRIVER = 21
    UNEXPECTED = 22
    ALREADY_EXIST = 23
    FULL = 24
    EMPTY = 25
    IN_PROGRESS = 26
    TOO_BIG = 27
    AUTHENTICATION = 28
    BAD_CONFIG = 29
    SKIPPED = 30

    @property
    def descr(self) -> str:
        """What the status means, in a sentence."""
        return _core.error_descr(self)

    @property
    def error_name(self) -> str:
        """DOCA's symbolic name, such as ``DOCA_ERROR_AGAIN``."""
        return _core.error_name(self)


_classes: dict[int, type[DocaError]] = {}


class DocaError(Exception):
    """The base of pydoca's errors: an operation that fails raises the subclass for its status.

    ``task`` is the task or batch that failed, or None; pickling leaves it out.
    """

    status: ClassVar[Status] = Status.UNKNOWN
    task: Any = None

    def __init_subclass__(cls, *, status: Status | None = None) -> None:
        super().__init_subclass__()
        if cls.__module__ == __name__:
            cls.__module__ = "pydoca"
        if status is not None:
            cls.status = status
            _classes[status] = cls

    @property
    def name(self) -> str:
        """DOCA's symbolic name, such as ``DOCA_ERROR_AGAIN``."""
        return self.status.error_name

    @property
    def descr(self) -> str:
        """What the status means in general; ``str(error)`` says what happened here."""
        return self.status.descr

    def __str__(self) -> str:
        return super().__str__() or self.descr

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, {key: value for key, value in vars(self).items() if key != "task"}


# The annotations are objects: type hints are looked up in pydoca, which has no such names.
DocaError.__annotations__ = {"status": ClassVar[Status], "task": Any}


class UnknownError(DocaError, RuntimeError, status=Status.UNKNOWN):
    """The operation failed for an unknown reason."""


class NotPermittedError(DocaError, PermissionError, status=Status.NOT_PERMITTED):
    """The object or the caller may not do this."""


class WrongThreadError(NotPermittedError):
    """The object belongs to another thread."""


class InUseError(DocaError, RuntimeError, status=Status.IN_USE):
    """Something else still uses the object."""


class BufferInUseError(InUseError):
    """The buf's memory is in quarantine: a cancelled task was given up while the device had it."""


class NotSupportedError(DocaError, NotImplementedError, status=Status.NOT_SUPPORTED):
    """The device or this build cannot do this."""


class AgainError(DocaError, BlockingIOError, status=Status.AGAIN):
    """The operation is not possible right now; try again later."""


class InvalidValueError(DocaError, ValueError, status=Status.INVALID_VALUE):
    """An argument has a value that cannot be accepted."""


class NoMemoryError(DocaError, MemoryError, status=Status.NO_MEMORY):
    """No memory, or no free slot, is left."""


class InitializationError(DocaError, RuntimeError, status=Status.INITIALIZATION):
    """Initialization failed."""


class TimeOutError(DocaError, TimeoutError, status=Status.TIME_OUT):
    """The time allowed has passed."""


class ShutdownError(DocaError, BrokenPipeError, status=Status.SHUTDOWN):
    """The object is being shut down."""


class ConnectionResetError(DocaError, builtins.ConnectionResetError, status=Status.CONNECTION_RESET):
    """The peer reset the connection."""


class ConnectionAbortedError(DocaError, builtins.ConnectionAbortedError, status=Status.CONNECTION_ABORTED):
    """The connection was aborted."""


class ConnectionInprogressError(DocaError, BlockingIOError, status=Status.CONNECTION_INPROGRESS):
    """The connection is still being set up."""


class NotConnectedError(DocaError, ConnectionError, status=Status.NOT_CONNECTED):
    """There is no connection."""


class NoLockError(DocaError, RuntimeError, status=Status.NO_LOCK):
    """The lock could not be taken."""


class NotFoundError(DocaError, LookupError, status=Status.NOT_FOUND):
    """The object does not exist."""


class IoFailedError(DocaError, OSError, status=Status.IO_FAILED):
    """The input or output operation failed."""


class BadStateError(DocaError, RuntimeError, status=Status.BAD_STATE):
    """The object is in the wrong state for this."""


class ForkedError(BadStateError):
    """The object belongs to the process that this one was forked from."""


class UnsupportedVersionError(DocaError, NotImplementedError, status=Status.UNSUPPORTED_VERSION):
    """The version is not supported."""


class OperatingSystemError(DocaError, OSError, status=Status.OPERATING_SYSTEM):
    """A call to the operating system failed."""


class DriverError(DocaError, OSError, status=Status.DRIVER):
    """The driver reported a failure."""


class UnexpectedError(DocaError, RuntimeError, status=Status.UNEXPECTED):
    """Something happened that should not be possible."""


class DeadlockError(UnexpectedError):
    """In virtual time, all threads wait, and nothing can happen any more that would end a wait."""


class AlreadyExistError(DocaError, ValueError, status=Status.ALREADY_EXIST):
    """The object exists already."""


class FullError(DocaError, RuntimeError, status=Status.FULL):
    """No more entries fit."""


class EmptyError(DocaError, LookupError, status=Status.EMPTY):
    """No entry is left."""


class InProgressError(DocaError, BlockingIOError, status=Status.IN_PROGRESS):
    """The operation has begun and is not over yet."""


class TooBigError(DocaError, ValueError, status=Status.TOO_BIG):
    """The data exceeds what the receiver can hold."""


class AuthenticationError(DocaError, PermissionError, status=Status.AUTHENTICATION):
    """The authentication failed."""


class BadConfigError(DocaError, ValueError, status=Status.BAD_CONFIG):
    """The configuration is not usable."""


class SkippedError(DocaError, RuntimeError, status=Status.SKIPPED):
    """The operation was not carried out."""


def from_status(status: int, message: str = "", *, task: object = None) -> DocaError:
    """Makes the exception for a status. A number that is not an error's gives an `UnexpectedError` that says so."""
    cls = _classes.get(status)
    if cls is None:
        return UnexpectedError(f"{message or 'no message'} (with status {status}, which is not an error's)")
    error = cls(message) if message else cls()
    if task is not None:
        error.task = task
    return error


_core.attach(errors=sys.modules[__name__])  # here, because modules that the package imports next call the engine
