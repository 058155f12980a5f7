"""The table of DOCA's names, as from_c.toml has it: rows of names, their states, and the statuses."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("from_c.toml")

# The words before a name that is not a function: "struct doca_mmap".
_KINDS = ("struct", "union", "enum", "typedef", "callback", "macro")
_TEXTS = {"does", "example", "prefix", "otherwise", "not_yet", "out", "refused", "until"}
_KEYS = {"c", "python", "cpp", "when", "errors", "values", "old", "now"} | _TEXTS


@dataclass(frozen=True)
class Status:
    name: str  # "NOT_PERMITTED"
    number: int
    cause: str
    remedy: str

    @property
    def c(self) -> str:
        return "DOCA_SUCCESS" if self.name == "SUCCESS" else f"DOCA_ERROR_{self.name}"


@dataclass(frozen=True)
class State:
    name: str  # "context idle"
    means: str
    c: str = ""  # "DOCA_CTX_STATE_IDLE"
    python: str = ""  # "ContextState.IDLE"
    allowed: str = ""
    ends: str = ""
    otherwise: Mapping[str, str] = field(default_factory=dict)  # the error of a call in another state


@dataclass(frozen=True)
class Reason:
    """The reason why a call answers a status, and the remedy. Both may be empty for calls that pydoca does not have."""

    status: str
    cause: str
    remedy: str


@dataclass(frozen=True)
class Entry:
    """One name of DOCA."""

    name: str
    kind: str  # "function", "struct", ...
    header: str
    library: str  # its title
    does: str
    python: tuple[str, ...] = ()  # "Mmap.export_pci", "Dma(num_tasks=)"; empty: not in Python
    cpp: tuple[str, ...] = ()
    example: str = ""
    when: tuple[str, ...] = ()  # names of states; empty: any
    errors: tuple[Reason, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict)  # an enum's values, by DOCA's names
    prefix: str = ""  # DOCA's prefix of these names, where Python has its own
    old: tuple[str, ...] = ()
    now: tuple[str, ...] = ()  # what took the place of an old name
    not_yet: str = ""
    out: str = ""
    refused: str = ""  # why the function answers NOT_SUPPORTED in C
    until: str = ""  # the last version of DOCA that has the name

    @property
    def there(self) -> str:
        """Whether pydoca has it: "there", "C++ only", "renamed", "not there yet" or "stays out"."""
        if self.python:
            return "there"
        if self.now:
            return "renamed"
        if self.cpp:
            return "C++ only"
        return "stays out" if self.out else "not there yet"


@dataclass(frozen=True)
class Library:
    title: str
    header: str
    about: str
    entries: tuple[tuple[Entry, ...], ...]  # the entries, row by row


@dataclass(frozen=True)
class Table:
    libraries: tuple[Library, ...]
    states: Mapping[str, State]
    statuses: Mapping[str, Status]
    variables: Mapping[str, str]  # the objects of the examples, by name: their classes
    prefixes: Mapping[str, str]  # the prefixes of old names, and what they are now
    own: frozenset[str]  # names of Python that mean nothing in DOCA

    @cached_property
    def entries(self) -> dict[str, Entry]:
        return {entry.name: entry for library in self.libraries for row in library.entries for entry in row}

    @cached_property
    def renamed(self) -> dict[str, str]:
        """Old names, and the name that each has now."""
        return {old: entry.name for entry in self.entries.values() for old in entry.old}

    @cached_property
    def by_python(self) -> dict[str, list[Entry]]:
        """The entries that each name of Python, without parameters, means."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries.values():
            for name in dict.fromkeys(base_name(each) for each in entry.python):
                found.setdefault(name, []).append(entry)
        return found

    @cached_property
    def values(self) -> dict[str, Entry]:
        """The values of enums by DOCA's names, with their enum."""
        return {value: entry for entry in self.entries.values() for value in entry.values}


def base_name(python: str) -> str:
    """The name without a parameter: "Dma" of "Dma(num_tasks=)"."""
    return python.partition("(")[0]


def parameter_of(python: str) -> str:
    """The parameter that the name gives: "num_tasks" of "Dma(num_tasks=)"; empty when it gives none."""
    return python.partition("(")[2].removesuffix("=)")


def load(path: Path = FILE) -> Table:
    with open(path, "rb") as file:
        document = tomllib.load(file)
    statuses = {name: Status(name, **values) for name, values in document["status"].items()}
    states = {name: _state(name, values) for name, values in document["state"].items()}
    reader = _Reader(statuses, states)
    return Table(
        libraries=tuple(reader.library(each) for each in document["library"]),
        states=states,
        statuses=statuses,
        variables=document["variables"],
        prefixes=document["prefixes"],
        own=frozenset(document["own"]["names"]),
    )


