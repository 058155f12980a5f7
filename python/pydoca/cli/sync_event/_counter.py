"""A sync event in either of its modes, for a process that also watches signals and a connection."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import AsyncExitStack
from typing import Protocol

import pydoca

_SLICE = 0.01  # seconds of a synchronous wait, after which the loop handles signals and messages


class Counter(Protocol):
    """A known value is published, and a value is waited for.

    publish() replaces the value `over`, and returns the previous one where the event tells it; wait() returns the value
    that came.
    """

    @property
    def published_with(self) -> str: ...
    @property
    def waited_with(self) -> str: ...
    async def publish(self, value: int, over: int) -> int | None: ...
    async def wait(self, value: int) -> int: ...


async def start(
    stack: AsyncExitStack, engine: pydoca.ProgressEngine, event: pydoca.SyncEvent, arguments: argparse.Namespace
) -> Counter:
    """Starts the event in the mode that the arguments name; the stack ends it."""
    stack.push(event)  # the stack closes it; entering it would start it, in synchronous mode only
    if not arguments.is_async:
        event.start()
        return _Synchronous(event, arguments.atomic)
    context = event.as_context(engine, arguments.async_num_tasks)
    await stack.enter_async_context(context)
    return _Asynchronous(context, arguments.atomic)


class _Synchronous:
    waited_with = "wait_eq_yield"

    def __init__(self, event: pydoca.SyncEvent, atomic: bool) -> None:
        self._event = event
        self._atomic = atomic
        self.published_with = "update_add" if atomic else "update_set"

    async def publish(self, value: int, over: int) -> int | None:
        if self._atomic:
            return self._event.update_add(value - over)
        self._event.update_set(value)
        return None

    async def wait(self, value: int) -> int:
        while True:
            try:
                self._event.wait_eq_yield(value, timeout=_SLICE)
                return value
            except pydoca.TimeOutError:
                await asyncio.sleep(0)


class _Asynchronous:
    def __init__(self, context: pydoca.SyncEventContext, atomic: bool) -> None:
        self._context = context
        self._atomic = atomic
        self._has_wait = pydoca.SyncEventContext.is_supported(context.device.info, "wait_eq")
        self.published_with = "notify_add" if atomic else "notify_set"
        self.waited_with = "wait_eq" if self._has_wait else "get tasks, as the device has no wait tasks,"

    async def publish(self, value: int, over: int) -> int | None:
        if self._atomic:
            return int(await self._context.notify_add(value - over))
        await self._context.notify_set(value)
        return None

    async def wait(self, value: int) -> int:
        if self._has_wait:
            return int(await self._context.wait_eq(value))
        return await self._context.poll_until(lambda now: now >= value)
