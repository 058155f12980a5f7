"""The program of a started process: a text, a script, or a function of a module."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pickle
import textwrap
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

from pydoca._errors import InvalidValueError

FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def to_program(target: object, filename: str) -> dict[str, Any]:
    """The part of the instructions for child.py that names the program. Raises SyntaxError, OSError, TypeError."""
    if isinstance(target, str):
        return _text(target, filename)
    if isinstance(target, os.PathLike):
        return _script(target)
    if inspect.isroutine(target):
        return _function(target)
    raise TypeError(
        f"spawn takes the text of a program (str), a script (pathlib.Path) or a function, not {type(target).__name__}"
    )


def to_arguments(args: object) -> bytes:
    """The arguments, pickled apart so that the process loads them when it has the path."""
    if isinstance(args, str | bytes) or not isinstance(args, Iterable):
        raise TypeError(f"spawn: args is a sequence of the arguments, such as [{args!r}], not {args!r}")
    arguments = list(args)
    for index, argument in enumerate(arguments):
        try:
            pickle.dumps(argument)
        except Exception as error:
            raise InvalidValueError(
                f"spawn: args[{index}], of type {type(argument).__name__}, cannot be pickled for the other process: "
                f"{error}; give what it can be made from"
            ) from error
    return pickle.dumps(arguments)


def to_environment(env: object) -> dict[str, str]:
    if env is None:
        return {}
    if not isinstance(env, Mapping):
        raise TypeError(f"spawn: env is a mapping of names to texts, such as {{'NAME': 'text'}}, not {env!r}")
    for name, text in env.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError(f"spawn: env has {name!r}: {text!r}, and the environment has texts only; write them as str")
        if not name or "=" in name or "\0" in name + text:
            raise InvalidValueError(
                f"spawn: env has {name!r}: {text!r}, which no environment can have: a name has no '=',"
                " and neither is empty or has a NUL"
            )
    return dict(env)


def _text(source: str, filename: str) -> dict[str, Any]:
    if "\n" not in source.strip() and source.strip().endswith(".py"):
        raise InvalidValueError(
            f"spawn takes a string as the text of a program, and {source!r} looks like a file: give pathlib.Path(...)"
        )
    source = textwrap.dedent(source)
    compile(source, filename, "exec", flags=FLAGS, dont_inherit=True)
    return {"source": source, "filename": filename}


def _script(path: os.PathLike[Any]) -> dict[str, Any]:
    name = os.path.abspath(os.fsdecode(path))
    with open(name, "rb") as file:
        source = file.read()
    compile(source, name, "exec", flags=FLAGS, dont_inherit=True)
    return {"source": source, "filename": name, "file": name}


def _function(function: Callable[..., Any]) -> dict[str, Any]:
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module == "__main__":
        raise InvalidValueError(
            f"spawn: {name} is a function of this program or notebook, which the new process does not have: give the "
            "text of the program as a string, put the function into a module, or use %%pydoca in a notebook"
        )
    if module is None or not _is_importable(function, module, name):
        raise InvalidValueError(
            f"spawn: {name or function!r} cannot be imported by its name: define it at the top of a module"
        )
    return {"module": module, "function": name}


def _is_importable(function: object, module: str, name: str) -> bool:
    try:
        return attrgetter(name)(importlib.import_module(module)) is function
    except (ImportError, AttributeError):
        return False