def expand(pattern: str, sets: Mapping[str, list[str]]) -> Iterator[tuple[str, dict[str, str]]]:
    """The names of a pattern, each with the words that replace its parts: {a,b} is one of these words, <name> one of
    the words of that set.
    """
    parts = dict.fromkeys(re.findall(r"\{[^}]*\}|<\w+>", pattern))
    choices = [part[1:-1].split(",") if part[0] == "{" else sets[part[1:-1]] for part in parts]
    for words in itertools.product(*choices):
        chosen = dict(zip(parts, words, strict=True))
        yield _fill(pattern, chosen), chosen


def _fill(pattern: str, chosen: Mapping[str, str]) -> str:
    for part, word in chosen.items():
        pattern = pattern.replace(part, word)
    return pattern


def _state(name: str, values: dict[str, Any]) -> State:
    values = dict(values)
    return State(name, otherwise=values.pop("else", {}), **values)


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


class _Reader:
    """Makes the entries of a library's rows."""

    def __init__(self, statuses: Mapping[str, Status], states: Mapping[str, State]) -> None:
        self._statuses = statuses
        self._states = states

    def library(self, table: dict[str, Any]) -> Library:
        rows = tuple(tuple(self._row(table, row)) for row in table["row"])
        return Library(table["title"], table["header"], table.get("about", ""), rows)

    def _row(self, library: dict[str, Any], row: dict[str, Any]) -> Iterator[Entry]:
        if unknown := row.keys() - _KEYS:
            raise ValueError(f"{row.get('c')}: unknown keys {sorted(unknown)}")
        sets = library.get("sets", {})
        cs = [(c, chosen) for pattern in _list(row["c"]) for c, chosen in expand(pattern, sets)]
        olds = [old for pattern in _list(row.get("old", [])) for old, _ in expand(pattern, sets)]
        for place, (c, chosen) in enumerate(cs):
            kind, _, name = c.rpartition(" ")
            if kind not in ("", *_KINDS):
                raise ValueError(f'{c}: "{kind}" is not a kind of name: there are {", ".join(_KINDS)}')
            old = olds[place :: len(cs)]  # patterns of equal form: each name has its own old ones
            yield self._entry(library, row, chosen, kind or "function", name=name, old=tuple(old))

    def _entry(
        self, library: dict[str, Any], row: dict[str, Any], chosen: Mapping[str, str], kind: str, **more: Any
    ) -> Entry:
        def names(key: str) -> tuple[str, ...]:
            return tuple(_fill(pattern, chosen) for pattern in _list(row.get(key, [])))

        python, now = names("python"), names("now")
        cpp = names("cpp") if "cpp" in row else tuple(dict.fromkeys(_cpp_name(name) for name in python))
        is_there = bool(python or cpp)
        reasons = row if row.keys() & {"not_yet", "out"} else {} if is_there or now else library
        values = row.get("values", {}) if kind == "enum" else {}
        return Entry(
            header=library["header"],
            library=library["title"],
            does=row["does"],
            python=python,
            cpp=cpp,
            example=_fill(row.get("example", ""), chosen),
            when=tuple(self._known_state(row, state) for state in row.get("when", [])),
            errors=tuple(self._errors(row, is_there)),
            values={row.get("prefix", "") + value: number for value, number in values.items()},
            prefix=row.get("prefix", ""),
            now=now,
            not_yet=reasons.get("not_yet", ""),
            out=reasons.get("out", ""),
            refused=row.get("refused", library.get("refused", "")),
            until=row.get("until", ""),
            kind=kind,
            **more,
        )

    def _known_state(self, row: dict[str, Any], state: str) -> str:
        if state not in self._states:
            raise ValueError(f'{row["c"]}: there is no state "{state}"')
        return state

    def _errors(self, row: dict[str, Any], is_there: bool) -> Iterator[Reason]:
        """The errors of the row, and those of a call in another state, in the order of their numbers."""
        texts: dict[str, str] = {}
        for state in row.get("when", []):
            otherwise = self._states[state].otherwise
            texts |= {row.get("otherwise", status): _in_cpp(row, text) for status, text in otherwise.items()}
        texts |= row.get("errors", {})
        if unknown := texts.keys() - self._statuses.keys():
            raise ValueError(f"{row['c']}: there is no status {', '.join(sorted(unknown))}")
        for status in sorted(texts, key=lambda name: self._statuses[name].number):
            cause, _, remedy = texts[status].partition(": ")
            if is_there:
                known = self._statuses[status]
                cause = cause or known.cause[0].lower() + known.cause[1:].rstrip(".")
                remedy = remedy or known.remedy
            yield Reason(status, cause, remedy)


def _in_cpp(row: dict[str, Any], text: str) -> str:
    """The error of a setter in a wrong state, where Python has an argument of the constructor in its place."""
    is_argument = _list(row.get("python", ""))[0].endswith("=)")
    return text.replace(": ", " (C++): ", 1) if is_argument else text


def _cpp_name(python: str) -> str:
    return base_name(python).replace(".", "::")
