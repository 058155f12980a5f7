"""What the Tab key offers in a notebook: the words of `%pydoca`, and those of pydoca's arguments within quotes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from pydoca._core import CAPABILITIES, Access, Device, devices
from pydoca._log import LogLevel
from pydoca._selectors import fitting, of_devices, of_representors

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

# What an argument takes: words, or a function of the word that was begun and of the object before the method.
_Source: TypeAlias = Sequence[str] | Callable[[str, object], Iterable[tuple[str, str]]]


def _devices(word: str, _: object) -> Iterable[tuple[str, str]]:
    return of_devices(devices(), word)


def _representors(word: str, owner: object) -> Iterable[tuple[str, str]]:
    """The representors of a device that is open."""
    if not isinstance(owner, Device) or not owner.is_open:
        return ()
    return of_representors(owner.representors(), owner.name, word)


def _permissions(word: str, _: object) -> Iterable[tuple[str, str]]:
    """The permissions; behind a | those that are added: "local_read_write|pci"."""
    given = word[: word.rfind("|") + 1]
    return ((given + name.lower(), "") for name in Access.__members__)


_SIDES = ("host", "dpu")
_LEVELS = [level.name.lower() for level in LogLevel]
_ALGORITHMS = ("sha1", "sha256", "sha512")
# The arguments of each function, by their place or their keyword.
_ARGUMENTS: dict[str, dict[int | str, _Source]] = {
    "open_device": {0: _devices, "selector": _devices, "side": _SIDES, "capability": CAPABILITIES},
    "devices": {"side": _SIDES},
    "DeviceInfo": {0: _devices, "selector": _devices, "side": _SIDES},
    "supports": {0: CAPABILITIES},
    "why_unsupported": {0: CAPABILITIES},
    "open_representor": {0: _representors, "selector": _representors},
    "representors": {0: ("all", "net", "emulated"), "filter": ("all", "net", "emulated")},
    "mmap": {"access": _permissions},
    "Mmap": {"access": _permissions},
    "set_permissions": {0: _permissions, "access": _permissions},
    "ProgressEngine": {"latency": ("low", "balanced", "power")},
    "Rdma": {"permissions": _permissions, "transport_type": ("rc", "dc")},
    "connect": {"address_type": ("ipv4", "ipv6", "gid")},
    "hash": {2: _ALGORITHMS, "algorithm": _ALGORITHMS},
    "partial_hash": {2: _ALGORITHMS, "algorithm": _ALGORITHMS},
    "SyncEvent": {"publisher": ("cpu", "remote_pci", "remote_net"), "subscriber": ("cpu", "remote_pci")},
    "spawn": {"side": _SIDES},
    "default_topology": {0: ("bluefield2", "bluefield3", "all"), "profile": ("bluefield2", "bluefield3", "all")},
    "Config": {"preset": ("ideal", "bluefield2", "bluefield3")},
    "remove_device": {0: _devices},
    "restore_device": {0: _devices},
    "set_log_level": {0: _LEVELS, "level": _LEVELS},
    "set_sdk_log_level": {0: _LEVELS, "level": _LEVELS},
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
    source = _ARGUMENTS.get(name, {}).get(place, ())
    if callable(source):
        return call["word"], source(call["word"], namespace.get(owner))
    return call["word"], ((each, "") for each in source)
