"""Public names: the modules, classes, members and functions of pydoca, and the commands with their options.

public_names.txt and command_lines.txt hold the intended names. CHANGELOG.md names each intended change.

usage: .venv/bin/python tests/py/public_names.py      # writes both files again, after an intended change
"""

import argparse
import enum
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pydoca
from pydoca import _core, comch, faults, log, rdma_bridge, sim, workq
from pydoca._rdma.names import ConnectionByName
from pydoca._rdma.receives import Receives
from pydoca.cli._parser import create_parser
from pydoca.cli.explain._names import names_in

MODULES = (pydoca, comch, faults, log, rdma_bridge, sim, workq)
# Classes that have no public name, but whose objects public methods return.
RETURNED = (
    _core.AcceptedConnection,
    _core.EndedConnection,
    _core.EstablishedConnection,
    _core.Import,
    _core.ReceivedMessage,
    _core.RequestedConnection,
    ConnectionByName,
    Receives,
)
PROTOCOLS = {
    *("__enter__", "__exit__", "__aenter__", "__aexit__", "__await__", "__aiter__", "__anext__", "__iter__"),
    *("__len__", "__bool__", "__array_interface__", "__dlpack__", "__dlpack_device__"),
}
NAMES = Path(__file__).with_name("public_names.txt")
COMMANDS = Path(__file__).with_name("command_lines.txt")


def public_classes() -> list[type]:
    named = [getattr(module, name) for module in MODULES for name in names_in(module)]
    return list(dict.fromkeys(each for each in (*named, *RETURNED) if inspect.isclass(each)))


def members(owner: type) -> dict[str, object]:
    """The public members of the class and of its base classes in pydoca, as their classes hold them."""
    found: dict[str, object] = {}
    for base in reversed(owner.__mro__):
        if base.__module__.startswith("pydoca"):
            found |= vars(base)
    return {name: value for name, value in found.items() if not name.startswith("_") or name in PROTOCOLS}


def kind_of_member(owner: type, value: object) -> str:
    if isinstance(value, staticmethod):
        return "static method"
    if isinstance(value, classmethod):
        return "class method"
    if inspect.isdatadescriptor(value):
        return "property"
    if isinstance(value, owner) and issubclass(owner, enum.Enum):
        return "constant"
    return "method" if callable(value) else "attribute"


def named_bases(owner: type) -> Iterator[str]:
    """The bases that users know; a private base counts as its own bases."""
    for base in owner.__bases__:
        if base in public_classes() or base.__module__ in ("builtins", "enum"):
            yield base.__name__
        else:
            yield from named_bases(base)


def kind_of_class(owner: type) -> str:
    bases = [base for base in named_bases(owner) if base not in ("object", "pybind11_object")]
    return f"class({', '.join(bases)})" if bases else "class"


def lines_of_class(path: str, owner: type) -> Iterator[str]:
    """Members of a public base are not repeated."""
    yield f"{path}: {kind_of_class(owner)}"
    known = {name for base in owner.__mro__[1:] if base in public_classes() for name in members(base)}
    for name, value in sorted(members(owner).items()):
        if name not in known:
            yield f"{path}.{name}: {kind_of_member(owner, value)}"


def lines_of_module(module: ModuleType) -> Iterator[str]:
    for name in names_in(module):
        value, path = getattr(module, name), f"{module.__name__}.{name}"
        if inspect.isclass(value):
            yield from lines_of_class(path, value)
        else:
            yield f"{path}: {'module' if inspect.ismodule(value) else 'function' if callable(value) else 'constant'}"


def public_names() -> list[str]:
    named = [line for module in MODULES for line in lines_of_module(module)]
    returned = [line for owner in RETURNED for line in lines_of_class(f"({owner.__name__})", owner)]
    return named + returned


def line_of_option(action: argparse.Action) -> str:
    words = ", ".join(action.option_strings)
    value = action.metavar or (f"{{{','.join(action.choices)}}}" if action.choices else action.dest.upper())
    if not words or action.nargs != 0:
        words = f"{words} {value}".strip() + ("..." if action.nargs in ("+", argparse.REMAINDER) else "")
    default = action.default not in (None, False, [], argparse.SUPPRESS)
    return f"{words} (default: {action.default})" if default else words


def command_lines(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for part in action.choices.values():
                yield from command_lines(part)
        elif action.help is not argparse.SUPPRESS:
            yield f"{parser.prog} {line_of_option(action)}"


TABLES = {NAMES: public_names, COMMANDS: lambda: list(command_lines(create_parser()))}


if __name__ == "__main__":
    for path, current in TABLES.items():
        path.write_text("\n".join(current()) + "\n")
