"""The C++ reference: a page for each public header."""

from __future__ import annotations

from collections.abc import Iterator

from extension.cpp_entries import scope_lines
from extension.cpp_headers import Header, classes, read

INDEX = """\
# C++ reference

The public headers, and the contracts that their comments state. Everything is in the namespace `pydoca`;
`find_package(pydoca)` and the target `pydoca::pydoca` bring it into a program. The names are Python's, with `::` for
the dot.
"""
OF_BACKENDS = "The authors of backends implement the interfaces below `backend/`. Programs do not include them."


def pages() -> Iterator[tuple[str, str]]:
    headers = read()
    shown = [header for header in headers.values() if header.scopes]
    for header in shown:
        yield f"cpp/{page_of(header.path)}.rst", "\n".join(page(header))
    backend = [header.path for header in shown if header.path.startswith("backend/")]
    own = [header.path for header in shown if header.path not in backend]
    yield (
        "cpp/index.md",
        "\n".join([INDEX, tree_of(own), "## For authors of backends", "", OF_BACKENDS, tree_of(backend)]),
    )


def page(header: Header) -> Iterator[str]:
    title = f"``pydoca/{header.path}``"
    yield from (title, "=" * len(title), "")
    inside = {name for scope in classes().values() for name in scope.inside}
    for scope in header.scopes:
        if scope.name not in inside:
            yield from scope_lines(scope)


def page_of(path: str) -> str:
    return path.replace("/", "-").removesuffix(".hpp")


def tree_of(headers: list[str]) -> str:
    entries = (f"{header.removesuffix('.hpp')} <{page_of(header)}>" for header in headers)
    return "\n".join(["", ":::{toctree}", ":maxdepth: 1", "", *entries, ":::", ""])
