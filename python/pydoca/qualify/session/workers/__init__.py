"""Runs under xdist: the controller writes the records, its workers run cases and write samples."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol

from pydoca.qualify.session.passes import renew
from pydoca.qualify.session.settings import Settings
from pydoca.qualify.session.target import Target
from pytest_pydoca.markers import is_case

if TYPE_CHECKING:
    from pydoca.qualify.session.session import Session

_INPUT = "pydoca"
REFUSAL = "pydoca_usage"


def received(config: pytest.Config) -> dict[str, Any] | None:
    """None in a process that is not a worker."""
    given = getattr(config, "workerinput", None)
    return None if given is None else dict(json.loads(given.get(_INPUT, "{}")))


def send(node: Any, session: Session) -> None:
    """What workers must have in common."""
    settings = dataclasses.replace(
        session.settings,
        seed=session.seed,
        level=session.level,
        devices=tuple(target.label for target in session.targets if target.info),
        resume=None,
    )
    given = {
        "settings": dataclasses.asdict(settings),
        "directories": [str(run.target.directory or "") for run in session.runs.values()],
        "finished": [sorted(target.finished) for target in session.targets],
        "plan": str(session.shared.path),
    }
    node.workerinput[_INPUT] = json.dumps(given)


def settings_from(settings: Settings, given: dict[str, Any]) -> Settings:
    """Those of the controller, where it has sent any."""
    sent = given.get("settings")
    if sent is None:
        return settings
    given_again: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in sent.items()}
    return Settings(**given_again)


def apply(targets: list[Target], given: dict[str, Any]) -> None:
    for target, directory, finished in zip(
        targets, given.get("directories", []), given.get("finished", []), strict=False
    ):
        target.directory = Path(directory) if directory else None
        target.finished = {(node, repeat) for node, repeat in finished}


def refuse(config: pytest.Config, message: str) -> None:
    """The controller ends with this usage error."""
    output: dict[str, Any] = config.workeroutput  # type: ignore[attr-defined]
    output[REFUSAL] = message


class Repeater:
    """A worker runs the items that the controller sends, so it repeats each one by itself."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if not is_case(item):
            return None
        repeats = [
            repeat for repeat in range(self._session.settings.repeat) if not self._session.is_finished(item, repeat)
        ]
        for index, repeat in enumerate(repeats):
            self._session.repeat = repeat
            if index:
                renew(item)
            self._session.begin_case(item)
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            # The item's own fixtures end between its repeats, those of its module live on.
            runtestprotocol(item, nextitem=nextitem if repeat == repeats[-1] else item.parent)  # type: ignore[arg-type]
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True
