"""Signatures with types, for help() and inspect.signature(): the stubs have the types, the extension the defaults."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

_POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
_POSITIONAL_OR_KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD
_STUBS = Path(__file__).with_name("_core")


class _Text(str):
    """Source text: inspect shows annotations and defaults by their repr."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


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
