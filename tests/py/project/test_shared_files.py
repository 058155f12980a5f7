"""The cost of an engine: the shared product files whose code names it, and the lines of its library's own files.

A new engine touches about as many. Comments and docstrings do not count; rewording code to get below a bound
would miss the point, which is that nobody has to touch the file. The bounds only go down.

usage: test_shared_files.py      # prints the table, and each file with the names that it has
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[3]
PLACES = ("cpp/include", "cpp/src", "cpp/bindings", "python/pydoca")
NOT_PRODUCT = ("python/pydoca/qualify/", "python/pydoca/cli/")
COMPUTATION = "cpp/src/backend/"

Words = tuple[str, ...]


class Engine(NamedTuple):
    """names: the words in a row that an identifier or a string has; own: what its own paths have."""

    names: tuple[Words, ...]
    own: tuple[str, ...]
    bound: int  # shared files that may name it


ENGINES = {
    "sha": Engine((("sha",),), ("/sha/", "sha.", "sha_", "backend/hash."), 12),
    "cache invalidation": Engine(
        (("mmap", "advise"), ("cache", "invalidate"), ("invalidate", "cache")), ("mmap_advise", "cache_"), 8
    ),
    "compression": Engine((("compress",), ("decompress",)), ("/compress/", "compress."), 8),
    "dma": Engine((("dma",),), ("/dma/", "/batch/", "batch.pyi", "dma.", "dma_", "copy_queue."), 12),
}

# Own lines of libraries of one task, at most. The goal is 250. Dma has memcpy_many(); Compress has more limits, and a
# task with an answer.
OWN_LINES = {"mmap_advise": 210, "dma": 246, "compress": 309}

_CPP_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def code_of(path: Path) -> str:
    """The file without comments and docstrings."""
    text = path.read_text()
    if path.suffix in {".cpp", ".hpp"}:
        return _CPP_COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = "\n"
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    for token in found:
        if token.type == tokenize.COMMENT:
            line = lines[token.start[0] - 1]
            lines[token.start[0] - 1] = line[: token.start[1]] + "\n"
    return "".join(lines)


def rows_of(code: str) -> Iterator[Words]:
    """The words of each identifier, and of each word of a string."""
    code = code.replace("DMA-BUF", "")  # memory that the kernel's drivers share: not the engine
    for identifier in re.findall(r"[A-Za-z_]\w*", code):
        yield tuple(word.lower() for word in _WORD.findall(identifier))


def has(row: Words, names: Words) -> bool:
    return any(row[place : place + len(names)] == names for place in range(len(row) - len(names) + 1))


def product_files() -> list[Path]:
    found = [
        path for place in PLACES for path in (ROOT / place).rglob("*") if path.suffix in {".cpp", ".hpp", ".py", ".pyi"}
    ]
    return sorted(path for path in found if not str(path.relative_to(ROOT)).startswith(NOT_PRODUCT))


def shared_files(engine: Engine) -> list[str]:
    found = []
    for path in product_files():
        place = str(path.relative_to(ROOT))
        if any(own in place for own in engine.own):
            continue
        if any(has(row, names) for row in ROWS[path] for names in engine.names):
            found.append(place)
    return found


def own_lines(noun: str) -> dict[str, int]:
    """The lines of code of each file with that noun in its path.

    Comments, docstrings (also those of the bindings), blank lines, pragmas, the engine's computation, and jobs of work
    queues do not count.
    """
    named = re.compile(rf"[/_]{noun}[./_]")
    found = {}
    for path in product_files():
        place = str(path.relative_to(ROOT))
        if named.search(place) and not place.startswith(COMPUTATION) and "_jobs." not in place:
            code = [line.strip() for line in code_of(path).splitlines()]
            found[place] = sum(line != "" and not line.startswith(('"', "#pragma")) for line in code)
    return found


ROWS = {path: set(rows_of(code_of(path))) for path in product_files()}


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_is_named_in_few_shared_files(name: str) -> None:
    found = shared_files(ENGINES[name])
    assert len(found) <= ENGINES[name].bound, "\n".join(found)


@pytest.mark.parametrize("noun", OWN_LINES)
def test_a_library_of_one_task_is_short(noun: str) -> None:
    lines = own_lines(noun)
    assert lines, f"no file of {noun} was found"
    assert sum(lines.values()) <= OWN_LINES[noun], lines


def main() -> None:
    for name, engine in ENGINES.items():
        found = shared_files(engine)
        print(f"{name}: {len(found)} shared files, at most {engine.bound}", *found, sep="\n  ")
    for noun, bound in OWN_LINES.items():
        lines = own_lines(noun)
        files = [f"{count} {place}" for place, count in lines.items()]
        print(f"{noun}: {sum(lines.values())} own lines, at most {bound}", *files, sep="\n  ")


if __name__ == "__main__":
    sys.exit(main())
