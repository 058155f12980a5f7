"""Signatures with types, as the reference prints them: those that help() shows, and the types of properties."""

from __future__ import annotations

import ast
import inspect
import re

from extension.python_names import stub_of
from pydoca._signatures import aliases

LONG = 60  # characters: a longer alias of the stubs is shown as str, and its words below the docstring


class Text(str):
    """Source text: inspect shows annotations by their repr."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def short_alias(name: str) -> str:
    text = aliases().get(name, name)
    return text if len(text) <= LONG else "str"


def shown(text: str) -> str:
    """The text without private names."""
    text = re.sub(r"\b_\w+", lambda match: short_alias(match[0]), text)
    text = re.sub(r"\b(?:_core|pydoca|builtins|typing|collections\.abc|_t)\.(?=[A-Z_])", "", text)
    # Sphinx would look for a member of the name without its module; ~ leaves the module out of what is shown.
    return re.sub(r"(?<![\w.])type(?=\[)", "~builtins.type", text)


def plain(annotation: object) -> object:
    if annotation is inspect.Parameter.empty:
        return annotation
    if inspect.isclass(annotation):
        return Text(annotation.__name__)
    return Text(getattr(annotation, "__forward_arg__", annotation))


def signature_of(value: object) -> str:
    """The signature of a function, a method or a class that can be made, without self."""
    return shown(with_private_names(value))


def with_private_names(value: object) -> str:
    """The signature as the stubs have it."""
    _, of_raw_method, types = (value.__doc__ or "").partition("\n\nTypes: ")
    if of_raw_method:
        return types
    try:
        found = inspect.signature(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    given = [each for each in found.parameters.values() if each.name not in ("self", "cls")]
    own = [each.replace(annotation=plain(each.annotation)) for each in given]
    returned = inspect.Signature.empty if inspect.isclass(value) else plain(found.return_annotation)
    return str(found.replace(parameters=own, return_annotation=returned))


def type_of(owner: type, name: str, value: object) -> str:
    """The type of a property or an attribute; empty when it is not known."""
    getter = getattr(value, "fget", None)
    annotation = getattr(getter, "__annotations__", {}).get("return")
    if annotation is not None:
        return shown(str(plain(annotation)))
    for base in owner.__mro__:
        if text := type_in_stub(base.__name__, name):
            return shown(text)
    return ""


def type_in_stub(owner: str, name: str) -> str:
    _, definition = stub_of().get(owner, ("", None))
    for node in definition.body if isinstance(definition, ast.ClassDef) else ():
        if isinstance(node, ast.FunctionDef) and node.name == name and node.returns:
            return ast.unparse(node.returns)
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
            return ast.unparse(node.annotation)
    return ""


def field_types(owner: type) -> dict[str, str]:
    """The fields of a named tuple or a dataclass, in order."""
    if hasattr(owner, "_fields") or hasattr(owner, "__dataclass_fields__"):
        own = {name: each for name, each in vars(owner).get("__annotations__", {}).items() if not name.startswith("_")}
        return {name: shown(str(plain(each))) for name, each in own.items()}
    return {}
