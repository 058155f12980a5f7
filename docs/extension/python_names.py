"""The public names of pydoca: what each is, and the page of the reference that has it."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
from functools import cache
from pathlib import Path

import pydoca
from pydoca import _core
from pydoca._rdma.names import ConnectionByName
from pydoca._rdma.receives import Receives
from pydoca.cli.explain._names import find_public, names_in
from pydoca.qualify import bench as bench_package
from pydoca.qualify.measure import Measure, Measurement

STUBS = Path(pydoca.__file__).with_name("_core")
MODULES = {name: getattr(pydoca, name) for name in ("comch", "faults", "log", "rdma_bridge", "sim", "workq")}
# These classes have no public name, but public methods return their objects.
RETURNED = (
    _core.AcceptedConnection,
    ConnectionByName,
    _core.EndedConnection,
    _core.EstablishedConnection,
    _core.Import,
    _core.ReceivedMessage,
    Receives,
    _core.RequestedConnection,
)


@cache
def stubs() -> dict[str, ast.Module]:
    return {path.stem: ast.parse(path.read_text()) for path in sorted(STUBS.glob("[!_]*.pyi"))}


@cache
def stub_of() -> dict[str, tuple[str, ast.stmt]]:
    """The stub file and the definition of each class and function of the extension, by name."""
    return {
        node.name: (stem, node)
        for stem, module in stubs().items()
        for node in module.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    }


@cache
def homes() -> dict[str, str]:
    """The name under which the reference has each public name below pydoca: "Context.start" for "Dma.start"."""
    found = {}
    for prefix, module in {"": pydoca, **{f"{name}.": module for name, module in MODULES.items()}}.items():
        for name in names_in(module):
            value = getattr(module, name)
            found[prefix + name] = home_of_class(value) if inspect.isclass(value) else prefix + name
    for name in list(found):
        value = find_public(name)
        if inspect.isclass(value):
            for member in all_members(value):
                found[f"{name}.{member}"] = f"{home_of_member(value, member)}.{member}"
    return found


@cache
def classes() -> dict[type, str]:
    """The public classes, by their names; that of a module of its own precedes the same class in another module."""
    found: dict[type, str] = {}
    for prefix, module in {"": pydoca, **{f"{name}.": module for name, module in MODULES.items()}}.items():
        for name in names_in(module):
            value = getattr(module, name)
            if inspect.isclass(value) and (value not in found or value.__module__ == module.__name__):
                found[value] = prefix + name
    for owner in (*RETURNED, Measure, Measurement):
        found[owner] = owner.__name__
    for module, names in bench().items():
        for name in names:
            value = getattr(sys.modules[module], name)
            if inspect.isclass(value):
                found[value] = f"{module}.{name}".removeprefix("pydoca.")
    return found


@cache
def bench() -> dict[str, list[str]]:
    """The modules of `pydoca.qualify.bench`, and the names that each defines for users."""
    found = {}
    for info in pkgutil.walk_packages(bench_package.__path__, f"{bench_package.__name__}."):
        module = importlib.import_module(info.name)
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == info.name]
        found[info.name] = [name for name in own if not name.startswith("_")]
    del found[f"{bench_package.__name__}.remote"]  # the processes that its other modules start use it
    return found


def returned_by(owner: type) -> list[str]:
    """The public methods that return objects of a class: "Rdma.connect"."""
    return sorted(
        f"{definition.name}.{member.name}"
        for _, definition in stub_of().values()
        for member in getattr(definition, "body", ())
        if isinstance(member, ast.FunctionDef) and member.returns and not member.name.startswith("_")
        if owner.__name__ in re.findall(r"\w+", ast.unparse(member.returns))
    )


def home_of_class(owner: type) -> str:
    return classes()[owner]


def is_public(owner: type) -> bool:
    return owner in classes()


def home_of_member(owner: type, member: str) -> str:
    """The class in which the reference has the member: the highest public one, as members are not repeated."""
    having = [base for base in owner.__mro__ if is_public(base) and member in all_members(base)]
    return home_of_class(having[-1])


def all_members(owner: type) -> dict[str, object]:
    """The public members, also those of private bases."""
    found: dict[str, object] = {}
    for base in reversed(owner.__mro__):
        if base.__module__.startswith("pydoca"):
            found |= {name: value for name, value in vars(base).items() if not name.startswith("_")}
    return found


def own_members(owner: type) -> dict[str, object]:
    """The public members without those of its public bases."""
    home = home_of_class(owner)
    return {name: value for name, value in all_members(owner).items() if home_of_member(owner, name) == home}
