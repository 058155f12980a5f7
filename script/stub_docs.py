"""Writes the docstrings of the extension into its stubs, where editors read them, and types of the stubs for help().

usage: .venv/bin/python script/stub_docs.py

The docstrings stand in cpp/bindings, the types in python/pydoca/_core/*.pyi. help() reads the types there, but for raw
methods, whose signatures cannot have types: python/pydoca/_raw_types.py has a line for the docstring of each.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STUBS = ROOT / "python/pydoca/_core"
RAW_TYPES = ROOT / "python/pydoca/_raw_types.py"
LONGEST_LINE = 120
RAW_TYPES_HEAD = '''\
"""Types of the raw methods, from the stubs. Written by script/stub_docs.py."""

# ruff: noqa: E501

RAW_TYPES: dict[str, str] = {'''


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
    behind = string_behind(stub, node)
    return "" if behind is None else inspect.cleandoc(behind.value.value)  # type: ignore[attr-defined]


def string_behind(stub: ast.Module, node: ast.stmt) -> ast.Expr | None:
    for owner in stub.body:
        if isinstance(owner, ast.ClassDef) and node in owner.body[:-1]:
            behind = owner.body[owner.body.index(node) + 1]
            if isinstance(behind, ast.Expr) and isinstance(behind.value, ast.Constant):
                return behind
    return None


def quoted(doc: str, indent: str) -> str:
    """The docstring as source, every line behind indent."""
    width = LONGEST_LINE - len(indent)
    lines = doc.splitlines()
    if max(map(len, lines)) > width - 6:
        lines = [part for text in doc.split("\n\n") for part in (*textwrap.wrap(text, width - 6), "")][:-1]
    if len(lines) == 1:
        return f'{indent}"""{lines[0]}"""'
    return textwrap.indent("\n".join(['"""' + lines[0], *lines[1:], '"""']), indent)


@dataclass
class Stub:
    """A stub's text, edited from its end upwards so that the places of its definitions stay right."""

    lines: list[str]

    def cut(self, node: ast.stmt) -> tuple[str, str]:
        """Takes node out of the lines that it ends: gives what stands before it in its line, and behind it."""
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        before = self.lines[first].encode()[: node.col_offset].decode()
        behind = self.lines[last].encode()[node.end_col_offset or 0 :].decode()
        del self.lines[first : last + 1]
        return before, behind

    def explain_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, doc: str) -> None:
        body = node.body[0]
        place = body.lineno - 1
        before, behind = self.cut(body)
        if not before.strip():  # the body had a line of its own
            place -= 1
            before = self.lines.pop(place)
        indent = " " * (node.col_offset + 4)
        if doc:
            self.lines[place:place] = [before.rstrip() + behind, *quoted(doc, indent).splitlines()]
        else:
            self.lines[place:place] = [before.rstrip().removesuffix("  #") + " ..." + behind]

    def explain_class(self, node: ast.ClassDef, doc: str) -> None:
        body = node.body[0]
        is_empty = len(node.body) == 1 and isinstance(body, ast.Expr)
        if is_empty and body.lineno == node.lineno:
            place = body.lineno - 1
            before, behind = self.cut(body)
            self.lines.insert(place, before.rstrip() + behind)
        elif isinstance(body, ast.Expr):
            self.cut(body)
        indent = " " * (node.col_offset + 4)
        self.lines[node.lineno : node.lineno] = quoted(doc, indent).splitlines() if doc else [f"{indent}..."] * is_empty

    def explain_attribute(self, node: ast.stmt, behind: ast.Expr | None, doc: str) -> None:
        if behind is not None:
            self.cut(behind)
        end = node.end_lineno or node.lineno
        self.lines[end:end] = quoted(doc, " " * node.col_offset).splitlines() if doc else []


def with_docstrings(text: str, module: Any) -> str:
    stub = ast.parse(text)
    edited = Stub(text.splitlines())
    for node, doc in reversed(list(documented(stub, module))):
        if isinstance(node, ast.ClassDef):
            edited.explain_class(node, doc)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            edited.explain_function(node, doc)
        else:
            edited.explain_attribute(node, string_behind(stub, node), doc)
    return "\n".join(edited.lines) + "\n"


def raw_types(module: Any) -> dict[str, str]:
    """The types of raw methods, by class and method: as the signature with types, without self."""
    from pydoca._signatures import typed_signature

    found = {}
    for owner in vars(module).values():
        for name, value in vars(owner).items() if inspect.isclass(owner) else ():
            if inspect.ismethoddescriptor(value) and type(value) is type(str.join) and not name.startswith("_"):
                full_name = f"{owner.__name__}.{name}"
                if signature := typed_signature(full_name, value.__text_signature__.replace("$self", "self")):
                    own = [each for each in signature.parameters.values() if each.name != "self"]
                    found[full_name] = str(signature.replace(parameters=own))
    return dict(sorted(found.items()))


def text_of(types: dict[str, str]) -> str:
    entries = [f"    {name!r}: {text!r}," for name, text in types.items()]
    return "\n".join([RAW_TYPES_HEAD, *entries, "}"]) + "\n"


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    from pydoca import _core

    stubs = [stub for stub in sorted(STUBS.glob("*.pyi")) if stub.stem != "__init__"]
    for stub in stubs:
        stub.write_text(with_docstrings(stub.read_text(), _core))
    RAW_TYPES.write_text(text_of(raw_types(_core)))
    ruff = Path(sys.executable).with_name("ruff")
    subprocess.run([ruff, "format", "--quiet", *stubs, RAW_TYPES], check=True)


if __name__ == "__main__":
    main()
