"""Checks that each C++ file includes the header of every class of the project that it names.

Sources are compiled in batches (PYDOCA_UNITY_BUILD), where the includes of another source hide a missing one. A
compiler takes minutes for all sources by themselves; this takes seconds. It knows only names that the project declares
in one header and nowhere else.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from cxx_files import FOLDERS, included_files

NOT_CODE = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"')
DECLARED = re.compile(r"\b(?:struct|(?:class|typename|auto)(?:\.\.\.)?|union|concept|using) ([A-Z]\w+)\b(?!;)")
FORWARD = re.compile(r"\b(?:struct|class) ([A-Z]\w+)(?: : \w+)?;")
NAME = re.compile(r"(?<![.>])\b[A-Z]\w+\b")


def declarations(codes: dict[Path, str]) -> dict[str, Path]:
    """Maps each name that exactly one of the files, a header, declares to that header."""
    found: dict[str, set[Path]] = {}
    for path, code in codes.items():
        for name in DECLARED.findall(code):
            found.setdefault(name, set()).add(path)
    only = {name: next(iter(paths)) for name, paths in found.items() if len(paths) == 1}
    return {name: path for name, path in only.items() if path.suffix == ".hpp"}


def missing(paths: Iterable[Path]) -> Iterator[str]:
    """Yields a complaint for each name whose header a file does not include."""
    codes = {path: NOT_CODE.sub("", path.read_text()) for path in paths}
    home = declarations(codes)
    for path, code in codes.items():
        included = included_files(path)
        forward = {name for file in included & codes.keys() for name in FORWARD.findall(codes[file])}
        for name in sorted(set(NAME.findall(code)) & home.keys() - forward):
            if home[name] not in included:
                yield f"{path}: error: does not include {home[name].name}, which declares {name}"


def main() -> int:
    argparse.ArgumentParser(prog="includes.py", description=__doc__.splitlines()[0]).parse_args()
    complaints = list(missing(sorted(path for folder in FOLDERS for path in folder.rglob("*.[ch]pp"))))
    print(*complaints, sep="\n", end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
