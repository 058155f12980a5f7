"""Messages of the command and of the engine on standard error."""

from __future__ import annotations

import logging

import pydoca
from pydoca import LogLevel
from pydoca._log import to_logging

log = logging.getLogger("pydoca.app.command")


def show_logs(level: LogLevel | None, sdk_level: LogLevel | None) -> None:
    """Shows messages of the command up to level, and of the engine up to sdk_level; None shows nothing."""
    engine, command = logging.getLogger("pydoca"), logging.getLogger("pydoca.app")
    if level is None and sdk_level is None:
        engine.addHandler(logging.NullHandler())  # else logging would show warnings
        return
    engine.setLevel(to_logging(sdk_level or LogLevel.DISABLE))
    command.setLevel(to_logging(level or LogLevel.DISABLE))
    if sdk_level is not None:
        pydoca.set_sdk_log_level(sdk_level)
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    engine.addHandler(handler)
