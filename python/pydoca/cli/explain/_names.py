"""The names that can be explained, and the one that the user means."""

from __future__ import annotations

import difflib
import inspect
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import EnumType
from functools import cached_property
from types import ModuleType
from typing import TypeAlias

import pydoca
from pydoca.cli.explain._table import Entry, State, Status, Table, base_name


@dataclass(frozen=True)
class OldName:
    name: str
    entry: Entry


@dataclass(frozen=True)
class EnumValue:
    name: str
    entry: Entry


@dataclass(frozen=True)
class PythonName:
    name: str  # "Mmap.export_pci"
    means: object
    entries: tuple[Entry, ...]  # the entries of DOCA that it means; first those whose first name it is


Answer: TypeAlias = Entry | OldName | EnumValue | PythonName | Status | State


def public_names() -> Iterator[tuple[str, object]]:
    """Every public name below pydoca, "Mmap.export_pci", with its object; an inherited member in each class."""
    yield from _names_in_module(pydoca, "")


def names_in(module: ModuleType) -> list[str]:
    """Its public names; a star import takes neither those of built-in exceptions nor display, which notebooks have.

    The functions that IPython calls for %load_ext are not for users.
    """
    own = [value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__]
    errors = [each.__name__ for each in own if inspect.isclass(each) and issubclass(each, pydoca.DocaError)]
    functions = [each.__name__ for each in own if inspect.isfunction(each) and not _is_hidden(each.__name__)]
    return sorted({*module.__all__, *errors, *functions})


def _is_hidden(name: str) -> bool:
    return name.startswith("_") or name.endswith("load_ipython_extension")


def _names_in_module(module: ModuleType, prefix: str) -> Iterator[tuple[str, object]]:
    for name in names_in(module):
        value = getattr(module, name)
        yield prefix + name, value
        if isinstance(value, ModuleType):
            yield from _names_in_module(value, f"{name}.")
        elif inspect.isclass(value):
            yield from ((f"{prefix}{name}.{member}", getattr(value, member)) for member in _members(value))


def _members(owner: type) -> list[str]:
    bases = (base for base in owner.__mro__ if base.__module__.startswith("pydoca"))
    names = [name for base in bases for name in vars(base) if not name.startswith("_")]
    return list(dict.fromkeys([*(owner.__members__ if isinstance(owner, EnumType) else ()), *names]))


def find_public(name: str) -> object:
    """The object of a public name; raises AttributeError."""
    found: object = pydoca
    for part in name.split("."):
        found = getattr(found, part)
    return found


def member_of(entry: Entry, value: str) -> str:
    """The name in Python of an enum's value, "Access.PCI_READ_ONLY"; empty where there is none."""
    word = value.removeprefix(entry.prefix)
    for python in entry.python:
        if isinstance(enum := find_public(base_name(python)), EnumType) and word in enum.__members__:
            return f"{base_name(python)}.{word}"
    return ""


