"""The entries of the C++ reference: a class with its members, a function, an enum."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element

from extension import docstrings
from extension.cpp_headers import Scope, classes


def scope_lines(scope: Scope) -> Iterator[str]:
    if scope.kind == "namespace":
        yield from (f".. cpp:namespace:: {scope.name}", "")
        for member in scope.members:
            yield from member_lines(member, scope)
        yield from (".. cpp:namespace:: NULL", "")
    else:
        yield from class_lines(scope, scope.name)


def class_lines(scope: Scope, name: str) -> Iterator[str]:
    """The lines of a class. A class inside another one is an entry in that one's lines."""
    bases = f" : {', '.join('public ' + base.removeprefix('pydoca::') for base in scope.bases)}" if scope.bases else ""
    body = [*description(scope.node), ""]
    for inner in scope.inside:
        body += class_lines(classes()[inner], inner.rpartition("::")[2])
    for member in scope.members:
        body += member_lines(member, scope)
    directive = {"class": "class", "struct": "struct", "union": "union"}[scope.kind]
    yield from described(directive, template_of(scope.node) + name + bases, body)


def described(directive: str, signature: str, body: Iterable[str]) -> Iterator[str]:
    yield from (f".. cpp:{directive}:: {signature}", "")
    yield from (f"   {line}" if line else "" for line in body)
    yield ""


def member_lines(member: Element, scope: Scope) -> Iterator[str]:
    kind, name = member.get("kind"), member.findtext("name", "")
    body = [*description(member), ""]
    if kind == "enum":
        for value in member.iter("enumvalue"):
            body += described("enumerator", value.findtext("name", ""), description(value))
        typed = member.findtext("type", "") or text_of(member.find("type"))
        yield from described("enum-class", name + (f" : {typed}" if typed else ""), body)
    elif kind == "function":
        yield from described("function", signature_of(member), body)
    elif kind == "variable":
        yield from described(
            "var", f"{modifiers(member)}{type_of(member)} {name}{member.findtext('argsstring', '')}", body
        )
    elif kind == "typedef":
        yield from described("type", f"{name} = {type_of(member)}{member.findtext('argsstring', '')}", body)


def signature_of(member: Element) -> str:
    arguments = member.findtext("argsstring", "")
    arguments = re.sub(r"\s*=\s*0$", " = 0", arguments)
    name = member.findtext("name", "")
    head = " ".join(filter(None, [modifiers(member).strip(), type_of(member), name]))
    return template_of(member) + head + arguments


def modifiers(member: Element) -> str:
    words = {"static": member.get("static"), "explicit": member.get("explicit")}
    virtual = "virtual " if member.get("virt") in ("virtual", "pure-virtual") else ""
    return "".join(f"{word} " for word, value in words.items() if value == "yes") + virtual


def type_of(member: Element) -> str:
    text = re.sub(r"\[\[.*?\]\]", "", text_of(member.find("type")))
    text = re.sub(r"\b(virtual|inline|static|explicit)\b", "", text)
    return " ".join(text.split())


def template_of(node: Element) -> str:
    parameters = node.find("templateparamlist")
    if parameters is None:
        return ""
    shown = []
    for each in parameters.iter("param"):
        default = text_of(each.find("defval"))
        shown.append(
            f"{text_of(each.find('type'))} {each.findtext('declname', '')}{f' = {default}' if default else ''}"
        )
    return f"template<{', '.join(each.strip() for each in shown)}> "


def text_of(node: Element | None) -> str:
    return "" if node is None else " ".join("".join(node.itertext()).split())


def description(node: Element) -> Iterator[str]:
    for kind in ("briefdescription", "detaileddescription"):
        found = node.find(kind)
        for paragraph in found.findall("para") if found is not None else ():
            yield from paragraph_lines(paragraph)


def paragraph_lines(paragraph: Element) -> Iterator[str]:
    """The lines of a paragraph, which may have tables inside."""
    tables = list(paragraph.findall("table"))
    for table in tables:
        if rest := (table.tail or "").strip():
            raise ValueError(f"a table's row is one line, and an empty line ends a table; after one stands: {rest}")
        paragraph.remove(table)
    if text := inline(paragraph):
        yield from (text, "")
    for table in tables:
        yield from table_lines(table)


def table_lines(table: Element) -> Iterator[str]:
    yield from (".. list-table::", "   :header-rows: 1", "")
    for row in table.iter("row"):
        cells = ["".join(filter(None, map(inline, entry.findall("para")))) for entry in row.iter("entry")]
        for place, cell in enumerate(cells):
            yield f"   {'*' if place == 0 else ' '} - {cell}"
    yield ""


def inline(node: Element) -> str:
    parts = [docstrings.plain(node.text or "")]
    for each in node:
        if each.tag == "computeroutput":
            parts.append(f"``{text_of(each)}``")
        else:
            parts.append(docstrings.plain("".join(each.itertext())))
        parts.append(docstrings.plain(each.tail or ""))
    return " ".join("".join(parts).split())
