"""The words that an argument accepts, where its signature does not show them: below the docstring, in the reference."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

from extension.python_signatures import shown, with_private_names
from pydoca import InvalidValueError
from pydoca._signatures import words_of
from pydoca.faults import FaultRule


def word_lines(value: object) -> Iterator[str]:
    """A paragraph for each argument of a function, a method or a class."""
    for name, annotation in annotations(value):
        said = f"{inspect.getdoc(value)} {shown(annotation)}"
        words, may_join = words_of(annotation)
        if any(re.search(rf"\b{word}\|", said) for word in words):
            continue  # the docstring joins those that the argument takes
        if not all(re.search(rf"\b{word}\b", said) for word in words):
            yield from (
                "",
                f"Words of ``{name}``: {listed(words)}{'; several are joined by ``|``' if may_join else ''}.",
            )
    if value is FaultRule:
        for name in ("opcode", "status"):
            yield from ("", f"Words of ``{name}``: {listed(words_of_rule(name))}.")


def listed(words: list[str]) -> str:
    return ", ".join(f"``{word}``" for word in words)


def words_of_rule(key: str) -> list[str]:
    """The words of a key of fault rules, as the engine lists them when it refuses another one."""
    try:
        FaultRule.from_keys({"action": "fail", key: "?"})
    except InvalidValueError as error:
        return str(error).rpartition("use one of: ")[2].split(", ")
    raise AssertionError(f"a fault rule accepts any {key}")


def annotations(value: object) -> Iterator[tuple[str, str]]:
    """The arguments, with their types as the stubs write them."""
    try:
        definition = ast.parse(f"def _{with_private_names(value)}: ...").body[0]
    except SyntaxError:  # a default that is not source text
        return
    assert isinstance(definition, ast.FunctionDef)
    arguments = definition.args
    for each in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        if each.annotation is not None:
            yield each.arg, ast.unparse(each.annotation)
