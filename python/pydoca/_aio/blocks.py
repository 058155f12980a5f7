"""The async with blocks of engines and contexts: how they begin and end in an event loop."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from pydoca._aio.bridge import Bridge
from pydoca._core import Context, ContextState, ProgressEngine
from pydoca._errors import TimeOutError

_CLOSE_TIMEOUT = 5.0  # seconds that leaving a context waits for its tasks


async def enter_engine(engine: ProgressEngine) -> ProgressEngine:
    engine._bridge.bind()
    return engine


async def leave_engine(engine: ProgressEngine) -> None:
    async with AsyncExitStack() as stack:
        stack.callback(engine.close)
        if not engine._is_forked():
            for context in engine._contexts():
                stack.push_async_callback(leave_context, context)


async def enter_context(context: Context) -> Any:
    if context.progress_engine is not None:
        context.progress_engine._bridge.bind()
    if context.state is ContextState.IDLE:
        context.start()
    try:
        return await context._settled()
    except BaseException:
        await leave_context(context)
        raise


async def leave_context(context: Context) -> None:
    """Stops the context, waits until it is IDLE, and closes it. A cancellation meanwhile is raised afterwards."""
    engine = context.progress_engine
    if engine is None or context.closed or engine._is_forked():
        return context.close()
    bridge: Bridge = engine._bridge
    bridge.bind()
    context._begin_leaving()
    cancelled = None
    if context.state is not ContextState.IDLE:
        bridge.look()
        cancelled = await bridge.settle(context._settled(), _CLOSE_TIMEOUT)
    if context.state is not ContextState.IDLE:
        raise TimeOutError(
            f"close {context!r}: {context.num_inflight_tasks} task(s) have not come back; the device keeps their memory"
        ) from cancelled
    context.close()
    if cancelled is not None:
        raise cancelled
    return None
