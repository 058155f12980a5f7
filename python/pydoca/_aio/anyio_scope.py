"""anyio's cancellation lasts: a scope that is cancelled cancels its tasks again in every turn of the loop."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def shielded_from_scopes() -> AbstractContextManager[Any]:
    """Inside, anyio's scopes do not cancel the running task; they do so again afterwards. Other cancellations come."""
    scope: Any = getattr(sys.modules.get("anyio"), "CancelScope", None)
    return nullcontext() if scope is None or asyncio.current_task() is None else scope(shield=True)
