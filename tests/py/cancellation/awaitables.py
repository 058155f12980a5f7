"""The calls of the package that give something to await, found by introspection.

The stubs tell what the extension's methods return, the annotations of Python's functions what those return. A call that
is new is therefore in the list by itself, and the suite fails until it has a scene.
"""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pydoca
from public_names import MODULES, public_classes

_SHAPES = {"Coroutine", "AsyncIterator", "AsyncGenerator", "Future"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _stubs() -> dict[str, ast.ClassDef]:
    trees = [ast.parse(path.read_text()) for path in sorted((Path(pydoca.__file__).parent / "_core").glob("*.pyi"))]
    return {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}


def _methods(owner: ast.ClassDef) -> Iterator[_Function]:
    return (node for node in owner.body if isinstance(node, _Function))


def _awaitable_stubs(stubs: dict[str, ast.ClassDef]) -> set[str]:
    found: set[str] = {name for name, node in stubs.items() if any(m.name == "__await__" for m in _methods(node))}
    while more := {
        name
        for name, node in stubs.items()
        if name not in found and any(isinstance(base, ast.Name) and base.id in found for base in node.bases)
    }:
        found |= more
    return found


def _is_awaited(method: _Function, awaitable: set[str]) -> bool:
    names = {node.id for node in ast.walk(method.returns or ast.Tuple([])) if isinstance(node, ast.Name)}
    return isinstance(method, ast.AsyncFunctionDef) or bool(names & (awaitable | _SHAPES))


def _calls_of_stubs() -> Iterator[str]:
    stubs = _stubs()
    awaitable = _awaitable_stubs(stubs)
    for name, node in stubs.items():
        yield from (f"{name}.{method.name}" for method in _methods(node) if _is_awaited(method, awaitable))


def _gives_an_await(function: object, classes: set[str]) -> bool:
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return True
    returned = str(getattr(function, "__annotations__", {}).get("return", ""))
    return any(word in returned for word in _SHAPES) or returned in classes


def _calls_of_python() -> Iterator[str]:
    owners = [owner for owner in public_classes() if owner.__module__ != "pydoca._core"]
    classes = {owner.__name__ for owner in owners if hasattr(owner, "__await__")}
    for owner in owners:
        members = vars(owner).items()
        yield from (f"{owner.__name__}.{name}" for name, value in members if _gives_an_await(value, classes))
    for module in MODULES:
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isfunction(value) and _gives_an_await(value, classes):
                yield f"{module.__name__}.{name}"


def _is_public(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last.startswith("__") or not last.startswith("_")


def calls() -> set[str]:
    """The names of all public calls: "Dma.memcpy", "ProgressEngine.gather"."""
    return {name for name in (*_calls_of_stubs(), *_calls_of_python()) if _is_public(name)}
