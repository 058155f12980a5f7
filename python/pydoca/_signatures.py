"""Signatures with types, for help() and inspect.signature(): the stubs have the types, the extension the defaults.

The types also say which words an argument takes, for the Tab key of notebooks and for the reference.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from enum import Flag
from functools import cache
from pathlib import Path
from typing import Any

from pydoca import _core
from pydoca._log import LogLevel

_POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
_POSITIONAL_OR_KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD
_STUBS = Path(__file__).with_name("_core")


class _Text(str):
    """Source text: inspect shows annotations and defaults by their repr."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


# The names of their members are words where the type also allows str.
_ENUMS = {"Access": _core.Access, "LogLevel": LogLevel, "RepFilter": _core.RepFilter, "Side": _core.Side}


@cache
def _functions() -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions and methods of the stubs, by qualified name; empty where the stubs are not installed."""
    found: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
    for stub in _STUBS.glob("*.pyi"):
        for node in ast.parse(stub.read_text()).body:
            members = node.body if isinstance(node, ast.ClassDef) else [node]
            owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
            for member in members:
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
                    found[owner + member.name] = member
    return found


@cache
def aliases() -> dict[str, str]:
    """The private names of types in the stubs, and what each means."""
    nodes = [node for stub in _STUBS.glob("*.pyi") for node in ast.parse(stub.read_text()).body]
    return {
        ast.unparse(node.target): ast.unparse(node.value)
        for node in nodes
        if isinstance(node, ast.AnnAssign) and node.value is not None
    }


def words_of(annotation: str) -> tuple[list[str], bool]:
    """The words that an argument of this type takes, and whether they may be joined by |. Without words: not closed."""
    text = re.sub(r"\b_\w+", lambda match: aliases().get(match[0], match[0]), annotation)
    if literals := re.findall(r"Literal\[(.*?)\]", text):
        return [word for each in literals for word in re.findall(r"'([^']+)'", each)], False
    named = [found for name, found in _ENUMS.items() if re.search(rf"\b{name}\b", text)]
    if not named or not re.search(r"\bstr\b", text):
        return [], False
    return [word.lower() for word in named[0].__members__], issubclass(named[0], Flag)


def types_of(name: str) -> list[dict[str | int, str]]:
    """The types of the arguments, by keyword and by place, of each function, method or class with that name."""
    found = []
    for key, function in _functions().items():
        owner, _, last = key.rpartition(".")
        if (owner if last == "__init__" else last) == name:
            arguments = [each for each in _parameters(function.args) if each[0].arg not in ("self", "cls")]
            typed = [
                (each.arg, kind, ast.unparse(each.annotation or ast.Constant(None))) for each, kind, _ in arguments
            ]
            by_place = [text for _, kind, text in typed if kind is not inspect.Parameter.KEYWORD_ONLY]
            types: dict[str | int, str] = {each: text for each, _, text in typed}
            found.append(types | dict(enumerate(by_place)))
    return found


def _value(node: ast.expr | None) -> object:
    if node is None:
        return inspect.Parameter.empty
    try:
        return ast.literal_eval(node)
    except ValueError:
        return _Text(ast.unparse(node))


def _parameters(own: ast.arguments) -> Iterator[tuple[ast.arg, Any, ast.expr | None]]:
    """Each with its kind and default, in order."""
    by_position = [*own.posonlyargs, *own.args]
    required = [None] * (len(by_position) - len(own.defaults))
    for number, (one, default) in enumerate(zip(by_position, [*required, *own.defaults], strict=True)):
        kind = _POSITIONAL_ONLY if number < len(own.posonlyargs) else _POSITIONAL_OR_KEYWORD
        yield one, kind, default
    if own.vararg:
        yield own.vararg, inspect.Parameter.VAR_POSITIONAL, None
    for one, default in zip(own.kwonlyargs, own.kw_defaults, strict=True):
        yield one, inspect.Parameter.KEYWORD_ONLY, default
    if own.kwarg:
        yield own.kwarg, inspect.Parameter.VAR_KEYWORD, None


def _text(node: ast.expr | None) -> object:
    return inspect.Parameter.empty if node is None else _Text(ast.unparse(node))


def typed_signature(name: str, text: str) -> inspect.Signature | None:
    """The signature of the function of that qualified name, whose own is text; None for one without a stub."""
    stub = _functions().get(name)
    definition = ast.parse(f"def _{text}: ...").body[0]
    if stub is None or not isinstance(definition, ast.FunctionDef):
        return None
    types = {one.arg: one.annotation for one, _, _ in _parameters(stub.args)}
    parameters = [
        inspect.Parameter(one.arg, kind, default=_value(default), annotation=_text(types.get(one.arg)))
        for one, kind, default in _parameters(definition.args)
    ]
    return inspect.Signature(parameters, return_annotation=_text(stub.returns))
