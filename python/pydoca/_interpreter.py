"""Loads the extension module, or refuses interpreters in which that would fail in obscure ways, or hang."""

import importlib
import signal
import sys
import threading
from typing import Any

_MODULES = ("_interpreters", "_xxsubinterpreters")  # Python 3.13 and newer; older ones


def _is_main() -> bool:
    for name in _MODULES:
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        return bool(interpreters.get_current() == interpreters.get_main())
    return True  # this interpreter has no sub-interpreters


if "t" in sys.abiflags:
    raise ImportError(
        f"pydoca needs Python's GIL, and {sys.executable} is a free-threaded build; use the ordinary build of Python "
        f"{sys.version_info.major}.{sys.version_info.minor}, and install pydoca for it"
    )
if not _is_main():
    raise ImportError("pydoca works in the main interpreter only; use threads or processes instead")


def _load() -> None:
    """An interrupt in the middle would leave a part of the extension, which nothing can load again: it comes later."""
    previous, interrupts = signal.getsignal(signal.SIGINT), list[Any]()
    is_ours = callable(previous) and threading.current_thread() is threading.main_thread()
    if is_ours:
        signal.signal(signal.SIGINT, lambda *arguments: interrupts.append(arguments))
    try:
        importlib.import_module("pydoca._core")
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, previous)
    if interrupts and callable(previous):
        previous(*interrupts[0])


_load()
