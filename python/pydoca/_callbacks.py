"""A check of callbacks: a call of a coroutine function or a generator function runs nothing, so it is refused."""

from __future__ import annotations

from typing import Any


def require_plain_function(what: str, callback: Any) -> None:
    """Raises TypeError, which names what the callback is for, unless a call runs the function to its end."""
    kind = _kind(callback)
    if kind is not None:
        is_coroutine = kind == "a coroutine function"
        remedy = "let a plain function start it with asyncio.create_task()" if is_coroutine else "give a plain function"
        raise TypeError(f"{what}: {callback!r} is {kind}, and a call would not run it; {remedy}")


def _kind(callback: Any) -> str | None:
    import inspect  # late: imports of pydoca are to be fast, and most callbacks never come here
    from functools import partial

    while isinstance(callback, partial):
        callback = callback.func
    called = callback if inspect.isroutine(callback) or isinstance(callback, type) else type(callback).__call__
    for function in (callback, called):
        if inspect.iscoroutinefunction(function):
            return "a coroutine function"
        if inspect.isasyncgenfunction(function):
            return "an asynchronous generator function"
        if inspect.isgeneratorfunction(function):
            return "a generator function"
    return None
