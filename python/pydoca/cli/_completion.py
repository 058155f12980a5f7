"""The scripts of `pydoca --completion`: shtab's, and what they offer as values.

An argument's values are those that offer() gives it: words, which the script has, or a function. The script asks for
its values by its name when the user presses the key: `pydoca --complete-values devices p`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydoca._selectors import fitting
from pydoca.cli._arguments import Parser
from pydoca.cli._candidates import Candidates

_SCRIPTS = Path(__file__).parent / "completion"
# What the metavar of an argument says of its value.
_FILES = {"PATH": "file", "FILE": "file", "DIR": "directory"}


def script(parser: Parser, shell: str) -> str:
    """The script for a shell. Changes the parser, which can parse no command line any more."""
    import shtab

    groups = [part for part in parts(parser) if isinstance(part, Parser) and part.default_part]
    for part in [parser, *parts(parser)]:
        for action in part._actions:
            _declare(action, shtab.CHOICE_FUNCTIONS)
    for group in groups:
        _add_options_of_default_part(group)
    text = str(shtab.complete(parser, shell, preamble=(_SCRIPTS / f"pydoca.{shell}").read_text()))
    return _finished(text, shell, groups)


def values(parser: argparse.ArgumentParser, kind: str, word: str) -> list[str]:
    """A line for each value of a kind that begins with the word: the value, a tab, its description."""
    candidates = functions(parser)[kind](word)
    return [f"{value}\t{description}" for value, description in fitting(candidates, word)]


def functions(parser: argparse.ArgumentParser) -> dict[str, Candidates]:
    """The functions that arguments have from offer(), by their names."""
    offered = [getattr(action, "offers", None) for part in parts(parser) for action in part._actions]
    return {each.__name__: each for each in offered if callable(each)}


def parts(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers of the commands, and of their parts."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for part in action.choices.values():
                yield part
                yield from parts(part)


def _declare(action: argparse.Action, functions: dict[str, Any]) -> None:
    """Tells shtab what an argument takes."""
    values = getattr(action, "offers", None)
    if callable(values):
        vars(action)["complete"] = _asked(values)
    elif values is not None:
        action.choices = values
    elif isinstance(action.metavar, str) and action.metavar in _FILES:
        vars(action)["complete"] = functions[_FILES[action.metavar]]


def _asked(candidates: Candidates) -> dict[str, Any]:
    """The function of each shell that offers these values, as shtab takes them."""
    kind = candidates.__name__
    name = f"_pydoca_offer_{kind}"
    function = f'{name}() {{ _pydoca_offer {kind} "$1"; }}'
    return {
        "bash": name,
        "zsh": name,
        "fish": f"(_pydoca_offer {kind})",
        "preamble": {"bash": function, "zsh": function},
    }


def _default_part(group: Parser) -> argparse.ArgumentParser:
    subparsers = next(action for action in group._actions if isinstance(action, argparse._SubParsersAction))
    part: argparse.ArgumentParser = subparsers.choices[group.default_part]
    return part


def _add_options_of_default_part(group: Parser) -> None:
    """Lets `pydoca qualify --level` be completed, which means `pydoca qualify run --level`."""
    for action in _default_part(group)._get_optional_actions():
        if not set(action.option_strings) & group._option_string_actions.keys():
            group._add_action(action)


def _finished(text: str, shell: str, groups: list[Parser]) -> str:
    """The script, with what shtab lacks: the arguments of a group's default part, and how bash splits words."""
    for group in groups:
        words = _default_part(group)._get_positional_actions()[0]
        text = _FINISHES[shell](text, group.prog, group.default_part, vars(words)["complete"][shell])
    return text + "\ncomplete -o bashdefault -F _pydoca pydoca\n" if shell == "bash" else text


def _prefix(command: str) -> str:
    """The first part of shtab's names for a command."""
    return "_shtab_" + "_".join(word.replace("-", "_") for word in command.split())


def _for_bash(text: str, command: str, default: str, function: str) -> str:
    names = (f"{_prefix(command)}_pos_{place}_COMPGEN={function}" for place in (0, 1))
    return "\n".join([text, *names, f"{_prefix(command)}_pos_1_nargs='*'"])


def _for_fish(text: str, command: str, default: str, function: str) -> str:
    words = command.partition(" ")[2]
    return f"""{text}complete -c pydoca -n '_shtab_pydoca_using {words}' -ka "{function}"\n"""


def _for_zsh(text: str, command: str, default: str, function: str) -> str:
    """The group's own function completes its first word, and what follows one that is not a part."""
    prefix = _prefix(command)
    head, begin, rest = text.partition(f"\n{prefix}() {{")
    body, end, tail = rest.partition("\n      esac")
    rest = f"{body}\n        *) _arguments -C -s ${prefix}_{default}_options ;;{end}{tail}"
    both = (
        f"functions[_pydoca_parts]=$functions[{prefix}_commands]\n{prefix}_commands() {{ _pydoca_parts; {function}; }}"
    )
    return f"{head}\n{both}\n{begin}{rest}"


_FINISHES = {"bash": _for_bash, "fish": _for_fish, "zsh": _for_zsh}
