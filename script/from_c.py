"""Writes docs/from-c.md from python/pydoca/cli/explain/from_c.toml, by the code of the installed package.

usage: .venv/bin/python script/from_c.py
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydoca.cli.explain._names import exception_of, member_of
from pydoca.cli.explain._table import Entry, Library, Table, base_name, load

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "python/pydoca/cli/explain/from_c.toml"
PAGE = ROOT / "docs/from-c.md"
STEPS = ROOT / "examples/steps_of_c.py"

HEAD = """\
# From C to Python

DOCA's functions, structs and enums, and their names in pydoca. `pydoca explain NAME` shows the entry of a name in the
terminal, with the cause and the remedy of each error; NAME can be any name of this page.

`script/from_c.py` writes this page from `python/pydoca/cli/explain/from_c.toml`; change that file.

* **Python** names stand below `pydoca`. `Dma(num_tasks=)` is a parameter. A property is DOCA's setter and getter.
* **C++** names stand in the namespace `pydoca`. The column is empty where they are Python's, with `::` for the dot.
* **States** are those that a call needs; "any" without. [States](#states) defines them.
* **Errors** are statuses: Python raises their exceptions ([Statuses](#statuses)). A name that pydoca does not have
  shows those of DOCA.
"""

ABOUT_STEPS = """\
A script may have the shape of the program for the card: make the context without an engine, configure it by setters,
connect it, start it. Once it is IDLE again it can be configured anew and started again. `examples/steps_of_c.py`:
"""

CONTENTS = """\
Contents: [The steps of a C program](#the-steps-of-a-c-program), [Statuses](#statuses), [States](#states),
[Values of enums](#values-of-enums), [Old names](#old-names) and"""


def table_of(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(list(heads))
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


def lines_of_names(names: Iterable[str]) -> str:
    return "<br>".join(f"`{name}`" for name in dict.fromkeys(names))


def cpp_cell(row: tuple[Entry, ...]) -> str:
    python = {base_name(name).replace(".", "::") for entry in row for name in entry.python}
    names = [name for entry in row for name in entry.cpp]
    if set(names) == python:
        return ""
    return lines_of_names(names) if names else "-" if python else ""


def python_cell(row: tuple[Entry, ...]) -> str:
    first = row[0]
    if first.python:
        return lines_of_names(name for entry in row for name in entry.python)
    if first.now:
        return "now " + lines_of_names(name for entry in row for name in entry.now)
    reason = first.not_yet or first.out
    return f"{first.there}: {reason}" if reason else first.there


def cells_of(row: tuple[Entry, ...]) -> list[str]:
    first = row[0]
    kinds = [(f"{entry.kind} " if entry.kind != "function" else "") + entry.name for entry in row]
    called = any(entry.kind == "function" for entry in row) and (first.python or not first.now)
    states = "; ".join(first.when) or ("any" if called else "")
    errors = ", ".join(reason.status for reason in first.errors)
    return [lines_of_names(kinds), first.does, python_cell(row), cpp_cell(row), states, errors]


def lines_of_library(library: Library) -> Iterator[str]:
    yield from (f"## {library.title}", "", f"`{library.header}`", "")
    if library.about:
        yield from (library.about.strip(), "")
    heads = ("DOCA", "What it does", "Python", "C++", "States", "Errors")
    yield from table_of(heads, (cells_of(row) for row in library.entries))


def lines_of_statuses(table: Table) -> Iterator[str]:
    rows = []
    for status in table.statuses.values():
        error = exception_of(status)
        name = f"`{error.__name__}`" if error else ""
        rows.append([str(status.number), f"`{status.c}`", name, status.cause, status.remedy])
    yield from ("## Statuses", "", *table_of(("Number", "DOCA", "Exception", "Cause", "Remedy"), rows))


def lines_of_states(table: Table) -> Iterator[str]:
    rows = []
    for state in table.states.values():
        names = lines_of_names(name for name in (state.c, state.python) if name)
        error = ", ".join(state.otherwise)
        rows.append([state.name, names, state.means, state.allowed, state.ends, error])
    heads = ("State", "Names", "What it means", "What it allows", "How it ends", "Error of calls that need it")
    yield from ("## States", "", *table_of(heads, rows))


def lines_of_values(table: Table) -> Iterator[str]:
    rows = []
    for entry in table.entries.values():
        for value, number in entry.values.items() if entry.name != "doca_error_t" else ():
            member = member_of(entry, value)
            rows.append([f"`{entry.name}`", f"`{value}`", str(number), f"`{member}`" if member else ""])
    yield from ("## Values of enums", "", *table_of(("Enum", "DOCA", "Number", "Python"), rows))


def lines_of_old_names(table: Table) -> Iterator[str]:
    rows = [[f"`{old}`", f"`{new}`"] for old, new in sorted(table.renamed.items())]
    rows += [[f"`{old}...`", f"`{new}...`"] for old, new in table.prefixes.items()]
    yield from ("## Old names", "", "Names of DOCA 2.0 to 2.6 that have changed.", "", *table_of(("Old", "Now"), rows))


def lines_of_steps() -> Iterator[str]:
    yield from ("## The steps of a C program", "", ABOUT_STEPS)
    yield from ("```python", STEPS.read_text().rstrip(), "```", "")


def page(table: Table) -> str:
    lines = [HEAD, CONTENTS]
    links = (f"[{each.title}](#{anchor(each.title)})" for each in table.libraries)
    lines += [",\n".join(links) + ".", "", *lines_of_steps()]
    for library in table.libraries:
        lines += lines_of_library(library)
    lines += [*lines_of_statuses(table), *lines_of_states(table), *lines_of_values(table), *lines_of_old_names(table)]
    return "\n".join(lines).rstrip() + "\n"


def anchor(title: str) -> str:
    """The address that a heading gets on the usual pages."""
    return "".join(char for char in title.lower().replace(" ", "-") if char.isalnum() or char == "-")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(load(SOURCE)))
