"""Finds comments and docstrings that begin with a preposition: "Of the process." instead of "The id of the process."

A sentence may begin with one, when a comma and the sentence's subject follow: "After start, nothing is allocated."
Consecutive lines of comments are one comment, and only its first sentence counts. The check fails when more than 1 % of
a folder's comments are fragments, or one of its docstrings is.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cxx_files import ROOT

FOLDERS = ["cpp", "tests/c", "tests/cpp", "benchmarks", "examples", "python", "tests/py", "docs", "script", "notebooks"]
MOST = 0.01  # the share of a folder's comments and docstrings that may be fragments

PREPOSITIONS = """
    about above across after against along among around as at before behind below beside besides between beyond by
    despite during except for from in inside instead into like near of on onto outside over per since through to toward
    towards under until up upon via with within without
"""
FRAGMENT = re.compile(rf"(?:(?:also|even|just|not|only) )?({'|'.join(PREPOSITIONS.split())})(?!\w|[(.:=/-]\S)", re.I)
AMOUNT = re.compile(r"at (?:least|most)\b|(?:about|over|under|up to) \d", re.I)
CLAUSE = re.compile(r", (?!and |but |nor |not |or |so |too|which )\w\S*(?: \S+){2}")
SENTENCE = re.compile(r".*?[.!?](?= )|.*")

CXX_TOKEN = re.compile(
    r'R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|\b\d[\w\']*|\'(?:[^\'\\\n]|\\.)+\''
    r"|(?P<comment>//[^\n]*|/\*.*?\*/)",
    re.DOTALL,
)
SHELL_COMMENT = re.compile(r"(?m)^[ \t]*#(?!!).*|(?<=\s)# [^'\"\n]*")
COMMENT_SIGN = re.compile(r"^[ \t]*(?://[/!]?<?|/?\*+[!/]?<?|#:?)", re.MULTILINE)
FOR_TOOLS = re.compile(r"noqa|type: |fmt: |pragma|pyright: |mypy: |nosec|!|NOLINT|clang-format|shellcheck")


@dataclass
class Comment:
    line: int
    column: int
    text: str  # without its signs, on one line
    is_docstring: bool = False

    @property
    def is_fragment(self) -> bool:
        """Whether the first sentence begins with a preposition and has no main clause."""
        found = FRAGMENT.match(self.text)
        if found is None or AMOUNT.match(self.text):
            return False
        sentence = SENTENCE.match(self.text)
        return found[1].lower() == "of" or sentence is None or CLAUSE.search(sentence[0]) is None


def plain(text: str) -> str:
    """Returns the words of a comment, or of lines of comments, without the signs at the lines' beginnings."""
    return " ".join(COMMENT_SIGN.sub("", text).removesuffix("*/").split())


def joined(source: str, comments: Iterable[tuple[int, int, str]]) -> Iterator[Comment]:
    """Joins a comment with the next lines that hold only a comment. Each is given by its line, its column, its text."""
    lines = source.split("\n")
    last: Comment | None = None
    end = 0  # the line after the last comment
    for line, column, text in comments:
        words = plain(text)
        if last is not None and (line, column) == (end, last.column) and not lines[line - 1][:column].strip():
            last.text = f"{last.text} {words}".strip()
        elif not FOR_TOOLS.match(words):
            if last is not None:
                yield last
            last = Comment(line, column, words)
        end = line + 1 + text.count("\n")
    if last is not None:
        yield last


def python_comments(source: str) -> Iterator[Comment]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    yield from joined(source, ((*token.start, token.string) for token in tokens if token.type == tokenize.COMMENT))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield Comment(node.lineno, node.col_offset, plain(node.value.value), is_docstring=True)


def other_comments(source: str, pattern: re.Pattern[str], group: int | str) -> Iterator[Comment]:
    """Yields the comments of a language whose comments a pattern finds, as the named group of a match."""
    matches = [match for match in pattern.finditer(source) if match[group] is not None]
    starts = [match.start(group) for match in matches]
    lines = (source.count("\n", 0, start) + 1 for start in starts)
    columns = (start - source.rfind("\n", 0, start) - 1 for start in starts)
    return joined(source, zip(lines, columns, (match[group] for match in matches), strict=True))


def comments_of(path: Path) -> list[Comment]:
    source = path.read_text()
    if path.suffix in {".py", ".pyi"}:
        found = python_comments(source)
    elif path.suffix in {".cpp", ".hpp", ".h", ".c"}:
        found = other_comments(source, CXX_TOKEN, "comment")
    else:
        found = other_comments(source, SHELL_COMMENT, 0)
    return sorted((comment for comment in found if comment.text), key=lambda comment: comment.line)


def is_source(file: Path) -> bool:
    """Whether a file is one of C++, Python or the shell, whose scripts have no suffix."""
    if file.suffix or not file.is_file():
        return file.suffix in {".py", ".pyi", ".cpp", ".hpp", ".h", ".c", ".sh"}
    return file.read_bytes()[:64].startswith(b"#!/usr/bin/env bash")


def sources(path: Path) -> list[Path]:
    return sorted(filter(is_source, path.rglob("*") if path.is_dir() else [path]))


def folder_of(path: Path) -> str:
    parts = path.resolve().relative_to(ROOT).parts
    return "/".join(parts[: 2 if parts[0] in {"cpp", "tests"} else 1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="fragments.py", description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[ROOT / name for name in FOLDERS], help="files, folders")
    all_of, fragments, docstrings = Counter[str](), Counter[str](), Counter[str]()
    for path in (file for argument in parser.parse_args().paths for file in sources(argument)):
        folder = folder_of(path)
        for comment in comments_of(path):
            all_of[folder] += 1
            if comment.is_fragment:
                fragments[folder] += 1
                docstrings[folder] += comment.is_docstring
                kind = "docstring" if comment.is_docstring else "comment"
                print(f"{path.resolve().relative_to(ROOT)}:{comment.line}: {kind}: {comment.text[:90]}")
    for folder, number in sorted(all_of.items()):
        found = fragments[folder]
        print(f"{folder:14} {found / number:6.1%}  {found} of {number}, {docstrings[folder]} of them docstrings")
    return 1 if docstrings.total() or any(fragments[folder] > MOST * all_of[folder] for folder in all_of) else 0


if __name__ == "__main__":
    sys.exit(main())
