"""The statuses and their exception classes."""

import builtins
import copy
import pickle
import typing

import pytest

import pydoca
from pydoca import DocaError, Status, _core, _errors

# DOCA's number and name, our class, and the built-in class that it derives from.
TABLE = [
    (1, "UNKNOWN", "UnknownError", RuntimeError),
    (2, "NOT_PERMITTED", "NotPermittedError", PermissionError),
    (3, "IN_USE", "InUseError", RuntimeError),
    (4, "NOT_SUPPORTED", "NotSupportedError", NotImplementedError),
    (5, "AGAIN", "AgainError", BlockingIOError),
    (6, "INVALID_VALUE", "InvalidValueError", ValueError),
    (7, "NO_MEMORY", "NoMemoryError", MemoryError),
    (8, "INITIALIZATION", "InitializationError", RuntimeError),
    (9, "TIME_OUT", "TimeOutError", TimeoutError),
    (10, "SHUTDOWN", "ShutdownError", BrokenPipeError),
    (11, "CONNECTION_RESET", "ConnectionResetError", builtins.ConnectionResetError),
    (12, "CONNECTION_ABORTED", "ConnectionAbortedError", builtins.ConnectionAbortedError),
    (13, "CONNECTION_INPROGRESS", "ConnectionInprogressError", BlockingIOError),
    (14, "NOT_CONNECTED", "NotConnectedError", ConnectionError),
    (15, "NO_LOCK", "NoLockError", RuntimeError),
    (16, "NOT_FOUND", "NotFoundError", LookupError),
    (17, "IO_FAILED", "IoFailedError", OSError),
    (18, "BAD_STATE", "BadStateError", RuntimeError),
    (19, "UNSUPPORTED_VERSION", "UnsupportedVersionError", NotImplementedError),
    (20, "OPERATING_SYSTEM", "OperatingSystemError", OSError),
    (21, "DRIVER", "DriverError", OSError),
    (22, "UNEXPECTED", "UnexpectedError", RuntimeError),
    (23, "ALREADY_EXIST", "AlreadyExistError", ValueError),
    (24, "FULL", "FullError", RuntimeError),
    (25, "EMPTY", "EmptyError", LookupError),
    (26, "IN_PROGRESS", "InProgressError", BlockingIOError),
    (27, "TOO_BIG", "TooBigError", ValueError),
    (28, "AUTHENTICATION", "AuthenticationError", PermissionError),
    (29, "BAD_CONFIG", "BadConfigError", ValueError),
    (30, "SKIPPED", "SkippedError", RuntimeError),
]
ROWS = pytest.mark.parametrize(("number", "name", "class_name", "builtin"), TABLE, ids=[row[1] for row in TABLE])


def test_the_table_has_every_failing_status():
    assert [row[0] for row in TABLE] == list(range(1, _core.status_count))
    assert [(status.value, status.name) for status in Status] == [(0, "SUCCESS"), *(row[:2] for row in TABLE)]


def test_every_class_has_one_status():
    classes = {getattr(pydoca, row[2]) for row in TABLE}
    assert len(classes) == len(TABLE)
    for name in pydoca.__all__:
        public = getattr(pydoca, name)
        if isinstance(public, type) and issubclass(public, DocaError) and public is not DocaError:
            assert public in classes or public in (
                pydoca.WrongThreadError,
                pydoca.DeadlockError,
                pydoca.ForkedError,
                pydoca.BufferInUseError,
            )


@ROWS
def test_the_engines_error_arrives_as_the_class_of_its_status(number, name, class_name, builtin):
    cls = getattr(pydoca, class_name)
    with pytest.raises(builtin) as caught:
        _core.throw_error(number, "cannot map 0 bytes; give at least 1")
    error = caught.value
    assert type(error) is cls
    assert isinstance(error, DocaError)
    assert error.status is Status[name]
    assert error.name == f"DOCA_ERROR_{name}"
    assert error.descr == Status(number).descr != ""
    assert str(error) == "cannot map 0 bytes; give at least 1"
    assert error.task is None


@ROWS
def test_an_error_survives_pickle_and_copy(number, name, class_name, builtin):
    error = _errors.from_status(number, "message", task=lambda: "cannot be pickled")
    error.add_note("a note")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert (str(again), again.status, again.__notes__) == ("message", error.status, ["a note"])
        assert again.task is None


@ROWS
def test_an_error_without_message_says_what_its_status_means(number, name, class_name, builtin):
    assert str(_errors.from_status(number)) == Status(number).descr


def test_from_status_attaches_the_task():
    task = object()
    assert _errors.from_status(Status.IO_FAILED, "message", task=task).task is task


@pytest.mark.parametrize("number", [0, 31, 0xFFFFFFFF])
def test_a_number_that_is_no_error_is_unexpected_and_named(number):
    with pytest.raises(pydoca.UnexpectedError, match=f"message .*status {number}"):
        _core.throw_error(number, "message")
    assert _core.error_name(number) == ("DOCA_SUCCESS" if number == 0 else "DOCA_ERROR_UNRECOGNIZED")


def test_special_cases_derive_from_the_class_of_their_status():
    assert issubclass(pydoca.WrongThreadError, pydoca.NotPermittedError)
    assert pydoca.WrongThreadError("x").status is Status.NOT_PERMITTED
    assert issubclass(pydoca.ForkedError, pydoca.BadStateError)
    assert type(_errors.from_status(Status.NOT_PERMITTED, "x")) is pydoca.NotPermittedError


def test_a_message_that_is_not_utf8_still_arrives():
    with pytest.raises(pydoca.NotFoundError) as caught:
        _core.throw_error(Status.NOT_FOUND, b"no device \xff")
    assert str(caught.value) == "no device �"


def test_errors_have_type_hints():
    for error in pydoca.DocaError, pydoca.AgainError:
        assert set(typing.get_type_hints(error)) >= {"status", "task"}
    assert set(typing.get_type_hints(pydoca.sim.ProcessError)) == {"process", "returncode", "traceback"}


def test_a_time_limit_is_a_number():
    with pytest.raises(TypeError, match="timeout must be a number of seconds, or None, not str"):
        pydoca.comch.Client(None, pydoca.open_device("pf0"), "service", timeout="5")
    with pydoca.ProgressEngine() as pe:
        for what in (lambda: False, []):
            with pytest.raises(TypeError, match="timeout must be a number of seconds, or None, not str"):
                pe.run_until(what, timeout="5")
