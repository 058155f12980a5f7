"""Writes the types of the stubs' methods as a C++ string, for the docstrings of raw methods. The build runs it.

CPython takes no types from the text of a signature, so the docstring of a raw method has them in a line of its own.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path

HEAD = """\
/// Types of methods, from the stubs, a line for each: Class.method(parameter: type) -> type. Written by raw_types.py.
#pragma once

#include <string_view>

namespace pydoca::bindings {

inline constexpr std::string_view raw_types = R"types(
"""
TAIL = """\
)types";

}  // namespace pydoca::bindings
"""


def text_of(parameter: ast.arg, default: ast.expr | None = None) -> str:
    text = parameter.arg if parameter.annotation is None else f"{parameter.arg}: {ast.unparse(parameter.annotation)}"
    return text if default is None else f"{text} = {ast.unparse(default)}"


def texts_of(arguments: ast.arguments) -> Iterator[str]:
    """Yields the texts of the arguments, without self."""
    by_position = [*arguments.posonlyargs, *arguments.args]
    required = [None] * (len(by_position) - len(arguments.defaults))
    yield from map(text_of, by_position[1:], [*required, *arguments.defaults][1:])
    if arguments.kwonlyargs:
        yield "*"
    yield from map(text_of, arguments.kwonlyargs, arguments.kw_defaults)


def is_like_a_raw_one(node: ast.FunctionDef) -> bool:
    """Raw methods have public names, and neither decorators nor a variable number of arguments."""
    return not (node.name.startswith("_") or node.decorator_list or node.args.vararg or node.args.kwarg)


def lines_of(stub: ast.Module) -> Iterator[str]:
    for owner in stub.body:
        if isinstance(owner, ast.ClassDef):
            for node in owner.body:
                if isinstance(node, ast.FunctionDef) and is_like_a_raw_one(node) and node.returns is not None:
                    parameters = ", ".join(texts_of(node.args))
                    yield f"{owner.name}.{node.name}({parameters}) -> {ast.unparse(node.returns)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="raw_types.py", description=__doc__.splitlines()[0])
    parser.add_argument("stubs", type=Path, help="the directory of the stubs")
    parser.add_argument("header", type=Path, help="the header that is written")
    arguments = parser.parse_args()
    lines = [line for stub in sorted(arguments.stubs.glob("*.pyi")) for line in lines_of(ast.parse(stub.read_text()))]
    arguments.header.parent.mkdir(parents=True, exist_ok=True)
    arguments.header.write_text(HEAD + "".join(lines) + TAIL)


if __name__ == "__main__":
    main()
