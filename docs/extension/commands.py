"""The options of every command, made of the parser that the commands use. The page of commands includes them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from extension.markdown import sentence
from pydoca.cli._descriptions import _SECTIONS
from pydoca.cli._parser import create_parser

GENERAL = "flags of every command"


def pages() -> Iterator[tuple[str, str]]:
    parser = create_parser()
    lines: list[str] = []
    for command in parts_of(parser):
        lines += command_lines(command, 3)
    first = parts_of(parser)[0]
    lines += [f"### {GENERAL.capitalize()}", "", *options(group_of(first, GENERAL))]
    lines += ["### Exit codes", "", "| Code | Meaning |", "|---|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in _SECTIONS["EXIT STATUS"].items()]
    yield "commands.inc", "\n".join(lines) + "\n"


def parts_of(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return [part for group in groups for part in group.choices.values()]


def group_of(parser: argparse.ArgumentParser, title: str) -> list[argparse.Action]:
    return [action for group in parser._action_groups if group.title == title for action in group._group_actions]


def command_lines(parser: argparse.ArgumentParser, level: int) -> Iterator[str]:
    usage = parser.format_usage().removeprefix("usage: ").rstrip()
    yield from (f"{'#' * level} {parser.prog}", "", sentence(parser.description or ""), "")
    parts = parts_of(parser)
    if parts:
        for part in parts:
            yield from command_lines(part, level + 1)
        return
    yield from ("```text", usage, "```", "")
    general = group_of(parser, GENERAL)
    yield from options([action for action in parser._actions if action not in general])


def options(actions: list[argparse.Action]) -> Iterator[str]:
    shown = [action for action in actions if action.help is not argparse.SUPPRESS and action.dest != "help"]
    if shown:
        yield from ("| Option | Meaning |", "|---|---|")
        for action in shown:
            yield f"| {words_of(action)} | {cell(action.help or '')} |"
        yield ""


def words_of(action: argparse.Action) -> str:
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""
    value = action.metavar or choices or action.dest.upper()
    words = [f"{word} {value}" if action.nargs != 0 else word for word in action.option_strings] or [str(value)]
    return ", ".join(f"`{cell(word)}`" for word in words)


def cell(text: str) -> str:
    return text.replace("%%", "%").replace("|", "\\|")
