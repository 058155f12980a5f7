"""Flags from a JSON file, in the form that DOCA's argument parser takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydoca.cli._errors import CommandError, describe


def read_flags(path: str, sections: Mapping[str, Sequence[str]]) -> list[str]:
    """The flags of a file, as words of a command line. sections: the long names that each of its objects may have."""
    document = _load(path)
    _require_known(path, document, sections)
    return [flag for name in document for flag in _flags(path, name, document[name], sections[name])]


def _load(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            document = json.load(file)
    except OSError as error:
        raise CommandError(describe(error)) from None
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{path}: not JSON: {error}") from None
    if not isinstance(document, dict):
        raise CommandError(f'{path}: not a JSON object; write {{"doca_program_flags": {{"async": true}}}}')
    return document


def _flags(path: str, section: str, values: Any, known: Sequence[str]) -> Iterator[str]:
    if not isinstance(values, dict):
        raise CommandError(f"{path}: {section} is a JSON object of flags, not {json.dumps(values)}")
    _require_known(f"{path}: {section}", values, known)
    for name, value in values.items():
        if not isinstance(value, bool | str | int | float):
            raise CommandError(f"{path}: {name} is a text, a number, true or false, not {json.dumps(value)}")
        if value is True:
            yield f"--{name}"
        elif value is not False:
            yield f"--{name}={value}"


def _require_known(where: str, given: Mapping[str, Any], known: Mapping[str, Any] | Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise CommandError(f"{where}: {name!r} is not known; there are: {', '.join(known)}")
