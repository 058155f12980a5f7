"""The link between a command of pydoca that runs pytest and the plug-in: what each tells the other."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

from pydoca.qualify.session.hooks import session_of

if TYPE_CHECKING:
    from pydoca.qualify.session.session import Session


class FrontEnd:
    """A plug-in of pytest that the command brings with it."""

    def __init__(self, command: str) -> None:
        """command: the command line that goes on with a run, without --resume."""
        self._command = command
        self.session: Session | None = None  # None: pytest has not come so far
        self.refusal: str = ""  # the usage error that has ended pytest

    def pytest_configure(self, config: pytest.Config) -> None:
        self.session = session_of(config)
        self.session.front_end = self._command

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self) -> Generator[None, object, object]:
        try:
            return (yield)
        except pytest.UsageError as error:
            self.refusal = str(error)
            raise
