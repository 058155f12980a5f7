"""Writes the stubs with the docstrings of the extension, for editors. The installation of the Python module runs it.

The docstrings stand in cpp/bindings, the types in python/pydoca/_core/*.pyi, which have no docstrings. The Python that
runs this must be able to import the extension.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import inspect
import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXTENSION = "pydoca._core"
LONGEST_LINE = 120


def doc_of(value: Any) -> str:
    """The docstring of a class, function, method or property; empty for one that object's own methods inherit."""
    doc = getattr(value, "__func__", value).__doc__
    if not doc or doc.startswith("Initialize self"):
        return ""
    return inspect.cleandoc(doc).partition("\n\nTypes: ")[0]


def is_explained(name: str) -> bool:
    return not name.startswith("_") or name == "__init__"


def is_setter(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(each, ast.Attribute) for each in node.decorator_list)


def documented(stub: ast.Module, module: Any) -> Iterator[tuple[ast.stmt, str]]:
    """The definitions of a stub that get a docstring, with it: from the top downwards."""
    for node in stub.body:
        if isinstance(node, ast.FunctionDef) and is_explained(node.name):
            yield node, doc_of(getattr(module, node.name))
        elif isinstance(node, ast.ClassDef) and is_explained(node.name):
            owner = getattr(module, node.name)
            yield node, doc_of(owner)
            yield from documented_members(node, owner)


def documented_members(node: ast.ClassDef, owner: type) -> Iterator[tuple[ast.stmt, str]]:
    for member in node.body:
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) and is_explained(member.name):
            if not is_setter(member):
                yield member, doc_of(inspect.getattr_static(owner, member.name))
        elif isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            yield member, doc_of(inspect.getattr_static(owner, member.target.id))


def docstring_in(stub: ast.Module, node: ast.stmt) -> str:
    """The docstring that the stub has for node; that of an attribute is the string behind it."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return ast.get_docstring(node) or ""
    for owner in stub.body:
        if isinstance(owner, ast.ClassDef) and node in owner.body[:-1]:
            behind = owner.body[owner.body.index(node) + 1]
            if isinstance(behind, ast.Expr) and isinstance(behind.value, ast.Constant):
                return inspect.cleandoc(str(behind.value.value))
    return ""


def quoted(doc: str, indent: str) -> list[str]:
    """The lines of the docstring as source, each behind indent."""
    width = LONGEST_LINE - len(indent)
    text = doc.replace("\\", "\\\\")
    lines = text.splitlines()
    if max(map(len, lines)) > width - 6:
        lines = [part for each in text.split("\n\n") for part in (*textwrap.wrap(each, width - 6), "")][:-1]
    begin = '""" ' if doc.startswith('"') else '"""'
    if len(lines) == 1 and not doc.endswith('"'):
        return [f'{indent}{begin}{lines[0]}"""']
    return textwrap.indent("\n".join([begin + lines[0], *lines[1:], '"""']), indent).splitlines()


def explain_body(lines: list[str], body: ast.stmt, doc: list[str]) -> None:
    """Puts the docstring where the body has three dots; a comment behind them stays behind the head."""
    place = body.lineno - 1
    line = lines[place].encode()
    before, behind = line[: body.col_offset].decode(), line[body.end_col_offset :].decode()
    lines[place : place + 1] = [before.rstrip() + behind, *doc] if before.strip() else doc


def with_docstrings(text: str, module: Any) -> str:
    """The stub, edited from its end upwards so that the places of its definitions stay right."""
    lines = text.splitlines()
    for node, doc in reversed(list(documented(ast.parse(text), module))):
        if not doc:
            continue
        if isinstance(node, ast.AnnAssign):
            end = node.end_lineno or node.lineno
            lines[end:end] = quoted(doc, " " * node.col_offset)
            continue
        assert isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        own = quoted(doc, " " * (node.col_offset + 4))
        if isinstance(node.body[0], ast.Expr):
            explain_body(lines, node.body[0], own)
        else:
            lines[node.lineno : node.lineno] = own
    return "\n".join(lines) + "\n"


class ExtensionFinder:
    """Finds the extension where it was built, which is not beside the package's sources."""

    def __init__(self, extension: Path) -> None:
        self._extension = extension

    def find_spec(self, name: str, path: object, target: object = None) -> Any:
        return importlib.util.spec_from_file_location(name, self._extension) if name == EXTENSION else None


def import_extension(extension: Path, sources: Path) -> Any:
    """The extension, after the package has attached methods to its classes."""
    sys.dont_write_bytecode = True
    for name in [name for name in os.environ if name.startswith("PYDOCA_")]:
        del os.environ[name]
    sys.meta_path.insert(0, ExtensionFinder(extension))  # type: ignore[arg-type]
    sys.path.insert(0, str(sources))
    return importlib.import_module(EXTENSION)


def main() -> None:
    parser = argparse.ArgumentParser(prog="stub_docs.py", description=__doc__.splitlines()[0])
    parser.add_argument("extension", type=Path, help="the built module _core")
    parser.add_argument("sources", type=Path, help="the directory of the package pydoca and its stubs")
    parser.add_argument("target", type=Path, help="the directory where the stubs are written")
    arguments = parser.parse_args()
    module = import_extension(arguments.extension, arguments.sources)
    arguments.target.mkdir(parents=True, exist_ok=True)
    for stub in sorted((arguments.sources / "pydoca/_core").glob("[!_]*.pyi")):
        (arguments.target / stub.name).write_text(with_docstrings(stub.read_text(), module))


if __name__ == "__main__":
    main()
