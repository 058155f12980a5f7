"""The page of DOCA's functions in C, by header: which are there, which are refused and why, and which are missing."""

from __future__ import annotations

from collections.abc import Iterator

from extension.markdown import fenced, sentence, slug
from pydoca.cli.explain._c_api import in_c
from pydoca.cli.explain._table import Entry, Library, load

STATES = {"yes": "there", "refused": "refused", "missing": "missing"}
INDEX = """\
# DOCA's functions in C

A program in C finds these functions in the headers that `pydoca sdk` writes ([how](../../how-to/c-program.md)). A
function that is refused can be called, and answers {status}`NOT_SUPPORTED`. `pydoca explain NAME` says the same of one
name. Names of DOCA 2 that have changed or have gone since are not counted.
"""


def pages() -> Iterator[tuple[str, str]]:
    libraries = [(library, functions_of(library)) for library in load().libraries]
    libraries = [(library, functions) for library, functions in libraries if functions]
    yield "c/index.md", "\n".join(page_of(libraries))


def functions_of(library: Library) -> list[Entry]:
    """The library's functions of today."""
    entries = (entry for row in library.entries for entry in row)
    return [entry for entry in entries if entry.kind == "function" and not entry.now and not entry.until]


def page_of(libraries: list[tuple[Library, list[Entry]]]) -> Iterator[str]:
    yield from (INDEX, f"| Header | {' | '.join(STATES.values())} |", "|---|" + "--:|" * len(STATES))
    for library, functions in libraries:
        counts = (str(len(in_state(functions, state)) or "") for state in STATES)
        yield f"| [`{library.header}`](../from-c/{slug(library.title)}.md) | {' | '.join(counts)} |"
    yield ""
    for library, functions in libraries:
        yield from section_of(library, functions)


def section_of(library: Library, functions: list[Entry]) -> Iterator[str]:
    if len(in_state(functions, "missing")) == len(functions):
        return  # the table has said it
    yield from (f"## {library.title}", "", f"`{library.header}`", "")
    yield from names_of(in_state(functions, "yes"))
    refused = in_state(functions, "refused")
    for reason in dict.fromkeys(entry.refused for entry in refused):
        yield from (f"Refused: {sentence(reason)}", "")
        yield from names_of([entry for entry in refused if entry.refused == reason])
    if missing := in_state(functions, "missing"):
        yield from ("Missing:", "")
        yield from names_of(missing)


def in_state(functions: list[Entry], state: str) -> list[Entry]:
    return [entry for entry in functions if in_c(entry).state == state]


def names_of(functions: list[Entry]) -> Iterator[str]:
    if functions:
        yield from fenced("container", "name-list", (f"* {{doca}}`{entry.name}`" for entry in functions))
