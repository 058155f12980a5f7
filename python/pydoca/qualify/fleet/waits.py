"""What the run of a card says while it waits for its device: an event of Dask, from the worker to the front end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_TOPIC = "pydoca-waits"  # all fleets of a scheduler share it


def say(line: str) -> None:
    """Sends a line to the front end, from the task that calls this."""
    from distributed import get_worker

    worker = get_worker()
    worker.log_event(_TOPIC, [worker.get_current_task(), line])


def listen(client: Any, tell: Callable[[str, str], None]) -> None:
    """tell() is called with the key of a task, perhaps one of another fleet, and each line, until the client closes."""
    client.subscribe_topic(_TOPIC, lambda event: tell(*event[1]))
