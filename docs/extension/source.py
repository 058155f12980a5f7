"""Links from the references to the source: public headers, and what of the package stands in Python.

Sphinx' extension `linkcode` asks where a name stands. The files are pages of the site, so the links work offline.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CppLexer, PythonLexer
from sphinx.ext.linkcode import add_linkcode_domain

import pydoca
import pytest_pydoca
from extension.cpp_headers import HEADERS, read

PACKAGES = {"pydoca": Path(pydoca.__file__).parent, "pytest_pydoca": Path(pytest_pydoca.__file__).parent}
# Programs do not call what these files of the package have.
NOT_SHOWN = re.compile(r"(cli/|_display/|_core/|_notebook/|_spawn/|qualify/(?!bench/|measure))")
PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{name}</title>
<link rel="stylesheet" href="../../_static/pygments.css">
<style>
body {{ font-family: sans-serif; }}
h1 {{ font-size: 1.4em; overflow-wrap: anywhere; }}
.highlight {{ overflow-x: auto; }}
</style>
</head>
<body>
<a href="../../index.html">pydoca</a>
<h1><code>{name}</code></h1>
{code}
</body>
</html>
"""


def write(app: Any, failed: Exception | None) -> None:
    """Writes the pages beside those that Sphinx makes: they need neither its navigation nor its search."""
    if failed is None and app.builder.format == "html":
        target = Path(app.outdir) / "made/source"
        target.mkdir(parents=True, exist_ok=True)
        for name, path in files().items():
            (target / f"{page_of(name)}.html").write_text(page(name, path))


def page(name: str, path: Path) -> str:
    lexer = CppLexer() if path.suffix == ".hpp" else PythonLexer()
    return PAGE.format(name=name, code=highlight(path.read_text(), lexer, HtmlFormatter(lineanchors="L")))


@cache
def files() -> dict[str, Path]:
    """The files, by the name that the page has as its title."""
    found = {f"pydoca/{path.relative_to(HEADERS)}": path for path in sorted(HEADERS.rglob("*.hpp"))}
    for package, root in PACKAGES.items():
        for path in sorted(root.rglob("*.py")):
            if not NOT_SHOWN.match(str(path.relative_to(root))):
                found[f"{package}/{path.relative_to(root)}"] = path
    return found


def page_of(name: str) -> str:
    return name.replace("/", "-")


def link(name: str, line: int) -> str:
    """The link from a page of a reference: made/python/..., made/cpp/..."""
    return f"../source/{page_of(name)}.html#L-{line}"


def resolve(domain: str, info: dict[str, Any]) -> str | None:
    """What linkcode asks: the source of a name, or None."""
    if domain == "cpp":
        places = (cpp_places().get(name_in(each)) for each in info["ids"] or ())
        return next((link(*place) for place in places if place), None)
    return of_python(info["module"], info["fullname"]) if domain == "py" else None


def name_in(anchor: str) -> str:
    """The name that Sphinx' anchor of a C++ entry, a mangled name, begins with."""
    found = re.search(r"N[VKRO]*(?=6pydoca)", anchor)
    parts, rest = [], anchor[found.end() :] if found else ""
    while length := re.match(r"\d+", rest):
        end = length.end() + int(length[0])
        parts.append(rest[length.end() : end])
        rest = rest[end:]
    return "::".join(parts)


def of_python(module: str, name: str) -> str | None:
    value: Any = sys.modules.get(module)
    for part in name.split("."):
        value = inspect.getattr_static(value, part, None)
    value = getattr(value, "__func__", getattr(value, "fget", value))  # the function of a class method or property
    if inspect.isclass(value):
        functions = (each.__code__.co_filename for each in vars(value).values() if inspect.isfunction(each))
        file = next(functions, getattr(sys.modules.get(value.__module__), "__file__", None))
        line = classes_of(file).get(value.__qualname__, 0) if file in by_path() else 0
    elif inspect.isfunction(value):
        code = inspect.unwrap(value).__code__
        file, line = code.co_filename, code.co_firstlineno
    else:  # the extension's, and constants
        return None
    return link(by_path()[file], line) if line and file in by_path() else None


@cache
def by_path() -> dict[str | None, str]:
    return {str(path): name for name, path in files().items()}


@cache
def classes_of(file: str) -> dict[str, int]:
    tree = ast.parse(Path(file).read_text())
    return {node.name: node.lineno for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


@cache
def cpp_places() -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for header in read().values():
        for scope in header.scopes:
            if scope.kind != "namespace":
                found[scope.name] = place(header.path, scope.node)
            for member in scope.members:
                found.setdefault(f"{scope.name}::{member.findtext('name', '')}", place(header.path, member))
    return found


def place(header: str, node: Element) -> tuple[str, int]:
    location = node.find("location")
    return f"pydoca/{header}", int(location.get("line", "1")) if location is not None else 1


def setup(app: Any) -> None:
    add_linkcode_domain("cpp", ["ids"], override=True)  # Sphinx looks for "names", which its entries do not have
    app.connect("build-finished", write)
