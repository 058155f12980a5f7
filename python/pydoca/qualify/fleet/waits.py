"""What the runs of cards say while they wait for their device, on its way from the workers to the front end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from pydoca.qualify.fleet import process

LOOK = 2.0  # seconds between two looks
_ANSWER = 5.0  # seconds: a worker that does not answer is lost soon


@contextlib.asynccontextmanager
async def waits_told(
    client: Any, workers: Callable[[], list[str]], tell: Callable[[str, str], None]
) -> AsyncIterator[None]:
    """tell() is called with a card's key and each new line that its run has written; workers() are addresses."""
    task = asyncio.create_task(_tell(client, workers, tell))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _tell(client: Any, workers: Callable[[], list[str]], tell: Callable[[str, str], None]) -> None:
    told: dict[str, list[str]] = {}
    while True:
        await asyncio.sleep(LOOK)
        for card, lines in (await _lines(client, workers())).items():
            known = told.get(card, [])
            begin = len(known) if lines[: len(known)] == known else 0  # another one: the card is tested again
            told[card] = lines
            for line in lines[begin:]:
                tell(card, line)


async def _lines(client: Any, workers: list[str]) -> dict[str, list[str]]:
    with contextlib.suppress(Exception):
        asked = client.run(process.lines_of_waits, workers=workers, on_error="ignore")
        answers: dict[str, dict[str, list[str]]] = await asyncio.wait_for(asked, _ANSWER)
        return {card: lines for each in answers.values() for card, lines in each.items()}
    return {}
