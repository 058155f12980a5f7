"""The pages "From C": DOCA's names by library, and all of them on one page."""

from __future__ import annotations

from collections.abc import Iterator

from extension.markdown import code, cpp_role, fenced, listed, python_role, sentence, slug
from pydoca.cli.explain._c_api import in_c
from pydoca.cli.explain._table import Entry, Library, Table, load

NO_COUNTERPART = {"not there yet": "pydoca does not have this yet", "stays out": "pydoca leaves this out"}


INDEX = """\
# DOCA's names

Every function, struct and enum of DOCA Core and its libraries, old names included. A name leads to its entry: its names
in Python and C++, the states that it needs, its errors and their remedies. `pydoca explain NAME` shows the same in a
terminal.

:::{raw} html
<input type="search" class="name-filter" placeholder="a part of a name" aria-label="Show names that contain this">
:::
"""


def pages() -> Iterator[tuple[str, str]]:
    table = load()
    for library in table.libraries:
        yield f"from-c/{slug(library.title)}.md", "\n".join(page_of(library))
    yield "from-c/index.md", "\n".join(index_of(table))


def page_of(library: Library) -> Iterator[str]:
    yield from (f"# From C: {library.title}", "", f"`{library.header}`", "")
    if library.about:
        yield from (library.about.strip(), "")
    for row in library.entries:
        yield from lines_of(row)


def lines_of(row: tuple[Entry, ...]) -> Iterator[str]:
    """The lines of a row; what its names have in common is said once."""
    first = row[0]
    kinds = [entry.name if entry.kind == "function" else f"{entry.kind} {entry.name}" for entry in row]
    body = [first.does, "", *facts_of(row), ""]
    if first.example:
        body += ["```python", first.example, "```", ""]
    yield from fenced("doca", " | ".join(kinds), [*body, *errors_of(first), *values_of(row)], 4)


def facts_of(row: tuple[Entry, ...]) -> Iterator[str]:
    first = row[0]
    python = listed((python_role(name) for entry in row for name in entry.python), " ")
    cpp = listed((cpp_role(name) for entry in row for name in entry.cpp), " ")
    now = listed(f"{{doca}}`{name}`" for entry in row for name in entry.now)
    reason = first.not_yet or first.out
    facts = {
        "Python": python,
        "C++": cpp,
        "In C": listed(map(in_c_of, row), "; "),
        "Now": now,
        "States": "; ".join(f"{{state}}`{state}`" for state in first.when),
        "Old names": listed(code(old) for entry in row for old in entry.old),
        NO_COUNTERPART.get(first.there, ""): sentence(reason) if reason else "",
    }
    for label, text in facts.items():
        if text and label:
            yield f"* **{label}** {text}"


def in_c_of(entry: Entry) -> str:
    """Whether C has the name; empty where it has not, which the page of C counts."""
    found = in_c(entry)
    return {"yes": "yes", "refused": f"refused, because {found.reason}"}.get(found.state, "")


def errors_of(entry: Entry) -> Iterator[str]:
    if entry.errors:
        yield from ("**Errors**", "")
    for reason in entry.errors:
        remedy = f": {reason.remedy}" if reason.remedy else ""
        yield f"* {{status}}`{reason.status}` {reason.cause}{remedy}"
    yield ""


def values_of(row: tuple[Entry, ...]) -> Iterator[str]:
    values = {value: number for entry in row for value, number in entry.values.items()}
    if values:
        yield from ("| Value | Number |", "|---|---|")
        yield from (f"| `{value}` | {number} |" for value, number in values.items())
        yield ""


def index_of(table: Table) -> Iterator[str]:
    yield INDEX
    for library in table.libraries:
        yield from (f"## [{library.title}]({slug(library.title)}.md)", "")
        names = [entry.name for row in library.entries for entry in row]
        yield from fenced("container", "name-list", (f"* {{doca}}`{name}`" for name in names))
    yield from ("## Values of enums", "", "A value leads to its enum.", "")
    values = (f"* {{doca}}`{value} <{entry.name}>`" for value, entry in sorted(table.values.items()))
    yield from fenced("container", "name-list", values)
    yield from ("## Old names", "", "Names of DOCA 2.0 to 2.6 that have changed.", "")
    old_names = (f"* {{doca}}`{old} <{new}>`" for old, new in sorted(table.renamed.items()))
    yield from fenced("container", "name-list", old_names)
    titles = (f"{library.title} <{slug(library.title)}>" for library in table.libraries)
    yield from fenced("toctree", "", [":hidden:", "", *titles])
