"""A worker of xdist: it repeats the cases that the controller sends."""

from __future__ import annotations

import pytest

from pydoca.qualify.pytest_private import renew
from pydoca.qualify.session.session import Session
from pytest_pydoca.markers import is_case


class Repeater:
    """Repeats each item by itself, because a worker runs only the items that the controller sends."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if not is_case(item):
            return None
        repeats = [
            repeat for repeat in range(self._session.settings.repeat) if not self._session.is_finished(item, repeat)
        ]
        plugins = item.config.pluginmanager
        own = {self, plugins.getplugin("pydoca-session")}  # that one has the device's lock
        run = plugins.subset_hook_caller("pytest_runtest_protocol", own)
        for index, repeat in enumerate(repeats):
            self._session.repeat = repeat
            if index:
                renew(item)
            self._session.begin_case(item)
            # The item's own fixtures end between its repeats, those of its module live on.
            run(item=item, nextitem=nextitem if repeat == repeats[-1] else item.parent)
        return True
