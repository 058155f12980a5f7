"""The settings and targets that the controller sends to a worker, and the worker's refusal, which it hears."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from pydoca.qualify.session.settings import Settings
from pydoca.qualify.session.target import Target

_INPUT = "pydoca"
REFUSAL = "pydoca_usage"


def received(config: pytest.Config) -> dict[str, Any] | None:
    """The controller's message; None in a process that is not a worker."""
    given = getattr(config, "workerinput", None)
    return None if given is None else dict(json.loads(given.get(_INPUT, "{}")))


def send(node: Any, settings: Settings, targets: list[Target], plan: Path) -> None:
    """Tells a worker what all must have in common. plan: where it writes its cases."""
    devices = tuple(target.label for target in targets if target.info)
    given = {
        "settings": dataclasses.asdict(dataclasses.replace(settings, devices=devices, resume=None)),
        "directories": [str(target.directory or "") for target in targets],
        "finished": [sorted(target.finished) for target in targets],
        "plan": str(plan),
    }
    node.workerinput[_INPUT] = json.dumps(given)


def settings_from(settings: Settings, given: dict[str, Any]) -> Settings:
    """The settings of the controller, where it has sent any."""
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
    """Has the controller end with this usage error."""
    output: dict[str, Any] = config.workeroutput  # type: ignore[attr-defined]
    output[REFUSAL] = message
