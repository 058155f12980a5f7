"""The entries of the Python reference: a function, a class with its members."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Iterable, Iterator

from extension import docstrings
from extension.python_examples import name_lines
from extension.python_names import home_of_class, is_public, own_members
from extension.python_signatures import field_types, signature_of, type_of
from extension.python_words import word_lines

# These bases say nothing that the entry does not say.
PLAIN_BASES = {"``int``", "``Exception``", "``BaseException``", "``ReprEnum``", "``tuple``"}
REFUSED = "(*args, **kwargs)"  # the signature of a class of the extension whose call raises


def indented(lines: Iterable[str]) -> Iterator[str]:
    yield from (f"   {line}" if line else "" for line in lines)


def described(directive: str, signature: str, options: Iterable[str], body: Iterable[str]) -> Iterator[str]:
    yield f".. py:{directive}:: {signature}"
    yield from indented([*options, "", *body, ""])


def function_lines(name: str, value: object) -> Iterator[str]:
    if callable(value):
        body = [*docstrings.rst_of(value), *word_lines(value), *name_lines(public_name(name, value))]
        yield from described("function", name + signature_of(value), (), body)
    else:
        yield from described("data", name, (f":type: {type(value).__name__}",), ())


def class_lines(name: str, owner: type, made_by: str = "") -> Iterator[str]:
    """The lines of a class. made_by replaces the parameters when objects are not made by calling it."""
    body = [*bases(owner), *docstrings.rst_of(owner), "", *([made_by, ""] if made_by else (*word_lines(owner), ""))]
    body += name_lines(home_of_class(owner))
    fields = field_types(owner)
    for field, type_text in fields.items():
        body += described("attribute", field, (f":type: {type_text}",), ())
    for member, value in own_members(owner).items():
        body += member_lines(owner, member, value) if member not in fields else ()
    kind = "exception" if issubclass(owner, BaseException) else "class"
    made = "" if made_by else parameters_of(owner)
    yield from described(kind, name + made, (), body)


def parameters_of(owner: type) -> str:
    """The parameters of a class that programs call; empty for the others, whose docstrings tell what makes objects."""
    text = "" if issubclass(owner, BaseException | enum.Enum) else signature_of(owner)
    return "" if text == REFUSED else text


def bases(owner: type) -> Iterator[str]:
    named = []
    for base in owner.__mro__[1:]:
        if is_public(base) and base.__module__.startswith("pydoca"):
            named.append(f":py:class:`~pydoca.{home_of_class(base)}`")
        elif base.__module__ in ("builtins", "enum") and base.__name__ not in ("object", "pybind11_object"):
            named.append(f"``{base.__name__}``")
    if kept := [each for each in named if each not in PLAIN_BASES]:
        yield from (f"Is also: {', '.join(kept)}", "")


def public_name(name: str, value: object) -> str:
    """A function's name, with the module below pydoca that has it."""
    module = getattr(value, "__module__", None) or ""
    return f"{module}.{name}".removeprefix("pydoca.") if module.startswith("pydoca.") else name


def member_lines(owner: type, name: str, value: object) -> Iterator[str]:
    lines = tuple(name_lines(f"{home_of_class(owner)}.{name}"))
    if issubclass(owner, enum.Enum) and isinstance(value, owner):
        yield from described("attribute", name, (f":value: {value.value!r}",), ())
    elif isinstance(value, staticmethod | classmethod):
        option = ":staticmethod:" if isinstance(value, staticmethod) else ":classmethod:"
        bound = getattr(owner, name)
        body = (*docstrings.rst_of(bound), *word_lines(bound), *lines)
        yield from described("method", name + signature_of(bound), (option,), body)
    elif inspect.isdatadescriptor(value):
        type_text = type_of(owner, name, value)
        body = (*docstrings.rst_of(value), *lines)
        yield from described("property", name, [f":type: {type_text}"] if type_text else (), body)
    elif callable(value):
        signature = signature_of(getattr(owner, name))
        body = (*docstrings.rst_of(value), *word_lines(value), *lines)
        yield from described("method", name + signature, (), body)
    else:
        yield from described("attribute", name, (), ())
