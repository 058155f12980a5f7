"""An answer as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_LABEL = 10  # columns of "In Python" and its like
_SHOWN = 6  # names of a list, before "and 20 more"


def text_of(document: Mapping[str, Any], width: int) -> str:
    lines = {"status": _status, "state": _state}.get(document["kind"], _name)(document)
    return "\n".join(line for indent, text in lines for line in _wrapped(indent, text, width))


_Lines = Iterator[tuple[str, str]]  # a label or an indentation, and a paragraph


def _wrapped(label: str, text: str, width: int) -> list[str]:
    if not text:
        return [label.rstrip()]
    indent = _LABEL if label.strip() or not label else len(label)
    return textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=label.ljust(indent),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _name(document: Mapping[str, Any]) -> _Lines:
    if asked := document.get("asked"):
        yield from _asked(document, asked)
    header = f"{document['kind']}, {document['header']}" if "header" in document else "pydoca"
    yield f"{document['name']}  ({header})", ""
    if document["does"]:
        yield "  ", document["does"]
    yield "", ""
    yield from _spelling(document)
    if document["when"]:
        yield "States", "; ".join(document["when"])
    elif document.get("there") in ("there", "C++ only") and document["kind"] == "function":
        yield "States", "any"
    yield from _listed("Values", (f"{name} = {number}" for name, number in document.get("values", {}).items()))
    yield from _errors(document["errors"])
    yield from _listed("Old names", document.get("old_names", ()))
    yield from _listed("Now", (f"{each['name']}: {each['does']}" for each in document.get("now", ())))
    yield from _listed("DOCA", (f"{each['name']}: {each['does']}" for each in document.get("stands_for", ())))


def _asked(document: Mapping[str, Any], asked: str) -> _Lines:
    if "number" not in document:
        yield f"{asked} is an old name of", ""
        return
    member = f", in Python {document['member']}" if document["member"] else ""
    name = f"{asked} is an old name of {document['value']}" if "value" in document else asked
    yield f"{name} = {document['number']}{member}: a value of", ""


def _spelling(document: Mapping[str, Any]) -> _Lines:
    label = "Python"
    if not document["python"] and document["there"] != "renamed":
        reason = f": {document['reason']}" if document.get("reason") else ""
        yield label, document["there"] + reason
    for python in document["python"]:
        yield label, python["name"] + python["signature"]
        label = ""
    if example := document.get("example"):
        kinds = ", ".join(f"{name}: {kind}" for name, kind in document["variables"].items())
        yield "Example", example
        if kinds:
            yield "", f"({kinds})"
    yield from _listed("C++", document.get("cpp", ()))
    if in_c := document.get("in_c"):
        because = {"refused": " because ", "missing": ": "}.get(in_c["state"], "")
        yield "In C", in_c["state"] + because + in_c["reason"]


def _errors(errors: Iterable[Mapping[str, str]]) -> _Lines:
    label = "Errors"
    for error in errors:
        name = f"{error['status']} ({error['exception']})" if error["exception"] else error["status"]
        yield label, ": ".join(part for part in (name, error["cause"]) if part)
        if error["remedy"]:
            yield " " * (_LABEL + 2), f"-> {error['remedy']}"
        label = ""


def _listed(label: str, texts: Iterable[str]) -> _Lines:
    for text in texts:
        yield label, text
        label = ""


def _status(document: Mapping[str, Any]) -> _Lines:
    yield f"{document['name']} = {document['number']}  (status)", ""
    yield "  ", document["does"]
    yield "", ""
    yield "Remedy", document["remedy"]
    yield "Python", document["python"][0]["name"]
    if document["exception"]:
        builtin = f", also a {document['builtin'][0]}" if document["builtin"] else ""
        yield "", f"raised as {document['exception']}{builtin}"
    label = "Given by"
    for reason in document["given_by"]:
        yield label, f"{_names(reason['python'])}: {reason['cause']}"
        yield " " * (_LABEL + 2), f"-> {reason['remedy']}"
        label = ""


def _state(document: Mapping[str, Any]) -> _Lines:
    name = f"{document['c']}  (state: {document['name']})" if document["c"] else f"{document['name']}  (state)"
    yield name, ""
    yield "  ", document["does"]
    yield "", ""
    yield from _listed("Python", (each["name"] for each in document["python"]))
    if document["allowed"]:
        yield "Allowed", document["allowed"]
    yield "Ends by", document["ends"]
    if document["calls"]:
        yield "Needed by", ", ".join(document["calls"])
    for error in document["otherwise"]:
        yield "Otherwise", f"{error['status']}: {error['cause']} -> {error['remedy']}"


def _names(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names) if more < 2 else f"{', '.join(names[:_SHOWN])} and {more} more"