class Names:
    """Finds a name in any of its spellings; upper and lower case are the same."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def find(self, text: str) -> list[Answer]:
        """The answers for a name: none when it is unknown, several when it may mean several names."""
        key = _key(text)
        for spelling in self._spellings(key):
            if spelling in self._full:
                return [self._full[spelling]]
        return self._renamed_by_prefix(key) or self._short.get(key) or self._ended_by(key)

    def known(self) -> list[str]:
        """Every name, in the spelling that similar() offers."""
        return self._shown

    def similar(self, text: str, most: int = 5) -> list[str]:
        """Known names that look like it, the most similar first."""
        key = _key(text)
        end = key.rpartition(".")[2]
        found = [name for name in self._shown if len(end) > 3 and name.casefold().rpartition(".")[2].startswith(end)]
        owner = key.rpartition(".")[0]
        found.sort(key=lambda name: -difflib.SequenceMatcher(None, owner, name.casefold().rpartition(".")[0]).ratio())
        # Most of a few letters are the same in words that mean something else.
        close = difflib.get_close_matches(key, self._shown_by_key, n=most, cutoff=0.8 if len(key) < 6 else 0.6)
        return list(dict.fromkeys([*[self._shown_by_key[each] for each in close], *found]))[:most]

    def _spellings(self, key: str) -> Iterator[str]:
        yield key
        yield f"doca_{key}"
        owner, _, rest = key.partition(".")
        if rest and owner in self._table.variables:  # a name such as "pe.progress"
            yield f"{self._table.variables[owner]}.{rest}".casefold()

    def _renamed_by_prefix(self, key: str) -> list[Answer]:
        for old, new in self._table.prefixes.items():
            found = self._full.get(new + key.removeprefix(old)) if key.startswith(old) else None
            if isinstance(found, Entry | OldName):
                return [OldName(key, found if isinstance(found, Entry) else found.entry)]
        return []

    def _ended_by(self, key: str) -> list[Answer]:
        """The only name of DOCA that ends with these words, which begin after its library: "get_server_ctx"."""
        ended = {id(entry): entry for name, entry in self._table.entries.items() if name.endswith(f"_{key}")}
        return list(ended.values()) if len(ended) == 1 and "_" in key else []

    @cached_property
    def _full(self) -> dict[str, Answer]:
        """The answers by every spelling that means one name. Earlier kinds of names precede later ones."""
        found: dict[str, Answer] = {}
        for spelling, answer in self._every_spelling():
            found.setdefault(spelling.casefold(), answer)
        return found

    def _every_spelling(self) -> Iterator[tuple[str, Answer]]:
        table = self._table
        yield from self._spellings_of_statuses()
        for state in table.states.values():
            yield from ((name, state) for name in (state.name, state.c, state.python) if name)
        yield from table.entries.items()
        yield from ((old, OldName(old, table.entries[new])) for old, new in table.renamed.items())
        for value, entry in table.values.items():
            yield from ((name, EnumValue(value, entry)) for name in (value, member_of(entry, value)) if name)
        yield from self._python.items()
        for entry in table.entries.values():
            yield from ((name.replace("::", "."), entry) for name in entry.cpp)

    def _spellings_of_statuses(self) -> Iterator[tuple[str, Status]]:
        for status in self._table.statuses.values():
            error = exception_of(status)
            yield from ((name, status) for name in (status.c, status.name, f"status.{status.name}", str(status.number)))
            if error:
                yield error.__name__, status

    @cached_property
    def _python(self) -> dict[str, PythonName]:
        return {name: self._python_name(name, value) for name, value in public_names()}

    def _python_name(self, name: str, value: object) -> PythonName:
        owner, _, member = name.rpartition(".")
        entries = self._table.by_python.get(name, [])
        if not entries and owner and inspect.isclass(cls := find_public(owner)):
            inherited = (f"{base.__name__}.{member}" for base in cls.__mro__[1:])
            entries = next((self._table.by_python[each] for each in inherited if each in self._table.by_python), [])
        ordered = sorted(entries, key=lambda entry: (entry.python[0] != name, name not in entry.python))
        return PythonName(name, value, tuple(ordered))

    @cached_property
    def _short(self) -> dict[str, list[Answer]]:
        """The answers by ends of names: "memcpy", "stopping"."""
        found: dict[str, dict[int, Answer]] = {}
        for state in self._table.states.values():
            found.setdefault(state.name.rpartition(" ")[2], {})[id(state)] = state
        for name, answer in self._python.items():
            if answer.entries and "." in name and name in self._table.by_python:
                found.setdefault(name.rpartition(".")[2].casefold(), {})[id(answer)] = answer
        return {key: list(answers.values()) for key, answers in found.items()}

    @cached_property
    def _shown(self) -> list[str]:
        """The names that similar() offers."""
        table = self._table
        states = (state.c or state.name for state in table.states.values())
        errors = (error.__name__ for status in table.statuses.values() if (error := exception_of(status)))
        statuses = (status.c for status in table.statuses.values())
        names = (table.by_python, self._python, table.entries, table.renamed, table.values, states, errors, statuses)
        return list(dict.fromkeys(itertools.chain(*names)))

    @cached_property
    def _shown_by_key(self) -> dict[str, str]:
        return {name.casefold(): name for name in reversed(self._shown)}


def exception_of(status: Status) -> type[pydoca.DocaError] | None:
    """The class that pydoca raises for it; None for success."""
    for error in pydoca.DocaError.__subclasses__():
        if error.status.name == status.name:
            return error
    return None


def title_of(answer: Answer) -> str:
    """The name by which an answer is asked for."""
    if isinstance(answer, Status):
        return answer.c
    return answer.c or answer.name if isinstance(answer, State) else answer.name


def _key(text: str) -> str:
    key = " ".join(text.replace("::", ".").casefold().split()).removesuffix("()")
    for word in ("struct ", "enum ", "union ", "pydoca."):
        key = key.removeprefix(word)
    return key
