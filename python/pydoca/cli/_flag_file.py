"""Flags from a JSON file, in the form that DOCA's argument parser takes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from typing import Any

from pydoca.cli._errors import UsageError, describe

_GENERAL = ("log-level", "sdk-log-level")
_LONGEST = 1 << 20  # bytes
_COMMAND_LINE_ONLY = ("help", "version", "flag-file")


def read_flags(path: str, parser: argparse.ArgumentParser) -> dict[str, Any]:
    """The values of the file's flags, by their names in the parsed arguments; the flags are the parser's long options.

    Raises UsageError for a file that cannot be read, an unknown flag, and a value that the flag does not take.
    """
    options = _long_options(parser)
    sections = {
        "doca_general_flags": [name for name in options if name in _GENERAL],
        "doca_program_flags": [name for name in options if name not in _GENERAL],
    }
    document = _load(path)
    _require_known(path, document, sections)
    values = {}
    for section, flags in document.items():
        for name, value in _flags(path, section, flags, sections[section]):
            values[options[name].dest] = _convert(path, name, options[name], value)
    return values


def _long_options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """The options that a file may hold, by their long names without dashes."""
    named = {
        word.removeprefix("--"): action
        for action in parser._actions
        for word in action.option_strings
        if word.startswith("--") and action.help is not argparse.SUPPRESS
    }
    return {name: action for name, action in named.items() if name not in _COMMAND_LINE_ONLY}


def _load(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            text = file.read(_LONGEST + 1)
        if len(text) > _LONGEST:
            raise UsageError(f"{path}: more than {_LONGEST:,} bytes, which no file of flags has")
        document = json.loads(text)
    except OSError as error:
        raise UsageError(describe(error)) from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON: {error}") from None
    if not isinstance(document, dict):
        raise UsageError(f'{path}: not a JSON object; write {{"doca_program_flags": {{"timeout": 5}}}}')
    return document


def _flags(path: str, section: str, flags: Any, known: Iterable[str]) -> Iterator[tuple[str, bool | str | float]]:
    if not isinstance(flags, dict):
        raise UsageError(f"{path}: {section} is a JSON object of flags, not {json.dumps(flags)}")
    _require_known(f"{path}: {section}", flags, known)
    for name, value in flags.items():
        if not isinstance(value, bool | str | int | float):
            raise UsageError(f"{path}: {name} is a text, a number, true or false, not {json.dumps(value)}")
        yield name, value


def _convert(path: str, name: str, action: argparse.Action, value: bool | str | float) -> Any:
    """The value as the command line would give it. false has the effect of an option that is not there."""
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise UsageError(f"{path}: argument --{name}: true or false, not {json.dumps(value)}")
        return value
    if isinstance(value, bool):
        raise UsageError(f"{path}: argument --{name}: a text or a number, not {json.dumps(value)}")
    try:
        converted = action.type(str(value)) if callable(action.type) else str(value)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"{path}: argument --{name}: {error}") from None
    if action.choices is not None and converted not in action.choices:
        raise UsageError(f"{path}: argument --{name}: {converted!r} is none of {', '.join(action.choices)}")
    return converted


def _require_known(where: str, given: Iterable[str], known: Iterable[str]) -> None:
    for name in given:
        if name not in known:
            raise UsageError(f"{where}: {name!r} is not known; there are: {', '.join(known)}")
