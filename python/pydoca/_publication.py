"""Makes classes and functions members of the public modules that have them.

help(), tracebacks and CPython's messages then name pydoca.Buf, not the private module where it is defined.
"""

import sys

from pydoca import _core


def publish(module_name: str) -> None:
    """Publishes what the module has of private modules of pydoca, under the names that it has there."""
    for name, value in vars(sys.modules[module_name]).items():
        own = str(getattr(value, "__module__", "")).startswith(("pydoca._", f"{module_name}._"))
        if own and getattr(value, "__qualname__", "") == name:
            _core.publish(value, module_name)
