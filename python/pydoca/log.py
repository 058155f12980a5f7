"""DOCA's log (doca_log): sinks that the engine writes by itself, and sources of an application's messages.

Both families of messages arrive in `logging`, below the logger ``pydoca``. A sink gets them as well, at
once and from any thread, also while Python cannot run. There are two families: messages of applications, which come
from a `Source`, and messages of the engine (sdk=True). A sink shows one family.

A level is a `LogLevel`, its number, or its name: disable, crit, error, warning, info, debug or trace. InvalidValueError
is raised for another one.
"""

from __future__ import annotations

import os
from typing import Self

from pydoca import _core
from pydoca._log import LogLevel, to_level

__all__ = ["Buffer", "Sink", "Source", "global_limits", "set_global_upper_limit", "sources"]


class Buffer:
    """A bounded queue of messages in memory, for `Sink.buffer`. A full one drops the oldest message."""

    def __init__(self, capacity: int = 1024) -> None:
        self._ring = _core.LogRing(capacity)

    def __len__(self) -> int:
        """The number of messages that wait to be read."""
        return len(self._ring)

    def read(self) -> list[str]:
        """Takes the messages that are there, oldest first, each as the line that a file would get."""
        return self._ring.pop_lines()

    @property
    def capacity(self) -> int:
        """The most messages that it holds."""
        return self._ring.capacity

    @property
    def lost(self) -> int:
        """The number of messages that were dropped, since it was made."""
        return self._ring.lost


class Sink:
    """A place to which messages of one family go, until close(): also when no name refers to it any more.

    A new sink has the global limits. Made by `file`, `fd`, `buffer`, `syslog` or `standard` (struct doca_log_backend).
    """

    def __init__(self, sink: _core.LogSink) -> None:
        self._sink = sink

    @classmethod
    def file(cls, path: str | os.PathLike[str], *, sdk: bool = False) -> Self:
        """Appends to the file. Raises OperatingSystemError when it cannot be opened."""
        return cls(_core.LogSink.file(sdk, os.fspath(path)))

    @classmethod
    def fd(cls, fd: int, *, sdk: bool = False) -> Self:
        """Writes to a duplicate of the descriptor. Raises InvalidValueError when it is not open."""
        return cls(_core.LogSink.fd(sdk, fd))

    @classmethod
    def buffer(cls, buffer: Buffer, *, sdk: bool = False) -> Self:
        """Puts messages into the buffer; one buffer may serve several sinks."""
        return cls(_core.LogSink.ring(sdk, buffer._ring))

    @classmethod
    def syslog(cls, name: str, *, sdk: bool = False) -> Self:
        """Writes to the system's log under that name."""
        return cls(_core.LogSink.syslog(sdk, name))

    @classmethod
    def standard(cls) -> Self:
        """Messages of applications: INFO and more verbose to standard output, more severe ones to standard error."""
        return cls(_core.LogSink.standard())

    @property
    def is_sdk(self) -> bool:
        """Whether it shows the engine's messages, and not those of applications."""
        return self._sink.is_engines

    def set_lower_limit(self, level: LogLevel | int | str) -> None:
        """Sets the most verbose level that it shows.

        Raises NotSupportedError for the engine's messages (set_sdk_level()), NotPermittedError beyond a strict limit.
        """
        self._sink.set_lower_limit(to_level(level))

    def set_upper_limit(self, level: LogLevel | int | str) -> None:
        """Sets the most severe level that it shows. Raises the errors of set_lower_limit()."""
        self._sink.set_upper_limit(to_level(level))

    def set_lower_limit_strict(self) -> None:
        """From now on the lower limit cannot become more verbose, also not by the global one."""
        self._sink.set_lower_limit_strict()

    def set_upper_limit_strict(self) -> None:
        """From now on the upper limit cannot become more severe, also not by the global one."""
        self._sink.set_upper_limit_strict()

    def set_sdk_level(self, level: LogLevel | int | str) -> None:
        """Sets the most verbose level of the engine's messages that it shows.

        Raises NotSupportedError for a sink of applications' messages (set_lower_limit()).
        """
        self._sink.set_sdk_level(to_level(level))

    @property
    def lower_limit(self) -> LogLevel:
        """The most verbose level that it shows; for a sink of the engine's messages use sdk_level."""
        return LogLevel(self._sink.lower_limit)

    @property
    def upper_limit(self) -> LogLevel:
        """The most severe level that it shows."""
        return LogLevel(self._sink.upper_limit)

    @property
    def sdk_level(self) -> LogLevel:
        """The most verbose level of the engine's messages that it shows."""
        return LogLevel(self._sink.sdk_level)

    @property
    def lost(self) -> int:
        """The number of messages that could not be written."""
        return self._sink.lost

    def close(self) -> None:
        """Ends it; idempotent. A message that another thread is logging may still arrive."""
        self._sink.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Source:
    """A part of an application that logs under its own name, listed in `sources` while it lives.

    The name's parts are separated by "::"; InvalidValueError when one is empty (doca_log_register_source).
    """

    def __init__(self, name: str) -> None:
        self._source = _core.LogSource(name)

    @property
    def name(self) -> str:
        """The name under which it logs."""
        return self._source.name

    def log(self, level: LogLevel | int | str, text: str) -> None:
        """Logs a message, to the sinks and to `logging` (doca_log)."""
        self._source.log(to_level(level), text)


def sources() -> list[str]:
    """The names of the sources that are there, in order, each once."""
    return _core.log_sources()


def set_global_upper_limit(level: LogLevel | int | str) -> None:
    """Sets the most severe level of applications' messages, for every sink and for later ones."""
    _core.log_set_upper_limit(to_level(level))


def global_limits() -> tuple[LogLevel, LogLevel, LogLevel]:
    """The global limits: lower and upper of applications' messages, and that of the engine's."""
    lower, upper, sdk = _core.log_global_limits()
    return LogLevel(lower), LogLevel(upper), LogLevel(sdk)
