"""Refuses interpreters in which loading the extension module would fail in obscure ways, or hang."""

import importlib
import sys

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
