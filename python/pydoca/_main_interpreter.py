"""Refuses other interpreters than the main one: in them, loading the extension module would hang."""

import importlib

_MODULES = ("_interpreters", "_xxsubinterpreters")  # Python 3.13 and newer; older ones


def _is_main() -> bool:
    for name in _MODULES:
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        return bool(interpreters.get_current() == interpreters.get_main())
    return True  # an interpreter without others


if not _is_main():
    raise ImportError("pydoca works in the main interpreter only; use threads or processes instead")
