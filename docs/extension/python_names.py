"""The public names of pydoca: what each is, and the page of the reference that has it."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from pathlib import Path

import pydoca
from pydoca.cli.explain._names import find_public, names_in

STUBS = Path(pydoca.__file__).with_name("_core")
MODULES = {name: getattr(pydoca, name) for name in ("comch", "faults", "log", "rdma_bridge", "sim", "workq")}


@cache
def stubs() -> dict[str, ast.Module]:
    return {path.stem: ast.parse(path.read_text()) for path in sorted(STUBS.glob("[!_]*.pyi"))}


@cache
def stub_of() -> dict[str, tuple[str, ast.stmt]]:
    """By the name of a class or function of the extension: its stub file, and its definition there."""
    return {
        node.name: (stem, node)
        for stem, module in stubs().items()
        for node in module.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    }


@cache
def homes() -> dict[str, str]:
    """By each public name below pydoca, "Dma.start": the name under which the reference has it, "Context.start"."""
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
    return found


def home_of_class(owner: type) -> str:
    return classes()[owner]


def is_public(owner: type) -> bool:
    return owner in classes()


def home_of_member(owner: type, member: str) -> str:
    """The class that the reference has it in: the highest public one that has it, as members are not repeated."""
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
    """Without those of its public bases."""
    home = home_of_class(owner)
    return {name: value for name, value in all_members(owner).items() if home_of_member(owner, name) == home}
