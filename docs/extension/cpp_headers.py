"""The public headers as Doxygen reads them: their classes, and the members of namespaces, by header."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "cpp/include/pydoca"
TARGET = ROOT / "build/docs/doxygen"
COPIES = TARGET / "headers"

DOXYFILE = f"""
INPUT = "{COPIES}"
FILE_PATTERNS = *.hpp
RECURSIVE = YES
STRIP_FROM_PATH = "{COPIES}"
OUTPUT_DIRECTORY = "{TARGET}"
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
EXTRACT_STATIC = YES
WARN_IF_UNDOCUMENTED = NO
WARN_AS_ERROR = FAIL_ON_WARNINGS
QUIET = YES
"""


MARK = "_of_cpp"  # follows a name that Doxygen takes for a word of another language


@dataclass
class Scope:
    """A class with its public members, or what a header has in one namespace."""

    name: str  # "pydoca::sim"
    kind: str  # "class", "struct", "union", "namespace"
    node: Element
    members: list[Element] = field(default_factory=list)
    bases: list[str] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)  # classes inside this one


@dataclass
class Header:
    path: str  # relative to include/pydoca
    scopes: list[Scope] = field(default_factory=list)


def copy_headers() -> list[str]:
    paths = sorted(str(path.relative_to(HEADERS)) for path in HEADERS.rglob("*.hpp"))
    for path in paths:
        (COPIES / path).parent.mkdir(parents=True, exist_ok=True)
        (COPIES / path).write_text(prepared((HEADERS / path).read_text()))
    return paths


def prepared(text: str) -> str:
    """The text for Doxygen: a comment of a group of members is a comment of its first one, and `local` is a word of
    Doxygen's.
    """
    text = re.sub(r"\blocal = ", f"local{MARK} = ", text)
    return re.sub(r"^(\s*)// ", r"\1/// ", text, flags=re.MULTILINE)


@cache
def read() -> dict[str, Header]:
    headers = {path: Header(path) for path in copy_headers()}
    subprocess.run(["doxygen", "-"], input=DOXYFILE, text=True, check=True)
    for file in sorted((TARGET / "xml").glob("*.xml")):
        for compound in ElementTree.fromstring(file.read_text().replace(MARK, "")).iter("compounddef"):
            name = compound.findtext("compoundname", "")
            if is_shown(name):
                add(compound, name, headers)
    for header in headers.values():
        header.scopes.sort(key=place)
    return headers


def is_shown(name: str) -> bool:
    parts = name.split("::")
    return parts[0] == "pydoca" and not {"detail", "library"} & set(parts)


def add(compound: Element, name: str, headers: dict[str, Header]) -> None:
    kind = compound.get("kind", "")
    if kind in ("class", "struct", "union") and is_public(compound, name):
        scope = Scope(name, kind, compound, public_members(compound))
        scope.bases = [base.text or "" for base in compound.iter("basecompoundref") if base.get("prot") == "public"]
        scope.inside = [inner.text or "" for inner in compound.iter("innerclass") if inner.get("prot") == "public"]
        headers[file_of(compound)].scopes.append(scope)
    elif kind == "namespace":
        by_file: dict[str, list[Element]] = {}
        for member in compound.iter("memberdef"):
            by_file.setdefault(file_of(member), []).append(member)
        for path, members in by_file.items():
            headers[path].scopes.append(Scope(name, kind, compound, members))


def is_public(compound: Element, name: str) -> bool:
    """Whether a program may name the class. Doxygen 1.9.8 takes a class of a namespace for private after `friend`."""
    return compound.get("prot") == "public" or not is_inside_a_class(name)


def is_inside_a_class(name: str) -> bool:
    return name.split("::")[-2][0].isupper()  # namespaces have small letters


def public_members(compound: Element) -> list[Element]:
    found = [
        each for each in compound.iter("memberdef") if each.get("prot") == "public" and each.get("kind") != "friend"
    ]
    return [each for each in found if not re.search(r"=\s*(delete|default)$", each.findtext("argsstring", ""))]


def file_of(node: Element) -> str:
    location = node.find("location")
    return location.get("file", "") if location is not None else ""


def place(scope: Scope) -> tuple[bool, int]:
    """The order of scopes: classes in their order, then functions."""
    location = scope.node.find("location")
    line = int(location.get("line", "0")) if location is not None else 0
    return scope.kind == "namespace", line


@cache
def classes() -> dict[str, Scope]:
    scopes = (scope for header in read().values() for scope in header.scopes)
    return {scope.name: scope for scope in scopes if scope.kind != "namespace"}


def home_of(name: str) -> str:
    """The name of an inherited member in the public base that has it: pydoca::BufSource::num_elements."""
    owner, _, member = name.rpartition("::")
    scope = classes().get(owner)
    if scope is None or any(each.findtext("name") == member for each in scope.members):
        return name
    homes = (home_of(f"{base}::{member}") for base in scope.bases if base in classes())
    return next((home for home in homes if has(home)), name)


def has(name: str) -> bool:
    owner, _, member = name.rpartition("::")
    return owner in classes() and any(each.findtext("name") == member for each in classes()[owner].members)
