"""The error of a guest that cannot start, or does not end by itself."""

from __future__ import annotations

TIMED_OUT = 124  # the code of timeout(1)
NOT_REPORTED = 125
NOT_FOUND = 127  # the code of a shell


class LabError(Exception):
    """A failure that its message explains completely; exit_code is that of the process that reports it."""

    def __init__(self, message: str, exit_code: int = NOT_REPORTED) -> None:
        super().__init__(message)
        self.exit_code = exit_code
