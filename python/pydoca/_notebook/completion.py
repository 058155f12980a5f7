"""What the Tab key offers in a notebook: the words of `%pydoca`, and those of pydoca's arguments within quotes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from pydoca._core import Device, devices, sim_profiles
from pydoca._selectors import fitting, of_devices, of_representors
from pydoca._signatures import types_of, words_of

_LONGEST = 1000  # characters before the cursor that are read
_MAGIC = re.compile(r"\s*(%%?)pydoca\s+(.*)")
_PLAIN = r"""[^()'"]|'[^'\n]*'|"[^"\n]*\""""
_NESTED = rf"\((?:{_PLAIN})*\)"
# The call of a function, up to an argument whose quotes are open.
_CALL = re.compile(
    rf"""(?P<function>[\w.]+)\(
        (?P<before>(?:{_PLAIN}|{_NESTED})*?)
        (?:\b(?P<keyword>\w+)\s*=\s*)?
        ["'](?P<word>[^"'\n]*)\Z""",
    re.VERBOSE,
)

# A function of the word that was begun and of the object before the method.
_Source: TypeAlias = Callable[[str, object], Iterable[tuple[str, str]]]


def _devices(word: str, _: object) -> Iterable[tuple[str, str]]:
    return of_devices(devices(), word)


def _representors(word: str, owner: object) -> Iterable[tuple[str, str]]:
    """The representors of a device that is open."""
    if not isinstance(owner, Device) or not owner.is_open:
        return ()
    return of_representors(owner.representors(), owner.name, word)


def _profiles(word: str, _: object) -> Iterable[tuple[str, str]]:
    return ((name, "") for name in sim_profiles())


# Arguments whose words depend on the machine, by their place or their keyword.
_SOURCES: dict[str, dict[int | str, _Source]] = {
    "open_device": {0: _devices, "selector": _devices},
    "DeviceInfo": {0: _devices, "selector": _devices},
    "open_representor": {0: _representors, "selector": _representors},
    "remove_device": {0: _devices, "device": _devices},
    "restore_device": {0: _devices, "device": _devices},
    "default_topology": {0: _profiles, "profile": _profiles},
}
# The types of functions that the stubs do not have.
_LEVEL = "LogLevel | str"
_TYPES: dict[str, dict[int | str, str]] = {
    "set_log_level": {0: _LEVEL, "level": _LEVEL},
    "set_sdk_log_level": {0: _LEVEL, "level": _LEVEL},
    "spawn": {"side": "Side | str"},
}


def make_matcher(namespace: dict[str, Any], processes: Callable[[], Iterable[str]]) -> Any:
    """A matcher for IPython's completer. processes gives the names that `%pydoca stop` takes."""

    @context_matcher(identifier="pydoca", priority=10)  # type: ignore[untyped-decorator]
    def pydoca(context: Any) -> Any:
        try:
            word, offered = _offered(context, namespace, processes)
        except Exception:  # a device that cannot be asked offers nothing
            word, offered = "", []
        found = [SimpleCompletion(text=text, type="value") for text in offered]
        return SimpleMatcherResult(completions=found, matched_fragment=word, suppress=bool(found), ordered=True)

    return pydoca


def _offered(
    context: CompletionContext, namespace: dict[str, Any], processes: Callable[[], Iterable[str]]
) -> tuple[str, list[str]]:
    """The word that was begun, and those that it may become."""
    if magic := _MAGIC.fullmatch(context.text_until_cursor):
        word, candidates = _of_magic(magic[1], magic[2], processes)
    else:
        word, candidates = _of_call(_text_before(context), namespace)
    return word, [text for text, _ in fitting(candidates, word)]


def _text_before(context: CompletionContext) -> str:
    lines = [*context.full_text.split("\n")[: context.cursor_line], context.text_until_cursor]
    return "\n".join(lines)[-_LONGEST:]


def _of_magic(mark: str, text: str, processes: Callable[[], Iterable[str]]) -> tuple[str, Iterable[tuple[str, str]]]:
    *given, word = text.split(" ")
    given = [each for each in given if each]
    if given[-1:] in (["--name"], ["--timeout"]):
        return word, ()
    if mark == "%%":
        words: Iterable[str] = ("--name", "--background") if {"dpu", "host"} & set(given) else ("dpu", "host")
    elif not given:
        words = ("list", "stop", "wait")
    else:
        names = processes() if given[0] in ("stop", "wait") and len(given) == 1 else ()
        words = [*names, *(["--timeout"] if given[0] == "wait" else [])]
    return word, ((each, "") for each in words if each not in given)


def _of_call(text: str, namespace: dict[str, Any]) -> tuple[str, Iterable[tuple[str, str]]]:
    call = _CALL.search(text)
    if call is None:
        return "", ()
    owner, _, name = call["function"].rpartition(".")
    place = call["keyword"] or re.sub(_NESTED, "", call["before"]).count(",")
    source = _SOURCES.get(name, {}).get(place)
    if source is not None:
        return call["word"], source(call["word"], namespace.get(owner))
    return call["word"], _words(name, place, call["word"])


def _words(function: str, place: int | str, begun: str) -> Iterator[tuple[str, str]]:
    """The words of an argument by its type; flags also behind a |, as in "local_read_write|pci_read_only"."""
    for types in [_TYPES.get(function, {}), *types_of(function)]:
        words, may_join = words_of(types.get(place, ""))
        given = begun[: begun.rfind("|") + 1] if may_join else ""
        yield from ((given + word, "") for word in words)
