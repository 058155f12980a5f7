"""Brings the engine's messages into Python's logging.

The engine's threads write into a bounded ring; `drain`, called by Python only, hands its records to
``pydoca.<source>`` (engine) and ``pydoca.app.<source>`` (applications), all below the logger ``pydoca``.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import sys
import threading
from enum import IntEnum

from pydoca import _core
from pydoca._enums import print_names
from pydoca._errors import InvalidValueError

_CAPACITY = 1024


@print_names
class LogLevel(IntEnum):
    """DOCA's levels: the larger, the more verbose."""

    DISABLE = 10
    CRIT = 20
    ERROR = 30
    WARNING = 40
    INFO = 50
    DEBUG = 60
    TRACE = 70


# logging has no level for TRACE; no message has the level DISABLE.
_TO_LOGGING = {
    LogLevel.CRIT: logging.CRITICAL,
    LogLevel.ERROR: logging.ERROR,
    LogLevel.WARNING: logging.WARNING,
    LogLevel.INFO: logging.INFO,
    LogLevel.DEBUG: logging.DEBUG,
    LogLevel.TRACE: 5,
}

_logger = logging.getLogger("pydoca")


def _is_command() -> bool:
    """Whether the command `pydoca` starts, as a script or by `python -m`: it reports the environment's error itself."""
    program = sys.argv[0] if sys.argv else ""
    return program == "-m" or os.path.basename(program) == "pydoca"


class _Environment:
    """The levels that the environment asks for; None where it is silent. The engine has them in force."""

    def __init__(self) -> None:
        self.error: InvalidValueError | None = None
        levels: tuple[int | None, int | None] = (None, None)
        try:
            levels = _core.log_environment_levels()
        except InvalidValueError as error:
            if not _is_command():
                raise
            self.error = error
        self.level, self.sdk_level = (None if level is None else LogLevel(level) for level in levels)


environment = _Environment()


class _Intake:
    """The ring with its two sinks, and how many of its lost records were reported."""

    def __init__(self) -> None:
        self.ring = _core.LogRing(_CAPACITY)
        _core.log_set_intake(self.ring)
        self.sinks = [_core.LogSink.ring(engine, self.ring) for engine in (False, True)]
        self.reported = 0
        self.draining = threading.Lock()

    def close(self) -> None:
        for sink in self.sinks:
            sink.close()


_intake = _Intake()


def to_level(value: LogLevel | int | str) -> LogLevel:
    """The level that one of DOCA's names or numbers stands for; CRITICAL, as its command lines have it, is CRIT."""
    if not isinstance(value, str):
        with contextlib.suppress(ValueError):
            return LogLevel(value)
    return LogLevel(_core.log_level(value if isinstance(value, str) else repr(value)))


def to_logging(level: LogLevel) -> int:
    """The number that logging has for the level; for DISABLE a number that no message has."""
    return _TO_LOGGING.get(level, logging.CRITICAL + 1)


def set_log_level(level: LogLevel | int | str) -> None:
    """Sets the most verbose level at which applications' messages reach Python's logging.

    level: a LogLevel, its number, or its name: disable, crit, error, warning, info, debug or trace; upper and lower
    case are the same. Raises InvalidValueError for another one.
    """
    _core.log_set_lower_limit(to_level(level))


def set_sdk_log_level(level: LogLevel | int | str) -> None:
    """Sets the most verbose level at which the engine's own messages reach Python's logging.

    level: a LogLevel, its number, or its name: disable, crit, error, warning, info, debug or trace; upper and lower
    case are the same. Raises InvalidValueError for another one.
    """
    _core.log_set_sdk_limit(to_level(level))


def drain() -> int:
    """Passes the records in the ring to logging and returns how many there were. Any thread may call it."""
    intake = _intake
    if not len(intake.ring) or not intake.draining.acquire(blocking=False):
        return 0
    try:
        records = intake.ring.pop()
        _report_lost(intake)
        for record in records:
            _forward(*record)
        return len(records)
    finally:
        intake.draining.release()


def _report_lost(intake: _Intake) -> None:
    lost = intake.ring.lost - intake.reported
    if lost > 0:
        intake.reported += lost
        _logger.warning("%d log records were lost: they came faster than they were read", lost)


def _forward(
    family: int, level: int, source: str, text: str, realtime_ns: int, boottime_ns: int, thread_id: int
) -> None:
    logger = logging.getLogger(_logger_name(family, source))
    number = _TO_LOGGING[LogLevel(level)]
    if not logger.isEnabledFor(number):
        return
    record = logger.makeRecord(logger.name, number, "(pydoca)", 0, text, (), None)
    vars(record).update(source=source, doca_level=LogLevel(level), boottime_ns=boottime_ns, native_id=thread_id)
    record.created = realtime_ns / 1e9
    record.msecs = float(realtime_ns // 1_000_000 % 1000)
    logger.handle(record)


def _logger_name(family: int, source: str) -> str:
    prefix = "pydoca" if family else "pydoca.app"
    return f"{prefix}.{source.replace('::', '.')}" if source else prefix


def _after_fork() -> None:
    # The parent reports the records in its ring. Another of its threads may have held the ring's lock.
    global _intake
    _intake.close()
    _intake = _Intake()


def _configure() -> None:
    trace = _TO_LOGGING[LogLevel.TRACE]
    if logging.getLevelName(trace) == f"Level {trace}":
        logging.addLevelName(trace, "TRACE")
    os.register_at_fork(after_in_child=_after_fork)
    atexit.register(drain)


_configure()
